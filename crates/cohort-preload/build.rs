//! Linker flags of the interposer.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Every symbol is ours or the C library's.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,defs");
    // A toolchain's own archive, which comes behind the C library, may have been compiled
    // with stack protection, whose guard is a symbol of the loader's on some architectures.
    println!("cargo::rustc-link-arg-cdylib=-lc");
    // Objects of the program hold our state until the process ends.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
}
