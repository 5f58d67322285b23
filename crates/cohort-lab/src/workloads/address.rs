//! One thread takes locks that it finds by addresses, or where they lie.

use super::{CachePadded, Outcome, uncontended::per_turn};
use crate::options::seconds;
use cohort::catalogue::LOCKS;
use cohort::host::served::{Object, SERVICES, Service};
use cohort_service::gls::address;

/// Options of the load.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// How many locks are taken in turn
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    keys: u32,
    /// Take the same locks where they lie, without looking for them
    #[arg(long)]
    direct: bool,
    /// For how many seconds
    #[arg(long, default_value = "1", value_parser = seconds)]
    seconds: f64,
}

/// Takes so many locks at a time from the middle of nowhere to the next: odd, so that each of a
/// power of two comes once, and far, so that no prefetcher sees where it goes.
const STRIDE: u32 = 181;

/// The lock that stands behind every address.
fn service() -> Result<&'static Service, String> {
    let place = LOCKS.iter().position(|lock| lock.name == "glk");
    let service = place.and_then(|place| SERVICES[place].as_ref());
    service.ok_or_else(|| "glk does not serve here".to_owned())
}

/// Runs the load.  Blocks.
///
/// # Errors
/// The lock behind an address is not there.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let objects: Vec<CachePadded<Object>> =
        (0..options.keys).map(|_| CachePadded::default()).collect();
    let service = service()?;
    let mut next = 0;
    let outcome = per_turn(options.seconds, |turns| {
        for _ in 0..turns {
            let CachePadded(object) = &objects[next as usize];
            next = (next + STRIDE) % options.keys;
            if options.direct {
                // SAFETY: that lock alone serves them, and this thread has locked it.
                unsafe {
                    (service.pair.lock)(object);
                    (service.pair.unlock)(object);
                }
            } else {
                let key = std::ptr::from_ref(object).addr();
                // Only null is refused.
                let _ = address::lock(key);
                // SAFETY: locked just now, by no guard.
                let _ = unsafe { address::unlock(key) };
            }
        }
    });
    for CachePadded(object) in &objects {
        // Nobody has them, and what lies there next wants none of these locks.
        let _ = address::free(std::ptr::from_ref(object).addr());
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_has_its_lock_and_gives_it_back() {
        for (keys, direct) in [(1, true), (1, false), (512, true), (512, false)] {
            let options = Options {
                keys,
                direct,
                seconds: 0.01,
            };
            let pair = run(&options).unwrap().pair.unwrap();
            assert!(pair.least > 0.0 && pair.median >= pair.least);
        }
        assert!(cohort_service::gls::bytes() > 0, "no address had a lock");
        assert_eq!(cohort_service::gls::keys(), 0);
    }
}
