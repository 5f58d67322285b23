//! Searches anew for the compositions that `cohort bench` calls best, and says where others
//! are best now than `world/best.rs` has.
//!
//! ```sh
//! cargo run --release -p cohort-lab --example best
//! ```

use cohort_lab::claims;
use cohort_lab::interrupt;
use cohort_lab::progress::Progress;
use cohort_lab::world::best::FOUND;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = interrupt::arm() {
        eprintln!("cannot watch for signals: {error}");
        return ExitCode::FAILURE;
    }
    let named = |(what, on, _): &(&str, &'static str, _)| {
        let name: &'static str = format!("clof:{what}").leak();
        (name, *on)
    };
    let names: Vec<_> = FOUND.iter().map(named).collect();
    let mut progress = Progress::new(0, false);
    let best = claims::search(&names, &mut progress);
    drop(progress);
    match best {
        Ok(best) => {
            for ((what, on, known), now) in FOUND.iter().zip(best) {
                let now = now.unwrap_or("nothing");
                let was = if now == *known {
                    String::new()
                } else {
                    format!(" (before: {known})")
                };
                println!("{what:12} {on:14} {now}{was}");
            }
            ExitCode::SUCCESS
        }
        Err(signal) => ExitCode::from(signal.status()),
    }
}
