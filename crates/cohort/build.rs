//! Selects the platform layer's backend for this build of the locks: native, portable or the program's own.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let cfg = |name: &str| env::var(format!("CARGO_CFG_{name}")).unwrap_or_default();
    let processor = cfg("TARGET_ARCH");
    let target = Target {
        system: &cfg("TARGET_OS"),
        processor: &processor,
        pointer: &cfg("TARGET_POINTER_WIDTH"),
        atomics: &cfg("TARGET_HAS_ATOMIC"),
        has_platform: env::var_os("CARGO_FEATURE_PLATFORM").is_some(),
        has_std: env::var_os("CARGO_FEATURE_STD").is_some(),
        is_miri: env::var_os("CARGO_CFG_MIRI").is_some(),
    };
    let is_portable = env::var_os("CARGO_FEATURE_PORTABLE").is_some();
    let world = match world(&target, is_portable) {
        Ok(world) => world,
        Err(why) => {
            println!("cargo::error={why}");
            return;
        }
    };
    println!("cargo::rustc-cfg=world=\"{world}\"");
    if env::var_os("CARGO_FEATURE_INTERNALS").is_some() {
        println!("cargo::rustc-cfg=internals");
    }
    if world != "native" {
        // No recorder, no requests to Valgrind, no symbol.
        return;
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

/// A target, by cargo's names.
struct Target<'a> {
    system: &'a str,
    processor: &'a str,
    pointer: &'a str,
    /// The sizes of its atoms in bits, separated by commas.
    atomics: &'a str,
    /// Whether the program brings a `Platform` of its own.
    has_platform: bool,
    /// Whether the standard library is asked for.
    has_std: bool,
    /// Whether Miri runs the program: it has neither assembly nor raw system calls.
    is_miri: bool,
}

/// The backend for a target.
///
/// # Errors
/// Why it has none, in one line.
fn world(target: &Target, is_portable: bool) -> Result<&'static str, String> {
    let Target {
        system,
        processor,
        pointer,
        ..
    } = target;
    let refused = |lack| {
        Err(format!(
            "cohort does not run on {system}, {processor}: {lack}"
        ))
    };
    // System calls by Linux's numbers for these processors, and their thread pointers.
    let is_native =
        *system == "linux" && ["x86_64", "aarch64"].contains(processor) && *pointer == "64";
    let has_atoms = target.atomics.split(',').any(|bits| bits == "64");
    if target.has_platform && target.has_std {
        Err("cohort: the features `platform` and `std` exclude each other; set default-features = false wherever \
             `platform` is on"
            .to_owned())
    } else if target.has_platform && has_atoms {
        Ok("platform")
    } else if is_native && !is_portable && !target.is_miri {
        Ok("native")
    } else if *system == "none" && !target.has_platform {
        refused("it has no standard library; see the feature `platform`")
    } else if !has_atoms {
        refused("it has no 64-bit atomics")
    } else if *system == "unknown" && processor.starts_with("wasm") {
        refused("its standard library has no clock; wasm32-wasip1-threads has one")
    } else {
        Ok("portable")
    }
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
