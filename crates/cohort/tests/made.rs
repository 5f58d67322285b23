//! Waiters at locks built from an operations table can time out in each way of a patience.

use cohort::made::Made;
use cohort::{Clock, Deadline, Operations, Patience, Token, operations};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// A delay after which a waiter usually waits; nothing depends on it.
const LONG_ENOUGH: Duration = Duration::from_millis(2);

/// A lock with its memory.
struct Room {
    made: NonNull<Made>,
    layout: Layout,
}

impl Room {
    fn of(operations: &'static Operations) -> Self {
        let layout = Made::room(operations);
        // SAFETY: the layout has a size; the memory is exclusive to this room.
        let made = unsafe {
            let place = NonNull::new(alloc(layout)).expect("no memory left");
            Made::make_at(place, operations)
        };
        Self { made, layout }
    }

    fn lock(&self) -> &Made {
        // SAFETY: made above, and dropped with this.
        unsafe { self.made.as_ref() }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: no thread uses it from here on.
        unsafe {
            Made::drop_at(self.made);
            dealloc(self.made.as_ptr().cast(), self.layout);
        }
    }
}

/// A waiter at a held lock times out by a deadline, by a cancellation, and by either of both.
fn gives_up_in_each_way(name: &str, operations: &'static Operations) {
    const FAR: Duration = Duration::from_secs(600);
    let room = Room::of(operations);
    let lock = room.lock();
    lock.acquire();
    let soon = || until(LONG_ENOUGH);
    assert!(!lock.acquire_within(&soon()), "{name}: a deadline");
    let token = Token::new();
    let both = |patience: Patience<'static>| {
        let patience = patience.unless(&token);
        assert!(!lock.acquire_within(&patience), "{name}: a token");
    };
    both(soon());
    let waits = AtomicU32::new(0);
    thread::scope(|scope| {
        for patience in [Patience::ENDLESS, until(FAR)] {
            let (both, waits) = (&both, &waits);
            scope.spawn(move || {
                waits.fetch_add(1, Ordering::Relaxed);
                both(patience);
                waits.fetch_sub(1, Ordering::Relaxed);
            });
        }
        while waits.load(Ordering::Relaxed) < 2 {
            thread::yield_now();
        }
        thread::sleep(LONG_ENOUGH);
        token.cancel();
        let begun = Instant::now();
        while waits.load(Ordering::Relaxed) > 0 {
            // Abort, since a process with a stuck thread never reports a failed assertion.
            if begun.elapsed() > FAR / 10 {
                eprintln!("{name}: a cancelled waiter still waits");
                std::process::abort();
            }
            thread::yield_now();
        }
    });
    // SAFETY: this thread acquired it.
    assert!(unsafe { lock.release() }, "{name}: it was held");
    assert!(lock.try_acquire(), "{name}: a waiter that gave up has it");
    // SAFETY: as above.
    assert!(unsafe { lock.release() });
}

/// Patience that ends so long after this call.
fn until(from_now: Duration) -> Patience<'static> {
    let at = (SystemTime::now() + from_now).duration_since(SystemTime::UNIX_EPOCH);
    let at = at.expect("the clock is set");
    Patience::until(Deadline {
        clock: Clock::Realtime,
        seconds: at.as_secs() as i64,
        nanoseconds: at.subsec_nanos(),
    })
}

macro_rules! in_each_way {
    ($($name:ident, $lock:ty, $storage:ident, $alias:tt, $about:literal, $source:literal,
       $capabilities:tt;)+) => {
        /// Each lock of the catalogue; waits poll where waiters cannot leave their queue.
        #[test]
        fn every_made_lock_lets_its_waiters_give_up_in_each_way() {
            $({
                static OPERATIONS: Operations = operations!($lock);
                gives_up_in_each_way(stringify!($name), &OPERATIONS);
            })+
        }
    };
}

cohort::for_each_lock!(in_each_way);
