//! Opens the door of this build of the locks onto the native machine.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=world=\"native\"");
    // The platform layer makes system calls by Linux's numbers for these processors.
    let [system, processor] = ["OS", "ARCH"]
        .map(|part| env::var(format!("CARGO_CFG_TARGET_{part}")).expect("cargo sets it"));
    if system != "linux" || !["x86_64", "aarch64"].contains(&processor.as_str()) {
        println!(
            "cargo::error=cohort supports Linux on x86_64 and aarch64, not {system} on {processor}: \
             depend on it under [target.'cfg(target_os = \"linux\")'.dependencies]"
        );
        return;
    }
    if env::var_os("CARGO_FEATURE_INTERNALS").is_some() {
        println!("cargo::rustc-cfg=internals");
    }
    if env::var_os("CARGO_FEATURE_OBSERVE").is_some() {
        println!("cargo::rustc-cfg=observed");
    }
    // Requests to Valgrind are instructions, known here for this architecture.
    if processor == "x86_64" && env::var_os("CARGO_FEATURE_ANNOTATE").is_some() {
        println!("cargo::rustc-cfg=annotated");
    }
    println!(
        "cargo::rustc-env=COHORT_THREAD_RECORD={}",
        own_symbol("cohort_thread_record")
    );
}

/// A symbol that no other build of this package has, of another version or with other features: a
/// program may link several.
fn own_symbol(name: &str) -> String {
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    // Cargo names the folder above by a hash of what it builds.
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let build = Path::new(&out)
        .parent()
        .and_then(Path::file_name)
        .expect("it is below a folder of this build");
    format!("{name}_{version}_{}", build.to_string_lossy())
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}
