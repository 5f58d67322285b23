//! A benchmark as text: a table, and its background.

use cohort_cli::page;
use cohort_lab::bench::outcome::{Latency, Outcome};
use cohort_lab::bench::report::{Efficiency, Point, Report};
use cohort_lab::bench::{Info, WORKLOADS};
use cohort_lab::plot::figure;
use cohort_lab::world::{Changes, Heard};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Workload in the list.
#[derive(Serialize)]
pub struct Listed {
    name: &'static str,
    about: &'static str,
    source: &'static str,
    /// Its options, with their defaults.
    options: BTreeMap<&'static str, Option<String>>,
}

/// All workloads with their options and defaults.
pub fn listed() -> Vec<Listed> {
    let of = |info: &'static Info| {
        let stands = info.defaults.shown();
        let value = |name: &&str| {
            let known = stands.iter().find(|(knob, _)| knob == name);
            known.map(|(_, value)| value.clone())
        };
        Listed {
            name: info.name,
            about: info.about,
            source: info.source,
            options: info.takes.iter().map(|name| (*name, value(name))).collect(),
        }
    };
    WORKLOADS.iter().map(of).collect()
}

/// The list as a table.
pub fn workloads() -> String {
    let mut table = page::titled(&["workload", "description", "options"]);
    for info in listed() {
        let options = info.options.iter().map(|(name, value)| {
            let value = value.as_deref().unwrap_or("(none)");
            format!("--{name} {value}")
        });
        let options: Vec<String> = options.collect();
        table.add_row([
            info.name.to_owned(),
            format!("{} ({})", info.about, info.source),
            options.join("\n"),
        ]);
    }
    page::lines(table, 0..0)
}

/// The table, its background and, on request, the details.
pub fn text(report: &Report, detail: bool) -> String {
    let mut parts = vec![table(report), page::prose(&closing(report))];
    if detail {
        parts.extend(
            report
                .points
                .iter()
                .map(|point| page::prose(&details(point, report.sweeps()))),
        );
    }
    parts.join("\n\n")
}

/// Whether the points are a simulated machine's.
fn is_simulated(report: &Report) -> bool {
    report.hash.is_some()
}

/// The points, one per line, with long names above their figures. On a page too narrow for that, a
/// number replaces the name, which is listed below.
fn table(report: &Report) -> String {
    let text = with_names(report, &str::to_owned);
    let mut broken = report.locks();
    broken.retain(|lock| !text.contains(lock));
    if broken.is_empty() {
        return text;
    }
    let number = |lock: &str| {
        let place = broken.iter().position(|broken| *broken == lock);
        place.map(|place| format!("[{}]", place + 1))
    };
    let mut text = with_names(report, &|lock| {
        number(lock).unwrap_or_else(|| lock.to_owned())
    });
    text.push('\n');
    for lock in &broken {
        text += &format!("\n{} {lock}", number(lock).unwrap_or_default());
    }
    text
}

/// The table with these names of locks.
fn with_names(report: &Report, name: &dyn Fn(&str) -> String) -> String {
    let columns = columns(report);
    let titles: Vec<&str> = columns.iter().map(|column| column.title.as_str()).collect();
    let mut table = page::titled(&titles);
    for point in &report.points {
        // The first column is the lock's.
        let others = columns[1..].iter().map(|column| (column.of)(point));
        table.add_row(std::iter::once(name(&point.lock)).chain(others));
    }
    let figures = columns.iter().position(|column| column.is_figure);
    page::lines_below_names(table, figures.unwrap_or(1)..titles.len())
}

/// Column of the table.
struct Column {
    title: String,
    of: fn(&Point) -> String,
    is_figure: bool,
}

/// The columns of a report. Titles are broken to fit a page of 80 columns.
fn columns(report: &Report) -> Vec<Column> {
    let column = |title: &str, of: fn(&Point) -> String, is_figure| Column {
        title: title.to_owned(),
        of,
        is_figure,
    };
    let (simulated, sweeps) = (is_simulated(report), report.sweeps());
    let mut columns = vec![column("lock", |point| point.lock.clone(), false)];
    if common(report, waits).is_none() {
        columns.push(column("wait", waits, false));
    }
    if simulated && !sweeps && common(report, ended).is_none() {
        columns.push(column("ended", ended, false));
    }
    let speed = format!("{}s\nper second", report.operation);
    columns.push(column("thr.", |point| point.threads.to_string(), true));
    if sweeps {
        let apart = |point: &Point| point.interval().map_or_else(nothing, apart);
        columns.push(column("cycles\napart", apart, true));
    }
    columns.push(column(
        &speed,
        |point| figure(point.per_second.median),
        true,
    ));
    let unit = if simulated { "cycles" } else { "ns" };
    if sweeps {
        let each = |point: &Point| mean(point, point.middle.round_trip);
        columns.push(column(&format!("{unit} per\nsection"), each, true));
    }
    if !simulated {
        columns.push(column("interval", interval, true));
    }
    // Ten figures fill a page; those of timeouts and of several intervals replace others.
    let timed = is_timed(report);
    if is_weighed(report) {
        columns.push(column(
            "critical\n%",
            |point| weighed(point, |of| of.critical),
            true,
        ));
        columns.push(column(
            "other\n%",
            |point| weighed(point, |of| of.elsewhere),
            true,
        ));
        let efficiency = |point: &Point| weighed(point, |of| Some(of.efficiency));
        columns.push(column("effi-\nciency", efficiency, true));
    } else {
        columns.push(column("jain", jain, true));
        if !timed && !sweeps {
            let migrations = |point: &Point| each(point.middle.migrations_each());
            columns.push(column("migra-\ntions", migrations, true));
        }
        if simulated {
            let transfers = |point: &Point| each(point.middle.transfers_each());
            columns.push(column("trans-\nfers", transfers, true));
        }
        if simulated && !timed {
            let energy = |point: &Point| point.middle.energy_each().map_or_else(nothing, figure);
            columns.push(column("energy", energy, true));
        }
    }
    let acquire = format!("acquire\n{unit}");
    let median = |point: &Point| time(point, point.middle.acquire, |latency| latency.p50);
    let tail = |point: &Point| time(point, point.middle.acquire, |latency| latency.p99);
    let release = |point: &Point| time(point, point.middle.release, |latency| latency.p50);
    if sweeps {
        columns.push(column("acquire\np99", tail, true));
    } else {
        columns.push(column(&acquire, median, true));
        columns.push(column("p99", tail, true));
        columns.push(column("release", release, true));
    }
    if timed {
        let share = |point: &Point| percent(point.middle.given_up());
        let late = |point: &Point| time(point, point.middle.give_up, |latency| latency.p50);
        columns.push(column("gave\nup %", share, true));
        columns.push(column("within", late, true));
    }
    columns
}

/// Whether threads may time out.
fn is_timed(report: &Report) -> bool {
    report.options.contains_key("timeout")
}

/// Whether locks are compared by total work.
fn is_weighed(report: &Report) -> bool {
    report.points.iter().any(|point| point.efficiency.is_some())
}

fn weighed(point: &Point, of: fn(&Efficiency) -> Option<f64>) -> String {
    percent(point.efficiency.as_ref().and_then(of))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(nothing, |share| format!("{:.1}", 100.0 * share))
}

/// The common value of all points, if any.
fn common(report: &Report, of: fn(&Point) -> String) -> Option<String> {
    let first = report.points.first().map(of)?;
    let same = report.points.iter().all(|point| of(point) == first);
    same.then_some(first)
}

fn waits(point: &Point) -> String {
    point.wait.name().to_owned()
}

fn ended(point: &Point) -> String {
    let facts = point.middle.simulated.as_ref();
    facts.map_or_else(nothing, |facts| format!("{:?}", facts.ended).to_lowercase())
}

fn interval(point: &Point) -> String {
    let estimate = point.per_second;
    if estimate.count < 2 {
        return nothing();
    }
    page::interval(&figure(estimate.low), &figure(estimate.high))
}

fn jain(point: &Point) -> String {
    if is_idle(point) {
        return nothing();
    }
    format!("{:.3}", point.middle.fairness.jain)
}

/// A time in nanoseconds, or in cycles on a simulated machine.
fn time(point: &Point, latency: Option<Latency>, of: fn(&Latency) -> u64) -> String {
    let scale = scale(&point.middle);
    latency.map_or_else(nothing, |latency| figure(of(&latency) as f64 * scale))
}

/// A mean duration in nanoseconds, or in cycles on a simulated machine.
fn mean(point: &Point, latency: Option<Latency>) -> String {
    let scale = scale(&point.middle);
    latency.map_or_else(nothing, |latency| figure(latency.mean * scale))
}

/// An interval between critical sections, with a suffix if it is a round number.
fn apart(cycles: u64) -> String {
    match cycles {
        cycles if cycles >= 10_000 && cycles.is_multiple_of(1_000) => {
            format!("{} k", cycles / 1_000)
        }
        cycles => cycles.to_string(),
    }
}

/// A clock cycle in the displayed unit.
fn scale(middle: &Outcome) -> f64 {
    if middle.simulated.is_some() {
        1.0
    } else {
        middle.seconds * 1e9 / middle.cycles.max(1) as f64
    }
}

/// Whether no thread did anything, which makes fairness undefined.
const fn is_idle(point: &Point) -> bool {
    point.middle.fairness.most == 0
}

fn each(value: Option<f64>) -> String {
    value.map_or_else(nothing, |value| format!("{value:.2}"))
}

fn nothing() -> String {
    "-".to_owned()
}

/// The points without any completed operation, each with its time.
fn unserved(report: &Report) -> Option<String> {
    let points: Vec<String> = report
        .points
        .iter()
        .filter_map(|point| {
            let shares = &point.middle.per_thread;
            let without = shares.iter().filter(|share| **share == 0).count();
            (without > 0).then(|| {
                let time = point.middle.seconds * 1e3;
                format!(
                    "{} × {} ({without} in {time:.3} ms)",
                    point.lock, point.threads
                )
            })
        })
        .collect();
    (!points.is_empty()).then(|| format!("Starved threads (no operation): {}.", points.join(", ")))
}

/// The origin of the figures.
fn closing(report: &Report) -> String {
    let options: Vec<String> = report
        .options
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let options = if options.is_empty() {
        String::new()
    } else {
        format!(" ({})", options.join(", "))
    };
    let mut text = format!("{}{options}, {}. ", report.workload, report.source);
    match &report.hash {
        Some(hash) => {
            let _ = write!(
                text,
                "Simulated on {} (file {hash}), seed {}, in virtual time.\nA run ended when ",
                report.on, report.seed
            );
            text.push_str(&rules(report));
        }
        None => {
            let rounds = report.points.first().map_or(0, |point| point.rounds.len());
            let disturbed: usize = report.points.iter().map(|point| point.disturbed).sum();
            let _ = write!(
                text,
                "Medians of {} on this machine",
                page::counted(rounds, "round", "interleaved rounds")
            );
            if disturbed > 0 {
                let _ = write!(
                    text,
                    "; other processes used more than a tenth of the CPU time in {disturbed} of {}",
                    page::counted(rounds * report.points.len(), "run", "runs")
                );
            }
            text.push('.');
        }
    }
    let unfinished: usize = report.points.iter().map(|p| p.middle.unfinished).sum();
    if unfinished > 0 {
        let _ = write!(
            text,
            "\n{unfinished} threads still waited long after the end; their last waits count until the \
             end."
        );
    }
    if let Some(unserved) = unserved(report) {
        let _ = write!(text, "\n{unserved}");
    }
    let idle: Vec<String> = report
        .points
        .iter()
        .filter(|point| is_idle(point))
        .map(|point| named(point, report.sweeps()))
        .collect();
    if !idle.is_empty() {
        let _ = write!(
            text,
            "\nNo {} in the run: {}.",
            report.operation,
            idle.join(", ")
        );
    }
    text.push_str(if report.served {
        "\nLocks are embedded in pthread_mutex_t, as in programs."
    } else {
        "\nLocks are raw; --served measures them as in programs."
    });
    if let Some(config) = &report.config {
        let _ = write!(text, "\nThresholds of tuned locks: {config}.");
    }
    if let Some(wait) = common(report, waits) {
        let _ = write!(text, "\nWait policy: {wait}.");
    }
    let timed = is_timed(report);
    if is_weighed(report) {
        text.push_str(
            "\nCritical work: in critical sections; other work: after timeouts. Both in percent of \
             the best lock; efficiency is their mean.",
        );
    } else if timed {
        text.push_str(if is_simulated(report) {
            "\nTransfers are per critical section."
        } else {
            ""
        });
    } else if report.sweeps() {
        text.push_str(
            "\nTime per section: the mean from the start of the acquisition to the end of the release. \
             Transfers are per critical section.",
        );
    } else {
        text.push_str(
            "\nMigrations: hand-overs between the largest cohorts. Migrations and transfers are per \
             critical section.",
        );
    }
    if timed {
        text.push_str(
            "\nGave up: share of all attempts, and the median time from the start of the attempt. \
             --json has migrations and energy.",
        );
    } else if is_simulated(report) && !is_weighed(report) {
        text.push_str(
            "\nEnergy: a proxy in cycles of a running CPU; polling, idling and transfers are \
             weighted.",
        );
    }
    text
}

/// The rules that ended the runs, each once.
fn rules(report: &Report) -> String {
    let mut rules: Vec<String> = Vec::new();
    for point in &report.points {
        if let Some(facts) = &point.middle.simulated {
            let name = format!("{:?}", facts.ended).to_lowercase();
            let rule = format!("{} ({name})", facts.because);
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    format!("{}.", rules.join("; or "))
}

/// A point in words; with its interval if the report has several.
fn named(point: &Point, sweeps: bool) -> String {
    let name = format!("{} with {} threads", point.lock, point.threads);
    match point.outside.filter(|_| sweeps) {
        Some(outside) => format!("{name}, interval {outside}"),
        None => name,
    }
}

/// The work of each thread and each cohort.
fn details(point: &Point, sweeps: bool) -> String {
    let Outcome {
        per_thread,
        cohorts,
        migrations,
        counts,
        heard,
        ..
    } = &point.middle;
    let mut text = named(point, sweeps);
    let _ = write!(text, "\n  by thread: {}", list(per_thread));
    for level in cohorts {
        let _ = write!(
            text,
            "\n  sections by {}: {}",
            level.level,
            list(&level.sections)
        );
    }
    for distance in migrations.iter().flatten() {
        let _ = write!(
            text,
            "\n  hand-overs within {}: {}",
            distance.within, distance.count
        );
    }
    for (what, times) in counts {
        let _ = write!(text, "\n  {what}: {times}");
    }
    if let (Some(served), Some(looks)) = (counts.get("served"), counts.get("looks")) {
        let density = *served as f64 / (*looks).max(1) as f64;
        let _ = write!(text, "\n  request density: {density:.3}");
    }
    let hertz = point.middle.cycles as f64 / point.middle.seconds;
    for (what, takes, name, paper) in COSTS {
        if let (Some(times), Some(took)) = (counts.get(what), counts.get(takes)) {
            let cycles = *took as f64 / 1e9 * hertz / (*times).max(1) as f64;
            let _ = write!(text, "\n  {name}: {cycles:.0} cycles (paper: {paper})");
        }
    }
    if !heard.is_nothing() {
        text.push_str(&modes(heard));
    }
    text
}

/// The modes of adaptive locks, and the reasons of changes.
fn modes(heard: &Heard) -> String {
    let by_mode = |counts: &BTreeMap<&'static str, u64>| {
        let words = counts.iter().map(|(mode, count)| format!("{mode} {count}"));
        words.collect::<Vec<_>>()
    };
    let mut text = String::new();
    let mut last = by_mode(&heard.last);
    let others = (heard.locks as u64).saturating_sub(heard.changed());
    if others > 0 {
        last.push(format!("unchanged {others}"));
    }
    if !last.is_empty() {
        let _ = write!(text, "\n  locks by final mode: {}", last.join(", "));
    }
    if !heard.waits.is_empty() {
        let waits = by_mode(&heard.waits).join(", ");
        let _ = write!(text, "\n  waits by mode: {waits}");
    }
    for change in &heard.changes {
        let Changes {
            from,
            to,
            times,
            why,
        } = change;
        let _ = write!(text, "\n  {from} to {to}: {times}, first because {why}");
    }
    text
}

/// Additional costs of a lock per critical section: the counter of its number and duration, its
/// name, and the result of Zhang et al. 2017 (§4.2), in cycles.
const COSTS: [(&str, &str, &str, &str); 3] = [
    (
        "places",
        "places-ns",
        "a place found",
        "102 to 3518 for an id",
    ),
    ("votes", "votes-ns", "a vote", "217"),
    ("clocks", "clocks-ns", "the clock asked", "100"),
];

fn list(counts: &[u64]) -> String {
    let words: Vec<String> = counts.iter().map(u64::to_string).collect();
    words.join(" ")
}
