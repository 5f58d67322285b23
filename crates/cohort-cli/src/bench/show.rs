//! A benchmark for people: a table, and what stands behind it.

use cohort_lab::bench::WORKLOADS;
use cohort_lab::bench::outcome::{Latency, Outcome};
use cohort_lab::bench::report::{Point, Report};
use cohort_lab::plot::figure;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt::Write as _;

/// The widest table of workloads, in characters.
const WIDTH: u16 = 100;

/// Every workload, its options and where they stand.
pub fn workloads() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(["workload", "what it is", "its options"]);
    for info in WORKLOADS {
        let stands = info.defaults.shown();
        let options =
            info.takes
                .iter()
                .map(|name| match stands.iter().find(|(knob, _)| knob == name) {
                    Some((_, value)) => format!("--{name} {value}"),
                    None => format!("--{name} (none)"),
                });
        let options: Vec<String> = options.collect();
        table.add_row([
            info.name.to_owned(),
            format!("{} ({})", info.about, info.source),
            options.join("\n"),
        ]);
    }
    table
}

/// The table, how it came about, and the details if they are wanted.
pub fn text(report: &Report, detail: bool) -> String {
    let mut text = format!("{}\n{}", table(report), closing(report));
    if detail {
        for point in &report.points {
            text.push_str(&details(point));
        }
    }
    text
}

/// Whether times are given in cycles, since they are a machine's that nobody has.
fn is_simulated(report: &Report) -> bool {
    report.hash.is_some()
}

fn table(report: &Report) -> Table {
    let simulated = is_simulated(report);
    let unit = if simulated { "cycles" } else { "ns" };
    let mut titles = vec![
        "lock".to_owned(),
        "wait".to_owned(),
        "threads".to_owned(),
        format!("{}s/s", report.operation),
    ];
    if simulated {
        titles.push("ended".to_owned());
    } else {
        titles.push("interval".to_owned());
    }
    titles.extend(["jain".to_owned(), "least–most".to_owned()]);
    titles.push("migrations".to_owned());
    if simulated {
        titles.extend(["transfers".to_owned(), "energy".to_owned()]);
    }
    titles.push(format!("acquire {unit}"));
    titles.push("p99".to_owned());
    titles.push("release".to_owned());
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(titles);
    for point in &report.points {
        table.add_row(cells(point, simulated));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn cells(point: &Point, simulated: bool) -> Vec<String> {
    let middle = &point.middle;
    let scale = if simulated {
        1.0
    } else {
        middle.seconds * 1e9 / middle.cycles.max(1) as f64
    };
    let time = |latency: Option<Latency>, of: fn(&Latency) -> f64| {
        latency.map_or_else(nothing, |latency| figure(of(&latency) * scale))
    };
    let mut cells = vec![
        point.lock.clone(),
        point.wait.name().to_owned(),
        point.threads.to_string(),
        figure(point.per_second.median),
    ];
    match &middle.simulated {
        Some(facts) => cells.push(format!("{:?}", facts.ended).to_lowercase()),
        None if point.per_second.count > 1 => cells.push(format!(
            "{} to {}",
            figure(point.per_second.low),
            figure(point.per_second.high)
        )),
        None => cells.push(nothing()),
    }
    cells.push(if is_idle(point) {
        nothing()
    } else {
        format!("{:.3}", middle.fairness.jain)
    });
    cells.push(format!(
        "{}–{}",
        figure(middle.fairness.least as f64),
        figure(middle.fairness.most as f64)
    ));
    cells.push(each(middle.migrations_each()));
    if simulated {
        cells.push(each(middle.transfers_each()));
        cells.push(middle.energy_each().map_or_else(nothing, figure));
    }
    cells.push(time(middle.acquire, |latency| latency.p50 as f64));
    cells.push(time(middle.acquire, |latency| latency.p99 as f64));
    cells.push(time(middle.release, |latency| latency.p50 as f64));
    cells
}

/// Whether no thread did anything: then nothing was shared out, fairly or not.
const fn is_idle(point: &Point) -> bool {
    point.middle.fairness.most == 0
}

fn each(value: Option<f64>) -> String {
    value.map_or_else(nothing, |value| format!("{value:.2}"))
}

fn nothing() -> String {
    "-".to_owned()
}

/// Where the figures come from.
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
                "Simulated on {} (file {hash}), seed {}: virtual time, not measured on any real \
                 machine.\nA run ended once ",
                report.on, report.seed
            );
            text.push_str(&rules(report));
        }
        None => {
            let rounds = report.points.first().map_or(0, |point| point.rounds.len());
            let disturbed: usize = report.points.iter().map(|point| point.disturbed).sum();
            let _ = write!(
                text,
                "Medians of {rounds} interleaved rounds on this machine"
            );
            if disturbed > 0 {
                let _ = write!(
                    text,
                    "; others used more than a tenth of its CPUs' time in {disturbed} of {} runs",
                    rounds * report.points.len()
                );
            }
            text.push('.');
        }
    }
    let unfinished: usize = report.points.iter().map(|p| p.middle.unfinished).sum();
    if unfinished > 0 {
        let _ = write!(
            text,
            "\n{unfinished} threads did not get their lock again long after the end; what they had \
             done is not counted."
        );
    }
    let idle: Vec<String> = report
        .points
        .iter()
        .filter(|point| is_idle(point))
        .map(|point| format!("{} with {} threads", point.lock, point.threads))
        .collect();
    if !idle.is_empty() {
        let _ = write!(
            text,
            "\nNo {} in the whole run: {}.",
            report.operation,
            idle.join(", ")
        );
    }
    text.push_str(
        "\nMigrations are hand-overs between the largest cohorts; they and transfers are for each \
         section.",
    );
    if is_simulated(report) {
        text.push_str(
            "\nEnergy too, as a proxy: all CPUs' cycles, those of polling and idling ones and the \
             transfers weighed, in cycles of a running CPU.",
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

/// What each thread and each cohort did.
fn details(point: &Point) -> String {
    let Outcome {
        per_thread,
        cohorts,
        migrations,
        counts,
        ..
    } = &point.middle;
    let mut text = format!("\n\n{} with {} threads", point.lock, point.threads);
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
    text
}

fn list(counts: &[u64]) -> String {
    let words: Vec<String> = counts.iter().map(u64::to_string).collect();
    words.join(" ")
}
