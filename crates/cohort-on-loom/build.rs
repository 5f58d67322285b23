//! Selects the platform layer's loom backend for this build of the locks.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=world=\"loom\"");
    println!("cargo::rustc-cfg=checker");
    println!("cargo::rustc-cfg=internals");
}
