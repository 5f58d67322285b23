//! The package builds for Linux on x86_64 and aarch64, and refuses other targets in one line.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What the build script prints for a target.
fn printed(script: &Path, system: &str, processor: &str) -> String {
    let output = Command::new(script)
        .env_clear()
        .env("CARGO_PKG_VERSION", "0.1.0")
        .env("OUT_DIR", "/build/cohort-0/out")
        .env("CARGO_CFG_TARGET_OS", system)
        .env("CARGO_CFG_TARGET_ARCH", processor)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn other_targets_are_refused_in_one_line() {
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

    for processor in ["x86_64", "aarch64"] {
        let lines = printed(&script, "linux", processor);
        assert!(!lines.contains("cargo::error"), "{processor}: {lines}");
        assert!(lines.contains("COHORT_THREAD_RECORD"), "{lines}");
    }
    let refused = [
        ("macos", "aarch64"),
        ("windows", "x86_64"),
        ("android", "aarch64"),
        ("unknown", "wasm32"),
        ("linux", "riscv64"),
        ("linux", "x86"),
    ];
    for (system, processor) in refused {
        let lines = printed(&script, system, processor);
        let errors = lines
            .lines()
            .filter(|line| line.starts_with("cargo::error="));
        let errors: Vec<_> = errors.collect();
        assert_eq!(errors.len(), 1, "{lines}");
        assert!(
            errors[0].contains(system) && errors[0].contains(processor),
            "{lines}"
        );
    }
    fs::remove_dir_all(&folder).expect("the folder is this test's own");
}
