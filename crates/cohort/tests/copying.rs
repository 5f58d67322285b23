//! A thread that stops in the middle of its operation on a copy of the data delays no other thread,
//! nor a forked child.

use cohort::delegation::PSim;
use cohort::delegation::p_sim::Seat;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Far above the time that the other threads need.
const LIMIT: Duration = Duration::from_secs(60);

/// Operations of each other thread.
const ROUNDS: u64 = 10_000;

/// A stopped thread and the other threads of one test.
struct Scene {
    stands: AtomicBool,
    is_over: AtomicBool,
}

impl Scene {
    const fn new() -> Self {
        Self {
            stands: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        }
    }

    /// Stops until the others are done.
    fn stand(&self) {
        self.stands.store(true, Ordering::SeqCst);
        let began = Instant::now();
        while !self.is_over.load(Ordering::SeqCst) {
            assert!(began.elapsed() < LIMIT, "the others wait for this thread");
            thread::yield_now();
        }
    }

    /// Blocks until the thread has stopped.
    fn wait(&self) {
        while !self.stands.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    }

    /// Resumes the stopped thread.
    fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// One scene for each test.
static SCENES: [Scene; 2] = [const { Scene::new() }; 2];

thread_local! {
    /// Whether the thread stops in its next operation.
    static STANDS: Cell<bool> = const { Cell::new(false) };
}

/// Adds; returns the sum.
fn add<const SCENE: usize>(total: &mut u64, by: u64) -> u64 {
    if STANDS.take() {
        SCENES[SCENE].stand();
    }
    *total += by;
    *total
}

/// Adds from a thread that stops in the operation.
fn add_late<const SCENE: usize>(mut seat: Seat<'_, u64, u64, u64, 16>) -> u64 {
    STANDS.set(true);
    seat.apply(1, add::<SCENE>)
}

#[test]
fn others_go_on_beside_a_thread_that_stands_still() {
    const SCENE: usize = 0;
    let total: PSim<u64> = PSim::new(0);
    let seat = || total.seat().expect("there are sixteen");
    thread::scope(|scope| {
        let mine = seat();
        let late = scope.spawn(move || add_late::<SCENE>(mine));
        SCENES[SCENE].wait();
        let others: Vec<_> = (0..3)
            .map(|_| {
                let mut mine = seat();
                scope.spawn(move || {
                    let answers = (0..ROUNDS).map(|_| mine.apply(1, add::<SCENE>));
                    assert!(answers.is_sorted(), "the data goes back");
                })
            })
            .collect();
        for other in others {
            other.join().expect("it only adds");
        }
        SCENES[SCENE].end();
        let answer = late.join().expect("it only adds");
        assert_eq!(
            answer, 1,
            "it is announced first, and applied by the first attempt of another thread"
        );
    });
    assert_eq!(total.into_inner(), 3 * ROUNDS + 1);
}

#[test]
fn the_child_of_a_fork_goes_on_beside_a_thread_that_stood_still() {
    const SCENE: usize = 1;
    let total: PSim<u64> = PSim::new(0);
    let seat = || total.seat().expect("there are sixteen");
    thread::scope(|scope| {
        let mine = seat();
        let late = scope.spawn(move || add_late::<SCENE>(mine));
        SCENES[SCENE].wait();
        let mut mine = seat();
        // SAFETY: the child allocates nothing, and exits directly.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: sets a timer that ends the child if it hangs.
            unsafe { libc::alarm(60) };
            let is_applied = mine.apply(1, add::<SCENE>) == 2;
            // SAFETY: ends the child only.
            unsafe { libc::_exit(i32::from(!is_applied)) };
        }
        assert!(child > 0, "a process can be forked");
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((ended, status), (child, 0), "both operations are applied");
        SCENES[SCENE].end();
        assert_eq!(late.join().expect("it only adds"), 1);
    });
    assert_eq!(total.into_inner(), 1, "the child has a copy of its own");
}
