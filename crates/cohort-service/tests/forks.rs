//! A process forks while its threads put and free keys: its children go on with the table.

use cohort_service::gls::{Refusal, address};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 3;
const FORKS: usize = 60;

/// Keys of each thread: so many that the table grows repeatedly.
const KEYS: usize = 100_000;

/// The first of all threads' keys, and of the children's.
const THEIRS: usize = 1 << 30;
const OURS: usize = 1 << 40;

/// How long a child may take for milliseconds of work: a guard.
const LIMIT: Duration = Duration::from_secs(60);

fn theirs(thread: usize, turn: usize) -> usize {
    THEIRS + 8 * (thread + THREADS * (turn % KEYS))
}

fn unlock(key: usize) -> Result<(), Refusal> {
    // SAFETY: locked by the callers, without a guard.
    unsafe { address::unlock(key) }
}

/// A child's work; 0 on success. It is single-threaded, so nothing may be allocated.
fn child() -> i32 {
    for key in (0..2_000).map(|number| OURS + 8 * number) {
        if address::lock(key).is_err() {
            return 1;
        }
        if address::try_lock(key) != Err(Refusal::Busy) {
            return 2;
        }
        if unlock(key).is_err() {
            return 3;
        }
        if key % 16 == 0 && address::free(key).is_err() {
            return 4;
        }
    }
    for turn in 0..2_000 {
        // A thread missing in the child may hold it.
        let key = theirs(turn % THREADS, turn);
        if address::try_lock(key).is_ok() && unlock(key).is_err() {
            return 5;
        }
    }
    0
}

/// How a child ended; negative if it has not.
fn status(child: libc::pid_t) -> i32 {
    let began = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: the place is writable.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            return status;
        }
        if began.elapsed() > LIMIT {
            // SAFETY: a child that has not been waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            return -1;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn children_go_on_while_the_table_grows() {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let is_over = &is_over;
            scope.spawn(move || {
                for turn in 0.. {
                    if is_over.load(Relaxed) {
                        break;
                    }
                    let key = theirs(thread, turn);
                    assert_eq!(address::lock(key), Ok(()));
                    assert_eq!(unlock(key), Ok(()));
                    // Some later again.
                    if turn % 3 == 0 {
                        assert_eq!(address::free(key), Ok(()));
                    }
                }
            });
        }
        let mut ends = (0..FORKS).map(|_| {
            // SAFETY: the child calls nothing that allocates or takes another thread's lock, and ends.
            let forked = unsafe { libc::fork() };
            if forked == 0 {
                let code = child();
                // SAFETY: ends the process.
                unsafe { libc::_exit(code) };
            }
            if forked > 0 { status(forked) } else { -1 }
        });
        let wrong = ends.find(|status| *status != 0);
        is_over.store(true, Relaxed);
        assert_eq!(wrong, None, "a child did not end well");
    });
}
