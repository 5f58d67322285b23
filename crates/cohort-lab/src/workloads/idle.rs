//! Memory of mutexes that were used and are free.

use super::Outcome;
use super::pthread::{Mutex, MutexKind};
use std::time::Instant;

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Number of mutexes
    #[arg(long, value_name = "N", default_value_t = 100_000,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    mutexes: u32,
}

/// Runs the load: two threads, one after the other, lock and unlock every mutex.
///
/// # Errors
/// A mutex cannot be created, or the kernel does not report the memory in use.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let begun = Instant::now();
    // Excludes one-time costs of a first mutex or a first thread.
    let first = mutexes(1)?;
    use_all(&first);
    let all = mutexes(options.mutexes)?;
    let before = resident()?;
    use_all(&all);
    let after = resident()?;
    let seconds = begun.elapsed().as_secs_f64();
    let operations = 2 * u64::from(options.mutexes);
    Ok(Outcome {
        operations,
        seconds,
        per_second: operations as f64 / seconds,
        bytes_each: Some((after - before).max(0.0) / f64::from(options.mutexes)),
        ..Outcome::default()
    })
}

fn mutexes(count: u32) -> Result<Vec<Mutex>, String> {
    (0..count)
        .map(|_| Mutex::new(MutexKind::Normal))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("cannot create a mutex: {error}"))
}

fn use_all(mutexes: &[Mutex]) {
    let pass = || mutexes.iter().for_each(|mutex| mutex.with(|| ()));
    pass();
    std::thread::scope(|scope| {
        scope.spawn(pass);
    });
}

/// Resident memory of this process, in bytes.
pub(super) fn resident() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<f64> = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages
        .map(|pages| pages * rustix::param::page_size() as f64)
        .ok_or_else(|| "/proc/self/statm has no memory size".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_use_is_seen() {
        let before = resident().unwrap();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(resident().unwrap() > before + 32e6);
        drop(memory);
        assert!(
            run(&Options { mutexes: 1000 })
                .unwrap()
                .bytes_each
                .is_some()
        );
    }
}
