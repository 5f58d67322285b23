//! A running process, by the kernel's `/proc`.

use super::process::{Process, Source, records};
use crate::observe::process::{Process as Observed, own_number};
use crate::problem::Problem;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Access to `/proc`.
struct Alive {
    id: u32,
    maps: String,
    memory: File,
}

/// The process of that ID.
///
/// # Errors
/// There is none, it is inaccessible, or it does not run under Cohort.
pub fn open(number: &str) -> Result<Process, Problem> {
    let absent = || Problem::usage(format!("no process {number}"));
    let id: u32 = number.parse().map_err(|_| absent())?;
    let folder = PathBuf::from(format!("/proc/{id}"));
    if !folder.exists() {
        return Err(absent());
    }
    let refused = |error: Error| match error.kind() {
        ErrorKind::PermissionDenied => Problem::refused(format!(
            "cannot inspect process {id} ({error}): it belongs to another user, or \
             /proc/sys/kernel/yama/ptrace_scope is not 0; run as root"
        )),
        _ => Problem::refused(format!("cannot inspect process {id}: {error}")),
    };
    let maps = fs::read_to_string(folder.join("maps")).map_err(refused)?;
    let memory = File::open(folder.join("mem")).map_err(refused)?;
    let alive = Alive { id, maps, memory };
    let program = alive.name(id).unwrap_or_default();
    Process::of(id, &program, Box::new(alive)).ok_or_else(|| {
        Problem::refused(format!(
            "process {id} does not run under Cohort; start it with `cohort run -- PROGRAM`"
        ))
    })
}

impl Source for Alive {
    fn maps(&self) -> &str {
        &self.maps
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
        self.memory.read_exact_at(into, at).ok()
    }

    fn threads(&self) -> BTreeMap<u32, u32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id));
        let here = tasks
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        // In a PID namespace, the process sees other IDs.
        let own = |thread: u32| own_number(&format!("/proc/{}/task/{thread}/status", self.id));
        here.filter_map(|thread| Some((own(thread)?, thread)))
            .collect()
    }

    fn name(&self, thread: u32) -> Option<String> {
        let name = fs::read_to_string(format!("/proc/{}/task/{thread}/comm", self.id)).ok()?;
        Some(name.trim_end().to_owned())
    }

    fn futex(&self, thread: u32) -> Option<[u64; 6]> {
        futex(&fs::read_to_string(format!("/proc/{}/task/{thread}/syscall", self.id)).ok()?)
    }

    fn environment(&self) -> Option<Vec<u8>> {
        // Unreadable counts as empty: a program may have overwritten it, too.
        Some(fs::read(format!("/proc/{}/environ", self.id)).unwrap_or_default())
    }

    fn alive(&self) -> Option<u32> {
        Some(self.id)
    }

    fn observed(&self) -> Option<Observed> {
        let own = own_number(&format!("/proc/{}/status", self.id)).unwrap_or(self.id);
        Observed::open(records(&self.maps, own)?)
    }
}

/// The arguments of a futex call, from the kernel's line about a thread's system call.
fn futex(call: &str) -> Option<[u64; 6]> {
    let mut words = call.split_whitespace();
    if words.next()?.parse() != Ok(libc::SYS_futex) {
        return None;
    }
    let numbers = words.map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    numbers.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_from_the_kernels_lines() {
        let line = format!(
            "{} 0x7f00 0x89 0x3 0x0 0x0 0x1 0x7ffd 0x7f12\n",
            libc::SYS_futex
        );
        assert_eq!(futex(&line), Some([0x7f00, 0x89, 3, 0, 0, 1]));
        for other in [
            "running\n",
            "-1 0x7ffd 0x7f12\n",
            "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n",
            "",
        ] {
            assert_eq!(futex(other), None);
        }
    }
}
