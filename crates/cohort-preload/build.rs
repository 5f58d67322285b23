//! Linker flags of the interposer.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Every symbol is ours or the C library's.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,defs");
    // Objects of the program hold our state until the process ends.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
}
