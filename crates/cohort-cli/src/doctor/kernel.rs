//! The kernel's features, determined by use.

use super::Finding;
use crate::realtime;
use crate::sysfs;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::thread::futex;
use rustix::thread::{MembarrierCommand, membarrier_query};
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

/// The kernel's release.
pub fn release() -> Finding {
    let system = rustix::system::uname();
    let offered = format!(
        "{} {} on {}",
        system.sysname().to_string_lossy(),
        system.release().to_string_lossy(),
        system.machine().to_string_lossy()
    );
    Finding::good("kernel", offered, "tested feature by feature below")
}

/// The inherited scheduling policy.
pub fn policy() -> Finding {
    const TOPIC: &str = "scheduling";
    match realtime::inherited() {
        None => Finding::good(
            TOPIC,
            "time-sharing",
            "--wait park, yield and spin are allowed",
        ),
        Some(policy) => Finding::good(TOPIC, policy, "--wait park and yield are allowed")
            .costs("--wait spin is refused: a spinning thread could keep the holder from running"),
    }
}

/// Whether system calls are filtered.
pub fn seccomp() -> Finding {
    const TOPIC: &str = "seccomp";
    let field = |name| sysfs::field("/proc/self/status", name);
    let privileges = match field("NoNewPrivs").as_deref() {
        Some("1") => "; no new privileges, so setuid programs run without theirs",
        _ => "",
    };
    let (mode, used) = match field("Seccomp").as_deref() {
        Some("0") => ("no filter", "no restriction"),
        Some("2") => ("system calls are filtered", "each row shows a refused call"),
        Some(_) => ("strict", "no program can run"),
        None => ("the kernel does not say", "each row shows a refused call"),
    };
    Finding::good(TOPIC, format!("{mode}{privileges}"), used)
}

/// Whether a thread can sleep on a word, in a class of its own.
pub fn futex() -> Finding {
    const USED: &str = "waiting threads sleep in the kernel";
    let word = AtomicU32::new(0);
    let private = futex::Flags::PRIVATE;
    let all = NonZeroU32::MAX;
    // A wrong expectation must be detected, and a wake-up without sleepers must wake none.
    let slept = futex::wait_bitset(&word, private, 1, None, all);
    let woken = futex::wake_bitset(&word, private, 1, all);
    match (slept, woken) {
        (Err(Errno::AGAIN), Ok(0)) => {
            Finding::good("futex", "private waits with bit sets work", USED)
        }
        (slept, woken) => Finding::good(
            "futex",
            "private waits with bit sets do not work",
            "nothing",
        )
        .fails(format!(
            "waiting threads cannot sleep (wait: {}, wake: {}); allow the system call `futex`",
            outcome(slept.map(drop)),
            outcome(woken.map(drop))
        )),
    }
}

/// Whether a thread can sleep on several words at once.
pub fn futex_waitv() -> Finding {
    const TOPIC: &str = "futex_waitv";
    const USED: &str = "not used by this version";
    let flags = futex::WaitvFlags::empty();
    match futex::waitv(&[], flags, None, rustix::thread::ClockId::Monotonic) {
        // A kernel with the call refuses an empty list.
        Err(Errno::INVAL) => Finding::unused(TOPIC, "available", USED),
        other => Finding::unused(
            TOPIC,
            format!("not available ({})", outcome(other.map(drop))),
            USED,
        ),
    }
}

/// The available barriers across all threads.
pub fn membarrier() -> Finding {
    const TOPIC: &str = "membarrier";
    let query = membarrier_query();
    let commands = [
        ("global", MembarrierCommand::Global),
        ("global expedited", MembarrierCommand::GlobalExpedited),
        ("private expedited", MembarrierCommand::PrivateExpedited),
        (
            "private expedited sync-core",
            MembarrierCommand::PrivateExpeditedSyncCore,
        ),
        (
            "private expedited rseq",
            MembarrierCommand::PrivateExpeditedRseq,
        ),
    ];
    let offered: Vec<&str> = commands
        .into_iter()
        .filter(|(_, command)| query.contains_command(*command))
        .map(|(name, _)| name)
        .collect();
    let offered = match offered.as_slice() {
        [] => String::from("none"),
        some => some.join(", "),
    };
    if query.contains_command(MembarrierCommand::PrivateExpedited) {
        Finding::good(
            TOPIC,
            offered,
            "an uncontended futex lock is released by a plain store",
        )
    } else {
        Finding::good(TOPIC, offered, "every release is an atomic exchange").costs(
            "uncontended lock and unlock take about twice as long; allow the system call \
             `membarrier` (Linux 4.14 or later)",
        )
    }
}

/// Whether a page is zeroed in a forked child, by forking one.
pub fn wipe_on_fork() -> Finding {
    const TOPIC: &str = "MADV_WIPEONFORK";
    match wiped_in_child() {
        Ok(true) => Finding::good(
            TOPIC,
            "works",
            "a forked child detects the fork at its first lock",
        ),
        Ok(false) => Finding::good(TOPIC, "accepted, but not effective", "nothing").fails(
            "a forked child would wait for threads of its parent; please report this kernel",
        ),
        Err(error) => Finding::good(
            TOPIC,
            format!("refused ({error})"),
            "forks are detected by pthread_atfork instead",
        )
        .costs(
            "children of vfork, _Fork and clone do not detect the fork, and fork handlers of other \
             libraries may lock too early; use Linux 4.14 or later",
        ),
    }
}

fn wiped_in_child() -> rustix::io::Result<bool> {
    let size = rustix::param::page_size();
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the mapping is new, used as bytes within its size, and unmapped once; the child calls
    // only `_exit`, and this process has one thread.
    unsafe {
        let page = mmap_anonymous(std::ptr::null_mut(), size, protection, MapFlags::PRIVATE)?;
        let result = madvise(page, size, Advice::LinuxWipeOnFork).and_then(|()| {
            let mark = page.cast::<u8>();
            mark.write_volatile(1);
            match libc::fork() {
                -1 => Err(Errno::AGAIN),
                0 => libc::_exit(i32::from(mark.read_volatile())),
                child => {
                    let mut status = 0;
                    while libc::waitpid(child, &raw mut status, 0) == -1 {}
                    Ok(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0)
                }
            }
        });
        munmap(page, size)?;
        result
    }
}

fn outcome(result: rustix::io::Result<()>) -> String {
    match result {
        Ok(()) => "it returned at once".to_owned(),
        Err(error) => error.to_string(),
    }
}
