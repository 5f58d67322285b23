//! A comparison as text: a table, its verdicts, a picture.

use crate::page;
use cohort_measure::compare::{Comparison, Row, times};
use cohort_measure::metric::Metric;
use cohort_measure::plot::{Panel, Picture, PlotRow, figure};
use cohort_measure::stats::Estimate;
use comfy_table::Table;
use std::fmt::Write as _;

/// The table, a verdict for each lock, the confidence, and the closing sentence.
pub fn text(
    comparisons: &[Comparison],
    metrics: &[Metric],
    closing: Option<&str>,
    markdown: bool,
) -> String {
    let mut text = match comparisons {
        [comparison] => verdicts(comparison),
        _ => verdicts_on_several(comparisons),
    };
    let sure = comparisons[0]
        .rows
        .iter()
        .find_map(|row| row.figure)
        .filter(|figure| figure.count > 1);
    if let Some(figure) = sure {
        let _ = write!(
            text,
            "\nMedians of {} interleaved rounds; each interval covers the median with {:.0} % \
             confidence.",
            figure.count,
            figure.confidence * 100.0
        );
    }
    if let Some(closing) = closing {
        let _ = write!(text, "\n{closing}");
    }
    if markdown {
        // A list, since Markdown would join the lines into one paragraph.
        let lines: Vec<String> = text.lines().map(|line| format!("- {line}")).collect();
        return format!(
            "{}\n\n{}",
            markdown_table(comparisons, metrics),
            lines.join("\n")
        );
    }
    let table = match (comparisons, metrics) {
        ([comparison], [metric]) => table(comparison, metric),
        _ => table_of_several(comparisons, metrics),
    };
    format!("{table}\n\n{}", page::prose(&text))
}

/// The table as Markdown.
fn markdown_table(comparisons: &[Comparison], metrics: &[Metric]) -> String {
    page::markdown(match (comparisons, metrics) {
        ([comparison], [metric]) => rows(comparison, metric, usize::MAX),
        _ => rows_of_several(comparisons, metrics, true),
    })
}

/// A line for each lock with a verdict on each metric, and failures.
fn verdicts_on_several(comparisons: &[Comparison]) -> String {
    let mut lines = Vec::new();
    for (place, row) in comparisons[0].rows.iter().enumerate() {
        let on = |comparison: &Comparison| {
            let verdict = comparison.rows[place].verdict.as_ref()?;
            Some(format!("{} {verdict}", comparison.metric))
        };
        let verdicts: Vec<String> = comparisons.iter().filter_map(on).collect();
        match &row.failure {
            Some(why) => {
                lines.push(format!("{}: the program failed", row.lock));
                lines.push(format!("  {why}"));
            }
            None if verdicts.is_empty() => {}
            None => lines.push(format!("{}: {}", row.lock, verdicts.join("; "))),
        }
    }
    lines.join("\n")
}

/// A row for each lock, with a figure and a gain for each metric; with intervals if there is room.
fn table_of_several(comparisons: &[Comparison], metrics: &[Metric]) -> String {
    let whole = rows_of_several(comparisons, metrics, true);
    let columns = whole.column_iter().count();
    if page::fits(&whole, &(1..columns)) {
        return page::lines(whole, 1..columns);
    }
    let narrow = rows_of_several(comparisons, metrics, false);
    let columns = narrow.column_iter().count();
    page::lines(narrow, 1..columns)
}

fn rows_of_several(comparisons: &[Comparison], metrics: &[Metric], has_intervals: bool) -> Table {
    let mut titles = vec!["lock".to_owned()];
    for metric in metrics {
        titles.push(match metric.name() {
            Some(_) => metric.column(),
            None => metric.title(),
        });
        titles.push("gain".to_owned());
        if has_intervals {
            titles.push("interval".to_owned());
        }
    }
    let mut table = page::titled(&titles);
    for (place, row) in comparisons[0].rows.iter().enumerate() {
        let mut cells = vec![row.lock.clone()];
        for comparison in comparisons {
            let row = &comparison.rows[place];
            cells.push(shown(row.figure.map(|figure| figure.median)));
            cells.push(row.gain.map_or_else(nothing, |gain| times(gain.median)));
            if has_intervals {
                cells.push(interval(row.gain, times));
            }
        }
        table.add_row(cells);
    }
    table
}

/// A line for each lock and metric, with the titles in the first one.
pub fn csv(comparisons: &[Comparison], parameters: &[(String, String)], titled: bool) -> String {
    let mut text = String::new();
    let mut line = |cells: Vec<String>| {
        let quoted: Vec<String> = cells.iter().map(|cell| csv_cell(cell)).collect();
        text.push_str(&quoted.join(","));
        text.push('\n');
    };
    if titled {
        let names = parameters.iter().map(|(name, _)| name.clone());
        let titles = [
            "lock",
            "metric",
            "rounds",
            "median",
            "low",
            "high",
            "gain",
            "gain_low",
            "gain_high",
            "wall",
            "cpu",
            "waits",
            "preempted",
            "disturbed",
            "failure",
        ];
        line(names.chain(titles.map(str::to_owned)).collect());
    }
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for comparison in comparisons {
        for row in &comparison.rows {
            let mut cells: Vec<String> =
                parameters.iter().map(|(_, value)| value.clone()).collect();
            cells.push(row.lock.clone());
            cells.push(comparison.metric.clone());
            cells.push(row.values.len().to_string());
            for estimate in [row.figure, row.gain] {
                cells.push(number(estimate.map(|estimate| estimate.median)));
                cells.push(number(estimate.map(|estimate| estimate.low)));
                cells.push(number(estimate.map(|estimate| estimate.high)));
            }
            let figures = [row.wall, row.cpu, row.voluntary, row.involuntary];
            cells.extend(figures.map(number));
            cells.push(row.disturbed.to_string());
            cells.push(row.failure.clone().unwrap_or_default());
            line(cells);
        }
    }
    text
}

/// A cell in RFC 4180's format.
fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A line for each lock, and failures.
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

/// The columns of a table on the narrowest page: the lock, its figure and its gain.
const FEWEST: usize = 5;

/// A row for each lock. On a narrow page, only the first, most important columns.
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

/// A row for each lock, with at most `columns` columns.
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

/// The two ends of an interval; none for a single value.
fn interval(estimate: Option<Estimate>, show: fn(f64) -> String) -> String {
    estimate
        .filter(|estimate| estimate.count > 1)
        .map_or_else(nothing, |estimate| {
            page::interval(&show(estimate.low), &show(estimate.high))
        })
}

/// A panel for each comparison, with a row for each lock; titled if there are several.
pub fn picture(program: &str, panels: &[(String, &Comparison)]) -> Picture {
    let rounds = panels[0].1.rows[0].values.len();
    let panels = panels.iter().map(|(title, comparison)| {
        let better = if comparison.lower_is_better {
            "lower is better"
        } else {
            "higher is better"
        };
        Panel {
            title: title.clone(),
            axis: format!("{} ({better})", comparison.metric),
            rows: plot_rows(comparison),
        }
    });
    Picture {
        title: format!("{program} under each lock"),
        subtitle: format!(
            "{rounds} interleaved rounds: dots; median: line; its interval: dark band"
        ),
        panels: panels.collect(),
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

/// The median, and the gain if any.
fn note(row: &Row) -> String {
    match (row.figure, row.gain) {
        (Some(median), Some(gain)) => {
            format!("{} · gain {}", figure(median.median), times(gain.median))
        }
        (Some(median), None) => figure(median.median),
        (None, _) => "failed".to_owned(),
    }
}
