//! Programs in packages of their own that depend on this one.

use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

/// Creates a package below `folder` with those dependencies and that program.
pub fn package(folder: &Path, dependencies: &str, program: &str) {
    fs::create_dir_all(folder.join("src")).expect("the folder is writable");
    let manifest = format!(
        "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [workspace]\n[dependencies]\n{dependencies}"
    );
    fs::write(folder.join("Cargo.toml"), manifest).expect("the folder is writable");
    fs::write(folder.join("src/main.rs"), program).expect("the folder is writable");
    // Use the versions that are already downloaded.
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"),
        folder.join("Cargo.lock"),
    )
    .expect("the lock file is here");
}

/// Runs cargo without the environment of this test's cargo.
pub fn cargo(folder: &Path, options: &[&str], flags: &str) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text == "CARGO_ENCODED_RUSTFLAGS" {
            cargo.env_remove(name);
        }
    }
    cargo
        .current_dir(folder)
        .args(options)
        .args(["--offline", "--quiet"])
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("RUSTFLAGS", flags)
        .output()
        .expect("there is a cargo")
}
