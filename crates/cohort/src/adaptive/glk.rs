//! `glk`: a lock with three modes of waiting, chosen by the length of its queue and the machine's
//! load: `ticket` for short queues, `mcs` for longer ones, the default lock where threads exceed
//! CPUs (Antić et al. 2016 §3; details left open there follow the authors' release).
//!
//! `glk-plus` reads the load differently: not whether the machine has more runnable tasks than
//! CPUs, but whether this process's threads lack CPUs; see [`crowd`].  If they do, it takes the
//! mutex for any queue of two.  `glk` takes it for a long queue only, and never for four threads on
//! two CPUs.  Both leave the mutex only when the crowd is over, as in the authors' release.  A
//! short queue there is the mutex's own doing: an arrival acquires as soon as it runs.
//!
//! Waiters may sleep in each mode, and a sleeper is not a runnable task.  So a queue with more
//! threads than CPUs shows a crowd by itself, whatever the load: in the paper's `ticket` and `mcs`,
//! all of it would run.  For the same reason a crowd does not end while the mutex has nearly as
//! many waiters as there are CPUs.
//!
//! A lock that [begins anew](Adapts::begin_anew), for example as an inflated object's, begins in
//! `ticket` without statistics, in a crowd too: a lock with a short queue stays there (Antić et al.
//! 2016 §3, figure 9).
//!
//! **Not for** a lock with known use: the right one of the three saves a load and a compare.  On
//! fewer than six CPUs, `glk` itself never ends a crowd; `glk-plus` does.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `mode` | the holder, before its section | by which of `ways` the lock is acquired |
//! | `ways.samples`, `ways.queued` | the holder, before its section | the number of looks at the queue, and the sum of its lengths (holder included), in eighths |
//! | `due` | the holder, before its section | when the mode is due to be considered, after few sections too; 0: not yet set |
//! | `object` | the holder, where the lock begins anew | the address by which reports identify the lock; 0: its own |
//! | `ways` | each by its own rules | the per-mode locks; a thread queued on an inactive one notices when it acquires it |
//! | `ways.sections` | the holder | counts acquisitions, in modes with a lock that does not; `mcs` carries the count from holder to holder, and leaves it here if there is no waiter |
//!
//! A thread holds the lock if it holds a mode's low lock and then sees that this *is* the mode.  A
//! thread that acquired a low lock and finds another mode releases it and tries again.
//!
//! The mode changes only while one thread, the lock's holder, holds the low locks of both modes.
//! So a mode's own low lock guards whether it is the lock's mode: the answer cannot change while a
//! thread holds that low lock.  Work done in other modes is visible through the thread that changed
//! the mode.  Therefore no read of the mode orders anything.  The paper's figure 4 changes the mode
//! first and then acquires the new low lock: another thread may acquire that earlier, without
//! seeing previous sections.  The mode changes before the section, not after it, so a released lock
//! is not touched: the next holder may destroy it.
//!
//! The holder does not wait for the next low lock.  If a thread with a stale mode still holds it,
//! the holder keeps its mode until the next look.
//!
//! Waiters of an abandoned mode do not queue through it, which might take a time slice each.  Its
//! last holder dismisses all of them at once, and they arrive again.  The mutex has few waiters,
//! since that mode ends when threads do not exceed CPUs; each admits the next.  A waiter dismissed
//! from `ticket` still has its number, which may be drawn again after the numbers wrap.  So the
//! lock does not return to `ticket` before all of them have left.
//!
//! A mode lasts for the whole acquisition.  So any thread can release without a record of the mode,
//! and a forked child's holder finds it unchanged.
//!
//! An attempt (`try_acquire`) that finds the mode changed looks again.  A failed attempt has met a
//! holder, in its section or before it, so an attempt at a free lock never fails.

use super::Tuning;
use super::crowd;
use super::tuning::tuned;
use crate::basic::mcs::McsNode;
use crate::basic::{Mcs, Ticket};
use crate::door::{
    self, AtomicU32, AtomicU64, AtomicUsize, Change, Order, constructor, flaws, is_counted,
    keep_cpu, mutant, now, observer, policies, tries_anything, yield_now,
};
use crate::numa::FutexHmcs;
use crate::wait::MayPark;
use cohort_raw::{Adapts, Inherit, RawLock, RawTry, ThreadOblivious, standalone};
use core::fmt;
use core::marker::PhantomData;

flaws! {
    BELIEVE_MODE = "glk.believe-mode";
    ADAPT_STALE = "glk.adapt-stale";
    CHANGE_FIRST = "glk.change-first";
    TRY_FIRST = "glk.try-first";
    FORGET_MODE = "glk.forget-mode";
}

policies! {
    /// No queue counts as above `up`.
    IGNORE_UP = "glk.ignore-up";
    /// No queue counts as below `down`.
    IGNORE_DOWN = "glk.ignore-down";
    /// A lock that begins anew keeps its mode.
    KEEP_MODE = "glk.keep-mode";
}

/// The operations of a low lock of [`Glk`].
trait ModeLock: RawTry {
    /// Acquires the lock, or a place in its queue.
    fn arrive(&self, cx: &Self::Context) -> Arrival;

    /// Blocks until the lock is held from that place in its queue, and returns its number; `None`
    /// if all waiters are dismissed first.
    fn wait(&self, cx: &Self::Context, number: u32) -> Option<u32>;

    /// How many threads hold it or wait, as seen by the holder: enough for [`Mean`]'s
    /// comparisons.
    fn queue(&self, cx: &Self::Context) -> u32;

    /// Whether more than `most` threads hold it or wait, for the holder; `mean` is that of
    /// [`queue`](Self::queue).
    fn is_longer_than(&self, most: u32, cx: &Self::Context, mean: Mean) -> bool;

    /// Counts the holder's acquisition, which had that number, if the lock does not; returns the
    /// wrapping count of acquisitions.
    fn count(&self, cx: &Self::Context, number: u32, sections: &AtomicU32) -> u32;

    /// Releases it; the count passes on if it goes from holder to holder.
    ///
    /// # Safety
    /// As [`release`](RawLock::release).
    #[inline(always)]
    unsafe fn pass_on(&self, cx: &Self::Context, _sections: &AtomicU32) {
        // SAFETY: passed on.
        unsafe { self.release(cx) };
    }

    /// Whether all dismissed waiters have left; for the holder of a lock in another mode.
    fn is_deserted(&self) -> bool {
        true
    }

    /// Releases it and dismisses its waiters.
    ///
    /// # Safety
    /// As [`release`](RawLock::release).
    unsafe fn leave(&self, cx: &Self::Context);
}

/// The state of an arrival at a low lock.
struct Arrival {
    /// Whether it holds the lock.
    is_held: bool,
    /// Its number in the queue, if the lock gives numbers.
    number: u32,
}

impl Arrival {
    /// An arrival at a lock that gives no numbers.
    #[inline(always)]
    const fn unnumbered(is_held: bool) -> Self {
        Self { is_held, number: 0 }
    }
}

/// A ticket lock, and how many dismissed waiters have not left yet.
#[derive(Debug, Default)]
#[repr(C)]
struct Dismissing {
    ticket: Ticket,
    leaving: AtomicU32,
}

impl Dismissing {
    constructor! {
        fn new() -> Self {
            Self {
                ticket: Ticket::new(),
                leaving: AtomicU32::new(0),
            }
        }
    }
}

// SAFETY: the ticket lock excludes.
unsafe impl RawLock for Dismissing {
    type Context = ();

    unsafe fn acquire(&self, (): &()) {
        // SAFETY: the caller's.
        unsafe { self.ticket.acquire(&()) };
    }

    #[inline(always)]
    unsafe fn release(&self, (): &()) {
        // SAFETY: passed on.
        unsafe { self.ticket.release(&()) };
    }

    fn is_locked(&self) -> bool {
        self.ticket.is_locked()
    }
}

// SAFETY: as above.
unsafe impl RawTry for Dismissing {
    #[inline(always)]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        // SAFETY: the caller's.
        unsafe { self.ticket.try_acquire(&()) }
    }
}

// SAFETY: afterwards there is no waiter, and no thread leaves.
unsafe impl Inherit for Dismissing {
    unsafe fn inherit(&self, holder: Option<&()>) {
        self.leaving.store(0, Order::RELAXED);
        // SAFETY: passed on.
        unsafe { self.ticket.inherit(holder) };
    }
}

impl ModeLock for Dismissing {
    #[inline(always)]
    fn arrive(&self, (): &()) -> Arrival {
        let number = self.ticket.draw();
        Arrival {
            is_held: self.ticket.is_served(number),
            number,
        }
    }

    fn wait(&self, (): &(), number: u32) -> Option<u32> {
        let held = self.ticket.wait_or_go(number);
        if !held {
            self.leaving.fetch_sub(1, Order::RELAXED);
        }
        held.then_some(number)
    }

    fn queue(&self, (): &()) -> u32 {
        self.ticket.drawn()
    }

    fn is_longer_than(&self, most: u32, (): &(), _mean: Mean) -> bool {
        self.ticket.drawn() > most
    }

    /// Derived from the number: the line of `serving` may already belong to another thread.
    #[inline(always)]
    fn count(&self, (): &(), number: u32, _sections: &AtomicU32) -> u32 {
        Ticket::<MayPark>::count(number)
    }

    fn is_deserted(&self) -> bool {
        self.leaving.load(Order::RELAXED) == 0
    }

    unsafe fn leave(&self, (): &()) {
        self.ticket.dismiss(|waiters| {
            self.leaving.fetch_add(waiters, Order::RELAXED);
        });
    }
}

impl ModeLock for Mcs {
    #[inline(always)]
    fn arrive(&self, node: &McsNode) -> Arrival {
        Arrival::unnumbered(self.line_up(node))
    }

    fn wait(&self, node: &McsNode, _number: u32) -> Option<u32> {
        self.wait_or_go(node)
    }

    /// Bounded: each waiter's line is fetched from its cache, and the lock stands still meanwhile.
    fn queue(&self, node: &McsNode) -> u32 {
        self.count_up_to(LONG * tuned().up(), node)
    }

    /// Counts separately: the count of [`queue`](ModeLock::queue) ends at a few times `up`.
    fn is_longer_than(&self, most: u32, node: &McsNode, _mean: Mean) -> bool {
        Self::is_longer_than(self, most, node)
    }

    #[inline(always)]
    fn count(&self, node: &McsNode, number: u32, sections: &AtomicU32) -> u32 {
        Self::count(self, node, number, sections)
    }

    #[inline(always)]
    unsafe fn pass_on(&self, node: &McsNode, sections: &AtomicU32) {
        Self::pass_on(self, node, sections);
    }

    unsafe fn leave(&self, node: &McsNode) {
        self.dismiss(node);
    }
}

/// A mutex that counts a sample of its waiters and of its holders' sections.  The mean over a
/// period shows whether many more threads wait than there are CPUs, and little more.
///
/// The count has its own line: beside the word, each counted waiter would take that from the holder
/// twice.
#[derive(Debug, Default)]
#[repr(C)]
struct Counted {
    waiting: AtomicU32,
    futex: OnLine<FutexHmcs>,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct OnLine<L>(L);

/// One acquisition of the mutex in this many is counted; a power of two.
const COUNTED: u32 = 8;

/// The number of an uncounted acquisition, which belongs to no period.
const UNCOUNTED: u32 = 1;

impl Counted {
    constructor! {
        fn new() -> Self {
            Self {
                waiting: AtomicU32::new(0),
                futex: OnLine(FutexHmcs::new()),
            }
        }
    }
}

// SAFETY: the mutex excludes.
unsafe impl RawLock for Counted {
    type Context = ();

    unsafe fn acquire(&self, (): &()) {
        self.futex.0.acquire_untold();
    }

    unsafe fn release(&self, (): &()) {
        // SAFETY: passed on.
        unsafe { self.futex.0.release(&()) };
    }

    fn is_locked(&self) -> bool {
        self.futex.0.is_locked()
    }
}

// SAFETY: as above.
unsafe impl RawTry for Counted {
    unsafe fn try_acquire(&self, (): &()) -> bool {
        // SAFETY: the caller's.
        unsafe { self.futex.0.try_acquire(&()) }
    }
}

// SAFETY: afterwards there is no waiter.
unsafe impl Inherit for Counted {
    unsafe fn inherit(&self, holder: Option<&()>) {
        self.waiting.store(0, Order::RELAXED);
        // SAFETY: passed on.
        unsafe { self.futex.0.inherit(holder) };
    }
}

impl ModeLock for Counted {
    #[inline(always)]
    fn arrive(&self, (): &()) -> Arrival {
        Arrival {
            number: if is_counted(COUNTED) {
                COUNTED
            } else {
                UNCOUNTED
            },
            is_held: self.futex.0.acquire_untouched(),
        }
    }

    fn wait(&self, (): &(), number: u32) -> Option<u32> {
        let counted = number != UNCOUNTED;
        if counted {
            self.waiting.fetch_add(COUNTED, Order::RELAXED);
        }
        // The mutex was taken on arrival.
        self.futex.0.wait_untold();
        if counted {
            self.waiting.fetch_sub(COUNTED, Order::RELAXED);
        }
        Some(number)
    }

    fn queue(&self, (): &()) -> u32 {
        1 + self.waiting.load(Order::RELAXED)
    }

    /// By the mean: a single look is too inexact.
    fn is_longer_than(&self, most: u32, (): &(), mean: Mean) -> bool {
        mean.is_above(most)
    }

    #[inline(always)]
    fn count(&self, (): &(), number: u32, sections: &AtomicU32) -> u32 {
        if number == UNCOUNTED {
            return UNCOUNTED;
        }
        // Rounded up: the other modes count each acquisition.
        let count = (sections.load(Order::RELAXED) | (COUNTED - 1)).wrapping_add(1);
        sections.store(count, Order::RELAXED);
        count
    }

    unsafe fn leave(&self, (): &()) {
        // SAFETY: passed on.
        unsafe { self.futex.0.release(&()) };
    }
}

/// Makes the modes and their operations from the table.
macro_rules! modes {
    ($node:ident; $($mode:ident: $way:ident, $lock:ty, $name:literal, $spins:literal, $context:expr;)+) => {
        /// A mode of waiting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Mode {
            $(#[doc = concat!("As `", $name, "`.")] $mode),+
        }

        impl Mode {
            /// All modes; a lock begins in the first, whose way alone is inlined.
            pub const ALL: &[Self] = &[$(Self::$mode),+];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$mode => $name),+
                }
            }

            /// The mode as reported to observers.
            const fn told(self) -> door::Mode {
                match self {
                    $(Self::$mode => door::Mode::$mode),+
                }
            }

            /// Whether waiters should keep spinning on a contended CPU.
            const fn spins(self) -> bool {
                match self {
                    $(Self::$mode => $spins),+
                }
            }

            #[inline(always)]
            fn of(word: u32) -> Self {
                match word {
                    $(word if word == Self::$mode as u32 => Self::$mode,)+
                    _ => Self::ALL[0],
                }
            }
        }

        /// The low locks and their counts.  Apart from the mode, which every arrival and every
        /// holder reads: so an arrival does not first read the line that it then changes, and a
        /// look at the queue takes the mode from no other thread.
        #[derive(Debug, Default)]
        #[repr(C, align(64))]
        struct Ways {
            sections: AtomicU32,
            samples: AtomicU32,
            queued: AtomicU32,
            $($way: $lock,)+
        }

        impl Ways {
            constructor! {
                fn new() -> Self {
                    Self {
                        sections: AtomicU32::new(0),
                        samples: AtomicU32::new(0),
                        queued: AtomicU32::new(0),
                        $($way: <$lock>::new(),)+
                    }
                }
            }

            #[inline(always)]
            fn arrive(&self, mode: Mode, $node: &McsNode) -> Arrival {
                match mode {
                    $(Mode::$mode => self.$way.arrive($context)),+
                }
            }

            fn wait(&self, mode: Mode, $node: &McsNode, number: u32) -> Option<u32> {
                match mode {
                    $(Mode::$mode => self.$way.wait($context, number)),+
                }
            }

            /// # Safety
            /// As [`RawTry::try_acquire`].
            unsafe fn try_enter(&self, mode: Mode, $node: &McsNode) -> bool {
                match mode {
                    // SAFETY: passed on.
                    $(Mode::$mode => unsafe { self.$way.try_acquire($context) }),+
                }
            }

            /// # Safety
            /// The caller holds the low lock of that mode by that node; so for all below.
            #[inline(always)]
            unsafe fn release(&self, mode: Mode, $node: &McsNode) {
                match mode {
                    // SAFETY: passed on.
                    $(Mode::$mode => unsafe { ModeLock::pass_on(&self.$way, $context, &self.sections) }),+
                }
            }

            unsafe fn leave(&self, mode: Mode, $node: &McsNode) {
                match mode {
                    // SAFETY: passed on.
                    $(Mode::$mode => unsafe { self.$way.leave($context) }),+
                }
            }

            #[inline(always)]
            fn count(&self, mode: Mode, $node: &McsNode, number: u32) -> u32 {
                match mode {
                    $(Mode::$mode => ModeLock::count(&self.$way, $context, number, &self.sections)),+
                }
            }

            fn queue(&self, mode: Mode, $node: &McsNode) -> u32 {
                match mode {
                    $(Mode::$mode => self.$way.queue($context)),+
                }
            }

            fn is_longer_than(&self, most: u32, mode: Mode, $node: &McsNode, mean: Mean) -> bool {
                match mode {
                    $(Mode::$mode => ModeLock::is_longer_than(&self.$way, most, $context, mean)),+
                }
            }

            fn is_deserted(&self, mode: Mode) -> bool {
                match mode {
                    $(Mode::$mode => self.$way.is_deserted()),+
                }
            }

            fn is_locked(&self, mode: Mode) -> bool {
                match mode {
                    $(Mode::$mode => self.$way.is_locked()),+
                }
            }

            /// # Safety
            /// As [`Inherit::inherit`], of a lock in that mode.
            unsafe fn inherit(&self, mode: Mode, holder: Option<&McsNode>) {
                $({
                    let holder = holder.filter(|_| mode == Mode::$mode);
                    // SAFETY: passed on; the low locks of other modes are free.
                    unsafe { self.$way.inherit(holder.map(|$node| $context)) };
                })+
            }
        }
    };
}

modes! { node;
    Ticket: ticket, Dismissing, "ticket", true, { let _ = node; &() };
    Mcs: mcs, Mcs, "mcs", true, node;
    Mutex: mutex, Counted, "mutex", false, { let _ = node; &() };
}

/// The mean length of a queue: the number of looks and the sum of their counts, in eighths.
///
/// A count ends at `LONG` times `up` at least, so `up` and `down` are the only lengths comparable
/// with every mean.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    samples: u32,
    queued: u32,
}

impl Mean {
    /// Without a look.
    const NONE: Self = Self {
        samples: 0,
        queued: 0,
    };

    /// About the same mean, from fewer looks.
    const fn divided_by(self, by: u32) -> Self {
        Self {
            samples: self.samples / by,
            queued: self.queued / by,
        }
    }

    /// With one more look, which counted `queue`.
    fn after(self, queue: u32) -> Self {
        let before = if self.samples < MOST_SAMPLES {
            self
        } else {
            self.divided_by(2)
        };
        Self {
            samples: before.samples + 8,
            queued: before.queued + 8 * queue.min(LONGEST),
        }
    }

    /// The sum of as many looks at a queue of that length.
    const fn sum_of(self, length: u32) -> u64 {
        length as u64 * self.samples as u64
    }

    const fn is_above(self, length: u32) -> bool {
        self.queued as u64 > self.sum_of(length)
    }

    /// Whether it is above [`up`](super::Tuning::up).
    #[must_use]
    pub fn is_long(self) -> bool {
        self.is_above(tuned().up()) && !mutant(policy::IGNORE_UP)
    }

    /// Whether it is below [`down`](super::Tuning::down).
    #[must_use]
    pub fn is_short(self) -> bool {
        (self.queued as u64) < self.sum_of(tuned().down()) && !mutant(policy::IGNORE_DOWN)
    }
}

/// A lock's queue, for its holder.
pub struct Queue<'a> {
    mean: Mean,
    is_longer_than: &'a dyn Fn(u32) -> bool,
}

impl Queue<'_> {
    /// The mean length.
    #[must_use]
    pub const fn mean(&self) -> Mean {
        self.mean
    }

    /// Whether it has more threads than `length`.
    #[must_use]
    pub fn is_longer_than(&self, length: u32) -> bool {
        (self.is_longer_than)(length)
    }
}

impl fmt::Debug for Queue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mean.fmt(f)
    }
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = 10 * self.queued / self.samples.max(1);
        write!(f, "{}.{}", tenths / 10, tenths % 10)
    }
}

/// The reason of a mode change, in words.
struct Reason {
    /// The mean of the queue; `None` where the lock begins anew.
    mean: Option<Mean>,
    from: Mode,
    to: Mode,
    /// As [`Judge::CROWD_DECIDES`].
    crowd_decides: bool,
    /// [`up`](super::Tuning::up) and [`down`](super::Tuning::down), read before the observer is
    /// called: it may format the reason where it cannot read shared state.
    up: u32,
    down: u32,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { up, down, .. } = *self;
        let Some(mean) = self.mean else {
            return f.write_str("another object has it");
        };
        match (self.from, self.to) {
            (_, Mode::Mcs) => write!(f, "queue {mean} > {up}")?,
            (_, Mode::Mutex) if self.crowd_decides => write!(f, "queue {mean} ≥ {down}, ")?,
            (_, Mode::Mutex) => write!(f, "queue {mean} > {up}, ")?,
            (Mode::Mutex, _) => {}
            _ => write!(f, "queue {mean} < {down}")?,
        }
        match (self.from, self.to) {
            (_, Mode::Mutex) if self.crowd_decides => f.write_str("threads lack CPUs"),
            (_, Mode::Mutex) => f.write_str("threads exceed CPUs"),
            (Mode::Mutex, _) => f.write_str("CPUs suffice again"),
            _ => Ok(()),
        }
    }
}

/// The policy of a lock's mode changes.
pub trait Judge: Default + fmt::Debug + Send + Sync + 'static {
    /// In `ticket` and `mcs`, a wait of this length makes the mode due.  If waiters lack CPUs, the
    /// sections of a period take seconds.
    const LATE_NANOSECONDS: u64 = 1_000_000;

    /// The mode is also due at the first look, or end of a wait, this long after the last one.
    /// With long sections a period outlasts the load, and a wrong mode slows down each section.
    const SLOW_NANOSECONDS: u64 = 4_000_000;

    /// The same in `mutex`: leaving it takes two quiet looks at the load, and with a long queue the
    /// lock must then change from `ticket` to `mcs`.
    const CROWDED_NANOSECONDS: u64 = 1_000_000;

    /// Whether the mutex is taken for any queue that is not short while threads exceed CPUs;
    /// otherwise only for long queues.
    const CROWD_DECIDES: bool = false;

    /// The mode in which a lock begins anew; `None`: it keeps its mode and its statistics.
    const BEGINS: Option<Mode> = None;

    /// Whether threads exceed CPUs; for the holder of a lock with that queue.
    fn is_crowded(queue: &Queue<'_>) -> bool;

    /// Whether the section with that number includes a look at the queue.
    #[inline(always)]
    #[must_use]
    fn samples(section: u32) -> bool {
        // With a period of 1, all numbered sections are looked at.
        tuned().samples(section) && section != UNCOUNTED
    }

    /// Whether it also considers the mode.
    #[must_use]
    fn considers(section: u32) -> bool {
        tuned().considers(section)
    }

    /// The next mode of a lock with that queue.
    #[must_use]
    fn choose(mode: Mode, queue: &Queue<'_>) -> Mode {
        let (is_long, is_short) = (queue.mean.is_long(), queue.mean.is_short());
        let enters = if Self::CROWD_DECIDES {
            !is_short
        } else {
            is_long
        };
        match mode {
            Mode::Mutex if !Self::is_crowded(queue) => Mode::Ticket,
            Mode::Ticket | Mode::Mcs if enters && Self::is_crowded(queue) => Mode::Mutex,
            Mode::Ticket if is_long => Mode::Mcs,
            Mode::Mcs if is_short => Mode::Ticket,
            _ => mode,
        }
    }
}

/// The limit of a look that counts waiters individually, in multiples of `up`: no greater length is
/// compared with the mean.
const LONG: u32 = 4;

/// The most looks in a mean, in eighths, and the greatest count of a look: their product fits.
const MOST_SAMPLES: u32 = 1 << 15;
const LONGEST: u32 = 1 << 16;

/// Each count's limit is above the thresholds compared with it, and no sum overflows.
const _: () = {
    assert!(LONG > 1 && LONG * Tuning::LONGEST <= LONGEST);
    assert!(crowd::MOST_CPUS < LONGEST);
    assert!((MOST_SAMPLES as u64 + 8) * LONGEST as u64 <= u32::MAX as u64);
};

/// Whether the machine's runnable tasks exceed its CPUs (Antić et al. 2016 §3).
#[derive(Debug, Default)]
pub struct OfMachine;

impl Judge for OfMachine {
    const BEGINS: Option<Mode> = Some(Mode::Ticket);

    fn is_crowded(queue: &Queue<'_>) -> bool {
        crowd::is_machine_crowded(|length| queue.is_longer_than(length))
    }
}

/// Whether this process's threads lack CPUs.
#[derive(Debug, Default)]
pub struct OfProcess;

impl Judge for OfProcess {
    const BEGINS: Option<Mode> = Some(Mode::Ticket);
    const CROWD_DECIDES: bool = true;

    fn is_crowded(queue: &Queue<'_>) -> bool {
        crowd::is_process_crowded(|length| queue.is_longer_than(length))
    }
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, adaptive::Glk, adaptive::glk::Mode};
///
/// static TOTAL: Mutex<u64, Glk> = Mutex::from_raw(Glk::new(), 1);
/// *TOTAL.lock() += 1;
/// // No thread has waited yet.
/// assert_eq!(TOTAL.raw().mode(), Mode::Ticket);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Glk<J: Judge = OfMachine> {
    mode: AtomicU32,
    due: AtomicU64,
    object: AtomicUsize,
    judge: PhantomData<J>,
    ways: Ways,
}

/// A [`Glk`] that reads whether this process's threads lack CPUs.
///
/// ```
/// use cohort::{Mutex, adaptive::GlkPlus};
///
/// let total: Mutex<u64, GlkPlus> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type GlkPlus = Glk<OfProcess>;

impl<J: Judge> Glk<J> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                mode: AtomicU32::new(0),
                due: AtomicU64::new(0),
                object: AtomicUsize::new(0),
                judge: PhantomData,
                ways: Ways::new(),
            }
        }
    }

    /// The present mode.
    #[must_use]
    #[inline(always)]
    pub fn mode(&self) -> Mode {
        Mode::of(self.mode.load(Order::RELAXED))
    }

    /// Whether the caller, which holds that mode's low lock, holds the lock.
    #[inline(always)]
    fn is_mode(&self, mode: Mode) -> bool {
        self.mode() == mode || mutant(flaw::BELIEVE_MODE)
    }

    /// Acquires the lock from a place in that mode's queue, or in a later mode.
    #[inline(never)]
    fn acquire_from(&self, mut mode: Mode, mut place: Arrival, node: &McsNode) {
        loop {
            let mut began = None;
            let number = if place.is_held {
                Some(place.number)
            } else {
                self.wait_in(mode, node, place.number, &mut began)
            };
            if let Some(number) = number {
                if self.is_mode(mode) {
                    let late = began.is_some_and(|began| self.is_late(mode, began, now()));
                    // SAFETY: taken just now, by this node.
                    return unsafe { self.begin(mode, number, node, late) };
                }
                if mutant(flaw::ADAPT_STALE) {
                    self.mode.store(mode as u32, Order::RELAXED);
                }
                // SAFETY: taken just now, by this node.
                unsafe { self.ways.release(mode, node) };
            }
            mode = self.mode();
            place = self.ways.arrive(mode, node);
        }
    }

    /// Counts the beginning section, and looks at the queue now and then.
    ///
    /// # Safety
    /// As [`look`](Self::look).
    #[inline(always)]
    unsafe fn begin(&self, mode: Mode, number: u32, node: &McsNode, late: bool) {
        let count = self.ways.count(mode, node, number);
        if J::samples(count) || late {
            // SAFETY: passed on.
            unsafe { self.look(mode, node, J::considers(count), late) };
        }
    }

    /// Arrives in a mode other than the first.
    #[inline(never)]
    fn acquire_otherwise(&self, mode: Mode, node: &McsNode) {
        self.acquire_from(mode, self.ways.arrive(mode, node), node);
    }

    /// Releases in a mode other than the first.
    ///
    /// # Safety
    /// As [`release`](RawLock::release).
    #[inline(never)]
    unsafe fn release_otherwise(&self, mode: Mode, node: &McsNode) {
        // SAFETY: passed on.
        unsafe { self.ways.release(mode, node) };
    }

    /// Whether a wait in that mode from `began` until `now` makes the mode due; the caller holds
    /// the lock in that mode.
    fn is_late(&self, mode: Mode, began: u64, now: u64) -> bool {
        self.is_due(mode, now) || now - began > J::LATE_NANOSECONDS
    }

    /// Whether the mode was last considered long enough ago; for the lock's holder.
    fn is_due(&self, mode: Mode, now: u64) -> bool {
        let due = self.due.load(Order::RELAXED);
        let is_due = due != 0 && now >= due;
        if due == 0 || is_due {
            let period = if mode.spins() {
                J::SLOW_NANOSECONDS
            } else {
                J::CROWDED_NANOSECONDS
            };
            self.due.store(now.saturating_add(period), Order::RELAXED);
        }
        is_due
    }

    /// Waits in that mode, and notes when the wait `began`, if that matters.
    fn wait_in(
        &self,
        mode: Mode,
        node: &McsNode,
        number: u32,
        began: &mut Option<u64>,
    ) -> Option<u32> {
        let wait = || self.ways.wait(mode, node, number);
        let held = if mode.spins() {
            // With few threads that lack CPUs, waits are rare, and all late.
            *began = tries_anything().then(now);
            keep_cpu(true);
            let held = wait();
            keep_cpu(false);
            held
        } else {
            wait()
        };
        if held.is_some()
            && let Some(observer) = observer()
        {
            (observer.waited)(mode.told());
        }
        held
    }

    /// Looks at the queue, and considers the mode if that is due or a wait was late; then it may
    /// change.
    ///
    /// # Safety
    /// The caller has just taken the lock in that mode, by that node.
    #[cold]
    #[inline(never)]
    unsafe fn look(&self, mode: Mode, node: &McsNode, due: bool, late: bool) {
        let mean = Mean {
            samples: self.ways.samples.load(Order::RELAXED),
            queued: self.ways.queued.load(Order::RELAXED),
        };
        let mean = mean.after(self.ways.queue(mode, node));
        let queue = Queue {
            mean,
            is_longer_than: &|most| self.ways.is_longer_than(most, mode, node, mean),
        };
        // A lock dominated by one thread has no waits, hence no late ones.
        let late = late || !due && self.is_due(mode, now());
        // Only the end of the crowd ends the mutex mode; otherwise the mean continues.
        let considers = due || late && (mode.spins() || !J::is_crowded(&queue));
        let next = if considers {
            J::choose(mode, &queue)
        } else {
            mode
        };
        let changes = next != mode;
        if changes {
            // SAFETY: passed on.
            unsafe { self.change(mode, next, node) };
        }
        let kept = if changes && mode.spins() != next.spins() {
            // The mutex counts further than `mcs`, and a crowd's queue does not predict the next
            // one.
            Mean::NONE
        } else if considers {
            // An eighth stays, so that a brief change of the load weighs less.
            mean.divided_by(8)
        } else {
            mean
        };
        self.ways.samples.store(kept.samples, Order::RELAXED);
        self.ways.queued.store(kept.queued, Order::RELAXED);
        if changes {
            self.tell(mode, next, Some(mean));
        }
    }

    /// Reports a mode change, if it happened, with the mean of the queue; for the holder.
    fn tell(&self, from: Mode, to: Mode, mean: Option<Mean>) {
        if let Some(observer) = observer()
            && self.mode() == to
        {
            let (up, down) = (tuned().up(), tuned().down());
            (observer.changed)(&Change {
                lock: match self.object.load(Order::RELAXED) {
                    0 => core::ptr::from_ref(self).addr(),
                    object => object,
                },
                from: from.told(),
                to: to.told(),
                why: format_args!(
                    "{}",
                    Reason {
                        mean,
                        from,
                        to,
                        crowd_decides: J::CROWD_DECIDES,
                        up,
                        down,
                    }
                ),
            });
        }
    }

    /// Changes the mode, if the next low lock can be acquired at once.
    ///
    /// # Safety
    /// As [`look`](Self::look); the modes are different.
    unsafe fn change(&self, mode: Mode, next: Mode, node: &McsNode) {
        if mutant(flaw::CHANGE_FIRST) {
            self.mode.store(next as u32, Order::RELAXED);
            // SAFETY: as below.
            unsafe { self.ways.leave(mode, node) };
            // SAFETY: the node has just been left, and is the holder's as before.
            while !unsafe { self.try_acquire(node) } {
                yield_now();
            }
            return;
        }
        // SAFETY: no two modes of the table use the node, so it is free for the next one; it is the
        // holder's, and stays until the release.
        if !self.ways.is_deserted(next) || !unsafe { self.ways.try_enter(next, node) } {
            return;
        }
        self.mode.store(next as u32, Order::RELAXED);
        // SAFETY: the caller holds it.
        unsafe { self.ways.leave(mode, node) };
    }
}

// SAFETY: a thread that returns from an acquisition holds the low lock of a mode, which was the
// lock's mode while it held that.  The mode changes only while the lock's holder holds the low
// locks of both, so no other thread gets there before the release.  Earlier work is visible by the
// low lock's order: in this mode, or by the thread that changed the mode.
unsafe impl<J: Judge> RawLock for Glk<J> {
    type Context = McsNode;

    #[inline]
    unsafe fn acquire(&self, node: &McsNode) {
        let first = Mode::ALL[0];
        let mode = self.mode();
        if mode != first {
            return self.acquire_otherwise(mode, node);
        }
        let place = self.ways.arrive(first, node);
        if place.is_held && self.is_mode(first) {
            // SAFETY: taken just now, by this node.
            unsafe { self.begin(first, place.number, node, false) };
        } else {
            self.acquire_from(first, place, node);
        }
    }

    #[inline]
    unsafe fn release(&self, node: &McsNode) {
        let first = Mode::ALL[0];
        // SAFETY: the caller's; no other thread changes the mode meanwhile.
        unsafe {
            let mode = self.mode();
            if mode == first {
                self.ways.release(first, node);
            } else {
                self.release_otherwise(mode, node);
            }
        }
    }

    fn is_locked(&self) -> bool {
        self.ways.is_locked(self.mode())
    }
}

standalone!([J: Judge] Glk<J>: Hosted, HighLock);

impl<J: Judge> Adapts for Glk<J> {
    #[inline]
    fn is_strict(&self) -> bool {
        self.mode().spins()
    }

    fn begins_strict() -> bool {
        J::BEGINS.is_none_or(Mode::spins)
    }

    unsafe fn begin_anew(&self, node: &McsNode, object: usize) {
        let Some(first) = J::BEGINS else { return };
        // A mode change is reported for the new object: it serves that one's waiters.
        self.object.store(object, Order::RELAXED);
        let mode = self.mode();
        if mode != first && !mutant(policy::KEEP_MODE) {
            // SAFETY: the caller's.
            unsafe { self.change(mode, first, node) };
            self.tell(mode, first, None);
        }
        self.ways.samples.store(0, Order::RELAXED);
        self.ways.queued.store(0, Order::RELAXED);
        self.due.store(0, Order::RELAXED);
    }
}

// SAFETY: as `acquire`, by a try of the low lock.
unsafe impl<J: Judge> RawTry for Glk<J> {
    #[inline]
    unsafe fn try_acquire(&self, node: &McsNode) -> bool {
        loop {
            let gives_up = mutant(flaw::TRY_FIRST);
            let mode = if gives_up { Mode::ALL[0] } else { self.mode() };
            // SAFETY: the caller's.
            if unsafe { self.ways.try_enter(mode, node) } {
                if self.is_mode(mode) {
                    return true;
                }
                // SAFETY: taken just now, by this node.
                unsafe { self.ways.release(mode, node) };
            } else if self.mode() == mode {
                return false;
            }
            if gives_up {
                return false;
            }
        }
    }
}

// SAFETY: release reads and writes the lock and the node alone.
unsafe impl<J: Judge> ThreadOblivious for Glk<J> {}

// SAFETY: afterwards the low lock of the mode is the holder's or free, and all others are free.
unsafe impl<J: Judge> Inherit for Glk<J> {
    unsafe fn inherit(&self, holder: Option<&McsNode>) {
        let mode = if mutant(flaw::FORGET_MODE) {
            Mode::ALL[0]
        } else {
            self.mode()
        };
        // SAFETY: the holder's mode has not changed since it acquired the lock.
        unsafe { self.ways.inherit(mode, holder) };
    }
}

// Atoms of the other worlds live inside their runs only.
#[cfg(all(test, not(checker)))]
mod tests {
    extern crate std;

    use super::super::tuning::tune;
    use super::*;
    use std::vec::Vec;

    #[derive(Debug, Default)]
    struct Round;

    impl Judge for Round {
        fn is_crowded(_queue: &Queue<'_>) -> bool {
            false
        }

        fn samples(_section: u32) -> bool {
            true
        }

        fn considers(_section: u32) -> bool {
            true
        }

        fn choose(mode: Mode, _queue: &Queue<'_>) -> Mode {
            Mode::ALL[(mode as usize + 1) % Mode::ALL.len()]
        }
    }

    fn once(lock: &Glk<Round>) -> Mode {
        let node = McsNode::default();
        // SAFETY: the node is used for this alone, and stays for the release, as the lock does.
        unsafe {
            lock.acquire(&node);
            lock.release(&node);
        }
        lock.mode()
    }

    #[test]
    fn it_does_not_come_back_to_numbers_that_somebody_still_has() {
        let lock = Glk::<Round>::default();
        assert_eq!(once(&lock), Mode::Mcs);
        assert_eq!(once(&lock), Mode::Mutex);
        lock.ways.ticket.leaving.store(1, Order::RELAXED);
        assert_eq!(once(&lock), Mode::Mutex);
        lock.ways.ticket.leaving.store(0, Order::RELAXED);
        assert_eq!(once(&lock), Mode::Ticket);
    }

    #[test]
    fn each_change_is_told_with_its_reason() {
        use crate::door::{Observer, set_observer};
        use std::string::{String, ToString};
        use std::sync::Mutex;

        static HEARD: Mutex<Vec<(usize, String)>> = Mutex::new(Vec::new());
        static OBSERVER: Observer = Observer {
            waited: |_| (),
            changed: |change| {
                HEARD
                    .lock()
                    .unwrap()
                    .push((change.lock, change.to_string()))
            },
        };
        let lock = Glk::<Round>::default();
        set_observer(&OBSERVER);
        for _ in 0..3 {
            let _ = once(&lock);
        }
        let place = core::ptr::from_ref(&lock).addr();
        let heard = HEARD.lock().unwrap();
        // Other tests' locks report too.
        let mine = heard.iter().filter(|(lock, _)| *lock == place);
        let words = |(_, text): &(usize, String)| text.split_once(": ").unwrap().1.to_string();
        assert_eq!(
            mine.map(words).collect::<Vec<_>>(),
            [
                "ticket to mcs: queue 1.0 > 3",
                "mcs to mutex: queue 1.0 > 3, threads exceed CPUs",
                "mutex to ticket: CPUs suffice again",
            ]
        );
    }

    #[test]
    fn it_stays_where_the_next_lock_is_in_use() {
        let lock = Glk::<Round>::default();
        let passing = McsNode::default();
        // SAFETY: the node is used for this alone, and stays for the release, as the lock does.
        unsafe {
            assert!(lock.ways.mcs.try_acquire(&passing));
            assert_eq!(once(&lock), Mode::Ticket);
            lock.ways.mcs.release(&passing);
        }
        assert_eq!(once(&lock), Mode::Mcs);
    }

    #[derive(Debug, Default)]
    struct Is<const CROWDED: bool, const DECIDES: bool = false>;

    impl<const CROWDED: bool, const DECIDES: bool> Judge for Is<CROWDED, DECIDES> {
        const CROWD_DECIDES: bool = DECIDES;

        fn is_crowded(_queue: &Queue<'_>) -> bool {
            CROWDED
        }
    }

    #[test]
    fn it_begins_anew_in_ticket_whatever_the_load_is() {
        for mode in Mode::ALL {
            let lock = Glk::<Anew>::default();
            let node = McsNode::default();
            // SAFETY: the node is used for this alone, and stays for the release, as the lock does.
            unsafe {
                lock.acquire(&node);
                if *mode != Mode::Ticket {
                    lock.change(Mode::Ticket, *mode, &node);
                    lock.release(&node);
                    lock.acquire(&node);
                }
                assert_eq!(lock.mode(), *mode);
                lock.ways.samples.store(8, Order::RELAXED);
                lock.begin_anew(&node, 0x5eed);
                assert_eq!(lock.object.load(Order::RELAXED), 0x5eed);
                assert!(lock.is_locked());
                assert_eq!(lock.ways.samples.load(Order::RELAXED), 0);
                lock.release(&node);
            }
            assert!(!lock.is_locked());
            assert_eq!(lock.mode(), Mode::Ticket);
        }
        const { assert!(matches!(OfMachine::BEGINS, Some(Mode::Ticket))) }
        const { assert!(matches!(OfProcess::BEGINS, Some(Mode::Ticket))) }
        assert!(Glk::<OfMachine>::begins_strict() && Glk::<OfProcess>::begins_strict());
    }

    /// Crowded, and begins anew as the shipped locks do.
    #[derive(Debug, Default)]
    struct Anew;

    impl Judge for Anew {
        const BEGINS: Option<Mode> = OfMachine::BEGINS;

        fn is_crowded(_queue: &Queue<'_>) -> bool {
            true
        }
    }

    /// Whether that mode finds a queue of `length` threads, holder included, longer than `most`.
    fn finds_longer(mode: Mode, length: u32, most: u32) -> bool {
        let lock = Glk::<Round>::default();
        let nodes: Vec<McsNode> = (0..length).map(|_| McsNode::default()).collect();
        for node in &nodes {
            match mode {
                Mode::Mutex => lock.ways.mutex.waiting.store(length - 1, Order::RELAXED),
                Mode::Ticket | Mode::Mcs => {
                    lock.ways.arrive(mode, node);
                }
            }
        }
        let mut mean = Mean::NONE;
        for _ in 0..32 {
            mean = mean.after(lock.ways.queue(mode, &nodes[0]));
        }
        assert!(mean.is_long());
        lock.ways.is_longer_than(most, mode, &nodes[0], mean)
    }

    #[test]
    fn each_mode_counts_as_far_as_it_is_asked_to() {
        for mode in Mode::ALL {
            for most in [LONG * tuned().up(), 300] {
                assert!(!finds_longer(*mode, most, most), "{mode:?} {most}");
                assert!(finds_longer(*mode, most + 1, most), "{mode:?} {most}");
            }
        }
        let mut mean = Mean::NONE;
        for _ in 0..3 * MOST_SAMPLES {
            mean = mean.after(crowd::MOST_CPUS + 1);
        }
        assert!(mean.is_above(crowd::MOST_CPUS) && !mean.is_above(crowd::MOST_CPUS + 1));
    }

    #[test]
    fn a_period_of_one_has_no_section_without_a_number() {
        let often = Tuning {
            sample: 1,
            ..Tuning::USUAL
        };
        tune(&often);
        assert!(Is::<false>::samples(7) && !Is::<false>::samples(UNCOUNTED));
        tune(&Tuning::USUAL);
    }

    #[test]
    fn a_thread_that_was_sent_away_uses_no_turn_up() {
        let lock = Glk::<Round>::default();
        let holder = McsNode::default();
        lock.ways.arrive(Mode::Ticket, &holder);
        std::thread::scope(|scope| {
            let waits = || {
                let node = McsNode::default();
                let place = lock.ways.arrive(Mode::Ticket, &node);
                let mut began = None;
                let number = lock.wait_in(Mode::Ticket, &node, place.number, &mut began);
                assert!(began.is_some());
                (number, lock.due.load(Order::RELAXED))
            };
            let waiter = scope.spawn(waits);
            while lock.ways.queue(Mode::Ticket, &holder) < 2 {
                std::thread::yield_now();
            }
            // SAFETY: taken above.
            unsafe { lock.ways.leave(Mode::Ticket, &holder) };
            assert_eq!(waiter.join().unwrap(), (None, 0));
        });
    }

    fn of(queued: u32) -> Queue<'static> {
        Queue {
            mean: Mean { samples: 8, queued },
            is_longer_than: &|_| false,
        }
    }

    #[test]
    fn three_threads_without_cpus_take_the_mutex_and_keep_it() {
        const { assert!(OfProcess::CROWD_DECIDES) };
        let (calm, crowd) = (Is::<false, true>::choose, Is::<true, true>::choose);
        for (queued, mode, quiet, crowded) in [
            (25, Mode::Ticket, Mode::Mcs, Mode::Mutex),
            (16, Mode::Ticket, Mode::Ticket, Mode::Mutex),
            (15, Mode::Ticket, Mode::Ticket, Mode::Ticket),
            (16, Mode::Mcs, Mode::Mcs, Mode::Mutex),
            (15, Mode::Mcs, Mode::Ticket, Mode::Ticket),
            (25, Mode::Mutex, Mode::Ticket, Mode::Mutex),
            (8, Mode::Mutex, Mode::Ticket, Mode::Mutex),
        ] {
            assert_eq!(calm(mode, &of(queued)), quiet, "{mode:?} {queued}");
            assert_eq!(crowd(mode, &of(queued)), crowded, "{mode:?} {queued}");
        }
    }

    #[test]
    fn the_paper_s_thresholds() {
        let (calm, crowd) = (Is::<false>::choose, Is::<true>::choose);
        for (queued, mode, quiet, crowded) in [
            (24, Mode::Ticket, Mode::Ticket, Mode::Ticket),
            (25, Mode::Ticket, Mode::Mcs, Mode::Mutex),
            (16, Mode::Mcs, Mode::Mcs, Mode::Mcs),
            (15, Mode::Mcs, Mode::Ticket, Mode::Ticket),
            (25, Mode::Mcs, Mode::Mcs, Mode::Mutex),
            (25, Mode::Mutex, Mode::Ticket, Mode::Mutex),
            (8, Mode::Mutex, Mode::Ticket, Mode::Mutex),
        ] {
            assert_eq!(calm(mode, &of(queued)), quiet, "{mode:?} {queued}");
            assert_eq!(crowd(mode, &of(queued)), crowded, "{mode:?} {queued}");
        }
    }
}
