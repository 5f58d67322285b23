//! Memory of the locks of many addresses, all free.

use super::Outcome;
use super::idle::resident;
use cohort_service::gls::{self, address};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::time::Instant;

/// Options of the load.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// Number of addresses
    #[arg(long, value_name = "N", default_value_t = 10_000_000,
        value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    keys: u32,
    /// Distance of the addresses in bytes [default: random]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..))]
    apart: Option<u32>,
}

/// First of consecutive addresses; nothing is accessed there.
const FIRST: usize = 1 << 40;

/// Runs the load: one thread acquires and releases the lock of each address. Blocks for seconds.
///
/// # Errors
/// An address has no lock afterwards, or the kernel does not report the memory in use.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let begun = Instant::now();
    let keys = u64::from(options.keys);
    // Excludes one-time costs of a thread's first lock.
    use_once(1)?;
    let known = gls::keys();
    let before = resident()?;
    match options.apart {
        None => {
            let mut random = SmallRng::seed_from_u64(1);
            // Random 64-bit values hardly collide, and none is null.
            (0..keys).try_for_each(|_| use_once(random.random::<u64>() as usize))?;
        }
        Some(bytes) => {
            (0..keys as usize).try_for_each(|place| use_once(FIRST + place * bytes as usize))?;
        }
    }
    let after = resident()?;
    let locked = gls::keys() - known;
    if locked != options.keys {
        return Err(format!("{locked} of {keys} addresses have locks"));
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Outcome {
        operations: keys,
        seconds,
        per_second: keys as f64 / seconds,
        bytes_each: Some((after - before).max(0.0) / keys as f64),
        ..Outcome::default()
    })
}

fn use_once(key: usize) -> Result<(), String> {
    let refused = |why| format!("no lock for {key:#x}: {why:?}");
    address::lock(key).map_err(refused)?;
    // SAFETY: locked just above, without a guard.
    unsafe { address::unlock(key) }.map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_counted() {
        let _turn = super::super::address::COUNTED.lock().unwrap();
        for apart in [None, Some(64)] {
            let options = Options { keys: 1000, apart };
            let outcome = run(&options).unwrap();
            assert!(outcome.operations == 1000 && outcome.bytes_each.is_some());
            assert!(gls::keys() >= 1000);
            gls::free_all().unwrap();
            assert_eq!(gls::keys(), 0);
        }
    }
}
