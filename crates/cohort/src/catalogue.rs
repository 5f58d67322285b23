//! Every lock there is, once.
//!
//! A lock is added by its file and one entry in [`for_each_lock!`](crate::for_each_lock): the command's
//! list, the interposer's dispatch and all runners are made from it.

use crate::compose::cohorting;
use crate::host::{Arena, Fat, Holding};
use cohort_raw::name::{Catalogue, Mistake, Name};
use cohort_raw::recipe::Bound;
use cohort_raw::{Able, Capability, Hosted, RawLock, Thresholds, Unable as _};
use core::fmt;

/// Where a lock lives when it serves a 40-byte `pthread_mutex_t`.
///
/// ```
/// use cohort::catalogue::{Storage, find};
///
/// assert_eq!(find("mcs").unwrap().storage, Storage::InPlace);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// One word of the object is the whole lock.
    Word,
    /// In the object; its queue nodes come from the arena.
    InPlace,
    /// One word at rest; inflated into the arena while contended.
    Inflated,
    /// The same, in the interposer's form that has all compositions: the usual one has no room left.
    Apart,
    /// In none: the interposer, which every program carries, does without the lock.
    Nowhere,
}

impl Storage {
    /// The word `cohort list` prints.
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

/// One lock, as the command shows it.
///
/// ```
/// use cohort::{Capability, catalogue::LOCKS};
///
/// // Those that waiters can leave.
/// let mut names = LOCKS.iter().filter(|lock| lock.capabilities.contains(&Capability::Abortable));
/// assert!(names.any(|lock| lock.name == "hmcs-t-2" && lock.serves_programs()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LockInfo {
    /// The one name that is printed.
    pub name: &'static str,
    /// Its name in [`for_each_lock!`](crate::for_each_lock), with underscores for
    /// hyphens: what a macro over all locks compares with `stringify!`.
    pub identifier: &'static str,
    /// Further names that are accepted.
    pub aliases: &'static [&'static str],
    /// What it is, in a line.
    pub about: &'static str,
    /// The paper and section it is described in.
    pub source: &'static str,
    /// What it can do.
    pub capabilities: &'static [Capability],
    /// Whether it decides for itself whether its waiters spin or sleep.
    pub adapts: bool,
    /// Where it lives in a program's mutex.
    pub storage: Storage,
    /// Bytes of the lock by itself, used raw.
    pub bytes_raw: usize,
    /// Bytes a program's mutex costs beyond its own 40 while nobody holds it.
    pub bytes_idle: usize,
    /// Bytes it costs beyond its own while held with waiters, waiters apart.
    pub bytes_contended: usize,
    /// Bytes each waiter adds.
    pub bytes_per_waiter: usize,
}

impl LockInfo {
    /// Whether an unchanged program can run under it.
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

/// Where in [`LOCKS`] the lock of that name or alias is.
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
/// What is wrong with it.
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

/// Reads a name that a program can have.
///
/// # Errors
/// As [`read`]; trees of queues that are not as the catalogue has them are unknown.
///
/// ```
/// use cohort::catalogue::read_served;
///
/// assert!(read_served("hmcs-3").is_ok());
/// ```
pub fn read_served(name: &str) -> Result<Name<'_>, Mistake<'_>> {
    NAMES.read_served(name)
}

/// Calls a macro with every lock: its name as an identifier (an underscore for each
/// hyphen), its type, where it
/// lives in a mutex, its aliases, what it is, its source, its capabilities.
#[macro_export]
macro_rules! for_each_lock {
    ($callback:ident) => {
        $callback! {
            futex_hmcs, $crate::numa::FutexHmcs, Word, ["default"],
            "as futex; where CPUs are in several cache groups or many its waiters stand in a tree of queues",
            "Cohort; see numa/futex_hmcs.rs",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            futex, $crate::basic::Futex, Word, [],
            "sleeping mutex: barges, spins for a bounded time, hands over to a thread that waits too long",
            "Cohort; see basic/futex.rs",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            tas, $crate::basic::Tas, InPlace, ["sl"],
            "a word that every waiter tries to set",
            "test-and-set; Antić et al. 2016 §2",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            ttas, $crate::basic::Ttas, InPlace, ["tatas-t"],
            "a word that waiters try to set once they have seen it free",
            "test-and-test-and-set; Antić et al. 2016 §2",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            bo, $crate::basic::Bo, InPlace, [],
            "as ttas; waiters look more and more rarely, at random",
            "Agarwal and Cherian 1989; Dice et al. 2015 §3.3, §6",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            ticket, $crate::basic::Ticket, InPlace, ["tkt"],
            "draw a number, wait until it is served",
            "Chehab et al. 2021 §2.1, Dice et al. 2015 §2.2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ticket_apart, $crate::basic::TicketApart, Nowhere, ["tkt-apart"],
            "as ticket; each of its two words has a line of its own",
            "Mellor-Crummey and Scott 1991; Dice et al. 2015 §2.2, §5",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ticket_delay, $crate::basic::TicketDelay, InPlace, [],
            "as ticket; a waiter far behind looks more rarely",
            "Mellor-Crummey and Scott 1991; Dice et al. 2015 §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ptl, $crate::basic::Ptl, Inflated, [],
            "a ticket lock that serves in eight places",
            "Dice 2011; Dice et al. 2015 §3.2, §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            mcs, $crate::basic::Mcs, InPlace, [],
            "a queue; each waiter looks at its own node",
            "Mellor-Crummey and Scott 1991; Chehab et al. 2021 §2.1, Chabbi et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            clh, $crate::basic::Clh, InPlace, [],
            "a queue; each waiter looks at its predecessor's node",
            "Craig 1993, Landin and Hagersten 1994; Chehab et al. 2021 §2.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            clh_published, $crate::basic::ClhPublished, Nowhere, [],
            "as clh; a free lock keeps a node, and a release is one store",
            "Craig 1993, Landin and Hagersten 1994; Chehab et al. 2021 §2.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            k42, $crate::basic::K42, InPlace, [],
            "as mcs; only waiters have nodes, and no caller sees them",
            "Auslander et al. 2003; Zhang et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hemlock, $crate::basic::Hemlock, InPlace, ["hem"],
            "a queue; each waiter answers its predecessor's grant",
            "Dice and Kogan 2021; Chehab et al. 2021 §2.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hemlock_ctr, $crate::basic::HemlockCtr, InPlace, ["hem-ctr"],
            "as hemlock; saves coherence traffic on x86",
            "Dice and Kogan 2021; Chehab et al. 2021 §2.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            anderson, $crate::basic::Anderson, Inflated, ["abql"],
            "an array of flags, one cache line each",
            "Anderson 1990",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            reciprocating, $crate::basic::Reciprocating, Nowhere, [],
            "a stack of arrivals, which the holder takes over as a whole; one write hands over",
            "Dice and Kogan 2025",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            malthusian, $crate::basic::Malthusian, Nowhere, ["mcscr"],
            "as mcs; waiters that the lock can do without are set aside until it cannot",
            "Dice 2017",
            [RawTry, ThreadOblivious, DetectsWaiters, Inherit];

            glk, $crate::adaptive::Glk, Apart, [],
            "ticket, mcs or futex, as its queue and the load of the machine ask for",
            "Antić et al. 2016 §3",
            [RawTry, ThreadOblivious, Inherit];

            glk_plus, $crate::adaptive::GlkPlus, Apart, ["glk+"],
            "as glk; asks whether the process's threads lack CPUs, not the machine",
            "Cohort; see adaptive/glk.rs",
            [RawTry, ThreadOblivious, Inherit];

            cna, $crate::numa::Cna, InPlace, [],
            "as mcs; the holder sets waiters of other NUMA nodes aside",
            "Dice and Kogan 2019; Chehab et al. 2021 §2.1, §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            near, $crate::numa::Near, Nowhere, ["near-mcs"],
            "as mcs; the lock goes to the nearest of the first five waiters, within a bound",
            "Dice et al. 2015 §7; Cohort, see numa/near.rs",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            fissile, $crate::numa::Fissile, Nowhere, [],
            "a word, and behind it cna, whose head arrivals may pass until it is impatient",
            "Dice and Kogan 2020",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            shfl, $crate::numa::Shfl, Inflated, ["shfllock"],
            "a word and a queue, whose head sorts it by NUMA node",
            "Kashyap et al. 2019; Chehab et al. 2021 §2.1, §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hbo, $crate::numa::Hbo, Apart, ["a-hbo"],
            "as bo; a waiter of another NUMA node than the holder's looks more rarely",
            "Radović and Hagersten 2003; Dice et al. 2015 §1, §5.1",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            fc_mcs, $crate::numa::FcMcs, Apart, [],
            "an mcs queue, to which one of each NUMA node appends all that have arrived there",
            "Dice, Marathe and Shavit 2011; Dice et al. 2015 §1, §5.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            fc_mcs_published, $crate::numa::FcMcsPublished, Nowhere, [],
            "as fc-mcs; each thread has a record in a publication list, and combiners go through that",
            "Dice, Marathe and Shavit 2011; Dice et al. 2015 §1, §5.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Inherit];

            hclh, $crate::numa::Hclh, Apart, [],
            "a clh queue, into which one of each NUMA node splices the queue of all that have arrived there",
            "Luchangco, Nussbaum and Shavit 2006; Dice et al. 2015 §1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_2, $crate::numa::Hmcs2, Inflated, ["hmcs", "hmcs-2@numa,system"],
            "a tree of queues: one for each NUMA node below one for all",
            "Chabbi, Fagan and Mellor-Crummey 2015; Chabbi et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_3, $crate::numa::Hmcs3, Inflated, ["hmcs-3@core,numa,system"],
            "a tree of queues: cores below NUMA nodes below the system",
            "Chabbi, Fagan and Mellor-Crummey 2015; Chabbi et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_4, $crate::numa::Hmcs4, Inflated, ["hmcs-4@core,cache,numa,system"],
            "a tree of queues: cores, cache groups, NUMA nodes, the system",
            "Chabbi, Fagan and Mellor-Crummey 2015; Chabbi et al. 2017 §2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_4_package, $crate::numa::Hmcs4Package, Apart, ["hmcs-4@cache,numa,package,system"],
            "a tree of queues: cache groups, NUMA nodes, packages, the system",
            "Chabbi, Fagan and Mellor-Crummey 2015; Chabbi et al. 2017 §2, Chehab et al. 2021 §5",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ahmcs_3, $crate::numa::Ahmcs3, Apart, ["ahmcs", "ahmcs-3@core,numa,system"],
            "as hmcs-3; a thread enters at the level where it has found others of late",
            "Chabbi and Mellor-Crummey 2016; Chehab et al. 2021 §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            ahmcs_4, $crate::numa::Ahmcs4, Apart, ["ahmcs-4@core,cache,numa,system"],
            "as hmcs-4; a thread enters at the level where it has found others of late",
            "Chabbi and Mellor-Crummey 2016; Chehab et al. 2021 §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            hmcs_t_1, $crate::numa::HmcsT1, Inflated, ["hmcs-t-1@system"],
            "a queue whose waiters can give up, and find their place again",
            "Chabbi et al. 2017 §3, §4",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Fair, Inherit];

            hmcs_t_2, $crate::numa::HmcsT2, Inflated, ["hmcs-t", "hmcs-t-2@numa,system"],
            "the same for each NUMA node below one for all",
            "Chabbi et al. 2017 §3, §4",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Fair, Inherit];

            hmcs_t_3, $crate::numa::HmcsT3, Apart, ["hmcs-t-3@core,numa,system"],
            "the same for cores below NUMA nodes below the system",
            "Chabbi et al. 2017 §3, §4",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Fair, Inherit];

            hmcs_t_4, $crate::numa::HmcsT4, Apart, ["hmcs-t-4@core,cache,numa,system"],
            "the same for cores, cache groups, NUMA nodes, the system",
            "Chabbi et al. 2017 §3, §4",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Fair, Inherit];

            c_bo_bo, $crate::compose::CBoBo, Apart, [],
            "a bo lock for each NUMA node below one for all",
            "Dice et al. 2015 §3.4.1",
            [RawTry, ThreadOblivious, Inherit];

            c_tkt_tkt, $crate::compose::CTktTkt, Inflated, ["hticket"],
            "a ticket lock for each NUMA node below one for all",
            "Dice et al. 2015 §3.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            c_ptl_tkt, $crate::compose::CPtlTkt, Apart, [],
            "a ticket lock for each NUMA node below a ptl lock",
            "Dice et al. 2015 §3.2",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            c_bo_mcs, $crate::compose::CBoMcs, Apart, [],
            "an mcs lock for each NUMA node below a bo lock",
            "Dice et al. 2015 §3.3",
            [RawTry, ThreadOblivious, Inherit];

            c_tkt_mcs, $crate::compose::CTktMcs, Inflated, [],
            "an mcs lock for each NUMA node below a ticket lock",
            "Dice et al. 2015 §1.3; Zhang et al. 2017 §4.1",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            c_mcs_mcs, $crate::compose::CMcsMcs, Apart, [],
            "an mcs lock for each NUMA node below one for all",
            "Dice et al. 2015 §2.2, §6",
            [RawTry, ThreadOblivious, DetectsWaiters, Fair, Inherit];

            a_c_bo_bo, $crate::compose::ACBoBo, Apart, [],
            "as c-bo-bo; waiters can give up at either lock",
            "Dice et al. 2015 §3.4.1",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            a_c_bo_clh, $crate::compose::ACBoClh, Apart, [],
            "a clh lock for each NUMA node below a bo lock; waiters can give up at either",
            "Dice et al. 2015 §3.4.2, Scott 2002",
            [RawTry, Abortable, BoundedAbort, ThreadOblivious, Inherit];

            clh_nb, $crate::abortable::ClhNb, Nowhere, ["a-clh"],
            "as clh; waiters leave at once, and the next thread takes their nodes",
            "Scott 2002; Chabbi et al. 2017 §6.2, Dice et al. 2015 §5.1.6",
            [RawTry, Abortable, ThreadOblivious, Fair, Inherit];

            mcs_nb, $crate::abortable::McsNb, Nowhere, [],
            "as mcs; waiters leave at once, and releases pass over what they leave",
            "Scott 2002; Chabbi et al. 2017 §6.2",
            [RawTry, Abortable, ThreadOblivious, Fair, Inherit];

            clh_try, $crate::abortable::ClhTry, Nowhere, [],
            "as clh; waiters leave once their neighbours have seen it, with their nodes",
            "Scott and Scherer 2001",
            [RawTry, Abortable, ThreadOblivious, Fair, Inherit];

            mcs_try, $crate::abortable::McsTry, Nowhere, [],
            "as mcs; waiters leave once their neighbours have seen it, with their nodes",
            "Scott and Scherer 2001",
            [RawTry, Abortable, ThreadOblivious, Fair, Inherit];
        }
    };
}

/// Calls a macro with every baseline, as [`for_each_lock!`](crate::for_each_lock) does
/// with every lock: the algorithms that stand for the C library's own locks, and for other
/// libraries' mutexes, where there is no such library.
#[macro_export]
macro_rules! for_each_baseline {
    ($callback:ident) => {
        $callback! {
            posix, $crate::baseline::Posix, Word, [],
            "the C library's mutex: three values, sleeps at once",
            "Zhang et al. 2017 §2; Drepper, Futexes Are Tricky",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            posix_adaptive, $crate::baseline::PosixAdaptive, Word, [],
            "as posix, of the adaptive kind: looks up to a hundred times first",
            "glibc manual, PTHREAD_MUTEX_ADAPTIVE_NP",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            spin_park, $crate::baseline::SpinPark, Word, [],
            "as posix; every waiter spins, more and more rarely, before it sleeps",
            "ordo-one, synchronization-benchmarks, 2026",
            [RawTry, Abortable, ThreadOblivious, Inherit];

            spin_park_4, $crate::baseline::SpinPark4, Word, [],
            "as spin-park; at most four waiters spin",
            "ordo-one, synchronization-benchmarks, 2026",
            [RawTry, Abortable, ThreadOblivious, Inherit];
        }
    };
}

/// Calls a macro with every lock that readers share: its name as an identifier, its type,
/// what it is, its source.
#[macro_export]
macro_rules! for_each_shared {
    ($callback:ident) => {
        $callback! {
            rwlock, $crate::rwlock::RawRwLock,
            "one word; one waiter at a time spins on it, the others in a gate before it",
            "Cohort; see rwlock/raw.rs";

            c_rw_np, $crate::rwlock::CRwNp,
            "readers counted where they share a cache, writers take c-tkt-tkt; neither preferred",
            "Calciu et al. 2013; Dice et al. 2015 §7, Chehab et al. 2021 §4.1.2";

            c_rw_wp, $crate::rwlock::CRwWp,
            "the same; writers are preferred for up to 5 ms",
            "Calciu et al. 2013; Dice et al. 2015 §7, Chehab et al. 2021 §4.1.2";

            c_rw_np_in_object, $crate::rwlock::InObject,
            "c-rw-np as a program's rwlock has it, on one line; writers take ticket",
            "Cohort; see rwlock/object.rs";

            posix_rwlock, $crate::baseline::PosixRwLock,
            "the C library's algorithm, which prefers readers",
            "glibc manual, PTHREAD_RWLOCK_PREFER_READER_NP";

            posix_rwlock_w, $crate::baseline::PosixRwLock<true>,
            "the C library's algorithm where it prefers writers",
            "glibc manual, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP";
        }
    };
}

/// Calls a macro with every lock that sections are brought to: its name as an identifier, its
/// type, what it is, its source, what else it can do.
#[macro_export]
macro_rules! for_each_delegate {
    ($callback:ident) => {
        $callback! {
            cc_synch, $crate::delegation::CcSynch,
            "sections are brought to a queue, whose first runs those behind it",
            "Fatourou and Kallimanis 2012; Zhang et al. 2017 §1",
            [AbortableDelegate];

            fc, $crate::delegation::Fc,
            "sections are published in records, through which the thread goes that has the lock",
            "Hendler et al. 2010; Zhang et al. 2017 §2.2",
            [AbortableDelegate];

            h_synch, $crate::delegation::HSynch,
            "as cc-synch, with a queue for each NUMA node below a lock that they share",
            "Fatourou and Kallimanis 2012; Zhang et al. 2017 §2.1",
            [];

            oyama, $crate::delegation::Oyama,
            "sections are put on a list in the lock's word, which the holder takes as a whole",
            "Oyama et al. 1999; Zhang et al. 2017 §2.2",
            [TryDelegate];

            qd, $crate::delegation::Qd,
            "sections are put into a queue of fixed length, which the holder opens and closes",
            "Klaftenegger et al. 2014; Dice et al. 2015 §1.1",
            [TryDelegate, AbortableDelegate];

            rcl, $crate::delegation::Rcl,
            "sections are brought to a thread that does nothing else, on a CPU of its own",
            "Lozi et al. 2012; Zhang et al. 2017 §2.2",
            [AbortableDelegate, Attended];

            sanl, $crate::delegation::Sanl,
            "threads vote to run sections in place or to bring them to one of them",
            "Zhang et al. 2017 §3",
            [TryDelegate, AbortableDelegate, Tunable];

            sanl_flat, $crate::delegation::SanlFlat,
            "the same; every thread brings its sections to whichever server there is",
            "Zhang et al. 2017 §3.2",
            [TryDelegate, AbortableDelegate, Tunable];

            sanl_distance_first, $crate::delegation::SanlDistanceFirst,
            "the same; every thread waits for a server of its own NUMA node",
            "Zhang et al. 2017 §3.3",
            [TryDelegate, AbortableDelegate, Tunable];

            sanl_plus, $crate::delegation::SanlPlus,
            "as cc-synch; where many want it, those of a NUMA node bring theirs together",
            "Zhang et al. 2017 §4.2, §5",
            [AbortableDelegate];
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
        /// Every lock that readers share.
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
        /// Every lock that sections are brought to, and that is no lock otherwise.
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

        /// What the catalogue says a delegate can do, the compiler has checked.
        const _: () = {
            $($({
                const fn can<D: crate::$can>() {}
                can::<$delegate>();
            })*)+
        };
    };
}
for_each_delegate!(delegates);

/// Every type that stands beside [`DELEGATES`] because it applies operations to copies of the data: one may
/// run several times, where a section runs once.  No workload has it.
pub static COPYING: &[CopyingInfo] = &[CopyingInfo {
    name: "p-sim",
    about: "a type of its own: each thread applies all operations to a copy of the data, and one copy counts",
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
    /// The name that is printed.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The paper and section it is described in.
    pub source: &'static str,
    /// Bytes of one with a number as its data and the usual number of seats.
    pub bytes_raw: usize,
}

/// The type of that name that applies operations to copies.
///
/// ```
/// assert!(cohort::catalogue::find_copying("p-sim").is_some());
/// ```
#[must_use]
pub fn find_copying(name: &str) -> Option<&'static CopyingInfo> {
    COPYING.iter().find(|info| info.name == name)
}

/// A lock that sections are brought to.
///
/// ```
/// use cohort::catalogue::DELEGATES;
///
/// assert!(DELEGATES.iter().any(|lock| lock.name == "sanl" && lock.is_tunable));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DelegateInfo {
    /// The name that is printed.
    pub name: &'static str,
    /// The same as an identifier.
    pub identifier: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The paper and section it is described in.
    pub source: &'static str,
    /// Whether its callers can give up.
    pub gives_up: bool,
    /// Whether it can be tried without waiting.
    pub tries: bool,
    /// Whether a thread of its own runs the sections.
    pub has_server: bool,
    /// Whether its thresholds can be chosen.
    pub is_tunable: bool,
    /// Bytes of the lock by itself.
    pub bytes_raw: usize,
}

impl DelegateInfo {
    /// Whether a capability is among some.
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

/// Whether two texts are the same.
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

/// What a name says of a lock that sections are brought to: `sanl/100/10us`.
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
    /// `T_s`, if it is said.
    pub serves: Option<u32>,
    /// `T_w` in nanoseconds, if it is said.
    pub waits: Option<u64>,
}

impl DelegateName {
    /// These thresholds, where the name does not say others.
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

/// The name that is printed.
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

/// Reads the name of a lock that sections are brought to; nothing if there is none of that name.
///
/// # Errors
/// What cannot follow the name: neither a number of rounds nor a time, one out of range, or of a
/// lock that has no thresholds.
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

/// The lock of that name that sections are brought to.
///
/// ```
/// assert_eq!(cohort::catalogue::find_delegate("sanl+").unwrap().identifier, "sanl_plus");
/// ```
#[must_use]
pub fn find_delegate(name: &str) -> Option<&'static DelegateInfo> {
    DELEGATES.iter().find(|info| info.name == name)
}

/// A lock that readers share.
///
/// ```
/// use cohort::catalogue::SHARED;
///
/// assert!(SHARED.iter().any(|lock| lock.name == "rwlock" && lock.bytes_raw == 16));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SharedInfo {
    /// The name that is printed.
    pub name: &'static str,
    /// The same as an identifier.
    pub identifier: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The paper and section it is described in.
    pub source: &'static str,
    /// Bytes of the lock by itself, used raw.
    pub bytes_raw: usize,
}

/// The lock of that name that readers share.
///
/// ```
/// assert!(cohort::catalogue::find_shared("c-rw-np").is_some());
/// ```
#[must_use]
pub fn find_shared(name: &str) -> Option<&'static SharedInfo> {
    SHARED.iter().find(|info| info.name == name)
}

/// The bytes of a printed name, `N` of them, from its identifier.
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

/// Bytes of all nodes that locks have taken so far from pools of their own, beside
/// what hosts take for them.
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
    crate::condvar::pool_bytes()
        + crate::context::pool_bytes()
        + crate::basic::clh::pool_bytes()
        + crate::abortable::clh::pool_bytes()
        + crate::basic::k42::pool_bytes()
        + crate::numa::fc_mcs_published::pool_bytes()
        + crate::numa::futex_hmcs::pool_bytes()
        + crate::numa::hclh::pool_bytes()
        + crate::numa::hmcs::pool_bytes()
        + crate::numa::hmcs_t::pool_bytes()
        + crate::compose::stacked::pool_bytes()
}

/// Bytes of the arena that one waiting acquisition of a lock takes, apart from
/// nodes of the lock's own.
const fn record_bytes<L: RawLock<Context: 'static>>(storage: Storage) -> usize {
    match storage {
        Storage::Word | Storage::Nowhere => 0,
        Storage::InPlace if size_of::<L::Context>() == 0 => 0,
        _ => Arena::<Holding<L::Context>>::NODE_BYTES,
    }
}

/// Whether capabilities stand in the order in which they are declared, each once, as the command
/// shows them.
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

/// Whether those are all that a lock can do, which says by the number of a capability whether it can.
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
        /// The printed names and aliases of [`LOCKS`], a line each: for a program that wants
        /// nothing else of the catalogue and need not carry it.  One text, since a table of
        /// texts is four times as long, and relocated in every process.
        static NAMES: Catalogue = Catalogue {
            names: {
                const IDENTIFIERS: &str = concat!($(stringify!($name), $(" ", $alias,)* "\n"),+);
                printed!(IDENTIFIERS)
            },
            cohort_locks: cohorting::NAMES,
            abortable_cohort_locks: cohorting::ABORTABLE_NAMES,
        };

        /// Every lock, the default first.
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
                // With the record of the thread that held it when it was inflated.
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

        /// What the catalogue says a lock can do, the compiler has checked: it says all, and no
        /// more.
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
