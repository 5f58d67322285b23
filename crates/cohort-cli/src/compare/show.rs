//! A comparison for people: a table, its verdicts, a picture.

use crate::page;
use cohort_lab::compare::{Comparison, Row, times};
use cohort_lab::metric::Metric;
use cohort_lab::plot::{Panel, Picture, PlotRow, figure};
use cohort_lab::stats::Estimate;
use comfy_table::Table;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

/// The table, a verdict for each lock, and how sure all this is.
pub fn text(comparison: &Comparison, metric: &Metric, markdown: bool) -> String {
    let mut text = verdicts(comparison);
    let sure = comparison
        .rows
        .iter()
        .find_map(|row| row.figure)
        .filter(|figure| figure.count > 1);
    if let Some(figure) = sure {
        let _ = write!(
            text,
            "\nMedians of {} interleaved rounds; each interval holds the median with {:.0} % \
             confidence.",
            figure.count,
            figure.confidence * 100.0
        );
    }
    if markdown {
        // A list, since Markdown would make one paragraph of the lines.
        let lines: Vec<String> = text.lines().map(|line| format!("- {line}")).collect();
        return format!(
            "{}\n\n{}",
            page::markdown(rows(comparison, metric, usize::MAX)),
            lines.join("\n")
        );
    }
    format!("{}\n\n{}", table(comparison, metric), page::prose(&text))
}

/// A line for each lock, and what went wrong under it.
pub fn verdicts(comparison: &Comparison) -> String {
    let mut lines = Vec::new();
    for row in &comparison.rows {
        if let Some(verdict) = &row.verdict {
            lines.push(format!("{}: {verdict}", row.lock));
        }
        if let Some(why) = &row.failure {
            lines.push(format!("  {why}"));
        }
    }
    lines.join("\n")
}

/// The columns that a table has on the narrowest page: the lock, its figure and its gain.
const FEWEST: usize = 5;

/// A row for each lock.  A page that is too narrow for all columns has the first ones, which say
/// most.
pub fn table(comparison: &Comparison, metric: &Metric) -> String {
    let whole = rows(comparison, metric, usize::MAX);
    let columns = whole.column_iter().count();
    let narrower = (FEWEST..columns)
        .rev()
        .map(|columns| rows(comparison, metric, columns));
    let mut tables = std::iter::once(whole).chain(narrower);
    let fitting = tables.find(|table| page::fits(table, &(1..table.column_iter().count())));
    let table = fitting.unwrap_or_else(|| rows(comparison, metric, FEWEST));
    let columns = table.column_iter().count();
    page::lines(table, 1..columns)
}

/// A row for each lock, with so many columns at most.
fn rows(comparison: &Comparison, metric: &Metric, columns: usize) -> Table {
    let mut titles = vec!["lock".to_owned(), metric.column()];
    titles.extend(["interval", "gain", "interval"].map(str::to_owned));
    if !matches!(metric, Metric::Wall) {
        titles.push("wall s".to_owned());
    }
    if !matches!(metric, Metric::Cpu) {
        titles.push("CPU s".to_owned());
    }
    titles.extend(["waits", "preempted"].map(str::to_owned));
    titles.truncate(columns);
    let mut table = page::titled(&titles);
    for row in &comparison.rows {
        let mut cells = cells(row, metric);
        cells.truncate(columns);
        table.add_row(cells);
    }
    table
}

fn cells(row: &Row, metric: &Metric) -> Vec<String> {
    let median = |estimate: Option<Estimate>| shown(estimate.map(|estimate| estimate.median));
    let mut cells = vec![
        row.lock.clone(),
        median(row.figure),
        interval(row.figure, figure),
        row.gain.map_or_else(nothing, |gain| times(gain.median)),
        interval(row.gain, times),
    ];
    if !matches!(metric, Metric::Wall) {
        cells.push(shown(row.wall));
    }
    if !matches!(metric, Metric::Cpu) {
        cells.push(shown(row.cpu));
    }
    cells.extend([shown(row.voluntary), shown(row.involuntary)]);
    cells
}

fn nothing() -> String {
    "-".to_owned()
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(nothing, figure)
}

/// The two ends of an interval, unless a single value gave none.
fn interval(estimate: Option<Estimate>, show: fn(f64) -> String) -> String {
    estimate
        .filter(|estimate| estimate.count > 1)
        .map_or_else(nothing, |estimate| {
            page::interval(&show(estimate.low), &show(estimate.high))
        })
}

/// One panel, a row for each lock.
pub fn picture(comparison: &Comparison, command: &[OsString]) -> Picture {
    let program = Path::new(&command[0]);
    let program = program.file_name().unwrap_or(program.as_os_str());
    let better = if comparison.lower_is_better {
        "less is better"
    } else {
        "more is better"
    };
    let rounds = comparison.rows[0].values.len();
    Picture {
        title: format!("{} under each lock", program.display()),
        subtitle: format!(
            "{rounds} interleaved rounds: dots; median: line; its interval: dark band"
        ),
        panels: vec![Panel {
            title: String::new(),
            axis: format!("{} ({better})", comparison.metric),
            rows: plot_rows(comparison),
        }],
    }
}

/// A row of a plot for each lock.
pub fn plot_rows(comparison: &Comparison) -> Vec<PlotRow> {
    comparison.rows.iter().map(plot_row).collect()
}

fn plot_row(row: &Row) -> PlotRow {
    PlotRow {
        name: row.lock.clone(),
        values: row.values.clone(),
        estimate: row.figure,
        note: note(row),
        is_reference: row.verdict.is_none(),
    }
}

/// The median, and the gain where there is one.
fn note(row: &Row) -> String {
    match (row.figure, row.gain) {
        (Some(median), Some(gain)) => {
            format!("{} · gain {}", figure(median.median), times(gain.median))
        }
        (Some(median), None) => figure(median.median),
        (None, _) => "failed".to_owned(),
    }
}
