//! `p-sim`: threads announce operations. Each thread with an announced operation applies all of
//! them to its copy of the data, and one of the copies becomes the data (Fatourou and Kallimanis
//! 2011; Zhang et al. 2017 §2.2).
//!
//! Wait-free: an operation is done after two attempts of its own thread, wherever other threads
//! have stopped. Therefore several threads may run one operation at the same time, each on its own
//! copy, and all but one in vain. So this is a type of its own and not a
//! [`Delegate`](cohort_raw::Delegate), which runs each section once.
//!
//! **Not for** data of more than a few words, since each attempt copies all of it. Nor for
//! operations with effects beyond their copy, nor for threads that should sleep rather than work in
//! vain.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `now` | in the lowest eight bits, the number of the record that is the data; above, the count of replacements | a thread, at the end of an attempt, by an exchange |
//! | `called` | a bit for each seat, flipped by each announcement | the seat's thread |
//! | `taken` | a bit for each occupied seat | the seat's thread |
//! | a call's `operation`, `argument` | the seat's last announced operation | the seat's thread, before it flips its bit |
//! | a record's `state` | the data | the seat's thread, while the record is not `now` |
//! | a record's `applied` | `called` at the time of the record: a bit that differs now marks a later announcement | the same |
//! | a record's `answers`, `broke` | for each seat the answer of its last operation, and a bit if that panicked | the same |
//!
//! **An attempt** copies the record that is `now`, applies all operations announced since, and
//! writes the result into a record of its own seat. Before each operation it checks that `now` is
//! unchanged. Each seat has two records; at most one is `now`. A compare-exchange then makes
//! that record `now`, unless another thread was first. All copied data consists of relaxed atoms,
//! since others may write it meanwhile: then `now` has changed, and the copy is discarded.
//!
//! **Two attempts are enough.** If both fail, another thread replaced the data during each. The
//! second replacement's attempt began after the first replacement, and so after the announcement.
//! It read `called` after that, and applied the operation unless this had been done before.
//!
//! **An answer** is read from a record that may be overwritten meanwhile. The overwriting thread
//! copies from a later record, with the same answer: an answer changes only after its seat's thread
//! announces the next operation, and this thread is the reader.
//!
//! | the paper | here |
//! |---|---|
//! | a thread draws its index from a counter, for good | it takes a seat and returns it; the type sets their number, at most 64 |
//! | an operation is anything that the threads have agreed on | a function and an argument that borrow nothing and need no drop; both are copied while they may change, which Rust allows for atoms only, so closures are excluded |
//! | after an announcement a thread backs off adaptively, so that others announce too | it does not |
//! | a thread writes its records in turn | it writes its record that is not `now`; both may be overwritten once they are not |
//! | an operation ends | it may panic: its copy is dropped, the other operations proceed, and its own thread gets the error |
//!
//! A child of a fork can use the data, wherever its parent's other threads were. Their seats stay
//! occupied, and their announced operations are applied in both processes.

use crate::door::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Order, caught, fence, fence_after_update, flaws,
    mutant, orders,
};
use crate::support::padded::{CachePadded, LinePadded};
use core::convert::identity;
use core::fmt;
use core::{array, mem};

orders! {
    /// Publishes an operation with its announcement.
    PSIM_CALL = Release;
    /// Reads it.
    PSIM_CALLED = Acquire;
    /// Orders an announcement before its thread's load of `now`, and a load of `now` before the
    /// load of the announcements. If two threads replace the data after an announcement, the second
    /// has seen it.
    PSIM_LOOK = SeqCst;
    /// Orders a copy before the check that `now` is unchanged.
    PSIM_STILL = Acquire;
    /// A thread that reads a part of the next operation sees that the previous one is done.
    PSIM_AGAIN = Release;
    /// Publishes a whole record.
    PSIM_REPLACE = Release;
    /// Reads an answer.
    PSIM_ANSWER = Acquire;
    /// Publishes a seat's records and bit to its next thread.
    PSIM_LEAVE = Release;
    /// Reads them.
    PSIM_TAKE = Acquire;
}

flaws! {
    /// A thread makes one attempt.
    ONE_ATTEMPT = "p-sim.one-attempt";
    /// A copy is used without a check that it was the data throughout.
    TRUST = "p-sim.trust";
    /// The data is replaced by an unwritten record.
    REPLACE_EARLY = "p-sim.replace-early";
    /// The count of replacements stays, so a record that is the data again looks unchanged.
    KEEP_STAMP = "p-sim.keep-stamp";
    /// A thread writes its record while it is the data.
    WRITE_NOW = "p-sim.write-now";
    /// Other threads' answers are not copied.
    FORGET_ANSWERS = "p-sim.forget-answers";
    /// A thread applies only its own operation.
    FORGET_OTHERS = "p-sim.forget-others";
    /// The changes of a panicked operation stay.
    KEEP_BROKEN = "p-sim.keep-broken";
}

/// The bits of `now` with the record's number.
const RECORD: u64 = 0xff;

/// One replacement in `now`.
const REPLACED: u64 = RECORD + 1;

/// A value kept in atoms, so that a thread can copy it while another writes it. Such a copy may mix
/// both values, and is discarded.
///
/// Numbers, `bool`, and arrays, tuples and options of them are such values. A structure uses the
/// atoms of its fields:
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

    /// Creates atoms of any value.
    fn atoms() -> Self::Atoms;

    /// Reads them, in no order. The parts may be of different values; this must not panic.
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

/// The last operation announced by a seat's thread.
struct Call<A: AsAtoms> {
    /// A function, as a pointer.
    operation: AtomicPtr<()>,
    argument: A::Atoms,
}

/// A past, present or tentative state of the data.
struct Record<T: AsAtoms, R: AsAtoms, const SEATS: usize> {
    state: T::Atoms,
    applied: AtomicU64,
    broke: AtomicU64,
    answers: [R::Atoms; SEATS],
}

/// Data that threads change together, wait-free.
///
/// A thread takes a [`Seat`] and applies operations there. An operation is a function of the data
/// and an argument of type `A`, with an answer of type `R`. Several threads may run it at the same
/// time, on copies of the data; one of the copies counts. So it must be deterministic, and only
/// change its copy and compute its answer. It captures nothing: besides the data, it uses its
/// argument only.
///
/// The memory is allocated at construction, for `SEATS` threads, 1 to 64. Each thread has room for
/// 2 × `SEATS` answers.
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
/// A stack of at most eight numbers:
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
/// An operation that borrows cannot be announced: it may be run long after its thread has
/// continued.
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

    /// Creates the data, with all seats free.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self::beginning_at(value, 0)
    }

    /// Creates the data with that count of replacements, modulo 2⁵⁶; for a test.
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

    /// Takes a seat, for the calling thread or another one; none if all are taken. Never blocks.
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

    /// Returns the data, after all applied operations.
    #[must_use]
    pub fn into_inner(self) -> T {
        T::load(&self.record(self.now.0.load(Order::RELAXED)).state)
    }

    /// Returns the record that `now` makes the data.
    #[inline]
    fn record(&self, now: u64) -> &Record<T, R, SEATS> {
        let number = (now & RECORD) as usize;
        &self.records[number / 2][number % 2].0
    }

    /// Returns whether the record was the data throughout the copy, by `now`.
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

/// Error of a panicked operation, which left the data unchanged.
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
        f.write_str("an operation panicked, in this thread or in another one that applied it")
    }
}

impl core::error::Error for Panicked {}

/// One thread's seat at such data, for its operations; returned by its drop.
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
    /// Applies `operation` to the data, once in effect, and returns its answer (Fatourou and
    /// Kallimanis 2011). Wait-free: at most twice, it copies the data and the answers of all seats,
    /// and runs one operation of each seat.
    ///
    /// # Panics
    /// If the operation does, in this thread or another one. Without this crate's feature `std`,
    /// that ends the process.
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

    /// [`apply`](Self::apply), with a panicked operation as an error. Such an operation changes
    /// nothing.
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

    /// Announces the operation; the next successful attempt applies it.
    fn announce(&self, argument: A, operation: fn(&mut T, A) -> R) {
        let call = &self.of.calls[self.number].0;
        fence(PSIM_AGAIN);
        call.operation.store(operation as *mut (), Order::RELAXED);
        argument.store(&call.argument);
        let (called, bit) = (&self.of.called.0, self.bit());
        // Only this thread changes the bit.
        if called.load(Order::RELAXED) & bit == 0 {
            called.fetch_add(bit, PSIM_CALL);
        } else {
            called.fetch_sub(bit, PSIM_CALL);
        }
        fence_after_update(PSIM_LOOK);
    }

    /// The number of the seat's record to write next.
    fn next(&self, now: u64) -> u64 {
        let first = 2 * self.number as u64;
        let is_now = now & RECORD == first && !mutant(flaw::WRITE_NOW);
        first + u64::from(is_now)
    }

    /// Tries to replace the data by a copy with all announced operations applied; returns whether
    /// this seat's operation is applied.
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
