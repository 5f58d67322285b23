//! Opens the door of this build of the locks onto the loom model checker.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=world=\"loom\"");
    println!("cargo::rustc-cfg=internals");
}
