//! Background load beside an observed thread.

use super::Exclusion;
use crate::world::work::Work;
use rustix::process::Signal;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time that hogs run alone before the observed thread starts.
const LEAD: Duration = Duration::from_millis(50);

/// Threads that reacquire a lock immediately after each release.
#[derive(Clone, Copy, Debug)]
pub struct Hogs {
    /// The number of threads.
    pub threads: u16,
    /// Each thread's work in the critical section.
    pub section: Work,
}

impl Hogs {
    /// Runs `visit` in this thread while the hogs use `lock`. Returns its result, and each hog's
    /// number of acquisitions. Blocks.
    ///
    /// # Errors
    /// A thread cannot be created.
    pub fn beside<L: Exclusion, R>(
        self,
        lock: &L,
        visit: impl FnOnce() -> R,
    ) -> Result<(R, Vec<u64>), String> {
        let over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            // However this ends, the hogs must end: the scope waits for them.
            let ending = Ending(over);
            let mut hogs = Vec::new();
            for index in 0..self.threads {
                let hog = std::thread::Builder::new()
                    .name(format!("hog-{index}"))
                    .spawn_scoped(scope, move || self.use_up(lock, over))
                    .map_err(|error| format!("cannot create a thread: {error}"))?;
                hogs.push(hog);
            }
            std::thread::sleep(LEAD);
            let result = visit();
            drop(ending);
            let counts = hogs.into_iter().map(|hog| hog.join());
            let counts = counts.collect::<Result<_, _>>();
            Ok((result, counts.map_err(|_| "a thread panicked".to_owned())?))
        })
    }

    fn use_up(self, lock: &impl Exclusion, over: &AtomicBool) -> u64 {
        let mut token = lock.token();
        let mut count = 0;
        while !over.load(Ordering::Relaxed) {
            lock.with(&mut token, || self.section.perform());
            count += 1;
        }
        count
    }
}

/// Ends the hogs when dropped.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Busy processes, killed on drop.
#[derive(Debug)]
pub struct Burners(Vec<Child>);

impl Burners {
    /// Starts that many processes.
    ///
    /// # Errors
    /// A process cannot be started.
    pub fn start(count: u16) -> Result<Self, String> {
        let mut burners = Self(Vec::new());
        for _ in 0..count {
            let burner = burner()
                .spawn()
                .map_err(|error| format!("cannot start a busy process: {error}"))?;
            burners.0.push(burner);
        }
        Ok(burners)
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for burner in &mut self.0 {
            // It may have ended already.
            let _ = burner.kill();
            let _ = burner.wait();
        }
    }
}

/// A shell in an endless loop, without this process's preloaded library.
fn burner() -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "while :; do :; done"])
        .env_clear()
        .stdin(Stdio::null());
    // The processes must not outlive a load that is killed.
    let die_along = || {
        Ok(rustix::process::set_parent_process_death_signal(Some(
            Signal::KILL,
        ))?)
    };
    // SAFETY: the closure makes one system call and allocates nothing, which is allowed
    // between fork and exec.
    unsafe { command.pre_exec(die_along) };
    command
}

#[cfg(test)]
mod tests {
    use super::super::{Mutex, MutexKind};
    use super::*;
    use crate::world::work::Pace;
    use rustix::process::{Pid, test_kill_process};

    #[test]
    fn a_visitor_comes_to_a_lock_in_use() {
        let lock = Mutex::new(MutexKind::Normal).unwrap();
        let hogs = Hogs {
            threads: 2,
            section: Pace::measure().work(1_000),
        };
        let (visits, counts) = hogs.beside(&lock, || lock.with(|| 1)).unwrap();
        assert_eq!(visits, 1);
        assert_eq!(counts.len(), 2);
        assert!(counts.iter().any(|count| *count > 0));
    }

    #[test]
    fn burners_end_with_their_value() {
        let burners = Burners::start(2).unwrap();
        let pids: Vec<Pid> = burners.0.iter().map(Pid::from_child).collect();
        assert!(pids.iter().all(|pid| test_kill_process(*pid).is_ok()));
        drop(burners);
        assert!(pids.iter().all(|pid| test_kill_process(*pid).is_err()));
    }
}
