//! The catalogue of all locks.
//!
//! To add a lock, add its file and one entry in [`for_each_lock!`](crate::for_each_lock). The
//! command's list, the interposer's dispatch and all runners are generated from it.

use crate::compose::cohorting;
use crate::host::{Arena, Fat, Holding};
use cohort_raw::name::{Catalogue, Mistake, Name};
use cohort_raw::recipe::Bound;
use cohort_raw::{Able, Capability, Hosted, RawLock, Thresholds, Unable as _};
use core::fmt;

/// A lock's storage when it serves a 40-byte `pthread_mutex_t`.
///
/// ```
/// use cohort::catalogue::{Storage, find};
///
/// assert_eq!(find("mcs").unwrap().storage, Storage::InPlace);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// One word of the object is the entire lock.
    Word,
    /// In the object, with queue nodes in the arena.
    InPlace,
    /// One word at rest; inflated into the arena under contention.
    Inflated,
    /// Inflated, in the interposer's build with all compositions only: the usual build has no room
    /// left.
    Apart,
    /// Not in the interposer, since every program would carry the lock.
    Nowhere,
}

impl Storage {
    /// The word that `cohort list` prints.
    ///
    /// ```
    /// assert_eq!(cohort::catalogue::Storage::InPlace.name(), "in place");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::InPlace => "in place",
            Self::Inflated | Self::Apart => "inflated",
            Self::Nowhere => "nowhere",
        }
    }
}

/// One lock, as the command lists it.
///
/// ```
/// use cohort::{Capability, catalogue::LOCKS};
///
/// // Locks with timed waiters.
/// let mut names = LOCKS.iter().filter(|lock| lock.capabilities.contains(&Capability::Abortable));
/// assert!(names.any(|lock| lock.name == "hmcs-t-2" && lock.serves_programs()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LockInfo {
    /// The printed name.
    pub name: &'static str,
    /// Its name in [`for_each_lock!`](crate::for_each_lock), with underscores for hyphens. A macro
    /// over all locks compares it with `stringify!`.
    pub identifier: &'static str,
    /// Further names that are accepted.
    pub aliases: &'static [&'static str],
    /// A one-line description.
    pub about: &'static str,
    /// The paper and section that describe it.
    pub source: &'static str,
    /// Its capabilities.
    pub capabilities: &'static [Capability],
    /// Whether the lock itself switches its waiters between spinning and sleeping.
    pub adapts: bool,
    /// Its storage in a program's mutex.
    pub storage: Storage,
    /// Bytes of the lock itself, used raw.
    pub bytes_raw: usize,
    /// Bytes of a free mutex beyond the program's 40.
    pub bytes_idle: usize,
    /// Bytes of a contended mutex beyond the program's 40, without its waiters.
    pub bytes_contended: usize,
    /// Bytes each waiter adds.
    pub bytes_per_waiter: usize,
}

impl LockInfo {
    /// Whether the interposer can serve unmodified programs with it.
    ///
    /// ```
    /// use cohort::catalogue::find;
    ///
    /// assert!(find("mcs").unwrap().serves_programs() && !find("mcs-nb").unwrap().serves_programs());
    /// ```
    #[must_use]
    pub const fn serves_programs(&self) -> bool {
        !matches!(self.storage, Storage::Nowhere)
    }
}

/// The lock of that name or alias.
///
/// ```
/// use cohort::catalogue::find;
///
/// let lock = find("mcscr").expect("an alias is a name, too");
/// assert_eq!(lock.name, "malthusian");
/// assert!(find("no-such-lock").is_none());
/// ```
#[must_use]
pub fn find(name: &str) -> Option<&'static LockInfo> {
    place(name).map(|place| &LOCKS[place])
}

/// The index in [`LOCKS`] of the lock with that name or alias.
///
/// ```
/// use cohort::catalogue::{LOCKS, place};
///
/// assert_eq!(place("mcs").map(|place| LOCKS[place].name), Some("mcs"));
/// ```
#[must_use]
pub fn place(name: &str) -> Option<usize> {
    NAMES.place(name)
}

/// The printed name of the lock at that place of [`LOCKS`].
///
/// ```
/// use cohort::catalogue::{name, place};
///
/// assert_eq!(place("default").and_then(name), Some("futex-hmcs"));
/// ```
#[must_use]
pub fn name(place: usize) -> Option<&'static str> {
    NAMES.name(place)
}

/// Reads a lock's name; see [`cohort_raw::name`].
///
/// # Errors
/// The mistake in the name.
///
/// ```
/// use cohort::catalogue::read;
///
/// assert!(read("clof:mcs-ticket@numa,system").is_ok());
/// let mistake = read("msc").unwrap_err();
/// assert!(mistake.to_string().contains("mcs"), "{mistake}");
/// ```
pub fn read(name: &str) -> Result<Name<'_>, Mistake<'_>> {
    NAMES.read(name)
}

/// Reads the name of a lock for programs.
///
/// # Errors
/// As [`read`]; queue trees outside the catalogue are unknown.
///
/// ```
/// use cohort::catalogue::read_served;
///
/// assert!(read_served("hmcs-3").is_ok());
/// ```
pub fn read_served(name: &str) -> Result<Name<'_>, Mistake<'_>> {
    NAMES.read_served(name)
}

/// Calls a macro with each lock: its name as an identifier (underscores for hyphens), type,
/// storage, aliases, description, source and capabilities.
#[macro_export]
macro_rules! for_each_lock {
    ($callback:ident) => {
        $callback! {
            futex_hmcs, $crate::numa::FutexHmcs, Word, ["default"],
            "as futex; with several cache groups or many CPUs, waiters queue in a tree",
            "Cohort; see numa/futex_hmcs.rs",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            futex, $crate::basic::Futex, Word, [],
            "sleeping mutex: barging, bounded spinning, hand-off to starved waiters",
            "Cohort; see basic/futex.rs",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            tas, $crate::basic::Tas, InPlace, ["sl"],
            "test-and-set word",
            "test-and-set; Antić et al. 2016 §2",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            ttas, $crate::basic::Ttas, InPlace, ["tatas-t"],
            "test-and-test-and-set word",
            "test-and-test-and-set; Antić et al. 2016 §2",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            bo, $crate::basic::Bo, InPlace, [],
            "as ttas, with random exponential backoff",
            "Agarwal and Cherian 1989; Dice et al. 2015 §3.3, §6",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            ticket, $crate::basic::Ticket, InPlace, ["tkt"],
            "ticket lock: draw a number, wait until it is served",
            "Chehab et al. 2021 §2.1, Dice et al. 2015 §2.2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ticket_apart, $crate::basic::TicketApart, Nowhere, ["tkt-apart"],
            "as ticket, with its two words on separate cache lines",
            "Mellor-Crummey and Scott 1991; Dice et al. 2015 §2.2, §5",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ticket_delay, $crate::basic::TicketDelay, InPlace, [],
            "as ticket, with backoff proportional to the queue position",
            "Mellor-Crummey and Scott 1991; Dice et al. 2015 §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ptl, $crate::basic::Ptl, Inflated, [],
            "ticket lock with eight grant slots",
            "Dice 2011; Dice et al. 2015 §3.2, §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            mcs, $crate::basic::Mcs, InPlace, [],
            "queue lock; each waiter spins on its own node",
            "Mellor-Crummey and Scott 1991; Chehab et al. 2021 §2.1, Chabbi et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            clh, $crate::basic::Clh, InPlace, [],
            "queue lock; each waiter spins on its predecessor's node",
            "Craig 1993, Landin and Hagersten 1994; Chehab et al. 2021 §2.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            clh_published, $crate::basic::ClhPublished, Nowhere, [],
            "as clh; a free lock keeps a node, a release is one store",
            "Craig 1993, Landin and Hagersten 1994; Chehab et al. 2021 §2.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            k42, $crate::basic::K42, InPlace, [],
            "as mcs; only waiters have nodes, hidden from callers",
            "Auslander et al. 2003; Zhang et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hemlock, $crate::basic::Hemlock, InPlace, ["hem"],
            "queue lock; each waiter acknowledges its predecessor's grant",
            "Dice and Kogan 2021; Chehab et al. 2021 §2.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hemlock_ctr, $crate::basic::HemlockCtr, InPlace, ["hem-ctr"],
            "as hemlock, with less coherence traffic on x86",
            "Dice and Kogan 2021; Chehab et al. 2021 §2.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            anderson, $crate::basic::Anderson, Inflated, ["abql"],
            "array of flags, one cache line each",
            "Anderson 1990",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            reciprocating, $crate::basic::Reciprocating, Nowhere, [],
            "stack of arrivals, detached as a whole; one write hands off",
            "Dice and Kogan 2025",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            malthusian, $crate::basic::Malthusian, Nowhere, ["mcscr"],
            "as mcs, with concurrency restriction: surplus waiters are parked",
            "Dice 2017",
            [RawTry, ThreadOblivious, DetectsWaiters, Inherit];

            glk, $crate::adaptive::Glk, Apart, [],
            "adaptive: ticket, mcs or futex, by queue length and machine load",
            "Antić et al. 2016 §3",
            [RawTry, ThreadOblivious, Inherit];

            glk_plus, $crate::adaptive::GlkPlus, Apart, ["glk+"],
            "as glk, with the load of the process instead of the machine",
            "Cohort; see adaptive/glk.rs",
            [RawTry, ThreadOblivious, Inherit];

            cna, $crate::numa::Cna, InPlace, [],
            "as mcs; the holder defers waiters of other NUMA nodes",
            "Dice and Kogan 2019; Chehab et al. 2021 §2.1, §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            near, $crate::numa::Near, Nowhere, ["near-mcs"],
            "as mcs; hand-off to the nearest of the first five waiters, bounded",
            "Dice et al. 2015 §7; Cohort, see numa/near.rs",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            fissile, $crate::numa::Fissile, Nowhere, [],
            "word before cna; arrivals may overtake the head waiter for a bounded time",
            "Dice and Kogan 2020",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            shfl, $crate::numa::Shfl, Inflated, ["shfllock"],
            "word before a queue that its head sorts by NUMA node",
            "Kashyap et al. 2019; Chehab et al. 2021 §2.1, §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hbo, $crate::numa::Hbo, Apart, ["a-hbo"],
            "as bo, with longer backoff on other NUMA nodes than the holder's",
            "Radović and Hagersten 2003; Dice et al. 2015 §1, §5.1",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            fc_mcs, $crate::numa::FcMcs, Apart, [],
            "mcs queue; a combiner per NUMA node appends the node's arrivals",
            "Dice, Marathe and Shavit 2011; Dice et al. 2015 §1, §5.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            fc_mcs_published, $crate::numa::FcMcsPublished, Nowhere, [],
            "as fc-mcs, with one publication record per thread",
            "Dice, Marathe and Shavit 2011; Dice et al. 2015 §1, §5.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Inherit];

            hclh, $crate::numa::Hclh, Apart, [],
            "clh queue; a master per NUMA node splices in the node's queue",
            "Luchangco, Nussbaum and Shavit 2006; Dice et al. 2015 §1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_2, $crate::numa::Hmcs2, Inflated, ["hmcs", "hmcs-2@numa,system"],
            "tree of queues: NUMA nodes, the system",
            "Chabbi, Fagan and Mellor-Crummey 2015; Chabbi et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_3, $crate::numa::Hmcs3, Inflated, ["hmcs-3@core,numa,system"],
            "tree of queues: cores, NUMA nodes, the system",
            "Chabbi, Fagan and Mellor-Crummey 2015; Chabbi et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_4, $crate::numa::Hmcs4, Inflated, ["hmcs-4@core,cache,numa,system"],
            "tree of queues: cores, cache groups, NUMA nodes, the system",
            "Chabbi, Fagan and Mellor-Crummey 2015; Chabbi et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_4_package, $crate::numa::Hmcs4Package, Apart, ["hmcs-4@cache,numa,package,system"],
            "tree of queues: cache groups, NUMA nodes, packages, the system",
            "Chabbi, Fagan and Mellor-Crummey 2015; Chabbi et al. 2017 §2, Chehab et al. 2021 §5",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_5, $crate::numa::Hmcs5, Apart, ["hmcs-5@core,cache,numa,package,system"],
            "tree of queues: cores, cache groups, NUMA nodes, packages, the system",
            "Chabbi, Fagan and Mellor-Crummey 2015; Chabbi et al. 2017 §2, Chehab et al. 2021 §5",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ahmcs_3, $crate::numa::Ahmcs3, Apart, ["ahmcs", "ahmcs-3@core,numa,system"],
            "as hmcs-3; threads enter at the level with recent contention",
            "Chabbi and Mellor-Crummey 2016; Chehab et al. 2021 §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ahmcs_4, $crate::numa::Ahmcs4, Apart, ["ahmcs-4@core,cache,numa,system"],
            "as hmcs-4; threads enter at the level with recent contention",
            "Chabbi and Mellor-Crummey 2016; Chehab et al. 2021 §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_t_1, $crate::numa::HmcsT1, Inflated, ["hmcs-t-1@system"],
            "queue with timeouts; a waiter can resume its abandoned node",
            "Chabbi et al. 2017 §3, §4",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Fair, Inherit];

            hmcs_t_2, $crate::numa::HmcsT2, Inflated, ["hmcs-t", "hmcs-t-2@numa,system"],
            "as hmcs-t-1, in a tree: NUMA nodes, the system",
            "Chabbi et al. 2017 §3, §4",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Fair, Inherit];

            hmcs_t_3, $crate::numa::HmcsT3, Apart, ["hmcs-t-3@core,numa,system"],
            "as hmcs-t-1, in a tree: cores, NUMA nodes, the system",
            "Chabbi et al. 2017 §3, §4",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Fair, Inherit];

            hmcs_t_4, $crate::numa::HmcsT4, Apart, ["hmcs-t-4@core,cache,numa,system"],
            "as hmcs-t-1, in a tree: cores, cache groups, NUMA nodes, the system",
            "Chabbi et al. 2017 §3, §4",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Fair, Inherit];

            c_bo_bo, $crate::compose::CBoBo, Apart, [],
            "a bo lock per NUMA node below a bo lock",
            "Dice et al. 2015 §3.4.1",
            [RawTry, ThreadOblivious, Inherit];

            c_tkt_tkt, $crate::compose::CTktTkt, Inflated, ["hticket"],
            "a ticket lock per NUMA node below a ticket lock",
            "Dice et al. 2015 §3.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            c_ptl_tkt, $crate::compose::CPtlTkt, Apart, [],
            "a ticket lock per NUMA node below a ptl lock",
            "Dice et al. 2015 §3.2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            c_bo_mcs, $crate::compose::CBoMcs, Apart, [],
            "an mcs lock per NUMA node below a bo lock",
            "Dice et al. 2015 §3.3",
            [RawTry, ThreadOblivious, Inherit];

            c_tkt_mcs, $crate::compose::CTktMcs, Inflated, [],
            "an mcs lock per NUMA node below a ticket lock",
            "Dice et al. 2015 §1.3; Zhang et al. 2017 §4.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            c_mcs_mcs, $crate::compose::CMcsMcs, Apart, [],
            "an mcs lock per NUMA node below an mcs lock",
            "Dice et al. 2015 §2.2, §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            a_c_bo_bo, $crate::compose::ACBoBo, Apart, [],
            "as c-bo-bo, with timeouts",
            "Dice et al. 2015 §3.4.1",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            a_c_bo_clh, $crate::compose::ACBoClh, Apart, [],
            "a clh lock per NUMA node below a bo lock, with timeouts",
            "Dice et al. 2015 §3.4.2, Scott 2002",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            clh_nb, $crate::abortable::ClhNb, Nowhere, ["a-clh"],
            "as clh, with immediate timeouts; successors reclaim abandoned nodes",
            "Scott 2002; Chabbi et al. 2017 §6.2, Dice et al. 2015 §5.1.6",
            [RawTry, Abortable, ThreadOblivious, Fair, Inherit];

            mcs_nb, $crate::abortable::McsNb, Nowhere, [],
            "as mcs, with immediate timeouts; releases skip abandoned nodes",
            "Scott 2002; Chabbi et al. 2017 §6.2",
            [RawTry, Abortable, ThreadOblivious, Fair, Inherit];

            clh_try, $crate::abortable::ClhTry, Nowhere, [],
            "as clh, with timeouts that unlink the waiter's node first",
            "Scott and Scherer 2001",
            [RawTry, Abortable, ThreadOblivious, Fair, Inherit];

            mcs_try, $crate::abortable::McsTry, Nowhere, [],
            "as mcs, with timeouts that unlink the waiter's node first",
            "Scott and Scherer 2001",
            [RawTry, Abortable, ThreadOblivious, Fair, Inherit];
        }
    };
}

/// Calls a macro with each baseline, like [`for_each_lock!`](crate::for_each_lock). Baselines are
/// the algorithms of the C library's locks and of other libraries' mutexes, for environments
/// without those libraries.
#[macro_export]
macro_rules! for_each_baseline {
    ($callback:ident) => {
        $callback! {
            posix, $crate::baseline::Posix, Word, [],
            "the C library's mutex: three states, sleeps immediately",
            "Zhang et al. 2017 §2; Drepper, Futexes Are Tricky",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            posix_adaptive, $crate::baseline::PosixAdaptive, Word, [],
            "as posix, of the adaptive kind: polls up to 100 times first",
            "glibc manual, PTHREAD_MUTEX_ADAPTIVE_NP",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            spin_park, $crate::baseline::SpinPark, Word, [],
            "as posix; waiters spin with backoff before they sleep",
            "ordo-one, synchronization-benchmarks, 2026",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            spin_park_4, $crate::baseline::SpinPark4, Word, [],
            "as spin-park, with at most four spinning waiters",
            "ordo-one, synchronization-benchmarks, 2026",
            [RawTry, Abortable, ThreadOblivious, Inherit];
        }
    };
}

/// Calls a macro with each reader–writer lock: its name as an identifier, type, description and
/// source.
#[macro_export]
macro_rules! for_each_shared {
    ($callback:ident) => {
        $callback! {
            rwlock, $crate::rwlock::RawRwLock,
            "one word; one waiter spins on it, the others wait for admission",
            "Cohort; see rwlock/raw.rs";

            c_rw_np, $crate::rwlock::CRwNp,
            "reader counts by cache group, writers use c-tkt-tkt; no preference",
            "Calciu et al. 2013; Dice et al. 2015 §7, Chehab et al. 2021 §4.1.2";

            c_rw_wp, $crate::rwlock::CRwWp,
            "as c-rw-np; writers are preferred for up to 5 ms",
            "Calciu et al. 2013; Dice et al. 2015 §7, Chehab et al. 2021 §4.1.2";

            c_rw_np_in_object, $crate::rwlock::InObject,
            "c-rw-np in a pthread_rwlock_t, on one line; writers use ticket",
            "Cohort; see rwlock/object.rs";

            posix_rwlock, $crate::baseline::PosixRwLock,
            "the C library's algorithm, preferring readers",
            "glibc manual, PTHREAD_RWLOCK_PREFER_READER_NP";

            posix_rwlock_w, $crate::baseline::PosixRwLock<true>,
            "the C library's algorithm, preferring writers",
            "glibc manual, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP";
        }
    };
}

/// Calls a macro with each delegation lock: its name as an identifier, type, description, source
/// and further capabilities.
#[macro_export]
macro_rules! for_each_delegate {
    ($callback:ident) => {
        $callback! {
            cc_synch, $crate::delegation::CcSynch,
            "queue of requests; its head runs those behind it",
            "Fatourou and Kallimanis 2012; Zhang et al. 2017 §1",
            [TryDelegate, AbortableDelegate];

            fc, $crate::delegation::Fc,
            "flat combining: the lock holder runs published requests",
            "Hendler et al. 2010; Zhang et al. 2017 §2.2",
            [AbortableDelegate];

            h_synch, $crate::delegation::HSynch,
            "as cc-synch, with a queue per NUMA node below a shared lock",
            "Fatourou and Kallimanis 2012; Zhang et al. 2017 §2.1",
            [];

            oyama, $crate::delegation::Oyama,
            "list of requests in the lock's word, detached as a whole by the holder",
            "Oyama et al. 1999; Zhang et al. 2017 §2.2",
            [TryDelegate];

            qd, $crate::delegation::Qd,
            "bounded queue of requests, opened and closed by the holder",
            "Klaftenegger et al. 2014; Dice et al. 2015 §1.1",
            [TryDelegate, AbortableDelegate];

            rcl, $crate::delegation::Rcl,
            "dedicated server thread on its own CPU",
            "Lozi et al. 2012; Zhang et al. 2017 §2.2",
            [AbortableDelegate, Attended];

            sanl, $crate::delegation::Sanl,
            "threads vote for execution in place or delegation to one of them",
            "Zhang et al. 2017 §3",
            [TryDelegate, AbortableDelegate, Tunable];

            sanl_flat, $crate::delegation::SanlFlat,
            "as sanl, without NUMA policy: to any server",
            "Zhang et al. 2017 §3.2",
            [TryDelegate, AbortableDelegate, Tunable];

            sanl_distance_first, $crate::delegation::SanlDistanceFirst,
            "as sanl, distance first: to a server of the same NUMA node",
            "Zhang et al. 2017 §3.3",
            [TryDelegate, AbortableDelegate, Tunable];

            sanl_plus, $crate::delegation::SanlPlus,
            "as cc-synch; under contention, requests of a NUMA node are batched",
            "Zhang et al. 2017 §4.2, §5",
            [TryDelegate, AbortableDelegate];
        }
    };
}

/// The printed form of a constant text of identifiers.
macro_rules! printed {
    ($identifiers:expr) => {{
        const HYPHENATED: &[u8] = &hyphenated::<{ $identifiers.len() }>($identifiers);
        match core::str::from_utf8(HYPHENATED) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        }
    }};
}

macro_rules! shared {
    ($($name:ident, $lock:ty, $about:literal, $source:literal;)+) => {
        /// All reader–writer locks.
        pub static SHARED: &[SharedInfo] = &[$(SharedInfo {
            name: printed!(stringify!($name)),
            identifier: stringify!($name),
            about: $about,
            source: $source,
            bytes_raw: size_of::<$lock>(),
        }),+];
    };
}
for_each_shared!(shared);

macro_rules! delegates {
    ($($name:ident, $delegate:ty, $about:literal, $source:literal, [$($can:ident),*];)+) => {
        /// All locks that only delegate critical sections.
        pub static DELEGATES: &[DelegateInfo] = &[$(DelegateInfo {
            name: match printed!(stringify!($name)) {
                name if is_same(name.as_bytes(), b"sanl-plus") => "sanl+",
                name => name,
            },
            identifier: stringify!($name),
            about: $about,
            source: $source,
            gives_up: DelegateInfo::has(&[$(stringify!($can)),*], "AbortableDelegate"),
            tries: DelegateInfo::has(&[$(stringify!($can)),*], "TryDelegate"),
            has_server: DelegateInfo::has(&[$(stringify!($can)),*], "Attended"),
            is_tunable: DelegateInfo::has(&[$(stringify!($can)),*], "Tunable"),
            bytes_raw: size_of::<$delegate>(),
        }),+];

        /// The compiler checks that delegates have the listed capabilities.
        const _: () = {
            $($({
                const fn can<D: crate::$can>() {}
                can::<$delegate>();
            })*)+
        };
    };
}
for_each_delegate!(delegates);

/// Types beside [`DELEGATES`] that apply operations to copies of the data. An operation may run
/// several times, where a critical section runs once. No workload uses them.
pub static COPYING: &[CopyingInfo] = &[CopyingInfo {
    name: "p-sim",
    about: "separate type: each thread applies all operations to a copy of the data; one copy wins",
    source: "Fatourou and Kallimanis 2011; Zhang et al. 2017 §2.2",
    bytes_raw: size_of::<crate::delegation::PSim<u64>>(),
}];

/// A type that applies operations to copies of the data.
///
/// ```
/// use cohort::catalogue::COPYING;
///
/// assert!(COPYING.iter().any(|way| way.name == "p-sim"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CopyingInfo {
    /// The printed name.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The paper and section that describe it.
    pub source: &'static str,
    /// Bytes with a number as its data and the usual number of thread slots.
    pub bytes_raw: usize,
}

/// The type with that name that applies operations to copies.
///
/// ```
/// assert!(cohort::catalogue::find_copying("p-sim").is_some());
/// ```
#[must_use]
pub fn find_copying(name: &str) -> Option<&'static CopyingInfo> {
    COPYING.iter().find(|info| info.name == name)
}

/// A delegation lock.
///
/// ```
/// use cohort::catalogue::DELEGATES;
///
/// assert!(DELEGATES.iter().any(|lock| lock.name == "sanl" && lock.is_tunable));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DelegateInfo {
    /// The printed name.
    pub name: &'static str,
    /// The name as an identifier.
    pub identifier: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The paper and section that describe it.
    pub source: &'static str,
    /// Whether its callers can give up.
    pub gives_up: bool,
    /// Whether it can be tried without waiting.
    pub tries: bool,
    /// Whether a dedicated thread runs the critical sections.
    pub has_server: bool,
    /// Whether its thresholds are configurable.
    pub is_tunable: bool,
    /// Bytes of the lock itself.
    pub bytes_raw: usize,
}

impl DelegateInfo {
    /// Whether `all` contains the capability `one`.
    const fn has(all: &[&str], one: &str) -> bool {
        let mut place = 0;
        while place < all.len() {
            if is_same(all[place].as_bytes(), one.as_bytes()) {
                return true;
            }
            place += 1;
        }
        false
    }
}

/// Whether two texts are equal.
const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut place = 0;
    while place < one.len() {
        if one[place] != other[place] {
            return false;
        }
        place += 1;
    }
    true
}

/// The parsed name of a delegation lock: `sanl/100/10us`.
///
/// ```
/// use cohort::catalogue::read_delegate;
///
/// let name = read_delegate("sanl/100").unwrap().unwrap();
/// assert_eq!((name.info.name, name.serves, name.waits), ("sanl", Some(100), None));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DelegateName {
    /// The lock.
    pub info: &'static DelegateInfo,
    /// `T_s`, if the name has it.
    pub serves: Option<u32>,
    /// `T_w` in nanoseconds, if the name has it.
    pub waits: Option<u64>,
}

impl DelegateName {
    /// Those thresholds, overridden by the name's.
    ///
    /// ```
    /// use cohort::Thresholds;
    /// use cohort::catalogue::read_delegate;
    ///
    /// let name = read_delegate("sanl/5").unwrap().unwrap();
    /// let over = name.over(&Thresholds::USUAL);
    /// assert_eq!((over.serves, over.waits), (5, Thresholds::USUAL.waits));
    /// ```
    #[must_use]
    pub fn over(&self, thresholds: &Thresholds) -> Thresholds {
        Thresholds {
            serves: self.serves.unwrap_or(thresholds.serves),
            waits: self.waits.unwrap_or(thresholds.waits),
            ..*thresholds
        }
    }
}

/// Prints the name.
impl fmt::Display for DelegateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info.name)?;
        if self.serves.is_none() && self.waits.is_none() {
            return Ok(());
        }
        let bound = Bound {
            hand_offs: self.serves.unwrap_or(u32::MAX),
            nanoseconds: self.waits.unwrap_or(0),
        };
        bound.fmt(f)
    }
}

/// Reads the name of a delegation lock; none if the name is unknown.
///
/// # Errors
/// The invalid part of the name: neither a number of rounds nor a time, out of range, or of a lock
/// without thresholds.
///
/// ```
/// use cohort::catalogue::read_delegate;
///
/// assert!(read_delegate("sanl/100/10us").unwrap().is_ok());
/// assert_eq!(read_delegate("sanl/often").unwrap().unwrap_err(), "often");
/// assert!(read_delegate("mcs").is_none());
/// ```
#[must_use]
pub fn read_delegate(text: &str) -> Option<Result<DelegateName, &str>> {
    let mut parts = text.split('/');
    let mut name = DelegateName {
        info: find_delegate(parts.next()?)?,
        serves: None,
        waits: None,
    };
    for part in parts {
        match Bound::part(part) {
            _ if !name.info.is_tunable => return Some(Err(part)),
            Some(Bound {
                hand_offs: serves @ 1..=Thresholds::MOST,
                ..
            }) => name.serves = Some(serves),
            Some(Bound {
                hand_offs: u32::MAX,
                nanoseconds: waits @ 1..,
            }) => name.waits = Some(waits),
            _ => return Some(Err(part)),
        }
    }
    Some(Ok(name))
}

/// The delegation lock with that name.
///
/// ```
/// assert_eq!(cohort::catalogue::find_delegate("sanl+").unwrap().identifier, "sanl_plus");
/// ```
#[must_use]
pub fn find_delegate(name: &str) -> Option<&'static DelegateInfo> {
    DELEGATES.iter().find(|info| info.name == name)
}

/// A reader–writer lock.
///
/// ```
/// use cohort::catalogue::SHARED;
///
/// assert!(SHARED.iter().any(|lock| lock.name == "rwlock" && lock.bytes_raw == 16));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SharedInfo {
    /// The printed name.
    pub name: &'static str,
    /// The name as an identifier.
    pub identifier: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The paper and section that describe it.
    pub source: &'static str,
    /// Bytes of the lock itself, used raw.
    pub bytes_raw: usize,
}

/// The reader–writer lock with that name.
///
/// ```
/// assert!(cohort::catalogue::find_shared("c-rw-np").is_some());
/// ```
#[must_use]
pub fn find_shared(name: &str) -> Option<&'static SharedInfo> {
    SHARED.iter().find(|info| info.name == name)
}

/// The `N` bytes of a printed name, from its identifier.
const fn hyphenated<const N: usize>(identifier: &str) -> [u8; N] {
    let mut name = [0; N];
    let mut place = 0;
    while place < N {
        let byte = identifier.as_bytes()[place];
        name[place] = if byte == b'_' { b'-' } else { byte };
        place += 1;
    }
    name
}

/// Bytes of all nodes in the locks' own pools, without the pools of the adapters.
///
/// ```
/// use cohort::{Mutex, basic::Mcs};
///
/// // A guard of a queue has its context in a block of a pool.
/// drop(Mutex::<u32, Mcs>::from(1).lock());
/// assert!(cohort::catalogue::own_pool_bytes() > 0);
/// ```
#[must_use]
pub fn own_pool_bytes() -> usize {
    crate::support::condvar::pool_bytes()
        + crate::support::context::pool_bytes()
        + crate::basic::clh::pool_bytes()
        + crate::abortable::clh::pool_bytes()
        + crate::basic::k42::pool_bytes()
        + crate::numa::fc_mcs_published::pool_bytes()
        + crate::numa::futex_hmcs::pool_bytes()
        + crate::numa::hclh::pool_bytes()
        + crate::numa::hmcs::pool_bytes()
        + crate::numa::hmcs_t::pool_bytes()
        + crate::numa::hmcs_t_published::pool_bytes()
        + crate::compose::stacked::pool_bytes()
}

/// Bytes of the arena for one waiting acquisition, without the lock's own nodes.
const fn record_bytes<L: RawLock<Context: 'static>>(storage: Storage) -> usize {
    match storage {
        Storage::Word | Storage::Nowhere => 0,
        Storage::InPlace if size_of::<L::Context>() == 0 => 0,
        _ => Arena::<Holding<L::Context>>::NODE_BYTES,
    }
}

/// Whether each capability is listed once, in the order of declaration, in which the command prints
/// them.
const fn are_in_order(capabilities: &[Capability]) -> bool {
    let mut at = 1;
    while at < capabilities.len() {
        if capabilities[at - 1] as u8 >= capabilities[at] as u8 {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether `capabilities` lists all that `can` permits, by their numbers, and no others.
const fn are_all(capabilities: &[Capability], can: &[bool]) -> bool {
    let (mut listed, mut implemented, mut at) = (0, 0, 0);
    while at < capabilities.len() {
        if !can[capabilities[at] as usize] {
            return false;
        }
        listed += 1;
        at += 1;
    }
    at = 0;
    while at < can.len() {
        implemented += can[at] as usize;
        at += 1;
    }
    listed == implemented
}

macro_rules! list {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        /// The printed names and aliases of [`LOCKS`], a line each, for programs that need only the
        /// names and not the catalogue. One text: a table of texts is four times as long, and
        /// relocated in every process.
        static NAMES: Catalogue = Catalogue {
            names: {
                const IDENTIFIERS: &str = concat!($(stringify!($name), $(" ", $alias,)* "\n"),+);
                printed!(IDENTIFIERS)
            },
            cohort_locks: cohorting::NAMES,
            abortable_cohort_locks: cohorting::ABORTABLE_NAMES,
        };

        /// All locks, the default first.
        pub static LOCKS: &[LockInfo] = &[$(LockInfo {
            name: printed!(stringify!($name)),
            identifier: stringify!($name),
            aliases: &[$($alias),*],
            about: $about,
            source: $source,
            capabilities: &[$(Capability::$capability),*],
            adapts: Able::<$lock>::ADAPTS,
            storage: Storage::$storage,
            bytes_raw: size_of::<$lock>(),
            bytes_idle: 0,
            bytes_contended: match Storage::$storage {
                // Includes the record of the thread that held it at its inflation.
                Storage::Inflated | Storage::Apart => {
                    Arena::<Fat<$lock>>::NODE_BYTES
                        + record_bytes::<$lock>(Storage::Inflated)
                        + <$lock as Hosted>::HOSTING.cohort_bytes
                }
                _ => 0,
            },
            bytes_per_waiter: record_bytes::<$lock>(Storage::$storage)
                + <$lock as Hosted>::HOSTING.node_bytes,
        }),+];

        /// The compiler checks that the catalogue lists all capabilities of each lock, and no
        /// others.
        const _: () = {
            $(assert!(
                are_in_order(&[$(Capability::$capability),*]),
                concat!(
                    stringify!($name),
                    ": list what it can do once each, in the order in which `Capability` declares it",
                )
            );
            assert!(
                are_all(&[$(Capability::$capability),*], &cohort_raw::all_abilities!($lock)),
                concat!(
                    stringify!($name),
                    ": list the traits that its type implements, all and no others",
                )
            );)+
        };
    };
}
for_each_lock!(list);
