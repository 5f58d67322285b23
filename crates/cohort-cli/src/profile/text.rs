//! A profile as a person reads it.

use super::figures::Spread;
use super::merge::label;
use super::{Condition, Cost, Lock, NamedBy, Profile, Site};
use crate::page;
use comfy_table::Cell;
use std::fmt::Write;

/// Locks that are listed, and those of them that are shown by places.
const LISTED: usize = 12;
const SHOWN: usize = 4;

/// Places of a lock that are shown.
const PLACES: usize = 4;

/// By how much a lock's figures are indented.
const INDENT: u16 = 3;

/// The whole text.
pub fn of(profile: &Profile) -> String {
    let text = padded(profile);
    let lines = text.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// The same, with blanks at the ends of lines.
fn padded(profile: &Profile) -> String {
    let mut text = head(profile);
    if profile.locks.is_empty() {
        text.push_str("no acquisition of a lock that Cohort serves\n");
        return text;
    }
    text.push('\n');
    text.push_str(&overview(profile));
    for (place, lock) in profile.locks.iter().enumerate().take(SHOWN) {
        if lock.lost.value > 0.0 {
            text.push('\n');
            text.push_str(&one(place, lock));
        }
    }
    if !profile.conditions.is_empty() {
        text.push('\n');
        text.push_str(&conditions(&profile.conditions));
    }
    text
}

fn head(profile: &Profile) -> String {
    let cost = &profile.cost;
    let preempted = match profile.preempted {
        Some(times) => format!(
            ", preempted {}",
            several(times.unsigned_abs(), "time", "times")
        ),
        None => String::new(),
    };
    let mut text = page::prose(&format!(
        "cohort: {} ran {:.2} s under {}; {}, at most {} at once{preempted}",
        profile.program,
        profile.seconds,
        profile.lock,
        several(profile.processes as u64, "process", "processes"),
        several(profile.threads as u64, "thread", "threads"),
    ));
    text.push('\n');
    text.push_str(&page::prose(&cost_of(cost)));
    text.push('\n');
    if cost.counting >= cost.limit {
        text.push_str(&page::prose(
            "Counting alone exceeds the limit, whatever the sampling rate; sampling was reduced to a \
             tenth of the limit.",
        ));
        text.push('\n');
    } else if cost.percent >= cost.limit {
        text.push_str(&page::prose(
            "This exceeds the limit, even at the reduced sampling rate. Longer runs have less sampling \
             overhead.",
        ));
        text.push('\n');
    }
    let left_out = &profile.left_out;
    for (lost, most, what) in [
        (left_out.threads, 0, "threads were not recorded"),
        (
            left_out.acquisitions,
            0,
            "acquisitions were not assigned to a lock",
        ),
        (
            // Which ones are dropped is chance: a few are no loss.
            left_out.samples,
            cost.sampled / 9,
            "samples were dropped, a tenth of all or more",
        ),
    ] {
        if lost > most {
            let _ = writeln!(text, "Out of space: {} {what}.", count(lost));
        }
    }
    text
}

/// What profiling cost, and by what that is known.
pub fn cost_of(cost: &Cost) -> String {
    format!(
        "Profiling overhead: {:.1} % of the CPU time (limit {} %): counting {} {:.1} % ({} each, \
         timed {} times), {} {:.1} %, {} {:.1} %.",
        cost.percent,
        cost.limit,
        several(cost.acquired, "acquisition", "acquisitions"),
        cost.counting,
        time(cost.each),
        count(cost.measured),
        several(cost.sampled, "sample", "samples"),
        (cost.percent - cost.counting - cost.looking).max(0.0),
        several(cost.looks, "outside sample", "outside samples"),
        cost.looking
    )
}

fn overview(profile: &Profile) -> String {
    let mut table = page::titled(&[
        "lock",
        "lost s",
        "taken",
        "contended",
        "queue",
        "wait mean",
        "wait p99",
        "hold mean",
        "hold p99",
    ]);
    for (place, lock) in profile.locks.iter().enumerate().take(LISTED) {
        table.add_row([
            Cell::new(format!("{}. {}", place + 1, short(lock))),
            Cell::new(seconds(lock.lost.value)),
            Cell::new(count(lock.acquired)),
            Cell::new(share(lock.contended, lock.acquired)),
            Cell::new(queue(lock)),
            Cell::new(mean(lock.wait.as_ref())),
            Cell::new(p99(lock.wait.as_ref())),
            Cell::new(mean(lock.hold.as_ref())),
            Cell::new(p99(lock.hold.as_ref())),
        ]);
    }
    let mut text = page::lines_below_names(table, 1..9);
    text.push('\n');
    if profile.locks.len() > LISTED {
        let _ = writeln!(
            text,
            "and {} more (-o FILE and --json have all)",
            several((profile.locks.len() - LISTED) as u64, "lock", "locks")
        );
    }
    text
}

/// A lock by its places.
fn one(place: usize, lock: &Lock) -> String {
    let mut text = page::prose(&format!("{}. {}", place + 1, long(lock)));
    let _ = write!(
        text,
        "\n   lost {} s ({}–{}), up to {} waiting",
        seconds(lock.lost.value),
        seconds(lock.lost.low),
        seconds(lock.lost.high),
        several(u64::from(lock.queue.greatest), "thread", "threads"),
    );
    if lock.objects > 1 {
        let _ = write!(
            text,
            "\n   {} locks, one of them with {:.0} % of that",
            count(lock.objects as u64),
            100.0 * lock.busiest
        );
    }
    text.push('\n');
    for (what, spread) in [("wait", &lock.wait), ("hold", &lock.hold)] {
        if let Some(spread) = spread {
            let interval = match spread.mean.interval() {
                Some([low, high]) => format!("{}–{}", time(low), time(high)),
                None => "–".to_owned(),
            };
            let _ = writeln!(
                text,
                "   {what} {} ({interval}), p50 {}, p99 {}, p99.9 {}",
                spread.time(spread.mean.value),
                spread.time(spread.p50 as f64),
                spread.time(spread.p99 as f64),
                spread.time(spread.p999 as f64)
            );
        }
    }
    if let Some(handed) = &lock.handed {
        let indent = " ".repeat(INDENT.into());
        text.push_str(&page::hanging(&indent, &handed.text()));
    }
    let waiters = |site: &Site| site.lost;
    let holders = |site: &Site| site.blamed;
    let waits = |site: &Site| mean(site.wait.as_ref());
    let holds = |site: &Site| mean(site.hold.as_ref());
    text.push_str(&places(["waited, s", "wait mean"], lock, &waiters, &waits));
    text.push_str(&places(["held, s", "hold mean"], lock, &holders, &holds));
    text
}

/// The places that have most of something, and for how long each has it in the mean.
fn places(
    [title, each]: [&str; 2],
    lock: &Lock,
    seconds_of: &dyn Fn(&Site) -> f64,
    mean_of: &dyn Fn(&Site) -> String,
) -> String {
    let mut sites: Vec<&Site> = lock
        .sites
        .iter()
        .filter(|site| seconds_of(site) > 0.0)
        .collect();
    sites.sort_by(|one, other| seconds_of(other).total_cmp(&seconds_of(one)));
    let mut table = page::titled(&["place", title, "taken", "contended", each]);
    table.set_width(page::width().saturating_sub(INDENT));
    let most = sites.first().map_or(0.0, |site| seconds_of(site));
    for site in sites.iter().take(PLACES) {
        // What has a thousandth of the first says nothing.
        if seconds_of(site) < most / 1_000.0 {
            break;
        }
        table.add_row([
            where_it_is(site, lock.kind.ends_with("rwlock")),
            seconds(seconds_of(site)),
            count(site.acquired),
            share(site.contended, site.acquired),
            mean_of(site),
        ]);
    }
    if table.row_count() == 0 {
        return String::new();
    }
    let lines = page::lines_below_names(table, 1..5);
    let indented = lines.lines().map(|line| format!("   {line}\n"));
    indented.collect()
}

/// A place with its first callers.
fn where_it_is(site: &Site, says_how: bool) -> String {
    let frames: Vec<String> = site.frames.iter().take(3).map(label).collect();
    let how = if says_how {
        format!("{}: ", site.how)
    } else {
        String::new()
    };
    format!("{how}{}", frames.join(" < "))
}

fn conditions(conditions: &[Condition]) -> String {
    let mut table = page::titled(&["condition", "waits", "wait mean", "wait p99"]);
    for condition in conditions.iter().take(PLACES) {
        table.add_row([
            condition.name.clone(),
            count(condition.waits),
            mean(condition.wait.as_ref()),
            p99(condition.wait.as_ref()),
        ]);
    }
    let mut text = page::lines_below_names(table, 1..4);
    text.push('\n');
    text
}

/// A lock's name.
fn short(lock: &Lock) -> String {
    match &*lock.kind {
        "mutex" => lock.name.clone(),
        kind => format!("{} ({kind})", lock.name),
    }
}

/// The same, with what it is.
pub fn long(lock: &Lock) -> String {
    let by = match lock.named_by {
        NamedBy::Symbol => "",
        NamedBy::Initialised => "initialised at ",
        NamedBy::Taken => "acquired at ",
    };
    format!("{} {by}{}", lock.kind, lock.name)
}

fn queue(lock: &Lock) -> String {
    if lock.queue.greatest == 0 {
        return "–".to_owned();
    }
    format!("{:.1}", lock.queue.mean)
}

fn mean(spread: Option<&Spread>) -> String {
    spread.map_or_else(|| "–".to_owned(), |spread| spread.time(spread.mean.value))
}

fn p99(spread: Option<&Spread>) -> String {
    spread.map_or_else(|| "–".to_owned(), |spread| spread.time(spread.p99 as f64))
}

/// Seconds, in three digits.
pub fn seconds(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 0.001 => "<0.001".to_owned(),
        value if value < 10.0 => format!("{value:.3}"),
        value if value < 100.0 => format!("{value:.2}"),
        value => format!("{value:.0}"),
    }
}

/// Nanoseconds, in the unit in which they are short.
pub fn time(nanoseconds: f64) -> String {
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)] {
        if nanoseconds >= 0.9995 * size {
            let value = nanoseconds / size;
            return if value < 10.0 {
                format!("{value:.1} {unit}")
            } else {
                format!("{value:.0} {unit}")
            };
        }
    }
    format!("{nanoseconds:.0} ns")
}

impl Spread {
    /// Nanoseconds; below the floor only that they are.
    pub fn time(&self, nanoseconds: f64) -> String {
        if nanoseconds < self.floor {
            format!("<{}", time(self.floor))
        } else {
            time(nanoseconds)
        }
    }
}

/// A number, in thousands or millions where it is long.
pub fn count(number: u64) -> String {
    match number {
        0..=99_999 => number.to_string(),
        100_000..=9_999_999 => format!("{:.0} k", number as f64 / 1e3),
        _ => format!("{:.1} M", number as f64 / 1e6),
    }
}

/// A share in per cent.
pub fn share(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return "0 %".to_owned();
    }
    let percent = 100.0 * part as f64 / whole as f64;
    if percent < 0.1 {
        "<0.1 %".to_owned()
    } else {
        format!("{percent:.1} %")
    }
}

fn several(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(time(999.4), "999 ns");
        assert_eq!(time(999.9), "1.0 µs");
        assert_eq!(time(12_345.0), "12 µs");
        assert_eq!(time(2_500_000_000.0), "2.5 s");
        assert_eq!(count(99_999), "99999");
        assert_eq!(count(4_812_345), "4812 k");
        assert_eq!(share(1, 10_000), "<0.1 %");
        assert_eq!(share(0, 0), "0 %");
        assert_eq!(seconds(0.0), "0");
        assert_eq!(seconds(0.0004), "<0.001");
    }
}
