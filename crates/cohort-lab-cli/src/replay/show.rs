//! A replay as text.

use super::{Point, Replayed, SYSTEM};
use cohort_cli::page;
use comfy_table::Cell;

/// The model, in two sentences.
pub fn model((least, most): (usize, usize)) -> String {
    let lines = match (least, most) {
        (1, 1) => "one line".to_owned(),
        (least, most) if least == most => format!("{most} lines"),
        _ => format!("{least} to {most} lines"),
    };
    format!(
        "Each thread executes its recorded sequence: it computes between lock operations for as long as \
         on the recording host, and each critical section touches {lines} and lasts its recorded time. A \
         wait at a condition ends with the signal that ended it, a thread begins with its creation, and a \
         join ends with the thread's last event, whatever their recorded times."
    )
}

/// The mean of a figure over runs.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// A rate with a prefix.
fn rate(per_second: f64) -> String {
    match per_second {
        ..1e3 => format!("{per_second:.0}"),
        1e3..1e6 => format!("{:.1} k", per_second / 1e3),
        _ => format!("{:.2} M", per_second / 1e6),
    }
}

/// A time.
fn time(seconds: f64) -> String {
    match seconds {
        ..1e-6 => format!("{:.0} ns", seconds * 1e9),
        1e-6..1e-3 => format!("{:.1} µs", seconds * 1e6),
        1e-3..1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.1} s"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The ratios' mean, least and greatest.
fn ratio(point: &Point) -> String {
    let ratios = point.ratios.iter().copied();
    let (least, most) = (
        ratios.clone().fold(f64::INFINITY, f64::min),
        ratios.clone().fold(0.0, f64::max),
    );
    let middle = mean(ratios);
    if point.lock == SYSTEM {
        return "1".to_owned();
    }
    format!("{middle:.2} ({least:.2}–{most:.2})")
}

/// The whole text.
pub fn text(replayed: &Replayed<'_>, cpus: usize) -> String {
    let info = replayed.trace;
    let recorded = &replayed.recorded;
    let threads = replayed.threads * replayed.copies;
    let seeds = replayed.points.first().map_or(0, |point| point.runs.len());
    let head = format!(
        "{}: recorded under {} on {}. Replayed on {} with {} on {}: {} acquisitions of {}, {}.",
        page::visible(&info.program),
        page::visible(&info.lock),
        page::visible(&info.host),
        replayed.on,
        page::counted(threads, "thread", "threads"),
        page::counted(cpus, "CPU", "CPUs"),
        recorded.acquisitions * replayed.copies as u64,
        page::counted(replayed.locks, "lock", "locks"),
        page::counted(seeds, "seed", "seeds"),
    );
    let mut table = page::titled(&[
        "lock",
        "acquisitions/s",
        "ratio to system",
        "time lost",
        "wait 99 %",
    ]);
    let under = format!("recorded ({})", page::visible(&info.lock));
    let rows = [
        under,
        rate(recorded.per_second),
        "-".to_owned(),
        percent(recorded.lost),
        "-".to_owned(),
    ];
    table.add_row(rows.map(Cell::new));
    for point in &replayed.points {
        let runs = || point.runs.iter();
        let name = match &*point.lock {
            SYSTEM => "system".to_owned(),
            other => other.to_owned(),
        };
        let cells = [
            name,
            rate(mean(runs().map(|run| run.per_second))),
            ratio(point),
            percent(mean(runs().map(|run| run.lost))),
            time(mean(runs().map(|run| run.p99))),
        ];
        table.add_row(cells.map(Cell::new));
    }
    let mut text = page::prose(&head);
    text.push_str("\n\n");
    text.push_str(&page::prose(&format!("Model: {}", replayed.model)));
    text.push_str("\n\n");
    text.push_str(&page::lines_below_names(table, 1..5));
    let unsaid = unsaid(replayed);
    if !unsaid.is_empty() {
        text.push_str("\n\nNot in the replay:\n");
        let lines: Vec<String> = unsaid
            .iter()
            .map(|one| page::hanging("- ", one).trim_end().to_owned())
            .collect();
        text.push_str(&lines.join("\n"));
    }
    text
}

/// What the trace cannot say, or the replay leaves out.
fn unsaid(replayed: &Replayed<'_>) -> Vec<String> {
    let left = &replayed.left_out;
    let mut all = Vec::new();
    if left.unrecorded >= 0.005 {
        all.push(format!(
            "{} of the run, which no window recorded; the windows follow each other",
            percent(left.unrecorded)
        ));
    }
    let counts = [
        (left.beyond, "acquisitions after --acquisitions"),
        (
            left.rare,
            "acquisitions of rarely used locks, replayed as time",
        ),
        (
            left.unsignalled,
            "waits at conditions without a recorded signal, replayed by their time",
        ),
        (
            left.pauses,
            "waits at semaphores, barriers and joins of unknown threads, replayed by their time",
        ),
        (
            left.orphans,
            "threads with an unknown creator, which begin at once",
        ),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    all.extend(counts.map(|(count, what)| format!("{count} {what}")));
    if left.slept >= 1e-3 {
        all.push(format!(
            "the reasons for {} of sleep outside locks, replayed by its time",
            time(left.slept)
        ));
    }
    if left.preempted >= 1e-3 {
        let share = left.preempted / (left.preempted + left.computed);
        all.push(format!(
            "{} in which recorded threads had no CPU, {} of their running time: the machine schedules anew, \
             without the recording host's other processes",
            time(left.preempted),
            percent(share)
        ));
    }
    all
}
