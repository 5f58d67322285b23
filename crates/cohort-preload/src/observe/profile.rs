//! Counting and timing, for `cohort profile` and `cohort top`.
//!
//! Each acquisition is counted by its lock and its site, in words of the thread's own. The lock's
//! word at the thread's arrival shows whether it has to wait. Some acquisitions are timed;
//! [`Drawing`](super::drawing::Drawing) selects them. An uncontended acquisition is drawn once the
//! thread has the lock, by its count, and its hold is timed. A contended one is drawn before it
//! waits; its wait and its hold are timed. The fast path compares its count with a number, and
//! reads no clock.
//!
//! A thread that has waited at a condition locks its mutex again. That counts as an acquisition at
//! the wait's site, beginning with the signal.
//!
//! Waits between threads are not recorded here: the command samples what threads wait for and hold,
//! as for `cohort debug`.

use super::cpu::cpu_time;
use super::own::{Caller, Own, WAS_TAKEN, drawing, heard, keep_maps};
use super::samples::{put, spacing, watch_of};
use super::taken::is_locked;
use super::tallies::{place, tally};
use super::{handed, price, turn_over};
use crate::choice::is_plain_default;
use crate::layout::{ADAPTIVE, Mutex, NO_KIND, NORMAL, RECURSIVE, RwLock};
use crate::libc::ETIMEDOUT;
use cohort::door::now;
use cohort::records::{
    CLASSES, Count, Doing, Drawn, Hold, How, LISTED, MODES, NO_SAMPLES, OBJECT, SAMPLES, Sample,
    TALLIES, Tally, Terms, Timed, What, identity, mixed, places,
};
use core::ffi::c_int;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// One in this many timed holds marks the lock for its next holder, as a power of two.
const MARKED: u8 = 2;

/// Entries of a table that a search probes.
const PROBES: usize = 24;

/// The word for a lock's class in its own bytes, if there is one.
///
/// # Safety
/// The lock is valid, of that sort, and alive.
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
            _ => None,
        }
    }
}

/// The lock's identity.
///
/// # Safety
/// As for [`room`].
#[inline(always)]
pub unsafe fn identify(own: &Own, how: How, object: usize) -> usize {
    // SAFETY: the caller's.
    let class = match unsafe { room(how, object) } {
        Some(room) => handed::class_of(room.load(Relaxed)),
        None => listed(own, object as u64),
    };
    identity(object as u64, class) as usize
}

/// The class listed for a lock; 0 if none.
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

/// The class of the locks that a call initialises, from 1; 0 if there is no room.
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

/// Records that a lock has been initialised.
pub fn initialised(own: &Own, how: How, object: usize, caller: &Caller) {
    let class = class_of(own, caller.returns_to as u64);
    // SAFETY: the program's, just initialised.
    match unsafe { room(how, object) } {
        Some(room) => room.store(class, Relaxed),
        None => list(own, object as u64, class),
    }
}

/// Counts an acquisition, in the thread's own words. Returns the tally's index if a draw is due.
#[inline]
pub fn count(own: &Own, lock: u64, site: u64, contended: bool) -> Option<usize> {
    let place = make_place(own, lock, site);
    let tally = &own.thread.tallies[place];
    let add = |count: &AtomicU32| {
        let sum = count.load(Relaxed) + 1;
        count.store(sum, Relaxed);
        sum
    };
    let acquired = add(&tally.acquired);
    if contended {
        add(&tally.contended);
    }
    drawing().is_due(place, acquired).then_some(place)
}

/// The index of the tally for a lock and a site, newly assigned if necessary.
#[inline]
fn make_place(own: &Own, lock: u64, site: u64) -> usize {
    let place = place(lock, site);
    let tally = tally(own, place);
    if tally.lock.load(Relaxed) != lock
        || tally.site.load(Relaxed) != site
        || tally.acquired.load(Relaxed) == u32::MAX
    {
        turn_over(own, tally, lock, site);
        drawing().begin(place);
    }
    place
}

/// The terms of a draw.
fn terms(own: &Own) -> Terms {
    Terms {
        spacing: spacing(own),
        now: now(),
        waiting: own.thread.samples.waiting(),
        random: drawing().random(),
    }
}

/// Draws at an acquisition that is due; see [`Drawing::come`](super::drawing::Drawing::come).
fn come(own: &Own, place: usize, count: u32) -> Option<u8> {
    let terms = terms(own);
    own.records()
        .watch
        .end_if_left(own.watch, (terms.now / 1_000_000_000) as u32);
    drawing().come(&terms, place, count)
}

/// Draws for a contended acquisition.
fn waits(own: &Own, place: usize) -> Option<u8> {
    drawing().waits(&terms(own), place)
}

/// Whether to store the stack of a contended acquisition.
fn keeps_stack(own: &Own) -> bool {
    drawing().keeps_stack()
        && own.records().spacing.load(Relaxed) != NO_SAMPLES
        // The remaining entries are reserved for durations.
        && own.thread.samples.waiting() < SAMPLES as u32 / 2
}

/// Draws whether to time the thread's last listed hold, which found the lock free.
#[cold]
#[inline(never)]
fn draw(own: &Own, place: usize) {
    let acquired = own.thread.tallies[place].acquired.load(Relaxed);
    let Some(doubled) = come(own, place, acquired) else {
        return;
    };
    // Calibration disturbs the processor's state, so the hold that follows it is not timed.
    if drawing().is_in_others() || !price::calibrate(own) {
        time_hold(own, doubled, false);
    }
}

/// Starts timing the thread's last listed hold.
fn time_hold(own: &Own, doubled: u8, contended: bool) {
    let held = own.thread.held.load(Relaxed) as usize;
    if let Some(hold) = held
        .checked_sub(1)
        .and_then(|last| own.records().hold(own.thread, last))
    {
        let since = now();
        let timed = Timed {
            since,
            doubled,
            contended,
        };
        hold.number.store(timed.to_word(), Relaxed);
    }
}

/// Assigns a tally to another lock and site. The displaced pair waits in a spare tally, and is
/// added to all threads' counts at the next displacement. By then the processor has fetched its
/// count, which may be in another CPU's cache or in remote memory.
#[inline(never)]
fn turn_over(own: &Own, tally: &Tally, lock: u64, site: u64) {
    let number = own.thread.turned_over.load(Relaxed) + 1;
    own.thread.turned_over.store(number, Relaxed);
    if turn_over::is_measured(number) {
        turn_over::measure(own, number, || go_over(own, tally, lock, site));
    } else {
        go_over(own, tally, lock, site);
    }
}

/// [`turn_over`] without counting it. One function, measured or not: rarely executed code would
/// miss the instruction cache.
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
    // Counting every displacement would make all threads contend for this word.
    if begins {
        let begun = own.records().counted.fetch_add(1, Relaxed) + 1;
        if begun.is_power_of_two() {
            keep_maps(own.records());
        }
    }
}

/// Adds a tally to all threads' counts and clears it. Returns whether that count is new.
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

/// Prefetches the count of the next addition.
fn fetch(own: &Own, [lock, site]: [u64; 2]) {
    let place = places(lock, site).next();
    let count = place.map(|place| &own.records().counts[place]);
    #[cfg(target_arch = "x86_64")]
    if let Some(count) = count {
        // SAFETY: a prefetch has no visible effect at any address; processors without it ignore it.
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

/// Records the lock's mode, if the lock has reported one to the thread.
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

/// All threads' count of a lock and a site, and whether it is new.
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

/// Runs a lock operation, counts it and, if drawn, times it. It `begin`s as an unobserved operation
/// does, and continues with `lock`. `is_taken` says whether the lock is held, if known.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "three steps of one operation")]
pub fn locking(
    own: &Own,
    doing: Doing,
    how: How,
    object: usize,
    caller: &Caller,
    begin: impl FnOnce() -> Option<bool>,
    is_taken: impl FnOnce() -> Option<bool>,
    lock: impl FnOnce(Option<bool>) -> c_int,
) -> c_int {
    // SAFETY: the program's, which is about to lock it.
    let lock_id = unsafe { identify(own, how, object) };
    let site = Hold::pack(caller.returns_to as u64, how);
    let begun = begin();
    if begun == Some(true) {
        has_taken(own, how, object, caller.returns_to);
        return 0;
    }
    // Marks of sleepers can make the fast path fail although the lock is free.
    let taken = is_taken();
    let waits = doing != Doing::Nothing && taken != Some(false);
    let contended = waits && taken == Some(true);
    let tells = tells_its_mode();
    if tells {
        heard().begin();
    }
    let waited = if waits {
        wait_for(own, doing, (lock_id, site), contended, caller, || {
            lock(begun)
        })
    } else {
        let result = lock(begun);
        Waited {
            result,
            drawn: None,
        }
    };
    if tells {
        note_mode(own, lock_id as u64);
    }
    if !is_locked(waited.result) {
        return waited.result;
    }
    takes(own, how, object, lock_id);
    let due = count(own, lock_id as u64, site, contended);
    own.holds_now(lock_id, how, caller.returns_to);
    took(own, due, waits, waited.drawn, contended);
    waited.result
}

/// Result of a wait for a lock and, if timed, the sampling rate's power of two.
struct Waited {
    result: c_int,
    drawn: Option<u8>,
}

/// Waits for a lock; if drawn, times the wait and stores the stack.
fn wait_for(
    own: &Own,
    doing: Doing,
    (lock_id, site): (usize, u64),
    contended: bool,
    caller: &Caller,
    lock: impl FnOnce() -> c_int,
) -> Waited {
    own.begins(doing, Hold::unpack(site).1, lock_id, 0, caller);
    let place = make_place(own, lock_id as u64, site);
    let drawn = waits(own, place);
    let mut stack = 0;
    let mut spent_on_stack = 0;
    let shown = contended && keeps_stack(own);
    let comes = clock(drawn.is_some() || shown);
    if shown {
        // The thread may be preempted here for much longer than a copy takes.
        let began = cpu_time();
        stack = own.lend_stack(caller);
        spent_on_stack = (cpu_time() - began) as u32;
    }
    let result = lock();
    let granted = clock(drawn.is_some() || shown);
    own.ends();
    if !is_locked(result) {
        own.return_stack(stack);
        return Waited {
            result,
            drawn: None,
        };
    }
    if drawn.is_some() || stack != 0 {
        let wait = Sample {
            lock: lock_id as u64,
            site,
            what: What::Wait,
            lasted: granted - comes,
            doubled: drawn,
            spent_on_stack,
            stack,
            contended,
            ..Sample::default()
        };
        put_sample(own, &wait);
    }
    Waited { result, drawn }
}

/// The time, read only for timed operations.
#[inline(always)]
fn clock(timed: bool) -> u64 {
    if timed { now() } else { 0 }
}

/// Starts timing a hold just listed, if drawn: by the tally's index if the thread did not wait.
#[inline(always)]
fn took(own: &Own, due: Option<usize>, waited: bool, drawn: Option<u8>, contended: bool) {
    match (due, waited) {
        (Some(place), false) => draw(own, place),
        (Some(place), true) => {
            // Waits have draws of their own.
            let acquired = own.thread.tallies[place].acquired.load(Relaxed);
            let _ = come(own, place, acquired);
        }
        (None, _) => {}
    }
    if let Some(doubled) = drawn {
        time_hold(own, doubled, contended);
    }
}

/// Records that the thread has acquired a lock without waiting.
pub fn has_taken(own: &Own, how: How, object: usize, returns_to: usize) {
    // SAFETY: the program's, which has locked it.
    let lock = unsafe { identify(own, how, object) };
    takes(own, how, object, lock);
    let site = Hold::pack(returns_to as u64, how);
    let due = count(own, lock as u64, site, false);
    own.holds_now(lock, how, returns_to);
    took(own, due, false, None, false);
}

/// Continues after a hold was listed on the fast path: counts its pair unless `is_counted`, and
/// draws.
pub fn has_listed(own: &Own, lock: u64, site: u64, is_counted: bool) {
    let due = if is_counted {
        Some(place(lock, site))
    } else {
        count(own, lock, site, false)
    };
    took(own, due, false, None, false);
}

/// Records the hand-over at an acquisition of the lock with the identity `lock`.
#[inline(always)]
fn takes(own: &Own, how: How, object: usize, lock: usize) {
    // SAFETY: the program's, which has locked it.
    if let Some(class) = unsafe { room(how, object) } {
        handed::takes(own, lock as u64, class);
    }
}

/// Marks a timed hold's lock, just before its release, for its next holder.
fn leaves(how: How, object: usize, lock: usize, doubled: u8) {
    let drawing = drawing();
    if drawing.is_in_others() || drawing.random() >> (u64::BITS - u32::from(MARKED)) != 0 {
        return;
    }
    // SAFETY: the program's, which holds it.
    if let Some(class) = unsafe { room(how, object) } {
        handed::leaves(lock as u64, class, doubled + MARKED);
    }
}

/// Whether the process's locks report their modes: all but the default.
#[inline(always)]
fn tells_its_mode() -> bool {
    !is_plain_default()
}

/// Unlocks, and ends the timing of the hold.
#[inline(always)]
pub fn unlocking(own: &Own, how: How, object: usize, unlock: impl FnOnce() -> c_int) -> c_int {
    let comes = clock(is_last_timed(own));
    // SAFETY: the program's, which holds it.
    let lock = unsafe { identify(own, how, object) };
    let Some(place) = own.find(lock) else {
        return unlock();
    };
    let hold = own.hold(place);
    let site = hold.site.load(Relaxed);
    let timed = hold.number.load(Relaxed);
    let ends = if timed != 0 && comes == 0 {
        now()
    } else {
        comes
    };
    own.remove(place);
    // Readers share the lock, and a recursive mutex may remain held.
    if timed != 0 && Hold::unpack(site).1 != How::Read && own.find(lock).is_none() {
        leaves(how, object, lock, Timed::of_word(timed).doubled);
    }
    let tells = tells_its_mode();
    if tells {
        heard().begin();
    }
    let result = unlock();
    if tells {
        note_mode(own, lock as u64);
    }
    if timed != 0 {
        put_sample(own, &held(lock, site, timed, ends, place));
        price::measure(own);
    }
    result
}

/// Whether the thread's last listed hold is timed.
#[inline(always)]
fn is_last_timed(own: &Own) -> bool {
    let last = own.holds().next_back();
    last.is_some_and(|hold| hold.number.load(Relaxed) != 0)
}

/// The sample of a hold that ends, at that index among the thread's holds.
fn held(lock: usize, site: u64, timed: u64, ends: u64, place: usize) -> Sample {
    let timed = Timed::of_word(timed);
    Sample {
        lock: lock as u64,
        site,
        what: What::Hold,
        lasted: ends.saturating_sub(timed.since),
        doubled: Some(timed.doubled),
        nested: place.min(255) as u8,
        contended: timed.contended,
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

/// Waits at a condition: ends the mutex's hold, and counts the wait and the acquisition after it.
#[inline(always)]
pub fn waiting(
    own: &Own,
    doing: Doing,
    cond: usize,
    how: How,
    mutex: usize,
    caller: &Caller,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the program's.
    let (cond, lock) = unsafe {
        (
            identify(own, How::Condition, cond),
            identify(own, how, mutex),
        )
    };
    let begins = now();
    if let Some(place) = own.find(lock) {
        let hold = own.hold(place);
        let timed = hold.number.swap(0, Relaxed);
        if timed != 0 {
            let site = hold.site.load(Relaxed);
            leaves(how, mutex, lock, Timed::of_word(timed).doubled);
            put_sample(own, &held(lock, site, timed, begins, place));
        }
    }
    let site = Hold::pack(caller.returns_to as u64, How::Condition);
    let drawn = waits(own, make_place(own, cond as u64, site));
    own.begins(doing, how, cond, lock, caller);
    let result = wait();
    let granted = now();
    let told = own.thread.told.load(Acquire);
    own.ends();
    // The C library's conditions do not report the notification's time.
    let over = if told == 0 {
        granted
    } else {
        told & !WAS_TAKEN
    };
    let _ = count(own, cond as u64, site, false);
    if let Some(doubled) = drawn {
        let sample = Sample {
            lock: cond as u64,
            site,
            lasted: over.saturating_sub(begins),
            doubled: Some(doubled),
            ..Sample::default()
        };
        put_sample(own, &sample);
    }
    let knows_mutex = how != How::Condition;
    if knows_mutex && (is_locked(result) || result == ETIMEDOUT) {
        let waited = (told & WAS_TAKEN != 0).then(|| granted.saturating_sub(over));
        relocked(own, (how, mutex), lock, caller.returns_to, waited);
    }
    result
}

/// Records that the thread has reacquired a mutex after a wait at a condition; `waited` is its wait
/// for the mutex, if any.
fn relocked(
    own: &Own,
    (how, mutex): (How, usize),
    lock: usize,
    returns_to: usize,
    waited: Option<u64>,
) {
    takes(own, how, mutex, lock);
    own.lets_go(lock);
    let site = Hold::pack(returns_to as u64, how);
    let place = make_place(own, lock as u64, site);
    let drawn = waited.and_then(|_| waits(own, place));
    let due = count(own, lock as u64, site, waited.is_some());
    own.holds_now(lock, how, returns_to);
    if let (Some(doubled), Some(lasted)) = (drawn, waited) {
        let sample = Sample {
            lock: lock as u64,
            site,
            lasted,
            doubled: Some(doubled),
            contended: true,
            ..Sample::default()
        };
        put_sample(own, &sample);
    }
    took(own, due, waited.is_some(), drawn, waited.is_some());
}
