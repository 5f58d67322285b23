//! Threads allocate and free through the C library's symbols, so that a preloaded allocator and its
//! lock are measured.

use super::Outcome;
use super::crowd::{Crowd, Member};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::hint::black_box;
use std::ptr;

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    crowd: Crowd,
    /// Minimum size in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    least: u32,
    /// Maximum size in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 256,
        value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    most: u32,
}

/// Number of blocks that a thread keeps alive.
const KEPT: usize = 64;

/// A thread's living blocks.
struct Blocks([*mut u8; KEPT]);

impl Drop for Blocks {
    fn drop(&mut self) {
        for block in self.0 {
            // SAFETY: null, or allocated by malloc and not freed yet.
            unsafe { libc::free(block.cast()) };
        }
    }
}

/// Runs the load; an operation is one allocation and one release.
///
/// # Errors
/// Bounds in the wrong order, or no memory.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let sizes = options.least..=options.most;
    if sizes.is_empty() {
        return Err(format!(
            "--least {} is above --most {}",
            options.least, options.most
        ));
    }
    options.crowd.run(false, |index| {
        let mut random = SmallRng::seed_from_u64(index as u64);
        let sizes = sizes.clone();
        Ok(move |member: &mut Member| {
            let mut blocks = Blocks([ptr::null_mut(); KEPT]);
            loop {
                let size = random.random_range(sizes.clone()) as usize;
                let place = &mut blocks.0[random.random_range(0..KEPT)];
                // SAFETY: the old content is null, or allocated by malloc and freed once; the new
                // block has at least one byte.
                unsafe {
                    libc::free(black_box(*place).cast());
                    *place = libc::malloc(black_box(size)).cast();
                    if place.is_null() {
                        std::process::abort();
                    }
                    place.write_volatile(1);
                }
                if !member.goes_on() {
                    break;
                }
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(least: u32, most: u32) -> Options {
        Options {
            crowd: Crowd {
                threads: 2,
                seconds: 0.03,
            },
            least,
            most,
        }
    }

    #[test]
    fn memory_is_taken_and_given() {
        assert!(run(&options(16, 256)).unwrap().operations > 0);
    }

    #[test]
    fn bounds_are_checked() {
        assert!(run(&options(300, 256)).is_err());
    }
}
