//! Extension of a lock holder's time slice.

use super::Finding;
use super::glibc;
use crate::{environment, sysfs};
use std::io;

/// The part of `prctl` that enables it, per thread.
const PR_RSEQ_SLICE_EXTENSION: libc::c_int = 79;
const GET: libc::c_ulong = 1;
const SET: libc::c_ulong = 2;

/// The kernel's "not supported", which has no name in the C library.
const ENOTSUPP: i32 = 524;

/// The bytes of `struct rseq` with the words for it.
const COVERS: u32 = 33;

/// What was found out.
struct Answers {
    /// The kernel's error for a query, and for an attempt to enable it in this thread.
    query: Option<i32>,
    attempt: Option<i32>,
    /// The bytes that the C library has registered.
    size: u32,
    is_filtered: bool,
    is_off: bool,
}

/// Whether the kernel offers it to this thread, and holders request it.
pub fn extension() -> Finding {
    let query = prctl(GET, 0).err();
    let attempt = prctl(SET, 1).err();
    if attempt.is_none() {
        // The command's own locks do not use it.
        let _ = prctl(SET, 0);
    }
    judge(&Answers {
        query,
        attempt,
        size: glibc::registered_size(),
        is_filtered: sysfs::field("/proc/self/status", "Seccomp").as_deref() != Some("0"),
        is_off: environment::forbids_extensions(),
    })
}

fn prctl(what: libc::c_ulong, argument: libc::c_ulong) -> Result<(), i32> {
    let none: libc::c_ulong = 0;
    // SAFETY: reads or changes the calling thread's setting; it has no extension meanwhile.
    match unsafe { libc::prctl(PR_RSEQ_SLICE_EXTENSION, what, argument, none, none) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

fn judge(answers: &Answers) -> Finding {
    const TOPIC: &str = "time-slice extension";
    const UNUSED: &str = "a lock's holder is preempted at the end of its time slice";
    let missing = |why: &str| Finding::unused(TOPIC, format!("not available: {why}"), UNUSED);
    match (answers.query, answers.attempt) {
        (Some(libc::EINVAL), _) => missing("the kernel is older than Linux 7.0"),
        (Some(ENOTSUPP), _) => missing("the kernel lacks CONFIG_RSEQ_SLICE_EXTENSION"),
        (_, Some(libc::ENXIO)) => missing("the C library has not registered rseq"),
        (_, Some(ENOTSUPP)) if answers.size < COVERS => missing(
            "the C library registers rseq without the fields for it; glibc 2.41 or newer does",
        ),
        (_, Some(ENOTSUPP)) => missing("disabled by the kernel parameter rseq_slice_ext"),
        (_, Some(error)) => missing(&io::Error::from_raw_os_error(error).to_string()),
        (_, None) if answers.is_filtered => Finding::unused(
            TOPIC,
            "available",
            "not used: a filter of system calls from before the start may kill for rseq_slice_yield",
        ),
        (_, None) if answers.is_off => Finding::unused(TOPIC, "available", "COHORT_SLICE=off"),
        (_, None) => Finding::good(
            TOPIC,
            "available",
            "the holder of a contended mutex requests it; COHORT_SLICE=off disables that",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Grade;

    fn found(query: Option<i32>, attempt: Option<i32>, size: u32) -> (Grade, String) {
        let finding = judge(&Answers {
            query,
            attempt,
            size,
            is_filtered: false,
            is_off: false,
        });
        (finding.grade, finding.offered)
    }

    #[test]
    fn each_answer_of_the_kernel_has_its_reason() {
        let einval = Some(libc::EINVAL);
        let cases = [
            (einval, einval, 32, "Linux 7.0"),
            (Some(ENOTSUPP), Some(ENOTSUPP), 33, "CONFIG_RSEQ"),
            (None, Some(libc::ENXIO), 0, "not registered"),
            (None, Some(ENOTSUPP), 32, "glibc 2.41"),
            (None, Some(ENOTSUPP), 33, "rseq_slice_ext"),
        ];
        for (query, attempt, size, reason) in cases {
            let (grade, offered) = found(query, attempt, size);
            assert!(
                grade == Grade::Unused && offered.contains(reason),
                "{offered}"
            );
        }
        assert_eq!(found(None, None, 33), (Grade::Good, "available".to_owned()));
    }

    #[test]
    fn it_is_unused_under_a_filter_or_if_switched_off() {
        for (is_filtered, is_off) in [(true, false), (false, true), (true, true)] {
            let finding = judge(&Answers {
                query: None,
                attempt: None,
                size: COVERS,
                is_filtered,
                is_off,
            });
            assert_eq!(finding.grade, Grade::Unused, "{}", finding.used);
        }
    }
}
