//! One client under one schedule, as a test.

use super::world::{self, Client};
use crate::slowest;
use cohort_machine::description::shipped;
use cohort_machine::{Hardware, Options, Outcome, Placement, Schedule};
use libtest_mimic::{Failed, Trial};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

/// The environment variable that deepens the checks if its value is `full`.
const TIER: &str = "COHORT_TIER";

/// Steps after which a random run counts as a livelock.
const STEPS: u64 = 20_000_000;

/// The range of steps in which PCT changes priorities: about the length of a small client.
const PCT_STEPS: u64 = 300;

/// Whether this is the full tier.
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

/// The number of seeds for each schedule.
pub fn seeds() -> u64 {
    if full() { 2000 } else { 40 }
}

/// A machine with two sockets, several levels and LL/SC.
pub static KUNPENG: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("kunpeng-920x2"));

/// A machine with hardware threads, MOESI and native atomics.
pub static EPYC: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("epyc-7352x2"));

/// A machine with eight cache groups in one socket.
pub static GENOA: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("epyc-9454p"));

/// A machine with two sockets; adaptive locks were designed for it.
pub static HASWELL: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("haswell-ep-2s"));

/// A machine with eight nodes, one or two hops apart.
pub static SUNFIRE: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("sunfire-x4800"));

/// A machine with 192 CPUs in one cache group.
pub static AMPERE: LazyLock<Arc<Hardware>> = LazyLock::new(|| hardware("ampereone-192"));

fn hardware(name: &str) -> Arc<Hardware> {
    let machine = shipped::find(name).unwrap_or_else(|| panic!("{name} is not shipped"));
    Arc::new(Hardware::new(&machine))
}

/// Options for runs by virtual time.
pub fn by_time() -> Options {
    Options {
        steps: STEPS,
        ..Options::default()
    }
}

/// CPUs of two cohorts alternately, at every level of the machines here.
const TWO_COHORTS: [usize; 4] = [0, 64, 1, 65];

/// CPUs of four nodes in turn; the nodes form two near pairs.
const FOUR_NODES: [usize; 4] = [0, 64, 32, 96];

/// Like [`by_chance`], for locks that use distances between nodes.
pub fn by_chance_in_four_nodes() -> impl Iterator<Item = Options> {
    by_chance().map(|options| Options {
        placement: Placement::Cpus(FOUR_NODES.to_vec()),
        ..options
    })
}

/// Options for random runs, with the tier's number of seeds.
pub fn by_chance() -> impl Iterator<Item = Options> {
    by_chance_of(1..=seeds())
}

/// Options for random runs with these seeds: purely random, and by PCT of growing depth.
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

/// Runs a client; returns the outcomes of its runs, or the cause of a failure.
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

/// A test that passes if all runs pass.
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
