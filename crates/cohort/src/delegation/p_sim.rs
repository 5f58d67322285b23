//! `p-sim`: a thread announces an operation; it and the others with announced ones apply all of them,
//! each thread to a copy of the data, and one of the copies becomes the data (Fatourou and Kallimanis
//! 2011; Zhang et al. 2017 §2.2).
//!
//! No thread waits for another: an operation is done after two attempts of its own thread, wherever the
//! others have stopped.  For that several threads may run one operation at the same time, each on
//! a copy of its own, and all but one of them in vain.  So this is a type of its own and no
//! [`Delegate`](cohort_raw::Delegate), which runs each section once.
//!
//! **Not for** data of more than some words, since each attempt copies all of it; for operations that do
//! anything but change their copy; nor for threads that would rather sleep than work in vain.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `now` | the number of the record that is the data, in the lowest eight bits; above, how often the data was replaced | a thread, at the end of an attempt, by an exchange |
//! | `called` | a bit for each seat, which changes when its thread announces an operation | that thread |
//! | `taken` | a bit for each seat that a thread has | that thread |
//! | a call's `operation`, `argument` | the last operation that the seat's thread has announced | that thread, before it changes its bit |
//! | a record's `state` | the data | the thread of its seat, while the record is not `now` |
//! | a record's `applied` | `called` as it was when the record was made: a bit that differs by now stands for an operation announced since | the same |
//! | a record's `answers`, `broke` | for each seat the answer of its last operation, and a bit if that panicked | the same |
//!
//! **An attempt** copies the record that is `now`, applies all operations that have been announced since,
//! each after a look whether `now` is as it was, and writes the result into a record of its own seat: that has two,
//! one of which is not `now`.  Then an exchange makes that record `now`, if no other thread was first.
//! All that is copied is made of relaxed atoms, since others may write it meanwhile: then `now` has
//! changed, and the copy is used for nothing.
//!
//! **Two attempts are enough.**  If both fail, another thread replaced the data during each.  The attempt
//! that did so during the second began after the first replacement, and so after the
//! announcement: it has looked at `called` since then, and has applied the operation unless that was
//! done before.
//!
//! **An answer** is read from a record that may be written again meanwhile.  A thread that does so copies
//! from a record which was `now` later, and has the same answer: it changes only when its seat's thread
//! announces the next operation, and that thread is the one that reads.
//!
//! | the paper | here |
//! |---|---|
//! | a thread adds one to a counter for its index, for good | it takes a seat and gives it back; there are as many as the type says, at most 64 |
//! | an operation is anything that the threads have agreed on | a function and an argument, with nothing to drop and nothing borrowed; both are copied while they may change, which Rust allows of atoms alone, so that closures are left out |
//! | a thread that has announced backs off for a time that it adapts, so that others announce too | it does not |
//! | a thread writes its records in turn | it writes the one that is not `now`; both may be written again once they are not |
//! | an operation ends | it may panic: its copy is dropped, the others go on, and its own thread is told |
//!
//! A child of a fork goes on, wherever its parent's other threads were.  Their seats
//! stay taken, and the operations that they had announced are applied in both processes.

use crate::door::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Order, caught, fence, fence_after_update, flaws,
    mutant, orders,
};
use crate::padded::{CachePadded, LinePadded};
use core::convert::identity;
use core::fmt;
use core::{array, mem};

orders! {
    /// An operation is seen with its announcement.
    PSIM_CALL = Release;
    /// Sees it.
    PSIM_CALLED = Acquire;
    /// An announcement comes before its thread's look at `now`, and a look at `now` before that at the
    /// announcements: if two threads replace the data one after the other behind an announcement, the
    /// second has seen it.
    PSIM_LOOK = SeqCst;
    /// A copy comes before the look whether `now` is still as it was.
    PSIM_STILL = Acquire;
    /// A thread that copies a part of the next operation sees that the one before is done.
    PSIM_AGAIN = Release;
    /// A record is seen whole.
    PSIM_REPLACE = Release;
    /// An answer is seen.
    PSIM_ANSWER = Acquire;
    /// The next thread of a seat sees its records and its bit as they are.
    PSIM_LEAVE = Release;
    /// Sees it.
    PSIM_TAKE = Acquire;
}

flaws! {
    /// A thread makes one attempt.
    ONE_ATTEMPT = "p-sim.one-attempt";
    /// A copy is used without a look whether it was the data throughout.
    TRUST = "p-sim.trust";
    /// The data is replaced by a record that is not written yet.
    REPLACE_EARLY = "p-sim.replace-early";
    /// A record that is the data for the second time looks as it did for the first.
    KEEP_STAMP = "p-sim.keep-stamp";
    /// A thread writes its record while that is the data.
    WRITE_NOW = "p-sim.write-now";
    /// The answers to others are not taken along.
    FORGET_ANSWERS = "p-sim.forget-answers";
    /// A thread applies its own operation alone.
    FORGET_OTHERS = "p-sim.forget-others";
    /// The changes of an operation that panicked stay.
    KEEP_BROKEN = "p-sim.keep-broken";
}

/// The part of `now` that says which record it is.
const RECORD: u64 = 0xff;

/// One replacement in `now`.
const REPLACED: u64 = RECORD + 1;

/// A value that is kept in atoms, so that a thread can copy it while another writes it.  Such a copy
/// may have parts of both values, and is not used.
///
/// Numbers are such values, `bool`, and arrays, tuples and options of them; a structure has the atoms of its
/// fields:
///
/// ```
/// use cohort::delegation::p_sim::AsAtoms;
///
/// #[derive(Clone, Copy)]
/// struct Range {
///     from: u64,
///     to: u64,
/// }
///
/// impl AsAtoms for Range {
///     type Atoms = <(u64, u64) as AsAtoms>::Atoms;
///
///     fn atoms() -> Self::Atoms {
///         <(u64, u64)>::atoms()
///     }
///
///     fn load(atoms: &Self::Atoms) -> Self {
///         let (from, to) = AsAtoms::load(atoms);
///         Self { from, to }
///     }
///
///     fn store(self, atoms: &Self::Atoms) {
///         (self.from, self.to).store(atoms);
///     }
/// }
/// ```
pub trait AsAtoms: Copy + Send + 'static {
    /// The atoms.
    type Atoms: Send + Sync;

    /// New ones, of any value.
    fn atoms() -> Self::Atoms;

    /// Reads them, in no order.  Parts may be of different values; it must not panic then.
    fn load(atoms: &Self::Atoms) -> Self;

    /// Writes them, in no order.
    fn store(self, atoms: &Self::Atoms);
}

macro_rules! words {
    ($($value:ty: $atom:ident, $from:path, $to:path;)+) => {$(
        impl AsAtoms for $value {
            type Atoms = $atom;

            fn atoms() -> $atom {
                $atom::default()
            }

            #[inline]
            fn load(atoms: &$atom) -> Self {
                $from(atoms.load(Order::RELAXED))
            }

            #[inline]
            fn store(self, atoms: &$atom) {
                atoms.store($to(self), Order::RELAXED);
            }
        }
    )+};
}

words! {
    u32: AtomicU32, identity, identity;
    u64: AtomicU64, identity, identity;
    usize: AtomicUsize, identity, identity;
    i32: AtomicU32, u32::cast_signed, i32::cast_unsigned;
    i64: AtomicU64, u64::cast_signed, i64::cast_unsigned;
    isize: AtomicUsize, usize::cast_signed, isize::cast_unsigned;
    f32: AtomicU32, f32::from_bits, f32::to_bits;
    f64: AtomicU64, f64::from_bits, f64::to_bits;
    bool: AtomicU32, is_set, u32::from;
}

const fn is_set(word: u32) -> bool {
    word != 0
}

impl AsAtoms for () {
    type Atoms = ();

    fn atoms() {}

    fn load((): &()) {}

    fn store(self, (): &()) {}
}

macro_rules! tuples {
    ($($($part:ident $at:tt),+;)+) => {$(
        impl<$($part: AsAtoms),+> AsAtoms for ($($part,)+) {
            type Atoms = ($($part::Atoms,)+);

            fn atoms() -> Self::Atoms {
                ($($part::atoms(),)+)
            }

            #[inline]
            fn load(atoms: &Self::Atoms) -> Self {
                ($($part::load(&atoms.$at),)+)
            }

            #[inline]
            fn store(self, atoms: &Self::Atoms) {
                $(self.$at.store(&atoms.$at);)+
            }
        }
    )+};
}

tuples! {
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
}

impl<A: AsAtoms, const N: usize> AsAtoms for [A; N] {
    type Atoms = [A::Atoms; N];

    fn atoms() -> Self::Atoms {
        array::from_fn(|_| A::atoms())
    }

    #[inline]
    fn load(atoms: &Self::Atoms) -> Self {
        array::from_fn(|at| A::load(&atoms[at]))
    }

    #[inline]
    fn store(self, atoms: &Self::Atoms) {
        for (part, atoms) in self.into_iter().zip(atoms) {
            part.store(atoms);
        }
    }
}

impl<A: AsAtoms> AsAtoms for Option<A> {
    type Atoms = (AtomicU32, A::Atoms);

    fn atoms() -> Self::Atoms {
        (AtomicU32::default(), A::atoms())
    }

    #[inline]
    fn load(atoms: &Self::Atoms) -> Self {
        bool::load(&atoms.0).then(|| A::load(&atoms.1))
    }

    #[inline]
    fn store(self, atoms: &Self::Atoms) {
        self.is_some().store(&atoms.0);
        if let Some(some) = self {
            some.store(&atoms.1);
        }
    }
}

/// The last operation that a seat's thread has announced.
struct Call<A: AsAtoms> {
    /// A function, as a pointer.
    operation: AtomicPtr<()>,
    argument: A::Atoms,
}

/// The data as it was at some time, is, or will perhaps be.
struct Record<T: AsAtoms, R: AsAtoms, const SEATS: usize> {
    state: T::Atoms,
    applied: AtomicU64,
    broke: AtomicU64,
    answers: [R::Atoms; SEATS],
}

/// Data that threads change together, none of which waits for another.
///
/// A thread takes a [`Seat`] and applies operations there.  An operation is a function that gets
/// the data and an argument, of type `A`, and returns an answer, of type `R`.  It may be run several times, by
/// several threads at once, on copies of the data, one of which counts: so it has to do nothing but
/// change its copy and compute its answer, and the same each time.  It captures nothing: all that it
/// needs besides the data is in the argument.
///
/// It takes memory for `SEATS` threads, 1 to 64, when it is made, with room for `SEATS` answers twice for each of
/// them, and none later.
///
/// ```
/// use cohort::delegation::PSim;
///
/// let total: PSim<u64> = PSim::new(0);
/// std::thread::scope(|scope| {
///     for by in 1..=4 {
///         let mut seat = total.seat().expect("there are sixteen");
///         scope.spawn(move || {
///             seat.apply(by, |total, by| {
///                 *total += by;
///                 *total
///             })
///         });
///     }
/// });
/// assert_eq!(total.into_inner(), 10);
/// ```
///
/// A stack that holds eight numbers at most:
///
/// ```
/// use cohort::delegation::PSim;
///
/// type Stack = (usize, [u64; 8]);
///
/// fn push((height, numbers): &mut Stack, number: Option<u64>) -> Option<u64> {
///     let (place, number) = (numbers.get_mut(*height)?, number?);
///     *place = number;
///     *height += 1;
///     Some(number)
/// }
///
/// fn pop((height, numbers): &mut Stack, _: Option<u64>) -> Option<u64> {
///     *height = height.checked_sub(1)?;
///     Some(numbers[*height])
/// }
///
/// let stack: PSim<Stack, Option<u64>, Option<u64>> = PSim::new((0, [0; 8]));
/// let mut seat = stack.seat().expect("there are sixteen");
/// assert_eq!(seat.apply(Some(7), push), Some(7));
/// assert_eq!(seat.apply(None, pop), Some(7));
/// assert_eq!(seat.apply(None, pop), None);
/// ```
///
/// An operation that borrows cannot be announced: it may be run when its thread has long gone on.
///
/// ```compile_fail,E0308
/// # use cohort::delegation::PSim;
/// let total: PSim<u64> = PSim::new(0);
/// let more = 1;
/// total.seat().unwrap().apply(0, |total, _| *total + more);
/// ```
pub struct PSim<T: AsAtoms, A: AsAtoms = u64, R: AsAtoms = u64, const SEATS: usize = 16> {
    now: CachePadded<AtomicU64>,
    called: CachePadded<AtomicU64>,
    taken: AtomicU64,
    calls: [LinePadded<Call<A>>; SEATS],
    records: [[LinePadded<Record<T, R, SEATS>>; 2]; SEATS],
}

impl<T: AsAtoms, A: AsAtoms, R: AsAtoms, const SEATS: usize> PSim<T, A, R, SEATS> {
    /// The bits of all seats.
    const ALL: u64 = {
        assert!(SEATS >= 1 && SEATS <= 64, "there are 1 to 64 seats");
        u64::MAX >> (64 - SEATS)
    };

    /// Such data, in which nobody has a seat.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self::beginning_at(value, 0)
    }

    /// The same, as if it had been replaced so often, modulo 2⁵⁶: for a test.
    #[must_use]
    pub fn beginning_at(value: T, replaced: u64) -> Self {
        let record = |_| {
            LinePadded(Record::<T, R, SEATS> {
                state: T::atoms(),
                applied: AtomicU64::new(0),
                broke: AtomicU64::new(0),
                answers: array::from_fn(|_| R::atoms()),
            })
        };
        let new = Self {
            now: CachePadded(AtomicU64::new(replaced.wrapping_mul(REPLACED))),
            called: CachePadded(AtomicU64::new(0)),
            taken: AtomicU64::new(!Self::ALL),
            calls: array::from_fn(|_| {
                LinePadded(Call {
                    operation: AtomicPtr::null(),
                    argument: A::atoms(),
                })
            }),
            records: array::from_fn(|_| array::from_fn(record)),
        };
        value.store(&new.records[0][0].0.state);
        new
    }

    /// A seat, for the calling thread or another one; none if all were taken.  Never blocks.
    #[must_use]
    pub fn seat(&self) -> Option<Seat<'_, T, A, R, SEATS>> {
        loop {
            let free = !self.taken.load(Order::RELAXED);
            if free == 0 {
                return None;
            }
            let number = free.trailing_zeros() as usize;
            let bit = 1 << number;
            if self.taken.fetch_or(bit, PSIM_TAKE) & bit == 0 {
                return Some(Seat { of: self, number });
            }
        }
    }

    /// The data, after all that was applied.
    #[must_use]
    pub fn into_inner(self) -> T {
        T::load(&self.record(self.now.0.load(Order::RELAXED)).state)
    }

    /// The record that is the data according to `now`.
    #[inline]
    fn record(&self, now: u64) -> &Record<T, R, SEATS> {
        let number = (now & RECORD) as usize;
        &self.records[number / 2][number % 2].0
    }

    /// Whether all that was copied until here is of the record that is the data according to `now`.
    #[inline]
    fn is_still(&self, now: u64) -> bool {
        fence(PSIM_STILL);
        self.now.0.load(Order::RELAXED) == now || mutant(flaw::TRUST)
    }
}

impl<T: AsAtoms, A: AsAtoms, R: AsAtoms, const SEATS: usize> fmt::Debug for PSim<T, A, R, SEATS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PSim").finish_non_exhaustive()
    }
}

/// An operation panicked; the data is as if there had been none.
///
/// ```
/// use cohort::delegation::{PSim, p_sim::Panicked};
///
/// let ratio: PSim<u64> = PSim::new(8);
/// let mut seat = ratio.seat().expect("there are sixteen");
/// let divided = seat.apply_caught(0, |ratio, by| *ratio / by);
/// assert_eq!(divided, Err(Panicked));
/// assert_eq!(seat.apply_caught(2, |ratio, by| *ratio / by), Ok(4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panicked;

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operation panicked, in this thread or in one that applied it too")
    }
}

impl core::error::Error for Panicked {}

/// The place of one thread at such data, from which it applies operations; given back when it is dropped.
///
/// ```
/// use cohort::delegation::PSim;
///
/// let total: PSim<u64, u64, u64, 1> = PSim::new(1);
/// let seat = total.seat();
/// assert!(seat.is_some() && total.seat().is_none());
/// drop(seat);
/// assert!(total.seat().is_some());
/// ```
pub struct Seat<'a, T: AsAtoms, A: AsAtoms, R: AsAtoms, const SEATS: usize> {
    of: &'a PSim<T, A, R, SEATS>,
    number: usize,
}

impl<T: AsAtoms, A: AsAtoms, R: AsAtoms, const SEATS: usize> Seat<'_, T, A, R, SEATS> {
    /// Applies `operation` to the data, once in effect, and returns its answer (Fatourou and Kallimanis
    /// 2011).  Never blocks: at most twice it copies the data and an answer for each seat, and runs one
    /// operation of each.
    ///
    /// # Panics
    /// If the operation does, in this thread or another one.  Without this crate's feature `std` that ends
    /// the process.
    ///
    /// ```
    /// use cohort::delegation::PSim;
    ///
    /// let most: PSim<u64> = PSim::new(3);
    /// let mut seat = most.seat().expect("there are sixteen");
    /// let before = seat.apply(5, |most, new| {
    ///     let before = *most;
    ///     *most = before.max(new);
    ///     before
    /// });
    /// assert_eq!(before, 3);
    /// ```
    pub fn apply(&mut self, argument: A, operation: fn(&mut T, A) -> R) -> R {
        match self.apply_caught(argument, operation) {
            Ok(answer) => answer,
            Err(panicked) => panic!("{panicked}"),
        }
    }

    /// The same, but an operation that panics is an error, and changes nothing.
    ///
    /// # Errors
    /// The operation panicked.
    pub fn apply_caught(
        &mut self,
        argument: A,
        operation: fn(&mut T, A) -> R,
    ) -> Result<R, Panicked> {
        self.announce(argument, operation);
        let is_applied = self.attempt();
        if !is_applied && !mutant(flaw::ONE_ATTEMPT) {
            self.attempt();
        }
        let now = self.of.now.0.load(PSIM_ANSWER);
        let record = self.of.record(now);
        if record.broke.load(Order::RELAXED) & self.bit() != 0 {
            return Err(Panicked);
        }
        Ok(R::load(&record.answers[self.number]))
    }

    const fn bit(&self) -> u64 {
        1 << self.number
    }

    /// From here on every attempt applies that operation, until one succeeds.
    fn announce(&self, argument: A, operation: fn(&mut T, A) -> R) {
        let call = &self.of.calls[self.number].0;
        fence(PSIM_AGAIN);
        call.operation.store(operation as *mut (), Order::RELAXED);
        argument.store(&call.argument);
        let (called, bit) = (&self.of.called.0, self.bit());
        // No other thread changes the bit.
        if called.load(Order::RELAXED) & bit == 0 {
            called.fetch_add(bit, PSIM_CALL);
        } else {
            called.fetch_sub(bit, PSIM_CALL);
        }
        fence_after_update(PSIM_LOOK);
    }

    /// The number of the seat's record that is to be written next.
    fn next(&self, now: u64) -> u64 {
        let first = 2 * self.number as u64;
        let is_now = now & RECORD == first && !mutant(flaw::WRITE_NOW);
        first + u64::from(is_now)
    }

    /// Tries to replace the data by a copy with all that is announced; whether the operation of this
    /// seat is applied.
    fn attempt(&self) -> bool {
        let of = self.of;
        let now = of.now.0.load(Order::RELAXED);
        fence(PSIM_LOOK);
        let called = of.called.0.load(PSIM_CALLED);
        let next = self.next(now);
        let (from, to) = (of.record(now), of.record(next));
        let mut state = T::load(&from.state);
        let applied = from.applied.load(Order::RELAXED);
        let mut broke = from.broke.load(Order::RELAXED);
        for (answer, place) in from.answers.iter().zip(&to.answers) {
            if !mutant(flaw::FORGET_ANSWERS) {
                R::load(answer).store(place);
            }
        }
        let called = if mutant(flaw::FORGET_OTHERS) {
            (applied & !self.bit()) | (called & self.bit())
        } else {
            called
        };
        let mut left = applied ^ called;
        if left & self.bit() == 0 {
            return of.is_still(now);
        }
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            let bit = 1 << number;
            left &= !bit;
            let call = &of.calls[number].0;
            let operation = call.operation.load(Order::RELAXED);
            let argument = A::load(&call.argument);
            if !of.is_still(now) {
                return false;
            }
            assert!(!operation.is_null(), "a call is seen with its operation");
            // SAFETY: a pointer there is null or such a function.
            let operation = unsafe { mem::transmute::<*mut (), fn(&mut T, A) -> R>(operation) };
            let mut changed = state;
            let answer = caught(|| operation(&mut changed, argument)).ok();
            if answer.is_some() || mutant(flaw::KEEP_BROKEN) {
                state = changed;
            }
            match answer {
                Some(answer) => {
                    answer.store(&to.answers[number]);
                    broke &= !bit;
                }
                None => broke |= bit,
            }
        }
        let write = || {
            state.store(&to.state);
            to.applied.store(called, Order::RELAXED);
            to.broke.store(broke, Order::RELAXED);
        };
        let is_early = mutant(flaw::REPLACE_EARLY);
        if !is_early {
            write();
        }
        let replaced = if mutant(flaw::KEEP_STAMP) {
            now & !RECORD
        } else {
            (now & !RECORD).wrapping_add(REPLACED)
        };
        let new = replaced | next;
        let exchanged = of
            .now
            .0
            .compare_exchange(now, new, PSIM_REPLACE, Order::RELAXED);
        if is_early {
            write();
        }
        exchanged.is_ok()
    }
}

impl<T: AsAtoms, A: AsAtoms, R: AsAtoms, const SEATS: usize> Drop for Seat<'_, T, A, R, SEATS> {
    fn drop(&mut self) {
        self.of.taken.fetch_and(!self.bit(), PSIM_LEAVE);
    }
}

impl<T: AsAtoms, A: AsAtoms, R: AsAtoms, const SEATS: usize> fmt::Debug
    for Seat<'_, T, A, R, SEATS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
