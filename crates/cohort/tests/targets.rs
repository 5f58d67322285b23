//! The package's backend by target: native, portable, or a refusal in one line.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

#[path = "support/program.rs"]
mod program;

/// A target as cargo describes it: system, processor, bits of a pointer, bits of its largest atom.
type Target = (&'static str, &'static str, u32, u32);

/// What the build script prints for a target, with these variables.
fn printed(script: &Path, target: Target, variables: &[&str]) -> String {
    let (system, processor, pointer, largest) = target;
    let atoms = [8, 16, 32, 64].into_iter().filter(|bits| *bits <= largest);
    let mut command = Command::new(script);
    command
        .env_clear()
        .env("CARGO_PKG_VERSION", "0.1.0")
        .env("OUT_DIR", "/build/cohort-0/out")
        .env("CARGO_CFG_TARGET_OS", system)
        .env("CARGO_CFG_TARGET_ARCH", processor)
        .env("CARGO_CFG_TARGET_POINTER_WIDTH", pointer.to_string())
        .env(
            "CARGO_CFG_TARGET_HAS_ATOMIC",
            atoms.map(|bits| format!("{bits},")).collect::<String>() + "ptr",
        )
        .envs(variables.iter().map(|name| (name, "")));
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn each_target_has_a_backend_or_is_refused_in_one_line() {
    let folder = env::temp_dir().join(format!("cohort-targets-{}", std::process::id()));
    fs::create_dir(&folder).expect("the temporary folder is writable");
    let script = folder.join("build");
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(compiler)
        .args(["--edition", "2024", "-o"])
        .arg(&script)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs"))
        .status()
        .expect("the compiler starts");
    assert!(compiled.success(), "build.rs does not compile");

    let has = |target: Target, variables: &[&str], world: &str| {
        let lines = printed(&script, target, variables);
        let found: Vec<_> = lines
            .lines()
            .filter_map(|line| line.strip_prefix("cargo::rustc-cfg=world="))
            .collect();
        assert_eq!(found, [format!("{world:?}")], "{target:?}: {lines}");
        assert!(!lines.contains("cargo::error"), "{target:?}: {lines}");
        let is_native = world == "native";
        assert_eq!(lines.contains("COHORT_THREAD_RECORD"), is_native, "{lines}");
        assert_eq!(
            lines.contains("cfg=observed"),
            is_native && variables.contains(&"CARGO_FEATURE_OBSERVE"),
            "{lines}"
        );
    };
    for processor in ["x86_64", "aarch64"] {
        let target = ("linux", processor, 64, 64);
        has(target, &[], "native");
        has(target, &["CARGO_FEATURE_OBSERVE"], "native");
        for reason in ["CARGO_FEATURE_PORTABLE", "CARGO_CFG_MIRI"] {
            has(target, &[reason, "CARGO_FEATURE_OBSERVE"], "portable");
        }
    }
    let portable = [
        ("macos", "aarch64", 64, 64),
        ("ios", "aarch64", 64, 64),
        ("windows", "x86_64", 64, 64),
        ("windows", "x86", 32, 64),
        ("freebsd", "x86_64", 64, 64),
        ("openbsd", "x86_64", 64, 64),
        ("android", "aarch64", 64, 64),
        ("linux", "riscv64", 64, 64),
        ("linux", "x86", 32, 64),
        // With pointers of 32 bits, x32.
        ("linux", "x86_64", 32, 64),
        ("linux", "arm", 32, 64),
        ("wasi", "wasm32", 32, 64),
        ("emscripten", "wasm32", 32, 64),
    ];
    for target in portable {
        has(target, &[], "portable");
    }

    for target in [
        ("none", "x86_64", 64, 64),
        ("none", "aarch64", 64, 64),
        ("linux", "x86_64", 64, 64),
    ] {
        has(target, &["CARGO_FEATURE_PLATFORM"], "platform");
    }

    let refused = [
        (("none", "x86_64", 64, 64), "standard library"),
        (("unknown", "wasm32", 32, 64), "clock"),
        (("linux", "powerpc", 32, 32), "64-bit atomics"),
        (("none", "riscv32", 32, 0), "standard library"),
    ];
    let refused = refused.map(|(target, lack)| (target, &[][..], lack));
    let platform = &["CARGO_FEATURE_PLATFORM"][..];
    let refused_platform = [(("none", "riscv32", 32, 0), platform, "64-bit atomics")];
    for (target, variables, lack) in refused.into_iter().chain(refused_platform) {
        let lines = printed(&script, target, variables);
        let errors = lines
            .lines()
            .filter(|line| line.starts_with("cargo::error="));
        let errors: Vec<_> = errors.collect();
        assert_eq!(errors.len(), 1, "{lines}");
        for part in [target.0, target.1, lack] {
            assert!(errors[0].contains(part), "{part}: {lines}");
        }
        assert!(!lines.contains("world="), "{lines}");
    }
    let both = &["CARGO_FEATURE_PLATFORM", "CARGO_FEATURE_STD"];
    let lines = printed(&script, ("linux", "x86_64", 64, 64), both);
    assert!(lines.contains("cargo::error="), "{lines}");
    assert!(lines.contains("exclude each other"), "{lines}");
    assert!(!lines.contains("world="), "{lines}");
    fs::remove_dir_all(&folder).expect("the folder is this test's own");
}

/// The feature `platform`: compiled for targets without the standard library, as far as they are installed, and
/// run here by its example.
#[test]
fn a_platform_of_the_programs_own_serves_locks() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let here = env!("CARGO_MANIFEST_DIR");
    let dependency = format!(
        "cohort = {{ path = {here:?}, default-features = false, features = [\"platform\"] }}\n"
    );
    let example = fs::read_to_string(Path::new(here).join("examples/platform.rs"));
    program::package(folder.path(), &dependency, &example.expect("it is here"));
    let output = program::cargo(folder.path(), &["run"], "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let bare = "#![no_std]\n#![no_main]\n\
        static TOTAL: cohort::Mutex<u64> = cohort::Mutex::new(0);\n\
        static NODES: cohort::Mutex<u64, cohort::compose::CTktMcs> = cohort::Mutex::from_raw(\n\
            cohort::compose::CTktMcs::new(), 0);\n\
        pub fn add() { *TOTAL.lock() += *NODES.lock(); }\n\
        #[panic_handler]\n\
        fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";
    program::package(folder.path(), &dependency, bare);
    for target in ["x86_64-unknown-none", "aarch64-unknown-none"] {
        let libraries = Command::new("rustc")
            .args(["--print", "target-libdir", "--target", target])
            .output();
        let folder_of = String::from_utf8(libraries.expect("rustc starts").stdout).expect("a path");
        if !Path::new(folder_of.trim()).exists() {
            eprintln!("skip: no core library for {target} here (rustup target add {target})");
            continue;
        }
        let output = program::cargo(folder.path(), &["check", "--target", target], "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{target}: {said}");
    }
}
