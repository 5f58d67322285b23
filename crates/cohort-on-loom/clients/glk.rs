//! A `glk` that changes its mode at each critical section, to each other mode in turn.

use super::guest::Guest;
use crate::locks::RawTry;
use crate::locks::adaptive::Glk;
use crate::locks::adaptive::glk::{Judge, Mode, Queue};
use crate::locks::basic::mcs::McsNode;
use crate::locks::door::{AtomicU32, Order, Strength};
use crate::world::together;
use std::sync::Arc;

/// The order by which a thread publishes that it has left the lock.
const TELLS: Order = Order {
    name: None,
    strength: Strength::Release,
};
const IS_TOLD: Order = Order {
    name: None,
    strength: Strength::Acquire,
};

/// Cycles through the modes, forwards or backwards.
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

/// Alternates between the first mode and the second; from the second, oversubscription leads to the
/// mutex. Executions have both answers.
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

/// Alternates between the first mode and the mutex, and restarts in the mutex.
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

/// A lock that enters and leaves its mutex mode.
pub type InAndOut = Glk<Crowding>;

/// Restarts in the mutex mode, and stays there.
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

/// A hosted lock that threads acquire by barging once it is contended.
pub type InMutex = Glk<Crowded>;

/// Cycles forwards.
pub type Forwards = Glk<Restless<false>>;

/// Cycles backwards.
pub type Backwards = Glk<Restless<true>>;

/// A lock that changes its mode twice unnoticed by a thread.
pub type ToAndFro = Glk<Asking>;

/// After another thread's release has become visible, a try succeeds whatever the mode changes; a
/// failed try met a holder.
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

/// After all threads have left, the lock cycles through its modes: none has leftover state.
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
