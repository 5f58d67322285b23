//! Tables, and pictures.

use crate::measure::{Row, Table};
use crate::peers::PeerKind;
use crate::points::Figure;
use cohort_lab::compare::times;
use cohort_lab::plot::{Panel, Picture, PlotRow, figure};
use cohort_lab::stats::Estimate;
use comfy_table::{CellAlignment, ContentArrangement, presets};

/// The ratio from which a lock is behind: ten percent are allowed.
const BEHIND: f64 = 1.1;

/// A point's table, as Markdown.
pub fn table(table: &Table) -> String {
    let crowd = table.figure == Figure::Throughput;
    // All of one kind, and called in the same way.
    let keyed = table.rows.iter().all(|row| row.kind == PeerKind::Keyed);
    let what = if keyed {
        vec!["lock"]
    } else {
        vec!["kind", "lock", "called"]
    };
    let words = what.len();
    let mut titles = what;
    titles.extend([table.figure.unit(), "interval"]);
    titles.push(if keyed { "beyond in-place" } else { "of glibc" });
    titles.push("of best peer");
    if crowd {
        titles.extend(["CPU", "p99.9", "least", "most"]);
    }
    let columns = titles.len();
    let mut drawn = comfy_table::Table::new();
    drawn
        .load_preset(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(titles);
    for row in &table.rows {
        let name = if row.ours {
            format!("**{}**", row.lock)
        } else {
            row.lock.to_owned()
        };
        let mut cells = if keyed {
            vec![name]
        } else {
            vec![row.kind.word().to_owned(), name, row.called.to_owned()]
        };
        match row.figure {
            None => cells.push(row.failure.as_deref().map_or("-".to_owned(), in_one_line)),
            Some(own) => {
                let ratio = |of: Option<Estimate>| {
                    of.map_or("-".to_owned(), |of| format!("{}×", figure(of.median)))
                };
                cells.push(figure(own.median));
                cells.push(format!("{} to {}", figure(own.low), figure(own.high)));
                cells.push(match row.beyond {
                    Some(beyond) => figure(beyond.median),
                    None => ratio(row.of_glibc),
                });
                cells.push(ratio(row.of_best));
                if crowd {
                    let share =
                        |share: Option<f64>| share.map_or("-".to_owned(), |s| format!("{s:.2}"));
                    cells.extend(
                        [row.cpu, row.p999].map(|time| time.map_or("-".to_owned(), duration)),
                    );
                    cells.extend([share(row.least), share(row.most)]);
                }
            }
        }
        cells.resize(columns, String::new());
        drawn.add_row(cells);
    }
    for column in drawn.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("## {}: {}\n\n{drawn}\n", table.name, table.about)
}

/// Cohort's locks that are more than a tenth behind the best peer of their kind.
pub fn behind(tables: &[Table]) -> String {
    let mut lines = Vec::new();
    for table in tables {
        for row in table.rows.iter().filter(|row| row.ours) {
            let Some(of_best) = row.of_best else { continue };
            let slower = match table.figure {
                Figure::Nanoseconds => of_best.median,
                Figure::Throughput => 1.0 / of_best.median,
            };
            if slower > BEHIND {
                lines.push(format!(
                    "- {}: `{}` {} ({} to {}) of the best peer's",
                    table.name,
                    row.lock,
                    times(of_best.median),
                    times(of_best.low),
                    times(of_best.high),
                ));
            }
        }
    }
    if lines.is_empty() {
        return "None of ours is more than 10 % behind the best peer of its kind.".to_owned();
    }
    format!(
        "Ours that are more than 10 % behind the best peer of their kind:\n\n{}",
        lines.join("\n")
    )
}

/// A point's picture: a panel for each kind.
pub fn picture(table: &Table, rounds: usize) -> Picture {
    let panels = PeerKind::ALL.into_iter().filter_map(|kind| {
        let rows: Vec<PlotRow> = table
            .rows
            .iter()
            .filter(|row| row.kind == kind)
            .map(plot_row)
            .collect();
        (!rows.is_empty()).then(|| Panel {
            title: kind.title().to_owned(),
            axis: table.figure.axis().to_owned(),
            rows,
        })
    });
    Picture {
        title: table.about.clone(),
        subtitle: format!("{rounds} interleaved rounds; grey: peers, green: ours"),
        panels: panels.collect(),
    }
}

fn plot_row(row: &Row) -> PlotRow {
    let note = match (row.figure, row.of_best) {
        (Some(own), Some(of_best)) => {
            format!("{}, {} of best", figure(own.median), times(of_best.median))
        }
        (Some(own), None) => figure(own.median),
        (None, _) => "failed".to_owned(),
    };
    PlotRow {
        name: row.lock.to_owned(),
        values: row.values.clone(),
        estimate: row.figure,
        note,
        is_reference: !row.ours,
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nanoseconds in a suitable unit.
pub fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        short if short < 999.5 => format!("{short:.0} ns"),
        middle if middle < 999_500.0 => format!("{:.1} µs", middle / 1e3),
        long => format!("{:.1} ms", long / 1e6),
    }
}

impl PeerKind {
    fn word(self) -> &'static str {
        match self {
            Self::Sleeping => "sleeps",
            Self::Spinning => "spins",
            Self::Backoff => "backs off",
            Self::Ticket => "ticket",
            Self::Mcs => "mcs",
            Self::Clh => "clh",
            Self::Array => "array",
            Self::Shared => "rwlock",
            Self::Keyed => "by key",
        }
    }
}

impl Figure {
    fn unit(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Throughput => "sections/s",
        }
    }

    fn axis(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds, less is better",
            Self::Throughput => "sections a second, more is better",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(lock: &'static str, ours: bool, of_best: f64) -> Row {
        Row {
            lock,
            kind: PeerKind::Sleeping,
            ours,
            called: "inlined",
            values: vec![of_best],
            figure: Estimate::of(&[of_best]),
            of_glibc: None,
            beyond: None,
            of_best: Estimate::of(&[of_best]),
            cpu: Some(1.0),
            p999: Some(1.0),
            least: None,
            most: None,
            disturbed: 0,
            failure: None,
        }
    }

    fn of(figure: Figure, of_best: f64) -> Table {
        Table {
            name: "x".to_owned(),
            about: String::new(),
            figure,
            rows: vec![row("theirs", false, of_best), row("ours", true, of_best)],
        }
    }

    #[test]
    fn behind_is_slower_whatever_the_figure() {
        let slow = behind(&[of(Figure::Nanoseconds, 1.2)]);
        assert!(
            slow.contains("`ours`") && !slow.contains("`theirs`"),
            "{slow}"
        );
        assert!(behind(&[of(Figure::Throughput, 0.8)]).contains("`ours`"));
        assert!(!behind(&[of(Figure::Nanoseconds, 0.5)]).contains("`ours`"));
        assert!(!behind(&[of(Figure::Throughput, 1.5)]).contains("`ours`"));
    }

    #[test]
    fn a_failure_says_why_in_its_row() {
        let mut failed = of(Figure::Nanoseconds, 1.0);
        failed.rows[1].figure = None;
        failed.rows[1].failure = Some("it hung\nfor long".to_owned());
        let text = table(&failed);
        assert!(text.contains("it hung for long"), "{text}");
    }

    #[test]
    fn locks_that_are_found_by_keys_stand_in_80_columns() {
        let mut keyed = of(Figure::Nanoseconds, 1234.5);
        for (row, lock) in keyed.rows.iter_mut().zip(["dashmap-glk", "in-place"]) {
            row.lock = lock;
            row.kind = PeerKind::Keyed;
            row.beyond = Estimate::of(&[-3.25]);
        }
        let text = table(&keyed);
        assert!(
            text.contains("beyond in-place") && text.contains("-3.25"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn durations_have_their_unit() {
        assert_eq!(duration(12.3), "12 ns");
        assert_eq!(duration(12_345.0), "12.3 µs");
        assert_eq!(duration(12_345_678.0), "12.3 ms");
    }
}
