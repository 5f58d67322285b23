//! Real-time scheduling, where a spinning waiter keeps the holder from running, until the waiter
//! sleeps milliseconds later.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The real-time policy, if any, of `command` when started by this thread; spinning waiters are
/// unsafe under it.
pub fn policy(command: &[OsString]) -> Option<&'static str> {
    by_chrt(command).or_else(inherited)
}

/// The calling thread's policy, if real-time.
pub fn inherited() -> Option<&'static str> {
    // SAFETY: reads the calling thread's policy and accesses no memory.
    let policy = unsafe { libc::sched_getscheduler(0) };
    match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_FIFO => Some("SCHED_FIFO"),
        libc::SCHED_RR => Some("SCHED_RR"),
        libc::SCHED_DEADLINE => Some("SCHED_DEADLINE"),
        _ => None,
    }
}

/// The policy set by a `chrt` command.
fn by_chrt(command: &[OsString]) -> Option<&'static str> {
    let (program, arguments) = command.split_first()?;
    if Path::new(program).file_name() != Some(OsStr::new("chrt")) {
        return None;
    }
    let mut policy = Some("SCHED_RR");
    for argument in arguments {
        let Some(option) = argument.to_str().filter(|text| text.starts_with('-')) else {
            break;
        };
        match option {
            "-f" | "--fifo" => policy = Some("SCHED_FIFO"),
            "-r" | "--rr" => policy = Some("SCHED_RR"),
            "-d" | "--deadline" => policy = Some("SCHED_DEADLINE"),
            "-o" | "--other" | "-b" | "--batch" | "-i" | "--idle" | "-e" | "--ext" => policy = None,
            _ => {}
        }
    }
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chrt_is_understood() {
        for (line, policy) in [
            ("chrt 10 server", Some("SCHED_RR")),
            ("/usr/bin/chrt -f 10 server -o", Some("SCHED_FIFO")),
            ("chrt --other 0 server", None),
            ("chrt -v -d 10 server", Some("SCHED_DEADLINE")),
            ("server -f", None),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(by_chrt(&words), policy, "{line}");
        }
    }
}
