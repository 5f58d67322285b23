//! Features of the C library: its version, and restartable sequences.

use super::Finding;
use std::ffi::CStr;

/// The release that merged the thread library into the C library.
const MERGED: (u32, u32) = (2, 34);
/// The release with the flag for single-threaded processes.
const SINGLE_THREADED: (u32, u32) = (2, 32);

/// The auxiliary vector's AT_RSEQ_FEATURE_SIZE.
const FEATURE_SIZE: libc::c_ulong = 27;

/// The C library's version.
pub fn version() -> Finding {
    const TOPIC: &str = "C library";
    // SAFETY: returns a string that lives as long as the process.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_string_lossy();
    let offered = format!("glibc {version}");
    let single = "locking in a single-threaded program needs no atomic operation";
    match parse(&version) {
        Some(version) if version >= MERGED => Finding::good(TOPIC, offered, single),
        Some(version) if version >= SINGLE_THREADED => Finding::good(TOPIC, offered, single)
            .costs("versions before 2.34 have a separate thread library and are untested"),
        Some(_) => Finding::good(
            TOPIC,
            offered,
            "every acquisition needs an atomic operation",
        )
        .costs(
            "versions before 2.32 do not report single-threaded processes; versions before 2.34 \
             have a separate thread library and are untested",
        ),
        None => Finding::good(TOPIC, offered, "Cohort relies on no version")
            .costs("its version is unreadable"),
    }
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let (major, rest) = version.split_once('.')?;
    let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Restartable sequences: whether this thread is registered, with which fields.
pub fn rseq() -> Finding {
    const TOPIC: &str = "rseq";
    const ASKED: &str = "threads query their CPU by system calls";
    let features = auxiliary(FEATURE_SIZE);
    match symbol::<u32>(c"__rseq_size") {
        None => Finding::unused(
            TOPIC,
            "not registered by the C library; glibc 2.35 or newer does",
            ASKED,
        ),
        Some(0) => Finding::unused(
            TOPIC,
            "not registered: the kernel, a seccomp filter or a tunable (glibc.pthread.rseq=0) prevents it",
            ASKED,
        ),
        Some(_) => {
            let offset = symbol::<isize>(c"__rseq_offset").map_or_else(String::new, |at| {
                format!(" at {at:+} from the thread pointer")
            });
            Finding::good(
                TOPIC,
                format!("registered{offset}, with {}", fields(features).join(", ")),
                "NUMA-aware locks read the current CPU there",
            )
        }
    }
}

/// The bytes of `struct rseq` that the C library has registered for the kernel's use.
pub fn registered_size() -> u32 {
    symbol(c"__rseq_size").unwrap_or(0)
}

/// The fields that the kernel updates, by the end of each in `struct rseq`. Kernels without a size
/// (before 6.3) have only the first.
fn fields(size: u64) -> Vec<&'static str> {
    [("cpu_id", 0), ("node_id", 24), ("mm_cid", 28)]
        .into_iter()
        .filter(|(_, end)| size >= *end)
        .map(|(name, _)| name)
        .collect()
}

fn auxiliary(key: libc::c_ulong) -> u64 {
    // SAFETY: reads the auxiliary vector, and returns 0 for what is not in it.
    unsafe { libc::getauxval(key) }
}

/// The value of a variable of the C library, if it exists.
fn symbol<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: the name ends with zero.
    let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.cast::<T>();
    // SAFETY: these symbols are constants of the type in the C library's header, which the callers
    // name.
    (!at.is_null()).then(|| unsafe { at.read() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(parse("2.36"), Some((2, 36)));
        assert_eq!(parse("2.9.1"), Some((2, 9)));
        assert!(parse("2.9") < Some(SINGLE_THREADED));
        assert_eq!(parse("unknown"), None);
    }

    #[test]
    fn fields_follow_the_announced_size() {
        assert_eq!(fields(0), ["cpu_id"]);
        assert_eq!(fields(24), ["cpu_id", "node_id"]);
        assert_eq!(fields(33), ["cpu_id", "node_id", "mm_cid"]);
    }
}
