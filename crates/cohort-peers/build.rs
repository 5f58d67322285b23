//! Compiles the shims of installed C and C++ libraries. Missing ones are skipped, and the benchmark
//! names their packages.

use std::path::Path;

/// Library: its name in `cfg(peer)`, its shim, a header that shows its presence, and its link
/// option.
struct Library {
    name: &'static str,
    shim: &'static str,
    header: &'static str,
    links: &'static [&'static str],
}

const LIBRARIES: [Library; 4] = [
    Library {
        name: "ck",
        shim: "shim/ck.c",
        header: "/usr/include/ck_spinlock.h",
        links: &[],
    },
    Library {
        name: "nsync",
        shim: "shim/nsync.c",
        header: "/usr/include/nsync.h",
        links: &["nsync"],
    },
    Library {
        name: "abseil",
        shim: "shim/abseil.cc",
        header: "/usr/include/absl/synchronization/mutex.h",
        links: &["absl_synchronization"],
    },
    Library {
        name: "tbb",
        shim: "shim/tbb.cc",
        header: "/usr/include/oneapi/tbb/mutex.h",
        links: &["tbb"],
    },
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shim");
    for library in LIBRARIES {
        // A missing file counts as changed, so its installation is noticed.
        println!("cargo::rerun-if-changed={}", library.header);
        if !Path::new(library.header).exists() {
            continue;
        }
        let is_cpp = library.shim.ends_with(".cc");
        let mut build = cc::Build::new();
        build
            .file(library.shim)
            .cpp(is_cpp)
            // Distributions' optimisation level, in any profile.
            .opt_level(2)
            .define("NDEBUG", None);
        if is_cpp {
            build.std("c++17");
        }
        match build.try_compile(&format!("cohort_peer_{}", library.name)) {
            Ok(()) => {
                println!("cargo::rustc-cfg=peer=\"{}\"", library.name);
                for link in library.links {
                    println!("cargo::rustc-link-lib=dylib={link}");
                }
            }
            Err(why) => println!("cargo::warning={} is left out: {why}", library.name),
        }
    }
}
