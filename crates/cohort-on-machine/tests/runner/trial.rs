//! One client under one schedule, as a test.

use super::world::{self, Client};
use crate::slowest;
use cohort_machine::description::shipped;
use cohort_machine::{Hardware, Options, Outcome, Placement, Schedule};
use libtest_mimic::{Failed, Trial};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

/// Lets the checks go deeper where it is `full`.
const TIER: &str = "COHORT_TIER";

/// Steps after which a run by chance has surely lost its way.
const STEPS: u64 = 20_000_000;

/// Steps among which PCT changes priorities: about as many as a small client takes.
const PCT_STEPS: u64 = 300;

/// Whether everything is wanted.
pub fn full() -> bool {
    match std::env::var(TIER).as_deref() {
        Ok("full") => true,
        Ok("quick" | "") | Err(_) => false,
        Ok(other) => {
            eprintln!("{TIER}={other}: write quick or full");
            std::process::exit(2);
        }
    }
}

/// Different seeds that each schedule is tried with.
pub fn seeds() -> u64 {
    if full() { 2000 } else { 40 }
}

/// A machine with two sockets, several levels and LL/SC.
pub static KUNPENG: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("kunpeng-920x2"));

/// One with hardware threads, MOESI and native atomics.
pub static EPYC: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("epyc-7352x2"));

/// The machine with two sockets that locks which adapt were made for.
pub static HASWELL: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("haswell-ep-2s"));

/// One with eight nodes, one or two hops apart.
pub static SUNFIRE: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("sunfire-x4800"));

fn hardware(name: &str) -> Arc<Hardware> {
    let machine = shipped::find(name).unwrap_or_else(|| panic!("{name} is not shipped"));
    Arc::new(Hardware::new(&machine))
}

/// Runs by virtual time.
pub fn by_time() -> Options {
    Options {
        steps: STEPS,
        ..Options::default()
    }
}

/// CPUs of two cohorts in turn, at every level of the machines here.
const TWO_COHORTS: [usize; 4] = [0, 64, 1, 65];

/// CPUs of four nodes in turn, two and two of them near to each other.
const FOUR_NODES: [usize; 4] = [0, 64, 32, 96];

/// As [`by_chance`], for locks that know how far nodes are from each other.
pub fn by_chance_in_four_nodes() -> impl Iterator<Item = Options> {
    by_chance().map(|options| Options {
        placement: Placement::Cpus(FOUR_NODES.to_vec()),
        ..options
    })
}

/// Runs by chance, as many as usual.
pub fn by_chance() -> impl Iterator<Item = Options> {
    by_chance_of(1..=seeds())
}

/// Runs by chance of these seeds: purely, and by PCT of growing depth.
pub fn by_chance_of(seeds: impl Iterator<Item = u64>) -> impl Iterator<Item = Options> {
    seeds.map(|seed| Options {
        schedule: match seed % 4 {
            0 | 1 => Schedule::Random,
            depth => Schedule::Pct {
                depth: depth as u32 + (seed / 4 % 3) as u32,
                steps: PCT_STEPS,
            },
        },
        seed,
        steps: STEPS,
        placement: Placement::Cpus(TWO_COHORTS.to_vec()),
        ..Options::default()
    })
}

/// Runs a client; what its runs came to, or why it failed.
pub fn outcomes(
    hardware: &Arc<Hardware>,
    options: Options,
    client: Client,
) -> Result<Vec<Outcome>, String> {
    let text = format!("{:?}, seed {}", options.schedule, options.seed);
    catch_unwind(AssertUnwindSafe(|| world::on(hardware, options, client))).map_err(|reason| {
        let reason = reason
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| reason.downcast_ref::<&str>().copied())
            .unwrap_or("a panic without a word");
        format!("{reason}\n({text})")
    })
}

/// A test that passes if each of the runs does.
pub fn passes(
    name: String,
    hardware: &'static LazyLock<Arc<Hardware>>,
    options: impl FnOnce() -> Vec<Options> + Send + 'static,
    client: Client,
) -> Trial {
    slowest::trial(name, move || {
        for options in options() {
            outcomes(hardware, options, client).map_err(Failed::from)?;
        }
        Ok(())
    })
}
