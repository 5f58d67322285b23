//! Counting and sampling, for `cohort profile` and `cohort top`.
//!
//! Each acquisition is counted by its lock and its site, in words of the thread's own.  Whether it
//! had to wait is what the lock's own word says when the thread comes.  Of one in [`every`](cohort::records::Records::every), at random, the clock is
//! read before it, after it, and at its release.
//!
//! Which thread waits for which, and for how long, is not written down here: the command looks at what
//! threads wait for and hold, as it does for `cohort debug`, again and again.

use super::entries::is_locked;
use super::handed;
use super::own::{Caller, Own, heard, keep_maps, open_sample};
use super::price;
use super::quick::tally;
use crate::choice::is_plain_default;
use crate::layout::{ADAPTIVE, ERRORCHECK, Mutex, NO_KIND, NORMAL, RECURSIVE, RwLock};
use crate::libc::keeping_errno;
use crate::{mutex, owner};
use cohort::RawLock;
use cohort::door::{now, random};
use cohort::records::{
    CLASSES, Chance, Count, Doing, Drawn, Draws, Hold, How, LISTED, MODES, MOST_OF, NO_SAMPLES,
    OBJECT, SAMPLES, Sample, TALLIES, Tally, WATCH_BITS, identity, mixed, places,
};
use core::cell::Cell;
use core::ffi::c_int;
use core::hint::black_box;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Of how many acquisitions one is sampled until the command says.
const AT_FIRST: u32 = 256;

/// Of so many contended acquisitions the stack of one is kept, if there is room.
const CONTENDED: u8 = 8;

/// How many places of a table are looked at.
const PROBES: usize = 24;

/// A thread's sampling: all zero at first.
#[repr(C)]
pub struct Open {
    /// Which acquisitions are sampled.
    draws: Draws,
    /// Of how many the one that is sampled now was one.
    chance: Cell<Chance>,
    /// The number of the sampled acquisition that the thread holds; 0: none.
    number: Cell<u64>,
    /// When it was granted.
    since: Cell<u64>,
    waited: Cell<u64>,
    spent: Cell<u32>,
    spent_on_stack: Cell<u32>,
    stack: Cell<u16>,
    nested: Cell<u8>,
    contended: Cell<bool>,
    /// Contended acquisitions up to the next whose stack is kept though it is not sampled.
    stack_in: Cell<u8>,
}

impl Open {
    /// Forgets what was sampled in the parent of a fork, since the stack is in the parent's records, or under an
    /// earlier watch, and when the next was to be.
    pub fn forget(&self) {
        self.number.set(0);
        self.draws.forget();
    }

    /// What is drawn by now, to [go on](Self::go_on) by later.
    pub fn set_aside(&self) -> Draws {
        self.draws.clone()
    }

    /// Goes on by what was set aside.
    pub fn go_on(&self, kept: &Draws) {
        self.draws.go_on(kept);
    }

    /// No acquisition is sampled until it goes on.
    pub fn go_far(&self) {
        self.draws.go_far();
    }

    /// Whether that is not the next one.
    #[inline(always)]
    pub fn is_far(&self) -> bool {
        self.draws.is_far()
    }

    /// One that is not sampled has passed.
    #[inline(always)]
    pub fn pass(&self) {
        self.draws.pass();
    }

    /// The number of the sampled acquisition that the thread holds; 0: none.
    #[inline(always)]
    pub fn number(&self) -> u64 {
        self.number.get()
    }

    /// Whether the thread holds that by the sampled acquisition, if there is any.
    #[inline(always)]
    fn is_of(&self, hold: &Hold) -> bool {
        let number = self.number.get();
        // One that is not sampled may have no number either.
        number != 0 && hold.number.load(Relaxed) == number
    }

    /// Whether the acquisition that begins now is to be sampled.
    #[inline(always)]
    fn is_due(&self, own: &Own) -> bool {
        if self.is_far() {
            self.pass();
            return false;
        }
        self.draw(own)
    }

    /// Whether the stack is kept of a contended acquisition that is not sampled: those that are
    /// may be too few to show where threads wait.
    #[cold]
    fn keeps_stack(&self, own: &Own) -> bool {
        let left = self.stack_in.get();
        self.stack_in
            .set(left.checked_sub(1).unwrap_or(CONTENDED - 1));
        left == 0
            && own.records().every.load(Relaxed) != NO_SAMPLES
            // The places that are left are for those that are drawn.
            && own.thread.samples.waiting() < SAMPLES as u32 / 2
    }

    /// Draws which acquisition is sampled next; whether the one that comes is.
    #[cold]
    #[inline(never)]
    fn draw(&self, own: &Own) -> bool {
        let second = (now() / 1_000_000_000) as u32;
        own.records().watch.end_if_left(own.watch, second);
        let waiting = own.thread.samples.waiting();
        let Some(chance) = self.draws.draw(every(own), waiting, random()) else {
            return false;
        };
        if self.number.get() != 0 {
            if own.holds().any(|hold| self.is_of(hold)) {
                return false;
            }
            // Another thread has unlocked it.
            own.return_stack(self.stack.get());
            self.number.set(0);
        }
        self.chance.set(chance);
        true
    }
}

/// Of how many acquisitions one is sampled; none if nobody wants any.
pub fn every(own: &Own) -> Option<u32> {
    match own.records().every.load(Relaxed) {
        0 => Some(AT_FIRST),
        NO_SAMPLES => None,
        every => Some(every.min(MOST_OF)),
    }
}

/// What a sample says of the watch that it is of.
pub fn watch_of(own: &Own) -> u8 {
    (own.watch & WATCH_BITS) as u8
}

/// A clock that is read for samples only.
#[inline(always)]
fn clock(sampled: bool) -> u64 {
    if sampled { now() } else { 0 }
}

/// The uppermost bits of a hash of a lock and a site, lowermost: as many as tallies need.
#[inline(always)]
pub fn hashed(lock: u64, site: u64) -> u64 {
    lock.wrapping_add(site << 3)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        >> (u64::BITS - TALLIES.ilog2())
}

/// Where in its own bytes a lock has its class, if there is room.
///
/// # Safety
/// The lock is one, of that sort, and not gone.
unsafe fn room<'a>(how: How, object: usize) -> Option<&'a AtomicU32> {
    // SAFETY: the caller's.
    unsafe {
        match how {
            How::Mutex => {
                let mutex = &*with_exposed_provenance::<Mutex>(object);
                match mutex.kind.load(Relaxed) & !NO_KIND {
                    NORMAL | ADAPTIVE => Some(&mutex.count),
                    RECURSIVE if is_plain_default() => Some(mutex.behind()),
                    _ => None,
                }
            }
            How::Read | How::Write => {
                let lock = &*with_exposed_provenance::<RwLock>(object);
                lock.is_word().then_some(&lock.identity)
            }
            How::Condition => None,
        }
    }
}

/// The lock's identity.
///
/// # Safety
/// As for [`room`].
#[inline(always)]
unsafe fn identify(own: &Own, how: How, object: usize) -> usize {
    // SAFETY: the caller's.
    let class = match unsafe { room(how, object) } {
        Some(room) => handed::class_of(room.load(Relaxed)),
        None => listed(own, object as u64),
    };
    identity(object as u64, class) as usize
}

/// The class that the list has for a lock; 0 if it has none.
fn listed(own: &Own, object: u64) -> u32 {
    let first = mixed(object) as usize;
    for probe in 0..PROBES {
        let known = own.records().listed[(first + probe) % LISTED].load(Relaxed);
        if known & OBJECT == object & OBJECT {
            return (known >> 48) as u32;
        }
        if known == 0 {
            break;
        }
    }
    0
}

/// Lists a lock's class.
fn list(own: &Own, object: u64, class: u32) {
    let first = mixed(object) as usize;
    for probe in 0..PROBES {
        let place = &own.records().listed[(first + probe) % LISTED];
        let mut known = place.load(Relaxed);
        if known == 0 {
            match place.compare_exchange(0, identity(object, class), Relaxed, Relaxed) {
                Ok(_) => return,
                Err(theirs) => known = theirs,
            }
        }
        if known & OBJECT == object & OBJECT {
            place.store(identity(object, class), Relaxed);
            return;
        }
    }
}

/// The class of locks that a call initialises, from 1; 0 if there is no room for it.
fn class_of(own: &Own, site: u64) -> u32 {
    let first = mixed(site) as usize;
    for probe in 0..PROBES {
        let place = (first + probe) % CLASSES;
        let known = &own.records().classes[place];
        if known.load(Relaxed) == site {
            return place as u32 + 1;
        }
        match known.compare_exchange(0, site, Relaxed, Relaxed) {
            Ok(_) => return place as u32 + 1,
            Err(theirs) if theirs == site => return place as u32 + 1,
            Err(_) => {}
        }
    }
    0
}

/// A lock has been initialised.
pub fn initialised(own: &Own, how: How, object: usize, caller: &Caller) {
    let class = class_of(own, caller.returns_to as u64);
    // SAFETY: the program's, which has just made it.
    match unsafe { room(how, object) } {
        Some(room) => room.store(class, Relaxed),
        None => list(own, object as u64, class),
    }
}

/// Whether others hold the lock, so that the thread will wait; none if nobody can tell.
///
/// # Safety
/// As for [`room`].
#[inline(always)]
unsafe fn is_taken(how: How, object: usize) -> Option<bool> {
    // SAFETY: the caller's.
    unsafe {
        match how {
            How::Mutex => {
                let mutex = &*with_exposed_provenance::<Mutex>(object);
                if is_plain_default() && mutex.kind.load(Relaxed) == NORMAL {
                    return Some(mutex.futex.is_locked());
                }
                is_taken_otherwise(mutex)
            }
            How::Read | How::Write => {
                let lock = &*with_exposed_provenance::<RwLock>(object);
                lock.is_word().then(|| match how {
                    How::Read => lock.lock.keeps_readers_out(),
                    _ => lock.lock.is_locked(),
                })
            }
            How::Condition => None,
        }
    }
}

/// The same for a mutex that the default lock does not serve, or that is not plain.
fn is_taken_otherwise(mutex: &Mutex) -> Option<bool> {
    let kind = mutex.kind.load(Relaxed) & !NO_KIND;
    if matches!(kind, RECURSIVE | ERRORCHECK) && mutex.owner.load(Relaxed) == owner::me() {
        return Some(false);
    }
    mutex::is_taken(mutex)
}

/// Counts an acquisition, where no other thread counts.
#[inline]
pub fn count(own: &Own, lock: u64, site: u64, contended: bool) {
    let tally = tally(own, lock, site);
    if tally.lock.load(Relaxed) != lock
        || tally.site.load(Relaxed) != site
        || tally.acquired.load(Relaxed) == u32::MAX
    {
        turn_over(own, tally, lock, site);
    }
    let add = |place: &AtomicU32| place.store(place.load(Relaxed) + 1, Relaxed);
    add(&tally.acquired);
    if contended {
        add(&tally.contended);
    }
}

/// Begins to count a lock and a site in the place of another, which is added to all threads' counts next time:
/// where each acquisition is another lock's, the processor has fetched its count by then, which may be with another
/// CPU, or far.
#[inline(never)]
fn turn_over(own: &Own, tally: &Tally, lock: u64, site: u64) {
    let number = own.thread.turned_over.load(Relaxed) + 1;
    own.thread.turned_over.store(number, Relaxed);
    if price::is_measured(number) {
        price::measure_turn_over(own, number, || go_over(own, tally, lock, site));
    } else {
        go_over(own, tally, lock, site);
    }
}

/// The same, uncounted.  It is one function, measured or not: code that seldom runs would have to be waited for.
#[inline(never)]
fn go_over(own: &Own, tally: &Tally, lock: u64, site: u64) {
    let next = &own.thread.tallies[TALLIES];
    let begins = match tally.take() {
        Some((known, counted)) => {
            let is_new = add_up(own, next);
            next.go_on(known, counted);
            fetch(own, known);
            is_new
        }
        None => true,
    };
    tally.go_on([lock, site], [0, 0]);
    // Where each acquisition is another lock's, all threads would want this word each time.
    if begins {
        let begun = own.records().counted.fetch_add(1, Relaxed) + 1;
        if begun.is_power_of_two() {
            keeping_errno(|| keep_maps(own.records()));
        }
    }
}

/// Adds what a tally has to all threads' counts, and leaves nothing there; whether that count is a new one.
fn add_up(own: &Own, tally: &Tally) -> bool {
    let Some(([lock, site], [acquired, contended])) = tally.take() else {
        return false;
    };
    let Some((count, is_new)) = find_count(own, lock, site) else {
        let lost = &own.records().lost_counts;
        lost.fetch_add(acquired, Relaxed);
        return false;
    };
    count.acquired.fetch_add(acquired.into(), Relaxed);
    if contended != 0 {
        count.contended.fetch_add(contended.into(), Relaxed);
    }
    is_new
}

/// Has the processor fetch what will be added to, as it goes on.
fn fetch(own: &Own, [lock, site]: [u64; 2]) {
    let place = places(lock, site).next();
    let count = place.map(|place| &own.records().counts[place]);
    #[cfg(target_arch = "x86_64")]
    if let Some(count) = count {
        // SAFETY: it changes nothing that a program sees, wherever it leads; processors without it pass it.
        unsafe {
            core::arch::asm!(
                "prefetchw byte ptr [{}]",
                in(reg) core::ptr::from_ref(count),
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = count;
}

/// Writes down what the lock has told the thread of its mode, if anything.
#[inline(always)]
fn note_mode(own: &Own, lock: u64) {
    if heard().mode.get() != 0 {
        keep_mode(own, lock);
    }
}

#[cold]
#[inline(never)]
fn keep_mode(own: &Own, lock: u64) {
    let (mode, changes) = (heard().mode.get(), heard().changes.get());
    let first = mixed(lock) as usize;
    for probe in 0..PROBES {
        let told = &own.records().modes[(first + probe) % MODES];
        let mut known = told.lock.load(Relaxed);
        if known == 0 {
            known = match told.lock.compare_exchange(0, lock, Relaxed, Relaxed) {
                Ok(_) => lock,
                Err(theirs) => theirs,
            };
        }
        if known == lock {
            if told.mode.load(Relaxed) != mode {
                told.mode.store(mode, Relaxed);
            }
            if changes != 0 {
                told.changes.fetch_add(changes, Relaxed);
            }
            return;
        }
    }
}

/// All threads' count of a lock and a site, and whether it is a new one.
fn find_count(own: &Own, lock: u64, site: u64) -> Option<(&'static Count, bool)> {
    for place in places(lock, site) {
        let count = &own.records().counts[place];
        let mut known = count.lock.load(Acquire);
        if known == 0 {
            match count.lock.compare_exchange(0, lock, AcqRel, Acquire) {
                Ok(_) => {
                    count.site.store(site, Release);
                    return Some((count, true));
                }
                Err(theirs) => known = theirs,
            }
        }
        if known == lock && count.site.load(Acquire) == site {
            return Some((count, false));
        }
    }
    None
}

/// Runs what may wait, and counts and, perhaps, samples it.  It `begin`s as the lock does where
/// nobody looks, and goes on from there by `lock`.
#[inline(always)]
pub fn locking(
    own: &Own,
    doing: Doing,
    how: How,
    object: usize,
    caller: &Caller,
    begin: impl FnOnce() -> Option<bool>,
    lock: impl FnOnce(Option<bool>) -> c_int,
) -> c_int {
    let open = open_sample();
    let sampled = open.is_due(own);
    if sampled {
        // Where the lock's bytes are with another CPU, they have to come for the lock itself, and not for
        // the records.
        // SAFETY: the program's, which is about to take it.
        let _ = black_box(unsafe { identify(own, how, object) });
    }
    let began = clock(sampled);
    // SAFETY: the program's, which is about to take it.
    let lock_id = unsafe { identify(own, how, object) };
    let site = Hold::pack(caller.returns_to as u64, how);
    let mut stack = 0;
    let mut contended = false;
    let mut recorded = clock(sampled);
    // Nothing is between the two: so long does it take to read the clock.
    let mut goes = clock(sampled);
    let read = goes - recorded;
    let mut spent = recorded - began;
    let granted;
    let mut locked = 0;
    match begin() {
        Some(true) => granted = clock(sampled),
        begun => {
            let tried = clock(sampled);
            let taken = match begun {
                Some(_) => Some(true),
                // SAFETY: as above.
                None => unsafe { is_taken(how, object) },
            };
            let waits = doing != Doing::Nothing && taken != Some(false);
            if waits {
                own.begins(doing, lock_id, 0, caller);
            }
            contended = waits && taken == Some(true);
            let shown = contended && (sampled || open.keeps_stack(own));
            let timed = sampled || shown;
            recorded = clock(timed);
            if sampled {
                // The clock is read once more here than where the lock was free.
                spent = (spent + recorded - tried).saturating_sub(read);
            }
            if shown {
                stack = own.lend_stack(caller);
            }
            goes = clock(timed);
            let tells = tells_its_mode();
            if tells {
                heard().begin();
            }
            let result = lock(begun);
            granted = clock(timed);
            if waits {
                own.ends();
            }
            if tells {
                note_mode(own, lock_id as u64);
            }
            if !is_locked(result) {
                own.return_stack(stack);
                return result;
            }
            if !sampled && stack != 0 {
                let shown = Sample {
                    lock: lock_id as u64,
                    site,
                    waited: granted - goes,
                    spent_on_stack: (goes - recorded) as u32,
                    stack,
                    contended,
                    ..Sample::default()
                };
                put_sample(own, &shown);
            }
            locked = result;
        }
    }
    takes(own, how, object, lock_id);
    count(own, lock_id as u64, site, contended);
    own.holds_now(lock_id, how, caller.returns_to);
    if sampled {
        open.number.set(own.thread.acquired.load(Relaxed));
        open.waited.set(granted - goes);
        open.stack.set(stack);
        open.nested
            .set((own.thread.held.load(Relaxed) - 1).min(255) as u8);
        open.contended.set(contended);
        open.spent_on_stack.set((goes - recorded) as u32);
        let now = now();
        open.spent.set((spent + now - granted) as u32);
        open.since.set(granted);
    }
    locked
}

/// Writes down that the thread has taken a lock without waiting, which is not sampled.
pub fn has_taken(own: &Own, how: How, object: usize, returns_to: usize) {
    // SAFETY: the program's, which has taken it.
    let lock = unsafe { identify(own, how, object) };
    takes(own, how, object, lock);
    let site = Hold::pack(returns_to as u64, how);
    count(own, lock as u64, site, false);
    own.holds_now(lock, how, returns_to);
}

/// The thread has a lock, known as `lock`, from now on.
#[inline(always)]
fn takes(own: &Own, how: How, object: usize, lock: usize) {
    // SAFETY: the program's, which has taken it.
    if let Some(class) = unsafe { room(how, object) } {
        handed::takes(own, lock as u64, class);
    }
}

/// The thread is about to let go of a lock that it holds by a sampled acquisition.
fn leaves(open: &Open, how: How, object: usize, lock: usize) {
    // SAFETY: the program's, which holds it.
    if let Some(class) = unsafe { room(how, object) } {
        handed::leaves(lock as u64, class, open.chance.get());
    }
}

/// Whether the process's locks tell in which mode they are: not the default one.
#[inline(always)]
fn tells_its_mode() -> bool {
    !is_plain_default()
}

/// Unlocks, and ends the sample if the acquisition was one.
#[inline(always)]
pub fn unlocking(own: &Own, how: How, object: usize, unlock: impl FnOnce() -> c_int) -> c_int {
    let open = open_sample();
    let came = clock(open.number() != 0);
    // SAFETY: the program's, which holds it.
    let lock = unsafe { identify(own, how, object) };
    let Some(place) = own.find(lock) else {
        return unlock();
    };
    let hold = own.hold(place);
    let site = hold.site.load(Relaxed);
    let sampled = open.is_of(hold);
    let tells = tells_its_mode();
    if tells {
        heard().begin();
    }
    if !sampled {
        own.remove(place);
        let result = unlock();
        if tells {
            note_mode(own, lock as u64);
        }
        return result;
    }
    let ends = now();
    own.remove(place);
    let spent = open.spent.get() + (now() - came) as u32;
    open.number.set(0);
    // Readers share it, and one that it holds once more stays its.
    if Hold::unpack(site).1 != How::Read && own.find(lock).is_none() {
        leaves(open, how, object, lock);
    }
    let result = unlock();
    if tells {
        note_mode(own, lock as u64);
    }
    put_sample(own, &closed(open, lock, site, ends, spent));
    price::measure(own);
    result
}

/// The sample of an acquisition that ends; `spent` as [`Sample::spent`].
fn closed(open: &Open, lock: usize, site: u64, ends: u64, spent: u32) -> Sample {
    Sample {
        lock: lock as u64,
        site,
        waited: open.waited.get(),
        held: ends - open.since.get(),
        spent,
        spent_on_stack: open.spent_on_stack.get(),
        of: open.chance.get().of,
        stack: open.stack.get(),
        nested: open.nested.get(),
        contended: open.contended.get(),
        ..Sample::default()
    }
}

#[cold]
fn put_sample(own: &Own, sample: &Sample) {
    let watch = watch_of(own);
    if !put(own, Drawn::Sample(Sample { watch, ..*sample })) {
        own.return_stack(sample.stack);
        own.records().lost_samples.fetch_add(1, Relaxed);
    }
}

/// Puts that among the thread's samples; false, and it is dropped, if there is no room.
#[cold]
pub fn put(own: &Own, drawn: Drawn) -> bool {
    // SAFETY: the calling thread's own.
    unsafe { own.thread.samples.put(drawn.to_words()) }
}

/// A wait at a condition: a sampled hold of the mutex ends, and the wait is counted.
#[inline(always)]
pub fn waiting(
    own: &Own,
    doing: Doing,
    cond: usize,
    mutex: usize,
    caller: &Caller,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let open = open_sample();
    // SAFETY: the program's.
    let (cond, lock) = unsafe {
        (
            identify(own, How::Condition, cond),
            identify(own, How::Mutex, mutex),
        )
    };
    if let Some(place) = own.find(lock)
        && open.is_of(own.hold(place))
    {
        let site = own.hold(place).site.load(Relaxed);
        open.number.set(0);
        // Its release is another's, of which nothing is measured.
        put_sample(own, &closed(open, lock, site, now(), 0));
        leaves(open, How::Mutex, mutex, lock);
    }
    let sampled = open.is_due(own);
    own.begins(doing, cond, lock, caller);
    let began = clock(sampled);
    let result = wait();
    let waited = clock(sampled) - began;
    own.ends();
    takes(own, How::Mutex, mutex, lock);
    let site = Hold::pack(caller.returns_to as u64, How::Condition);
    count(own, cond as u64, site, false);
    if sampled {
        let sample = Sample {
            lock: cond as u64,
            site,
            waited,
            of: open.chance.get().of,
            ..Sample::default()
        };
        put_sample(own, &sample);
    }
    result
}
