//! Builds the preload libraries and hands them to the command, which embeds them.
//!
//! A library has a panic strategy and a profile of its own, so it is built by
//! a cargo of its own, always in release, and with nothing of this build's
//! settings but the target: a debug command carries the same library.  It is
//! compiled in a folder that all builds of the command share, and so only once.
//!
//! Its sources are the workspace's.  A package of the command has no workspace around it, and
//! carries them: `carried` leads to them, with manifests of another name, since cargo leaves a
//! folder out of a package that has a manifest.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What cargo calls the library.
const BUILT: &str = "libcohort_preload.so";

/// The libraries: each one's file, and the features it is built with.
const LIBRARIES: [(&str, &str); 3] = [
    ("libcohort_preload.so", ""),
    ("libcohort_compositions.so", "compositions"),
    ("libcohort_observe.so", "observe"),
];

/// The best level of compression; higher levels are not those of zlib.
const BEST: u8 = 9;

/// The packages that the library is made of.
const PACKAGES: [&str; 3] = ["cohort-raw", "cohort", "cohort-preload"];

/// Their files, seen from the workspace's root.
const SOURCES: [&str; 9] = [
    "Cargo.toml",
    "crates/cohort-raw/Cargo.toml",
    "crates/cohort-raw/src",
    "crates/cohort/Cargo.toml",
    "crates/cohort/build.rs",
    "crates/cohort/src",
    "crates/cohort-preload/Cargo.toml",
    "crates/cohort-preload/build.rs",
    "crates/cohort-preload/src",
];

/// Variables of cargo that a nested cargo needs: where registries and caches
/// are, and how many jobs may run.
const KEPT: [&str; 6] = [
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_REGISTR",
    "CARGO_TERM_",
];

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("the preload libraries could not be built: {why}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).ok_or(format!("cargo did not set {name}"));
    let out = PathBuf::from(variable("OUT_DIR")?);
    let root = sources(Path::new(&variable("CARGO_MANIFEST_DIR")?), &out)?;
    let target = variable("TARGET")?;
    println!("cargo::rerun-if-changed=build.rs");
    for source in SOURCES.map(|source| root.join(source)) {
        // Cargo treats a file that does not exist as always changed.
        if source.exists() {
            println!("cargo::rerun-if-changed={}", source.display());
        }
    }

    let folder = shared(&out);
    let failed = |error| format!("{} cannot be used: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    // Held until the end: the forms have one name there, and another build would put another
    // form in its place before it is copied.
    let turn = File::create(folder.join("turn")).map_err(failed)?;
    turn.lock().map_err(failed)?;
    for (file, features) in LIBRARIES {
        let built = compile(&root, &folder, &target, features)?;
        let bytes = fs::read(&built)
            .map_err(|error| format!("{} is not there: {error}", built.display()))?;
        // For packages of another processor, on which the command itself cannot write it.
        let kept = folder.join(&target).join(file);
        fs::write(&kept, &bytes)
            .map_err(|error| format!("{} cannot be written: {error}", kept.display()))?;
        let packed = miniz_oxide::deflate::compress_to_vec(&bytes, BEST);
        fs::write(out.join(format!("{file}.packed")), packed)
            .map_err(|error| format!("{file} cannot be packed: {error}"))?;
    }
    Ok(())
}

/// The root of a workspace that has the library's packages.
fn sources(package: &Path, out: &Path) -> Result<PathBuf, String> {
    let around = package.ancestors().nth(2);
    let has_packages = |root: &&Path| root.join("crates/cohort-preload/Cargo.toml").exists();
    if let Some(root) = around.filter(has_packages) {
        return Ok(root.to_path_buf());
    }
    let carried = package.join("carried");
    println!("cargo::rerun-if-changed={}", carried.display());
    let root = out.join("workspace");
    lay_out(&carried, &root)
        .map_err(|error| format!("what {} has is not usable: {error}", carried.display()))?;
    Ok(root)
}

/// Makes a workspace of the files that a package carries.
fn lay_out(carried: &Path, root: &Path) -> io::Result<()> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    for package in PACKAGES {
        let there = root.join("crates").join(package);
        copy(&carried.join(package), &there)?;
        fs::rename(there.join("manifest.toml"), there.join("Cargo.toml"))?;
    }
    // Cargo looks for every member.
    let is_kept = |line: &&str| {
        let mut members = line
            .split('"')
            .filter_map(|part| part.strip_prefix("crates/"));
        members.all(|member| PACKAGES.contains(&member))
    };
    let manifest = fs::read_to_string(carried.join("workspace.toml"))?;
    let manifest: Vec<&str> = manifest.lines().filter(is_kept).collect();
    fs::write(root.join("Cargo.toml"), manifest.join("\n"))
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let there = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &there)?;
        } else {
            fs::copy(&path, &there)?;
        }
    }
    Ok(())
}

/// The folder in which the libraries are compiled: one for debug and release builds, and for
/// those of clippy and rustdoc, which all have output folders of their own.
fn shared(out: &Path) -> PathBuf {
    // TARGET/PROFILE/build/NAME-HASH/out
    let is_usual = out
        .parent()
        .and_then(Path::parent)
        .is_some_and(|build| build.ends_with("build"));
    let target = out.ancestors().nth(4).filter(|_| is_usual);
    target.unwrap_or(out).join("libraries")
}

/// Compiles the library with these features; where it is then.
fn compile(root: &Path, folder: &Path, target: &OsStr, features: &str) -> Result<PathBuf, String> {
    let preload = root.join("crates/cohort-preload");
    let cargo = env::var_os("CARGO").ok_or("cargo did not set CARGO")?;
    let mut cargo = Command::new(cargo);
    cargo
        .current_dir(&preload)
        .args(["build", "--release", "--lib", "--quiet"])
        .args(["--features", features])
        .args([OsStr::new("--target"), target])
        .args([OsStr::new("--target-dir"), folder.as_os_str()]);
    for (name, _) in env::vars_os() {
        if leaks(&name.to_string_lossy()) {
            cargo.env_remove(name);
        }
    }
    // Without this the library's panic messages hold the builder's folders.
    let mut anonymous = OsString::from("--remap-path-prefix=");
    anonymous.push(root);
    anonymous.push("=cohort");
    cargo.env("CARGO_ENCODED_RUSTFLAGS", anonymous);

    // Where the target is not the host, cargo's settings name a linker for it.
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let target = target.to_string_lossy().to_uppercase().replace('-', "_");
        cargo.env(format!("CARGO_TARGET_{target}_LINKER"), linker);
    }

    let output = cargo
        .output()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo failed in {} ({}):\n{}",
            preload.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(folder.join(target).join("release").join(BUILT))
}

/// Whether a variable of this build would change the library.
fn leaks(name: &str) -> bool {
    let of_cargo = name.starts_with("CARGO_") && !KEPT.iter().any(|kept| name.starts_with(kept));
    let of_rustc = name.starts_with("RUSTC_") || name.starts_with("RUSTDOC");
    // Cargo sets these for build scripts from the outer profile and target.
    let of_script = [
        "RUSTFLAGS",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "OUT_DIR",
    ];
    of_cargo || of_rustc || of_script.contains(&name)
}
