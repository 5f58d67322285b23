//! The compared locks: their kinds, their calls and their origins.

use crate::foreign::{Foreign, ForeignShared, table};
use crate::keyed::{Dashmap, Gls, Mapped, Papaya, Scc};
use crate::load::Load;
use crate::rust::{Own, Spin};
use cohort::TwoForms;
use cohort::compose::Gated;
use cohort::door::{WaitPolicy, set_policy};
use cohort::wait::MayPark;
use cohort_lab::workloads::address::{GlkObject, InPlace};
use cohort_lab::workloads::pthread::RwLock;
use cohort_lab::workloads::{CachePadded, Mutex, MutexKind as Mutexes, Outcome, Raw};
use serde::Serialize;
use std::ffi::CStr;

/// Kind of lock; locks are compared within a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PeerKind {
    /// Waiters finally sleep.
    Sleeping,
    /// Waiters only spin, and acquire in any order.
    Spinning,
    /// Waiters only spin, with backoff.
    Backoff,
    /// Waiters draw tickets.
    Ticket,
    /// Waiters queue, each with a node that its predecessor writes.
    Mcs,
    /// Waiters queue, each reading its predecessor's node.
    Clh,
    /// Waiters queue in an array.
    Array,
    /// Rwlocks; compared separately.
    Shared,
    /// Many locks found by keys; compared separately.
    Keyed,
}

impl PeerKind {
    /// All kinds, in the order of display.
    pub const ALL: [Self; 9] = [
        Self::Sleeping,
        Self::Spinning,
        Self::Backoff,
        Self::Ticket,
        Self::Mcs,
        Self::Clh,
        Self::Array,
        Self::Shared,
        Self::Keyed,
    ];

    /// The kind's title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Sleeping => "Sleeping mutexes",
            Self::Spinning => "Spin locks without order",
            Self::Backoff => "Spin locks with backoff",
            Self::Ticket => "Tickets",
            Self::Mcs => "Queues as in MCS",
            Self::Clh => "Queues as in CLH",
            Self::Array => "Queues in an array",
            Self::Shared => "Reader–writer locks",
            Self::Keyed => "Locks found by keys",
        }
    }
}

/// Origin of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Cohort's, compiled into the program.
    Ours,
    /// Cohort's under the C library's names: the preloaded library with `COHORT_LOCK` and
    /// `COHORT_WAIT`.
    Preloaded {
        /// The lock.
        lock: &'static str,
        /// How its waiters wait.
        wait: &'static str,
    },
    /// Others', always available.
    Theirs,
    /// Others', in a Debian package.
    Package(&'static str),
}

/// The prefix of the preload library's file name.
const LIBRARY: &str = "libcohort_preload";

/// Runs a load under a lock.
pub type Run = fn(&Load) -> Result<Outcome, String>;

/// Compared lock.
pub struct Peer {
    /// Its name here.
    pub name: &'static str,
    /// The peers with which it is compared.
    pub kind: PeerKind,
    /// Its origin.
    pub from: Origin,
    /// How it is called, by its users and here.
    pub called: &'static str,
    /// Runs a load under it; none if its library was missing at build time.
    pub run: Option<Run>,
}

impl Peer {
    /// Runs the load under it, after checking the origin of this process's pthread functions. Blocks.
    pub fn run(&self, load: &Load) -> Result<Outcome, String> {
        let run = self
            .run
            .ok_or("its library was not there when this was built")?;
        let provider = provider();
        let is_ours = provider.contains(LIBRARY);
        if is_ours != matches!(self.from, Origin::Preloaded { .. }) {
            return Err(format!("pthread_mutex_lock is that of {provider}"));
        }
        run(load)
    }

    /// Whether its waiters finally leave their CPUs, so that a crowd larger than the number of CPUs
    /// goes on.
    pub fn yields(&self) -> bool {
        let finally = matches!(
            self.kind,
            PeerKind::Sleeping | PeerKind::Shared | PeerKind::Keyed
        );
        finally || self.is_ours() || self.name.ends_with("-yield") || self.from == TBB
    }

    /// Whether it is Cohort's.
    pub fn is_ours(&self) -> bool {
        matches!(self.from, Origin::Ours | Origin::Preloaded { .. })
    }
}

/// The file of this process's `pthread_mutex_lock`.
fn provider() -> String {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let function = libc::pthread_mutex_lock as *const () as *const libc::c_void;
    // SAFETY: the address is a function's, and the place is writable.
    let found = unsafe { libc::dladdr(function, info.as_mut_ptr()) } != 0;
    // SAFETY: all zeroes is a valid value too.
    let info = unsafe { info.assume_init() };
    if !found || info.dli_fname.is_null() {
        return "an unknown file".to_owned();
    }
    // SAFETY: the loader's names are strings that stay in place.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    name.to_string_lossy().into_owned()
}

/// The peer of that name.
pub fn find(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

/// A Rust lock, or the lock behind the C library's names.
macro_rules! here {
    ($make:expr) => {
        Some(|load| load.under(&$make))
    };
}

/// A lock of Cohort's without an adapter, in its spin-only form if it has two.
macro_rules! raw {
    ($lock:ty) => {
        Some(|load| {
            set_policy(WaitPolicy::Spin);
            load.under(&CachePadded(Raw(<$lock>::default())))
        })
    };
}

/// A lock of a C or C++ library, if present.
macro_rules! foreign {
    ($library:literal, $symbol:ident) => {
        foreign!($library, $symbol, Table, |load, table| load
            .under(&Foreign::new(table)))
    };
    ($library:literal, $symbol:ident, shared) => {
        foreign!($library, $symbol, SharedTable, |load, table| load
            .shared(&ForeignShared::new(table)))
    };
    ($library:literal, $symbol:ident, $table:ident, |$load:ident, $found:ident| $run:expr) => {
        match table!($library, $symbol, $table) {
            None => None,
            Some(_) => Some(|$load| match table!($library, $symbol, $table) {
                Some($found) => $run,
                None => unreachable!("looked up above"),
            }),
        }
    };
}

/// A rwlock in Rust, or behind the C library's names.
macro_rules! shared {
    ($make:expr) => {
        Some(|load| load.shared(&$make))
    };
}

/// Many locks found by keys.
macro_rules! keyed {
    ($make:expr) => {
        Some(|load| load.by_address(&$make))
    };
}

/// Many locks in a map, with `parking_lot`'s mutex.
macro_rules! mapped {
    ($map:ident) => {
        keyed!(Mapped::<$map<_>, _>::new(|| Ok(Own::new(
            parking_lot::Mutex::new(())
        ))))
    };
}

macro_rules! peers {
    ($($kind:ident $name:literal, $from:expr, $called:expr, $run:expr;)+) => {
        /// All locks. glibc's mutex, the reference, is first among single locks; the in-place lock
        /// is first among locks found by keys.
        pub static PEERS: &[Peer] = &[$(Peer {
            name: $name,
            kind: PeerKind::$kind,
            from: $from,
            called: $called,
            run: $run,
        }),+];
    };
}

const CK: Origin = Origin::Package("libck-dev");
const TBB: Origin = Origin::Package("libtbb-dev");
const PRELOAD: &str = "by symbol, preloaded";

const fn spinning(lock: &'static str) -> Origin {
    Origin::Preloaded { lock, wait: "spin" }
}

fn pthread(kind: Mutexes) -> Mutex {
    Mutex::new(kind).unwrap_or_else(|error| panic!("no pthread mutex can be made: {error}"))
}

type Spinning<L> = <L as TwoForms>::Spinning;

peers! {
    Sleeping "glibc", Origin::Theirs, "by symbol", here!(pthread(Mutexes::Normal));
    Sleeping "glibc-adaptive", Origin::Theirs, "by symbol", here!(pthread(Mutexes::Adaptive));
    Sleeping "std", Origin::Theirs, "inlined", here!(Own::new(std::sync::Mutex::new(())));
    Sleeping "parking_lot", Origin::Theirs, "inlined", here!(Own::new(parking_lot::Mutex::new(())));
    Sleeping "absl", Origin::Package("libabsl-dev"), "by symbol", foreign!("abseil", cohort_peer_absl);
    Sleeping "nsync", Origin::Package("libnsync-dev"), "by symbol", foreign!("nsync", cohort_peer_nsync);
    Sleeping "tbb-mutex", TBB, "inlined", foreign!("tbb", cohort_peer_tbb_mutex);
    Sleeping "cohort::Mutex", Origin::Ours, "inlined", here!(Own::new(cohort::Mutex::new(())));
    Sleeping "mcs-park", Origin::Ours, "inlined",
        here!(CachePadded(Raw(cohort::basic::Mcs::<MayPark>::default())));
    Sleeping "mcs-gated", Origin::Ours, "inlined",
        here!(CachePadded(Raw(Gated::<cohort::basic::Mcs>::default())));
    Sleeping "pthread-default", Origin::Preloaded { lock: "futex-hmcs", wait: "park" }, PRELOAD,
        here!(pthread(Mutexes::Normal));

    Spinning "glibc-spin", Origin::Theirs, "by symbol", here!(Spin::new());
    Spinning "ck-fas", CK, "inlined", foreign!("ck", cohort_peer_ck_fas);
    Spinning "ck-cas", CK, "inlined", foreign!("ck", cohort_peer_ck_cas);
    Spinning "ck-dec", CK, "inlined", foreign!("ck", cohort_peer_ck_dec);
    Spinning "mcslock-barge", Origin::Theirs, "inlined",
        here!(Own::new(mcslock::barging::spins::Mutex::new(())));
    Spinning "tas", Origin::Ours, "inlined", raw!(Spinning<cohort::basic::Tas>);
    Spinning "ttas", Origin::Ours, "inlined", raw!(Spinning<cohort::basic::Ttas>);
    Spinning "pthread-spin", spinning("futex"), PRELOAD, here!(Spin::new());
    Spinning "pthread-tas", spinning("tas"), PRELOAD, here!(pthread(Mutexes::Normal));

    Backoff "tbb-spin", TBB, "inlined", foreign!("tbb", cohort_peer_tbb_spin);
    Backoff "bo", Origin::Ours, "inlined", raw!(Spinning<cohort::basic::Bo>);

    Ticket "ck-ticket", CK, "inlined", foreign!("ck", cohort_peer_ck_ticket);
    Ticket "ticket", Origin::Ours, "inlined", raw!(Spinning<cohort::basic::Ticket>);
    Ticket "ptl", Origin::Ours, "inlined", raw!(Spinning<cohort::basic::Ptl>);
    Ticket "pthread-ticket", spinning("ticket"), PRELOAD, here!(pthread(Mutexes::Normal));

    Mcs "ck-mcs", CK, "inlined", foreign!("ck", cohort_peer_ck_mcs);
    Mcs "tbb-queuing", TBB, "inlined", foreign!("tbb", cohort_peer_tbb_queuing);
    Mcs "mcslock", Origin::Theirs, "inlined", here!(Own::new(mcslock::raw::spins::Mutex::new(())));
    Mcs "mcslock-yield", Origin::Theirs, "inlined",
        here!(Own::new(mcslock::raw::yields::Mutex::new(())));
    Mcs "mcs", Origin::Ours, "inlined", raw!(Spinning<cohort::basic::Mcs>);
    Mcs "k42", Origin::Ours, "inlined", raw!(cohort::basic::K42);
    Mcs "pthread-mcs", spinning("mcs"), PRELOAD, here!(pthread(Mutexes::Normal));

    Clh "ck-clh", CK, "inlined", foreign!("ck", cohort_peer_ck_clh);
    Clh "clhlock", Origin::Theirs, "inlined", here!(Own::new(clhlock::raw::spins::Mutex::new(())));
    Clh "clhlock-yield", Origin::Theirs, "inlined",
        here!(Own::new(clhlock::raw::yields::Mutex::new(())));
    Clh "clh", Origin::Ours, "inlined", raw!(cohort::basic::Clh);
    Clh "hemlock", Origin::Ours, "inlined", raw!(Spinning<cohort::basic::Hemlock>);
    Clh "hemlock-ctr", Origin::Ours, "inlined", raw!(Spinning<cohort::basic::HemlockCtr>);
    Clh "pthread-clh", spinning("clh"), PRELOAD, here!(pthread(Mutexes::Normal));

    Array "ck-anderson", CK, "inlined", foreign!("ck", cohort_peer_ck_anderson);
    Array "anderson", Origin::Ours, "inlined", raw!(Spinning<cohort::basic::Anderson>);

    Shared "glibc-rwlock", Origin::Theirs, "by symbol", shared!(CachePadded(RwLock::new()));
    Shared "std-rwlock", Origin::Theirs, "inlined", shared!(Own::new(std::sync::RwLock::new(())));
    Shared "parking_lot-rwlock", Origin::Theirs, "inlined",
        shared!(Own::new(parking_lot::RwLock::new(())));
    Shared "absl-shared", Origin::Package("libabsl-dev"), "by symbol",
        foreign!("abseil", cohort_peer_absl_shared, shared);
    Shared "nsync-shared", Origin::Package("libnsync-dev"), "by symbol",
        foreign!("nsync", cohort_peer_nsync_shared, shared);
    Shared "tbb-rw", TBB, "inlined", foreign!("tbb", cohort_peer_tbb_rw, shared);
    Shared "cohort::RwLock", Origin::Ours, "inlined", shared!(Own::new(cohort::RwLock::new(())));
    Shared "pthread-rwlock", Origin::Preloaded { lock: "futex-hmcs", wait: "park" }, PRELOAD,
        shared!(CachePadded(RwLock::new()));

    Keyed "in-place", Origin::Ours, "inlined", keyed!(InPlace);
    Keyed "gls", Origin::Ours, "inlined", keyed!(Gls);
    Keyed "papaya", Origin::Theirs, "inlined", mapped!(Papaya);
    Keyed "scc", Origin::Theirs, "inlined", mapped!(Scc);
    Keyed "dashmap", Origin::Theirs, "inlined", mapped!(Dashmap);
    // With GLS's lock.
    Keyed "papaya-glk", Origin::Theirs, "inlined", keyed!(Mapped::<Papaya<_>, _>::new(GlkObject::new));
    Keyed "scc-glk", Origin::Theirs, "inlined", keyed!(Mapped::<Scc<_>, _>::new(GlkObject::new));
    Keyed "dashmap-glk", Origin::Theirs, "inlined", keyed!(Mapped::<Dashmap<_>, _>::new(GlkObject::new));
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(subcommand)]
        load: Load,
    }

    fn load(words: &str) -> Load {
        let words = std::iter::once("load").chain(words.split(' '));
        Words::parse_from(words).load
    }

    #[test]
    fn glibc_is_first_and_names_are_unique() {
        assert_eq!(PEERS[0].name, "glibc");
        for (place, peer) in PEERS.iter().enumerate() {
            let first = PEERS.iter().position(|other| other.name == peer.name);
            assert_eq!(first, Some(place), "{}", peer.name);
        }
    }

    /// The loads detect violations of exclusion.
    #[test]
    fn every_lock_excludes_and_hands_over() {
        let crowd = load("crowd --threads 3 --section 300 --gap 100 --latency --seconds 0.03");
        let shared = load("share --threads 3 --section 300 --gap 100 --readers 50 --seconds 0.03");
        let hand_over = load("hand-over --hold 200 --seconds 0.02");
        let visit = load("hand-over --visit --seconds 0.02");
        let alone = load("alone --seconds 0.01");
        let keys = load("keys --keys 9 --seconds 0.01");
        let crowds = load("keys --keys 3 --threads 3 --section 300 --gap 100 --seconds 0.03");
        for peer in PEERS {
            let Some(run) = peer.run else {
                continue;
            };
            if peer.kind == PeerKind::Shared {
                assert!(run(&shared).unwrap().operations > 0, "{}", peer.name);
                assert!(run(&crowd).is_err());
                continue;
            }
            assert!(run(&shared).is_err());
            if peer.kind == PeerKind::Keyed {
                assert!(run(&crowds).unwrap().operations > 0, "{}", peer.name);
                assert!(run(&keys).unwrap().pair.is_some(), "{}", peer.name);
                assert!(run(&alone).is_err());
                continue;
            }
            assert!(run(&keys).is_err());
            assert!(run(&crowd).unwrap().operations > 0, "{}", peer.name);
            assert!(
                run(&alone).unwrap().pair.unwrap().least > 0.0,
                "{}",
                peer.name
            );
            for load in [&hand_over, &visit] {
                match run(load) {
                    Ok(outcome) => assert!(outcome.operations > 0, "{}", peer.name),
                    Err(why) => assert!(why.contains("two CPUs"), "{}: {why}", peer.name),
                }
            }
        }
    }
}
