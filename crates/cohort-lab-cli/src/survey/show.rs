//! A survey as text for users.

use cohort_cli::page;
use cohort_lab::stats::Estimate;
use cohort_lab::survey::judge::{Verdict, in_digits};
use cohort_lab::survey::list::Row;
use cohort_lab::survey::{Cell, Finding, Surveyed};

/// Every program and what it does, or which package is missing for it.
pub fn list(rows: &[Row]) -> String {
    let mut table = page::titled(&["program", "description", "missing"]);
    for row in rows {
        table.add_row([&row.name, &row.about, row.missing().unwrap_or_default()]);
    }
    page::lines(table, 0..0)
}

/// Every program in each way it was run, the missing programs, and the failures.
pub fn text(found: &[Surveyed], rounds: usize) -> String {
    let mut table = page::titled(&["program", "run on", "wall", "CPU", "switches", ""]);
    let mut absent = Vec::new();
    let mut complaints = Vec::new();
    for Surveyed { name, found } in found {
        match found {
            Finding::NotHere(what) => absent.push(format!("{name}: missing: {what}")),
            Finding::Unprepared(why) => complaints.push(format!("{name}: {why}")),
            Finding::Cells(cells) => {
                for (place, cell) in cells.iter().enumerate() {
                    let name = if place == 0 { name } else { "" };
                    table.add_row(row(name, cell));
                }
                let worse = cells.iter().filter(|cell| cell.verdict != Verdict::Fine);
                complaints.extend(worse.map(|cell| complaint(name, cell)));
            }
        }
    }
    let mut parts = Vec::new();
    if !table.is_empty() {
        parts.push(format!(
            "{}\n\n{}",
            page::lines(table, 2..5),
            legend(rounds)
        ));
    }
    parts.extend(
        [absent, complaints]
            .into_iter()
            .filter_map(|lines| (!lines.is_empty()).then(|| page::prose(&lines.join("\n")))),
    );
    parts.push(closing(found));
    parts.join("\n\n")
}

fn row(name: &str, cell: &Cell) -> [String; 6] {
    let ratios = &cell.ratios;
    [
        name.to_owned(),
        at(cell),
        shown(ratios.wall),
        shown(ratios.cpu),
        shown(ratios.switches),
        mark(&cell.verdict).to_owned(),
    ]
}

fn mark(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Fine => "",
        Verdict::Slower => "slower",
        Verdict::Switches => "switches",
        Verdict::Unsure => "worse?",
        Verdict::Failed { .. } => "FAILED",
    }
}

/// The median, and the interval if one is known.
fn shown(ratio: Option<Estimate>) -> String {
    match ratio {
        None => "-".to_owned(),
        Some(ratio) if ratio.count < 2 => in_digits(ratio.median),
        Some(ratio) => format!(
            "{} {}–{}",
            in_digits(ratio.median),
            in_digits(ratio.low),
            in_digits(ratio.high)
        ),
    }
}

fn complaint(name: &str, cell: &Cell) -> String {
    let (ours, system) = (&cell.ours, &cell.system);
    let over = |ours: Option<f64>, system: Option<f64>, digits: usize| {
        let shown = |value: Option<f64>| format!("{:.digits$}", value.unwrap_or(f64::NAN));
        format!("{} over {}", shown(ours), shown(system))
    };
    let what = match &cell.verdict {
        Verdict::Failed { why } => why.clone(),
        _ => format!(
            "{} s, {} switches",
            over(ours.wall, system.wall, 3),
            over(ours.switches, system.switches, 0)
        ),
    };
    format!("{name} ({}): {what}", at(cell))
}

/// How a program was run.
fn at(cell: &Cell) -> String {
    format!("{}, {}", cell.case.threads, cell.case.cpus.name())
}

fn legend(rounds: usize) -> String {
    let medians = match rounds {
        1 => "a single round".to_owned(),
        rounds => format!("medians of {rounds} rounds with intervals"),
    };
    let few = if rounds < 5 {
        "\nWith fewer than five rounds, `worse?` may be noise."
    } else {
        ""
    };
    page::prose(&format!(
        "Cohort over the C library, {medians}.\nRows: threads, and all CPUs or one.{few}"
    ))
}

fn closing(found: &[Surveyed]) -> String {
    let bad: Vec<&str> = found
        .iter()
        .filter(|program| program.is_bad())
        .map(|program| program.name.as_str())
        .collect();
    let absent = |program: &&Surveyed| matches!(program.found, Finding::NotHere(_));
    let run = found.len() - found.iter().filter(absent).count();
    let noun = if run == 1 { "program" } else { "programs" };
    let failed = match bad.as_slice() {
        [] => "none failed".to_owned(),
        bad => format!("{} failed: {}", bad.len(), bad.join(", ")),
    };
    let was_disturbed = |program: &Surveyed| match &program.found {
        Finding::Cells(cells) => cells.iter().any(|cell| cell.disturbed > 0),
        Finding::NotHere(_) | Finding::Unprepared(_) => false,
    };
    let warning = if found.iter().any(was_disturbed) {
        "\nOther processes used the CPUs: repeat on an idle machine."
    } else {
        ""
    };
    page::prose(&format!("{run} {noun} run, {failed}.{warning}"))
}
