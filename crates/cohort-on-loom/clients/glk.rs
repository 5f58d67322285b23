//! `glk` that changes its mode at each section, to each of the others by turns.

use super::guest::Guest;
use crate::locks::RawTry;
use crate::locks::adaptive::Glk;
use crate::locks::adaptive::glk::{Judge, Mode, Queue};
use crate::locks::basic::mcs::McsNode;
use crate::locks::door::{AtomicU32, Order, Strength};
use crate::world::together;
use std::sync::Arc;

/// How one thread tells the other that it has left the lock.
const TELLS: Order = Order {
    name: None,
    strength: Strength::Release,
};
const IS_TOLD: Order = Order {
    name: None,
    strength: Strength::Acquire,
};

/// Goes round the modes, forwards or backwards.
#[derive(Debug, Default)]
pub struct Restless<const BACKWARDS: bool>;

impl<const BACKWARDS: bool> Judge for Restless<BACKWARDS> {
    fn is_crowded(_queue: &Queue<'_>) -> bool {
        unreachable!("it changes without asking")
    }

    fn samples(_section: u32) -> bool {
        true
    }

    fn considers(_section: u32) -> bool {
        true
    }

    fn choose(mode: Mode, _queue: &Queue<'_>) -> Mode {
        let step = if BACKWARDS { Mode::ALL.len() - 1 } else { 1 };
        Mode::ALL[(mode as usize + step) % Mode::ALL.len()]
    }
}

/// Goes to and fro between the first mode and the second, or from the second where it is
/// crowded: both answers are tried by turns.
#[derive(Debug, Default)]
pub struct Asking;

impl Judge for Asking {
    fn is_crowded(_queue: &Queue<'_>) -> bool {
        crate::locks::door::threads_lack_cpus() == Some(true)
    }

    fn samples(_section: u32) -> bool {
        true
    }

    fn considers(_section: u32) -> bool {
        true
    }

    fn choose(mode: Mode, queue: &Queue<'_>) -> Mode {
        match mode {
            Mode::Ticket => Mode::Mcs,
            Mode::Mcs if Self::is_crowded(queue) => Mode::Mutex,
            Mode::Mcs | Mode::Mutex => Mode::Ticket,
        }
    }
}

/// Goes to and fro between the first mode and the mutex, in which it begins anew.
#[derive(Debug, Default)]
pub struct Crowding;

impl Judge for Crowding {
    const BEGINS: Option<Mode> = Some(Mode::Mutex);

    fn is_crowded(_queue: &Queue<'_>) -> bool {
        unreachable!("it changes without asking")
    }

    fn samples(_section: u32) -> bool {
        true
    }

    fn considers(_section: u32) -> bool {
        true
    }

    fn choose(mode: Mode, _queue: &Queue<'_>) -> Mode {
        match mode {
            Mode::Mutex => Mode::Ticket,
            Mode::Ticket | Mode::Mcs => Mode::Mutex,
        }
    }
}

/// A lock that goes into its mutex, and out of it.
pub type InAndOut = Glk<Crowding>;

/// Begins anew in the mutex, and stays there.
#[derive(Debug, Default)]
pub struct Crowded;

impl Judge for Crowded {
    const BEGINS: Option<Mode> = Some(Mode::Mutex);

    fn is_crowded(_queue: &Queue<'_>) -> bool {
        unreachable!("it stays without asking")
    }

    fn samples(_section: u32) -> bool {
        false
    }
}

/// A lock that threads take past others, once it is contended under a program.
pub type InMutex = Glk<Crowded>;

/// Forwards.
pub type Forwards = Glk<Restless<false>>;

/// Backwards.
pub type Backwards = Glk<Restless<true>>;

/// A lock that was changed twice behind a thread's back.
pub type ToAndFro = Glk<Asking>;

/// A lock that another thread has left, as this one knows, is free for its try, through
/// whatever modes it went; a try that fails has met a holder.
pub fn is_free_for_a_try<L: RawTry<Context = McsNode> + 'static>() {
    let shared = Arc::new((L::default(), AtomicU32::new(0)));
    together(2, move |thread| {
        let (lock, done) = &*shared;
        let guest = Guest::of(lock);
        let is_done = thread == 1 && done.load(IS_TOLD) == 1;
        if thread == 0 {
            guest.acquire();
        } else if !guest.try_acquire() {
            assert!(!is_done, "a free lock was not taken");
            return;
        }
        guest.release();
        if thread == 0 {
            done.store(1, TELLS);
        }
    });
}

/// Once everybody has left, each mode comes round again: nothing is left behind in one.
pub fn comes_round(threads: usize) {
    const LEAVES: Order = Order {
        name: None,
        strength: Strength::AcqRel,
    };
    let shared = Arc::new((Forwards::default(), AtomicU32::new(0)));
    together(threads, move |_| {
        let (lock, left) = &*shared;
        let guest = Guest::of(lock);
        let section = || {
            guest.acquire();
            let mode = lock.mode();
            guest.release();
            mode
        };
        section();
        if left.fetch_add(1, LEAVES) as usize + 1 == threads {
            let first = section();
            let others = [(); 2].map(|()| section());
            assert!(
                !others.contains(&first) && others[0] != others[1],
                "a mode is stuck"
            );
        }
    });
}
