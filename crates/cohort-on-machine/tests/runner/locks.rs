//! Every lock and baseline of the catalogue: by virtual time on many CPUs and with more
//! threads than CPUs, and with few threads by chance.

use super::trial::{EPYC, KUNPENG, by_chance, by_time, passes};
use super::world::Client;
use crate::clients::mutex;
use crate::delegate_clients as delegate;
use cohort_machine::{Options, Placement, Waiting};
use libtest_mimic::Trial;

/// Threads of the runs by chance.
const FEW: usize = 4;

/// Threads of the runs by chance of locks that sections are brought to.
const MORE: usize = 5;

/// As many threads as CPUs that do nothing else; then the last of them tries.
fn waiting(waiting: Waiting) -> Vec<Options> {
    let scattered = Options {
        placement: Placement::Scattered,
        waiting,
        ..by_time()
    };
    vec![scattered]
}

/// Two CPUs for all.
fn crowded(waiting: Waiting) -> Vec<Options> {
    let crowded = Options {
        placement: Placement::Cpus(vec![0, 64]),
        waiting,
        ..by_time()
    };
    vec![crowded]
}

/// A client by chance, with waiters that sleep and with waiters that spin.
fn either_way_by_chance(name: &str, client: Client) -> [Trial; 2] {
    let spinning = || {
        by_chance().map(|options| Options {
            waiting: Waiting::Spin,
            ..options
        })
    };
    [
        passes(
            format!("chance::{name}"),
            &KUNPENG,
            || by_chance().collect(),
            client,
        ),
        passes(
            format!("chance::{name}::spin"),
            &KUNPENG,
            move || spinning().collect(),
            client,
        ),
    ]
}

/// What a lock owes for one thing that it can do.
macro_rules! owed {
    (@DetectsWaiters $all:ident, $name:ident, $lock:ty) => {
        $all.push(passes(
            format!("time::{}::waiters", stringify!($name)),
            &EPYC,
            || waiting(Waiting::Park),
            || mutex::tells_no_lies_about_waiters::<$lock>(16),
        ));
    };
    (@$other:ident $all:ident, $name:ident, $lock:ty) => {};
}

macro_rules! tests {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        {
            let mut all = Vec::new();
            $(
                all.extend([
                    passes(
                        format!("time::{}::16", stringify!($name)),
                        &EPYC,
                        || waiting(Waiting::Park),
                        || mutex::excludes::<$lock>(16, 50, 1),
                    ),
                    passes(
                        format!("time::{}::64", stringify!($name)),
                        &EPYC,
                        || waiting(Waiting::Spin),
                        || mutex::excludes::<$lock>(64, 20, 1),
                    ),
                    passes(
                        format!("time::{}::128", stringify!($name)),
                        &KUNPENG,
                        || waiting(Waiting::Park),
                        || mutex::excludes::<$lock>(128, 10, 1),
                    ),
                    passes(
                        format!("time::{}::crowded", stringify!($name)),
                        &KUNPENG,
                        || [crowded(Waiting::Park), crowded(Waiting::Yield)].concat(),
                        || mutex::excludes::<$lock>(16, 10, 1),
                    ),
                ]);
                all.extend(either_way_by_chance(stringify!($name), || {
                    mutex::excludes::<$lock>(FEW, 4, 1)
                }));
                $(owed!(@$capability all, $name, $lock);)*
            )+
            all
        }
    };
}

macro_rules! excludes {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        &[$((stringify!($name), || mutex::excludes::<$lock>(FEW, 4, 0))),+]
    };
}

/// The lock of that identifier, wanted by a few threads; nothing if the catalogue has none.
pub fn wanted_by_few(identifier: &str) -> Option<Client> {
    static ALL: &[(&str, Client)] = cohort_on_machine::for_each_lock!(excludes);
    let (_, client) = ALL.iter().find(|(name, _)| *name == identifier)?;
    Some(*client)
}

macro_rules! delegates {
    ($($name:ident, $delegate:ty, $about:literal, $source:literal, $can:tt;)+) => {
        {
            let mut all = Vec::new();
            $(
                all.extend([
                    passes(
                        format!("time::{}::64", stringify!($name)),
                        &EPYC,
                        || [waiting(Waiting::Spin), waiting(Waiting::Park)].concat(),
                        || delegate::runs::<$delegate>(64, 20, 4),
                    ),
                    passes(
                        format!("time::{}::crowded", stringify!($name)),
                        &KUNPENG,
                        || [crowded(Waiting::Park), crowded(Waiting::Yield)].concat(),
                        || delegate::runs::<$delegate>(16, 10, 2),
                    ),
                ]);
                all.extend(either_way_by_chance(stringify!($name), || {
                    delegate::runs::<$delegate>(MORE, 3, 1)
                }));
            )+
            all
        }
    };
}

/// All of them.
pub fn tests() -> Vec<Trial> {
    let mut all = cohort_on_machine::for_each_lock!(tests);
    all.extend(cohort_on_machine::for_each_baseline!(tests));
    all.extend(cohort_on_machine::for_each_delegate!(delegates));
    all
}
