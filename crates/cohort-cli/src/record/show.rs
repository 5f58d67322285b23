//! A trace as text.

use crate::page;
use cohort_trace::{Event, How, LockSummary, Pause, Quantiles, Summary, Trace, What};
use comfy_table::Cell;
use std::fmt::Write;

/// Locks that are listed.
const LISTED: usize = 12;

/// A number with separators of thousands.
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// A duration.
pub fn duration(nanoseconds: u64) -> String {
    let nanoseconds = nanoseconds as f64;
    let (scaled, unit) = match nanoseconds {
        ..1e3 => (nanoseconds, "ns"),
        1e3..1e6 => (nanoseconds / 1e3, "µs"),
        1e6..1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    match scaled {
        10.0.. => format!("{scaled:.0} {unit}"),
        _ => format!("{scaled:.1} {unit}"),
    }
}

/// The median and the 99th percentile.
fn spread(quantiles: Option<Quantiles>) -> [String; 2] {
    quantiles.map_or_else(
        || ["-".to_owned(), "-".to_owned()],
        |quantiles| [duration(quantiles.p50), duration(quantiles.p99)],
    )
}

/// The table of the locks with the most acquisitions.
pub fn locks(summary: &Summary) -> String {
    let titles = [
        "lock",
        "acquired",
        "contended",
        "wait 50 %",
        "99 %",
        "hold 50 %",
        "99 %",
        "gap 50 %",
    ];
    let mut table = page::titled(&titles);
    let is_used = |lock: &&LockSummary| lock.acquired + lock.failed > 0;
    let used = summary.locks.iter().filter(is_used).count();
    for lock in summary.locks.iter().filter(is_used).take(LISTED) {
        let [wait, wait_high] = spread(lock.wait);
        let [hold, hold_high] = spread(lock.hold);
        let [gap, _] = spread(lock.gap);
        let objects = match lock.objects {
            1 => String::new(),
            many => format!(" × {}", number(many)),
        };
        let name = format!(
            "{} {}{objects}",
            lock.kind.name(),
            page::visible(&lock.name)
        );
        let contended = format!("{:.1} %", lock.contended * 100.0);
        let figures = [
            number(lock.acquired),
            contended,
            wait,
            wait_high,
            hold,
            hold_high,
            gap,
        ];
        table.add_row([name].into_iter().chain(figures).map(Cell::new));
    }
    let mut text = page::lines_below_names(table, 1..8);
    if used > LISTED {
        let _ = write!(text, "\n{} more", number((used - LISTED) as u64));
    }
    text
}

/// An event on one line.
pub fn event(trace: &Trace, thread: usize, at: u64, event: &Event) -> String {
    let lock = |lock: u32| page::visible(&trace.locks[lock as usize].name);
    let site = |site: u32| match trace.site(site) {
        "" => String::new(),
        name => format!("  at {}", page::visible(name)),
    };
    let of = |thread: Option<u32>| match thread.and_then(|one| trace.threads.get(one as usize)) {
        Some(thread) => thread.id.to_string(),
        None => "unknown".to_owned(),
    };
    let what = match event.what {
        What::Window { number } => format!("window {number}"),
        What::Acquire {
            lock: number,
            site: place,
            how,
            by,
            got,
            contended,
            waited,
        } => {
            let how = match how {
                How::Exclusive => "lock",
                How::Read => "read",
                How::Write => "write",
            };
            let by = match by {
                cohort_trace::By::Lock => "",
                cohort_trace::By::Try => " (try)",
                cohort_trace::By::Timed => " (timed)",
                cohort_trace::By::Relock => " (again)",
            };
            let failed = if got { "" } else { ", failed" };
            let waited = if contended || waited > 0 {
                format!(", waited {}", duration(waited))
            } else {
                String::new()
            };
            format!("{how}{by} {}{waited}{failed}{}", lock(number), site(place))
        }
        What::Release { lock: number } => format!("release {}", lock(number)),
        What::Wait {
            condition,
            site: place,
            ended,
            waited,
        } => {
            let ended = match ended {
                cohort_trace::Ended::Signal => "signal",
                cohort_trace::Ended::Deadline => "deadline",
                cohort_trace::Ended::Error => "error",
            };
            let waited = duration(waited);
            format!("wait {} {waited}, {ended}{}", lock(condition), site(place))
        }
        What::Signal { condition, all } => {
            let what = if all { "broadcast" } else { "signal" };
            format!("{what} {}", lock(condition))
        }
        What::Create { thread } => format!("create thread {}", of(thread)),
        What::Pause {
            pause,
            thread,
            waited,
        } => {
            let waited = duration(waited);
            match pause {
                Pause::Join => format!("join thread {} {waited}", of(thread)),
                Pause::Semaphore => format!("semaphore {waited}"),
                Pause::Barrier => format!("barrier {waited}"),
            }
        }
        What::End => "end".to_owned(),
    };
    let mut away = String::new();
    if event.slept > 0 {
        let _ = write!(away, ", slept {}", duration(event.slept));
    }
    if event.preempted > 0 {
        let _ = write!(away, ", preempted {}", duration(event.preempted));
    }
    format!(
        "{:>14.6}  {:>7}  +{}{away}  {what}",
        at as f64 / 1e9,
        trace.threads[thread].id,
        duration(event.gap)
    )
}
