//! Opens the door of this build of the locks onto the simulated machine.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cfg=world=\"machine\"");
    println!("cargo::rustc-cfg=checker");
    println!("cargo::rustc-cfg=internals");
}
