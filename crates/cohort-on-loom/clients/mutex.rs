//! A mutex excludes, loses no waiter, and publishes the writes of critical sections.

use super::guest::Guest;
use super::{add_one, read, write};
use crate::locks::abortable::McsNb;
use crate::locks::basic::Ticket;
use crate::locks::door::{AtomicU32, Cell, Order, Spinner, yield_now};
use crate::locks::numa::FutexHmcs;
use crate::locks::wait::MayPark;
use crate::locks::{
    Abortable, DetectsWaiters, HandOver, HandsOver, Inherit, Outcome, Patience, RawLock, RawTry,
    ReleaseFairly, Token,
};
use crate::world::{Kept, soon, together};
use std::sync::Arc;

/// Each thread acquires `rounds` times, the first `triers` of them without
/// waiting; as many as got in are counted.
pub fn excludes<L: RawTry + 'static>(threads: usize, rounds: u64, triers: usize) {
    counts::<L>(threads, rounds, move |thread, guest| {
        if thread < triers {
            return guest.try_acquire();
        }
        guest.acquire();
        true
    });
}

/// A lock with fair releases only.
#[derive(Debug, Default)]
pub struct Fairly<L>(L);

// SAFETY: the lock inside excludes, by whichever release.
unsafe impl<L: ReleaseFairly> RawLock for Fairly<L> {
    type Context = L::Context;

    unsafe fn acquire(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.0.acquire(cx) };
    }

    unsafe fn release(&self, cx: &L::Context) {
        let _ = self.0.is_waited_for(cx);
        // SAFETY: the caller's.
        unsafe { self.0.release_fairly(cx) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above.
unsafe impl<L: ReleaseFairly + RawTry> RawTry for Fairly<L> {
    unsafe fn try_acquire(&self, cx: &L::Context) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.try_acquire(cx) }
    }
}

// SAFETY: as above.
unsafe impl<L: ReleaseFairly + Abortable> Abortable for Fairly<L> {
    unsafe fn acquire_within(&self, cx: &L::Context, patience: &Patience) -> Outcome {
        // SAFETY: the caller's.
        unsafe { self.0.acquire_within(cx, patience) }
    }
}

/// Each thread acquires as often as `rounds` says for it.
pub fn takes_turns<L: RawLock + 'static, const THREADS: usize>(rounds: [u64; THREADS]) {
    counts_each::<L>(
        THREADS,
        move |thread| rounds[thread],
        |_, guest| {
            guest.acquire();
            true
        },
    );
}

/// Each thread acquires once, in that way.
///
/// # Safety
/// As [`Guest::acquire_by`].
pub unsafe fn comes_by<L: RawLock + 'static>(threads: usize, acquire: unsafe fn(&L, &L::Context)) {
    counts::<L>(threads, 1, move |_, guest| {
        // SAFETY: the caller's.
        unsafe { guest.acquire_by(acquire) };
        true
    });
}

/// As [`takes_turns`], in a crowd: the first thread keeps the lock until all others have
/// come, and the one that has it lets them go on first.
pub fn queues<L: RawLock + 'static, const THREADS: usize>(rounds: [u64; THREADS]) {
    queues_behind::<L, THREADS>(0, rounds);
}

/// The same, with another thread that keeps the lock first: the first and the third are of one
/// cohort.
pub fn queues_behind<L: RawLock + 'static, const THREADS: usize>(
    keeper: usize,
    rounds: [u64; THREADS],
) {
    let come = AtomicU32::new(0);
    counts_each::<L>(
        THREADS,
        move |thread| rounds[thread],
        move |thread, guest| {
            if thread != keeper {
                come.fetch_add(1, Order::RELAXED);
            }
            guest.acquire();
            let mut spinner = Spinner::new();
            while thread == keeper && come.load(Order::RELAXED) < THREADS as u32 - 1 {
                spinner.turn();
            }
            yield_now();
            true
        },
    );
}

/// The second thread acquires a lock for which it has waited, and never releases it; the lock's memory
/// becomes another lock's, to which both come.
pub fn begins_where_another_was_held() {
    let lock = Kept::new(FutexHmcs::default());
    let address = &raw const *lock as usize;
    // One that the first thread has until the other lock is there, and one that the second has until
    // it has acquired the first lock.
    let turns = (Ticket::<MayPark>::new(), Ticket::<MayPark>::new());
    let shared = Arc::new((lock, turns, AtomicU32::new(0), Cell::new(0)));
    together(2, move |thread| {
        let (_lock, (made, held), stage, count) = &*shared;
        // SAFETY: it is there as long as what is shared, and rewritten where nobody uses it.
        let lock = || unsafe { &*(address as *const FutexHmcs) };
        let (made, held) = (Guest::of(made), Guest::of(held));
        let first = Guest::of(lock());
        if thread == 0 {
            made.acquire();
            first.acquire();
            stage.store(1, Order::RELAXED);
            until(stage, 2);
            yield_now();
            first.release();
            drop(first);
            held.acquire();
            // SAFETY: the other thread has acquired it, and waits for what is released next.
            unsafe { (address as *mut FutexHmcs).write(FutexHmcs::default()) };
            held.release();
            made.release();
        } else {
            held.acquire();
            until(stage, 1);
            stage.store(2, Order::RELAXED);
            first.acquire();
            // Nothing leads to what a lock without contexts was acquired by.
            drop(first);
            held.release();
            made.acquire();
            made.release();
            stage.store(3, Order::RELAXED);
        }
        let guest = Guest::of(lock());
        guest.acquire();
        if thread == 0 {
            until(stage, 3);
        }
        yield_now();
        add_one(count);
        guest.release();
    });
}

/// The first and the third thread, which are of one cohort, come `rounds` times each
/// while the second, of another, waits: they have the lock `most` times in a row
/// before it does.
pub fn lets_others_in<L: DetectsWaiters + 'static>(most: u64, rounds: u64) {
    // SAFETY: the holder asks.
    let has_waiters = |lock: &L, cx: &L::Context| unsafe { lock.has_waiters(cx) };
    // SAFETY: the lock acquires.
    unsafe { lets_others_in_by(most, rounds, L::acquire, has_waiters) };
}

/// The same for a lock of which something else says whether somebody waits, and which its first holder
/// acquires in that way.
///
/// # Safety
/// As [`Guest::acquire_by`].
pub unsafe fn lets_others_in_by<L: RawLock + 'static>(
    most: u64,
    rounds: u64,
    acquire: unsafe fn(&L, &L::Context),
    has_waiters: impl Fn(&L, &L::Context) -> bool + Send + Sync + 'static,
) {
    const HELD: u32 = 1;
    const WANTED: u32 = 2;
    let shared = Arc::new((
        L::default(),
        AtomicU32::new(0),
        Cell::new(false),
        Cell::new(0),
    ));
    together(3, move |thread| {
        let (lock, stage, came, row) = &*shared;
        let guest = Guest::of(lock);
        let until = |reached: &dyn Fn() -> bool| {
            let mut spinner = Spinner::new();
            while !reached() {
                spinner.turn();
            }
        };
        match thread {
            0 => {
                // SAFETY: the caller's.
                unsafe { guest.acquire_by(acquire) };
                stage.store(HELD, Order::RELAXED);
                until(&|| has_waiters(lock, guest.context()));
                stage.store(WANTED, Order::RELAXED);
                guest.release();
            }
            1 => {
                until(&|| stage.load(Order::RELAXED) >= HELD);
                guest.acquire();
                write(came, true);
                guest.release();
                return;
            }
            _ => until(&|| stage.load(Order::RELAXED) == WANTED),
        }
        for _ in 0..rounds {
            guest.acquire();
            if !read(came) {
                add_one(row);
                let row = read(row);
                assert!(row <= most, "one cohort had the lock {row} times in a row");
            }
            guest.release();
        }
    });
}

/// Each thread acquires once: the last holder has no waiters, and is told so.
pub fn tells_no_lies_about_waiters<L: DetectsWaiters + 'static>(threads: u64) {
    let shared = Arc::new((L::default(), Cell::new(0)));
    together(threads as usize, move |_| {
        let (lock, holders) = &*shared;
        let guest = Guest::of(lock);
        guest.acquire();
        add_one(holders);
        // SAFETY: the lock is held, by that context.
        let has_waiters = unsafe { lock.has_waiters(guest.context()) };
        assert!(
            !has_waiters || read(holders) < threads,
            "a lock without waiters says that it has some"
        );
        guest.release();
    });
}

/// Takes the lock, or gives up at a deadline if the thread is in a hurry; whether it has it.
fn takes<L: Abortable>(guest: &Guest<'_, L>, hurried: bool) -> bool {
    let patience = if hurried {
        Patience::until(soon())
    } else {
        Patience::ENDLESS
    };
    let outcome = guest.acquire_within(&patience);
    assert!(hurried || outcome == Outcome::Acquired);
    outcome == Outcome::Acquired
}

/// As [`excludes`], but the last `hurried` threads give up at a deadline.
pub fn lets_go<L: Abortable + 'static>(threads: usize, rounds: u64, hurried: usize) {
    counts::<L>(threads, rounds, move |thread, guest| {
        takes(guest, thread + hurried >= threads)
    });
}

/// The same, but the first thread tries.
pub fn lets_go_beside_a_try<L: Abortable + RawTry + 'static>(
    threads: usize,
    rounds: u64,
    hurried: usize,
) {
    counts::<L>(threads, rounds, move |thread, guest| {
        if thread == 0 {
            return guest.try_acquire();
        }
        takes(guest, thread + hurried >= threads)
    });
}

/// A thread has tried to hand the lock over, and nobody stays, when another one forks: in the child its
/// context, which may be a cohort's, is used for another acquisition.
pub fn begins_anew_after_a_fork<L: Abortable + HandsOver + Inherit + 'static>() {
    together(1, |_| {
        let lock = L::default();
        let first = Kept::new(L::Context::default());
        let second = Guest::of(&lock);
        // SAFETY: both contexts stay where they are, and each is used for one acquisition at a time: the
        // first ends with what the child forgets, which has nobody else.
        unsafe {
            lock.acquire(&first);
            let outcome = second.acquire_within(&Patience::NONE);
            assert!(outcome == Outcome::GaveUp, "the lock was held");
            let handed = lock.hand_over(&first, 1);
            assert!(handed == HandOver::Kept, "no waiter stays");
            lock.inherit(None);
            lock.acquire(&first);
            lock.release(&first);
        }
        assert!(!lock.is_locked(), "the lock is left held");
    });
}

/// All others come while the first thread has the lock, and give up at a deadline: nothing of
/// them is left.
pub fn all_let_go<L: Abortable + 'static>(threads: usize) {
    let shared = Arc::new((L::default(), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |thread| {
        let (lock, stage) = &*theirs;
        let guest = Guest::of(lock);
        if thread > 0 {
            until(stage, 1);
            let outcome = guest.acquire_within(&Patience::until(soon()));
            assert!(outcome == Outcome::GaveUp, "the lock was held");
            stage.fetch_add(1, Order::RELAXED);
            return;
        }
        guest.acquire();
        stage.fetch_add(1, Order::RELAXED);
        until(stage, threads as u32);
        guest.release();
    });
    if ended.is_some() {
        assert!(!shared.0.is_locked(), "the lock is left held");
    }
}

/// Waits until threads have come that far.
fn until(stage: &AtomicU32, reached: u32) {
    let mut spinner = Spinner::new();
    while stage.load(Order::RELAXED) < reached {
        spinner.turn();
    }
}

/// The first thread has the lock, ends the others' waits, and lets go when they have gone: they see
/// what it did before.
pub fn is_cancelled<L: Abortable + 'static>(threads: usize) {
    let shared = Arc::new((
        L::default(),
        Token::default(),
        AtomicU32::new(0),
        Cell::new(0),
    ));
    together(threads, move |thread| {
        let (lock, token, stage, reason) = &*shared;
        let guest = Guest::of(lock);
        if thread > 0 {
            until(stage, 1);
            let outcome = guest.acquire_within(&Patience::ENDLESS.unless(token));
            assert!(outcome == Outcome::GaveUp, "the lock was held");
            assert_eq!(read(reason), 1, "no reason was given");
            stage.fetch_add(1, Order::RELAXED);
            return;
        }
        guest.acquire();
        stage.fetch_add(1, Order::RELAXED);
        write(reason, 1);
        token.cancel();
        token.cancel();
        until(stage, threads as u32);
        guest.release();
    });
}

/// The second thread waits within two tokens; the first thread, which has the lock, cancels the one of
/// that number, and the other one when the wait has ended.
pub fn is_cancelled_by_either<L: Abortable + 'static>(number: usize) {
    let tokens = [Token::default(), Token::default()];
    let shared = Arc::new((L::default(), tokens, AtomicU32::new(0)));
    together(2, move |thread| {
        let (lock, tokens, stage) = &*shared;
        let guest = Guest::of(lock);
        if thread > 0 {
            until(stage, 1);
            let patience = Patience::ENDLESS.unless(&tokens[0]).unless(&tokens[1]);
            let outcome = guest.acquire_within(&patience);
            assert!(outcome == Outcome::GaveUp, "the lock was held");
            stage.fetch_add(1, Order::RELAXED);
            return;
        }
        guest.acquire();
        stage.fetch_add(1, Order::RELAXED);
        tokens[number].cancel();
        until(stage, 2);
        tokens[1 - number].cancel();
        guest.release();
    });
}

/// The first thread has the lock, lets go and ends the others' waits, `before` it lets go or
/// after: each of the others has the lock or has left it, and the first gets it again.
pub fn is_cancelled_or_granted<L: Abortable + 'static>(threads: usize, before: bool) {
    let shared = Arc::new((L::default(), Token::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let entered = together(threads, move |thread| {
        let (lock, token, count) = &*theirs;
        let guest = Guest::of(lock);
        let enter = |patience: &Patience| {
            let got = guest.acquire_within(patience) == Outcome::Acquired;
            if got {
                add_one(count);
            }
            got
        };
        if thread > 0 {
            let got = enter(&Patience::ENDLESS.unless(token));
            if got {
                guest.release();
            }
            return u64::from(got);
        }
        enter(&Patience::ENDLESS);
        if before {
            token.cancel();
            guest.release();
        } else {
            guest.release();
            token.cancel();
        }
        enter(&Patience::ENDLESS);
        guest.release();
        2
    });
    if let Some(entered) = entered {
        let all: u64 = entered.iter().sum();
        assert_eq!(read(&shared.2), all, "an acquisition was lost");
        assert!(!shared.0.is_locked(), "the lock is left held");
    }
}

/// The first thread has the lock and ends the second's wait, which has a deadline too, and lets go:
/// whichever ends the wait, nothing is lost, and the token is as it was or cancelled.
pub fn is_cancelled_or_late<L: Abortable + 'static>() {
    let shared = Arc::new((L::default(), Token::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let entered = together(2, move |thread| {
        let (lock, token, count) = &*theirs;
        let guest = Guest::of(lock);
        let patience = if thread == 0 {
            Patience::ENDLESS
        } else {
            Patience::until(soon()).unless(token)
        };
        let got = guest.acquire_within(&patience) == Outcome::Acquired;
        if got {
            add_one(count);
            if thread == 0 {
                token.cancel();
            }
            guest.release();
        }
        u64::from(got)
    });
    if let Some(entered) = entered {
        let (lock, token, count) = &*shared;
        assert_eq!(
            read(count),
            entered.iter().sum::<u64>(),
            "an acquisition was lost"
        );
        assert!(token.is_cancelled() && !lock.is_locked());
    }
}

/// The second thread comes while the first has the lock, gives up at a deadline, and comes back when
/// that one has gone.
pub fn comes_back_late<L: Abortable + 'static>() {
    let shared = Arc::new((L::default(), AtomicU32::new(0)));
    together(2, move |thread| {
        let (lock, stage) = &*shared;
        let guest = Guest::of(lock);
        if thread == 0 {
            guest.acquire();
            stage.store(1, Order::RELAXED);
            until(stage, 2);
        } else {
            until(stage, 1);
            let outcome = guest.acquire_within(&Patience::until(soon()));
            assert!(outcome == Outcome::GaveUp, "the lock was held");
            stage.store(2, Order::RELAXED);
            until(stage, 3);
            guest.acquire();
        }
        guest.release();
        if thread == 0 {
            stage.store(3, Order::RELAXED);
        }
    });
}

/// The second thread comes while the first has the lock and gives up at a deadline, comes back while
/// that one lets go, with as little time, and then with all of it: it gets in.
pub fn comes_back_hurried<L: Abortable + 'static>() {
    let shared = Arc::new((L::default(), AtomicU32::new(0)));
    together(2, move |thread| {
        let (lock, stage) = &*shared;
        let guest = Guest::of(lock);
        let takes = |patience: &Patience| {
            if guest.acquire_within(patience) == Outcome::Acquired {
                stage.fetch_add(1, Order::RELAXED);
                until(stage, 2);
                guest.release();
            }
        };
        if thread == 0 {
            return takes(&Patience::ENDLESS);
        }
        until(stage, 1);
        for patience in [
            Patience::until(soon()),
            Patience::until(soon()),
            Patience::ENDLESS,
        ] {
            takes(&patience);
            stage.fetch_add(1, Order::RELAXED);
        }
    });
}

/// The last `hurried` threads give up at a deadline and come back at once, for as long as it
/// takes, with the same contexts or with fresh ones: all get in.
pub fn comes_back<L: Abortable + 'static>(threads: usize, hurried: usize, fresh: bool) {
    let shared = Arc::new((L::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let entered = together(threads, move |thread| {
        let (lock, count) = &*theirs;
        let mut guest = Guest::of(lock);
        let enter = |guest: &Guest<'_, L>, patience: &Patience| {
            let got = guest.acquire_within(patience) == Outcome::Acquired;
            if got {
                add_one(count);
                guest.release();
            }
            u64::from(got)
        };
        let mut entered = 0;
        if thread + hurried >= threads {
            entered += enter(&guest, &Patience::until(soon()));
        }
        if fresh {
            drop(guest);
            guest = Guest::of(lock);
        }
        entered += enter(&guest, &Patience::ENDLESS);
        entered
    });
    if let Some(entered) = entered {
        let (lock, count) = &*shared;
        let all: u64 = entered.iter().sum();
        assert_eq!(read(count), all, "an acquisition was lost");
        assert!(all >= threads as u64, "a thread without a timeout gave up");
        assert!(!lock.is_locked(), "the lock is left held");
    }
}

/// The second thread gives up `rounds` times and then comes for as long as it takes, with one
/// context, while the first comes as often: all that have patience get in.
pub fn persists<L: Abortable + 'static>(rounds: u64) {
    counts_each::<L>(2, move |_| rounds + 1, {
        let tries = AtomicU32::new(0);
        move |thread, guest| {
            let hurried = thread == 1 && u64::from(tries.fetch_add(1, Order::RELAXED)) < rounds;
            takes(guest, hurried)
        }
    });
}

/// The second thread has the lock until the third has come and given up; the first, which is that one's
/// neighbour and has patience, gets it.
pub fn outlasts_a_neighbour<L: Abortable + 'static>() {
    let shared = Arc::new((L::default(), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(3, move |thread| {
        let (lock, stage) = &*theirs;
        let guest = Guest::of(lock);
        if thread != 1 {
            until(stage, 1);
        }
        if thread == 2 {
            let outcome = guest.acquire_within(&Patience::until(soon()));
            assert!(outcome == Outcome::GaveUp, "the lock was held");
            stage.store(2, Order::RELAXED);
            return;
        }
        guest.acquire();
        if thread == 1 {
            stage.store(1, Order::RELAXED);
            until(stage, 2);
        }
        guest.release();
    });
    if ended.is_some() {
        assert!(!shared.0.is_locked(), "the lock is left held");
    }
}

/// The first thread has the lock, the second comes behind it and gives up, and the third behind that
/// one: it gets the lock.
pub fn passes_over<L: Abortable + 'static>() {
    let shared = Arc::new((L::default(), AtomicU32::new(0)));
    together(3, move |thread| {
        let (lock, stage) = &*shared;
        let guest = Guest::of(lock);
        until(stage, thread as u32);
        if thread == 2 {
            stage.store(3, Order::RELAXED);
        }
        let patience = if thread == 1 {
            Patience::until(soon())
        } else {
            Patience::ENDLESS
        };
        let outcome = guest.acquire_within(&patience);
        if thread < 2 {
            stage.store(thread as u32 + 1, Order::RELAXED);
        }
        if outcome == Outcome::GaveUp {
            return;
        }
        if thread == 0 {
            until(stage, 3);
        }
        guest.release();
    });
}

/// The first thread has the lock while the second gives up twice with one context, the third behind
/// it or before: that one gets the lock.
pub fn leaves_twice<L: Abortable + 'static>() {
    let shared = Arc::new((L::default(), AtomicU32::new(0)));
    together(3, move |thread| {
        let (lock, stage) = &*shared;
        let guest = Guest::of(lock);
        if thread > 0 {
            until(stage, 1);
        }
        if thread == 1 {
            for _ in 0..2 {
                let outcome = guest.acquire_within(&Patience::until(soon()));
                assert!(outcome == Outcome::GaveUp, "the lock was held");
            }
            stage.store(2, Order::RELAXED);
            return;
        }
        guest.acquire();
        if thread == 0 {
            stage.store(1, Order::RELAXED);
            until(stage, 2);
        }
        guest.release();
    });
}

/// The lock is held.  The first thread comes and gives up, while the second lets the lock go, comes back
/// with the same context and lets it go to the third: that one gets it.
pub fn comes_back_meanwhile<L: Abortable<Context: Send + Sync> + 'static>() {
    let shared = Arc::new((
        L::default(),
        Kept::new(L::Context::default()),
        AtomicU32::new(0),
    ));
    // Before there are threads: loom shows no thread an older value of a word that it wrote before
    // it waited for anything.
    // SAFETY: the context is used for this acquisition, and then for the second thread's next; both it
    // and the lock are shared by all, and stay.
    unsafe { shared.0.acquire(&shared.1) };
    together(3, move |thread| {
        let (lock, first, stage) = &*shared;
        match thread {
            0 => {
                let guest = Guest::of(lock);
                if guest.acquire_within(&Patience::until(soon())) == Outcome::Acquired {
                    guest.release();
                }
            }
            1 => {
                // SAFETY: as above.
                unsafe {
                    lock.release(first);
                    lock.acquire(first);
                    stage.store(1, Order::RELAXED);
                    until(stage, 2);
                    lock.release(first);
                }
            }
            _ => {
                let guest = Guest::of(lock);
                until(stage, 1);
                stage.store(2, Order::RELAXED);
                guest.acquire();
                guest.release();
            }
        }
    });
}

/// What a context's node was used for is over, so the context uses that node again.
pub fn uses_its_node_again() {
    together(1, |_| {
        let lock = McsNb::<MayPark>::default();
        let guest = Guest::of(&lock);
        let node = || {
            guest.acquire();
            guest.release();
            std::ptr::from_ref(guest.context().current())
        };
        assert_eq!(node(), node(), "another node was made");
    });
}

/// Two wait for a lock that is held; its holder, the first thread, comes back past
/// them.  Some are in a hurry; one that is not must not be forgotten.
pub fn remembers<L: Abortable<Context: Send + Sync> + 'static>(hurried: [bool; 3]) {
    let shared = Arc::new((L::default(), Kept::new(L::Context::default())));
    // SAFETY: the context is used for this acquisition alone, which the first thread ends; both it and
    // the lock are shared by all, and stay.
    unsafe { shared.0.acquire(&shared.1) };
    together(3, move |thread| {
        let (lock, first) = &*shared;
        let guest = Guest::of(lock);
        if thread == 0 {
            yield_now();
            // SAFETY: as above.
            unsafe { lock.release(first) };
        }
        let patience = if hurried[thread] {
            Patience::until(soon())
        } else {
            Patience::ENDLESS
        };
        if guest.acquire_within(&patience) == Outcome::Acquired {
            guest.release();
        }
    });
}

/// The first thread holds two locks, and each of the others wants one of them: the thread that has
/// the one has nothing of the other.
pub fn keeps_apart<L: RawLock<Context = ()> + 'static>() {
    let shared = Arc::new([(L::default(), Cell::new(0)), (L::default(), Cell::new(0))]);
    for (lock, _) in shared.iter() {
        // SAFETY: the lock has no contexts, and stays as long as there are threads.
        unsafe { lock.acquire(&()) };
    }
    let theirs = Arc::clone(&shared);
    let ended = together(3, move |thread| {
        let mine: &[usize] = [&[0, 1][..], &[0], &[1]][thread];
        for (lock, count) in mine.iter().map(|which| &theirs[*which]) {
            // SAFETY: as above; released by this thread, or acquired before there were others.
            unsafe {
                if thread > 0 {
                    lock.acquire(&());
                }
                add_one(count);
                lock.release(&());
            }
        }
    });
    if ended.is_some() {
        for (lock, count) in shared.iter() {
            assert_eq!(read(count), 2, "an acquisition was lost");
            assert!(!lock.is_locked(), "the lock is left held");
        }
    }
}

fn counts<L: RawLock + 'static>(
    threads: usize,
    rounds: u64,
    enter: impl Fn(usize, &Guest<'_, L>) -> bool + Send + Sync + 'static,
) {
    counts_each::<L>(threads, move |_| rounds, enter);
}

fn counts_each<L: RawLock + 'static>(
    threads: usize,
    rounds: impl Fn(usize) -> u64 + Send + Sync + 'static,
    enter: impl Fn(usize, &Guest<'_, L>) -> bool + Send + Sync + 'static,
) {
    let shared = Arc::new((L::default(), Cell::new(0)));
    let theirs = Arc::clone(&shared);
    let entered = together(threads, move |thread| {
        let (lock, count) = &*theirs;
        let guest = Guest::of(lock);
        let mut entered = 0;
        for _ in 0..rounds(thread) {
            if enter(thread, &guest) {
                add_one(count);
                entered += 1;
                guest.release();
            }
        }
        entered
    });
    if let Some(entered) = entered {
        assert_eq!(
            read(&shared.1),
            entered.iter().sum::<u64>(),
            "an acquisition was lost or counted twice"
        );
        assert!(!shared.0.is_locked(), "the lock is left held");
    }
}
