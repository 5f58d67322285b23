//! Links the interposer.
//!
//! The library's symbols have no versions, so that they replace every version of the C library's,
//! even for `dlvsym`. The loader accepts an unversioned definition for any version, but only from a
//! library that neither has nor needs versions. So the interposer is linked against a stand-in for
//! the C library: the same name, only the functions in use, and no versions.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Functions of the C library in use; see `src/libc.rs`.
const FUNCTIONS: [&str; 19] = [
    "__errno_location",
    "__register_atfork",
    "__stack_chk_fail",
    "abort",
    "bcmp",
    "dl_iterate_phdr",
    "dlsym",
    "dlvsym",
    "getauxval",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "pthread_getcpuclockid",
    "pthread_getschedparam",
    "pthread_self",
    "strlen",
    // In a toolchain's own archive, if at all.
    "write",
    "raise",
];

/// Variables of the C library and the loader in use.
const VARIABLES: [&str; 4] = [
    "__libc_single_threaded",
    "__stack_chk_guard",
    "_r_debug",
    "environ",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Some(folder) = env::var_os("OUT_DIR").map(PathBuf::from) else {
        return;
    };
    if let Err(why) = make_stand_in(&folder) {
        println!("cargo::warning=nothing stands for the C library, and linking fails: {why}");
    }
    println!("cargo::rustc-link-search=native={}", folder.display());
    // Every symbol is Cohort's or the C library's.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,defs");
    // A toolchain's own archive, linked after the C library, may use stack protection; its guard is
    // a symbol of the loader on some architectures.
    println!("cargo::rustc-link-arg-cdylib=-lc");
    // The program's objects hold Cohort's state until the process ends.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
}

/// Builds the stand-in for the C library.
fn make_stand_in(folder: &Path) -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).ok_or(format!("cargo did not set {name}"));
    let mut text = String::from(
        "#![no_std]\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n",
    );
    for name in FUNCTIONS {
        text += &format!("#[unsafe(no_mangle)] pub extern \"C\" fn {name}() {{}}\n");
    }
    for name in VARIABLES {
        text += &format!("#[unsafe(no_mangle)] pub static {name}: usize = 0;\n");
    }
    let source = folder.join("stand_in.rs");
    fs::write(&source, text).map_err(|error| error.to_string())?;
    let mut rustc = Command::new(variable("RUSTC")?);
    rustc
        .args(["--edition", "2024", "--crate-type", "cdylib", "-O"])
        .args(["-C", "panic=abort", "-C", "link-arg=-Wl,-soname,libc.so.6"])
        .arg("--target")
        .arg(variable("TARGET")?)
        .arg("-o")
        .arg(folder.join("libc.so"))
        .arg(source);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    let output = rustc.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).replace('\n', " "))
    }
}
