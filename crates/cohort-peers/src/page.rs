//! One page for one machine: a table for each question, with a row for each point.

use crate::measure::{Row, Table};
use crate::peers::PeerKind;
use crate::points::Figure;
use crate::show::{behind, duration};
use cohort_lab::plot::figure;
use cohort_lab::stats::geometric_mean;
use comfy_table::{CellAlignment, ContentArrangement, presets};

/// The kinds of locks on the page.
pub const KINDS: [PeerKind; 2] = [PeerKind::Sleeping, PeerKind::Shared];

/// Question that a table answers for each lock at each point.
struct Question {
    title: &'static str,
    /// A lock's cell, given the first lock's row.
    cell: fn(&Row, &Row) -> Option<String>,
    /// A lock's value for the mean over all points, if the table ends with one.
    value: Option<fn(&Row, &Row) -> Option<f64>>,
}

/// Questions about crowds.
const CROWDS: [Question; 4] = [
    Question {
        title: "Throughput over glibc's (first column: sections a second)",
        cell: |row, first| {
            if is_same(row, first) {
                return Some(figure(row.figure?.median));
            }
            Some(figure(row.of_glibc?.median))
        },
        value: Some(|row, _| Some(row.of_glibc?.median)),
    },
    Question {
        title: "CPU time a section over glibc's (first column: the time)",
        cell: |row, first| over(row, first, |row| row.cpu),
        value: Some(|row, first| Some(row.cpu? / first.cpu?)),
    },
    Question {
        title: "The 99.9th percentile of waits over glibc's (first column: the wait)",
        cell: |row, first| over(row, first, |row| row.p999),
        value: Some(|row, first| Some(row.p999? / first.p999?)),
    },
    Question {
        title: "The least-served thread's share of an even share",
        cell: |row, _| Some(format!("{:.2}", row.least?)),
        value: None,
    },
];

/// The question about one or two threads.
const TIME: Question = Question {
    title: "Nanoseconds",
    cell: |row, _| Some(figure(row.figure?.median)),
    value: None,
};

fn is_same(row: &Row, other: &Row) -> bool {
    row.lock == other.lock
}

/// A time over the first lock's; of the first lock, the time.
fn over(row: &Row, first: &Row, of: fn(&Row) -> Option<f64>) -> Option<String> {
    let own = of(row)?;
    if is_same(row, first) {
        return Some(duration(own));
    }
    Some(figure(own / of(first)?))
}

/// The whole page, in Markdown.
pub fn page(tables: &[Table], rounds: usize) -> String {
    let mut page = format!(
        "# Mutexes and rwlocks on this machine\n\n{}, {rounds} interleaved rounds, medians. Bold: \
         Cohort's. `pthread-…` is the preloaded library's default under the C library's names.\n",
        machine()
    );
    for (title, kind) in [
        ("Mutexes", PeerKind::Sleeping),
        ("Rwlocks", PeerKind::Shared),
    ] {
        let of_kind = |table: &&Table| table.rows.first().is_some_and(|row| row.kind == kind);
        let tables: Vec<&Table> = tables.iter().filter(of_kind).collect();
        let has = |figure| tables.iter().filter(move |table| table.figure == figure);
        let few: Vec<&Table> = has(Figure::Nanoseconds).copied().collect();
        let crowds: Vec<&Table> = has(Figure::Throughput).copied().collect();
        if !few.is_empty() {
            page += &format!("\n## {title}: one and two threads\n{}", answer(&TIME, &few));
        }
        if !crowds.is_empty() {
            page += &format!("\n## {title}: crowds\n");
            page.extend(CROWDS.iter().map(|question| answer(question, &crowds)));
        }
    }
    page + "\n## Losses\n\n" + &behind(tables)
}

/// This machine's CPUs.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("an unnamed CPU", |text| {
        text.trim_start_matches([' ', '\t', ':'])
    });
    let cpus = cohort_lab::world::disturb::allowed_cpus().len();
    format!("{cpus} CPUs of {model}")
}

/// A question's table.
fn answer(question: &Question, tables: &[&Table]) -> String {
    let locks = &tables[0].rows;
    let names = locks.iter().map(|row| match row.ours {
        true => format!("**{}**", row.lock),
        false => row.lock.to_owned(),
    });
    let titles: Vec<String> = std::iter::once("point".to_owned()).chain(names).collect();
    let mut drawn = comfy_table::Table::new();
    drawn
        .load_preset(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(titles);
    for table in tables {
        let first = &table.rows[0];
        let cells = table
            .rows
            .iter()
            .map(|row| (question.cell)(row, first).unwrap_or_else(|| "-".to_owned()));
        drawn.add_row(
            std::iter::once(table.name.clone())
                .chain(cells)
                .collect::<Vec<_>>(),
        );
    }
    if let Some(value) = question.value {
        let mean = |place: usize| {
            let values = tables
                .iter()
                .map(|table| value(&table.rows[place], &table.rows[0]));
            let values: Option<Vec<f64>> = values.collect();
            let mean = values.and_then(|values| geometric_mean(&values));
            mean.map_or("-".to_owned(), figure)
        };
        let means = (0..locks.len()).map(mean);
        drawn.add_row(
            std::iter::once("mean".to_owned())
                .chain(means)
                .collect::<Vec<_>>(),
        );
    }
    for column in drawn.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("\n{}\n\n{drawn}\n", question.title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_lab::stats::Estimate;

    fn row(lock: &'static str, ours: bool, of_glibc: f64) -> Row {
        Row {
            lock,
            kind: PeerKind::Sleeping,
            ours,
            called: "inlined",
            values: vec![of_glibc * 1e6],
            figure: Estimate::of(&[of_glibc * 1e6]),
            of_glibc: Estimate::of(&[of_glibc]),
            beyond: None,
            of_best: None,
            cpu: Some(100.0 / of_glibc),
            p999: None,
            least: Some(0.5),
            most: None,
            disturbed: 0,
            failure: None,
        }
    }

    #[test]
    fn a_page_has_figures_ratios_and_means() {
        let crowd = |name: &str, ratio: f64| Table {
            name: name.to_owned(),
            about: String::new(),
            figure: Figure::Throughput,
            rows: vec![row("glibc", false, 1.0), row("own", true, ratio)],
        };
        let page = page(&[crowd("crowd-a", 2.0), crowd("crowd-b", 8.0)], 3);
        let cells = |of: &str, place: usize| -> Vec<String> {
            let line = page
                .lines()
                .filter(|line| line.starts_with(&format!("| {of} ")));
            let line = line.clone().nth(place).expect("there is such a row");
            line.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        assert_eq!(cells("crowd-a", 0)[2..4], ["1.00 M", "2.00"]);
        assert_eq!(cells("mean", 0)[2..4], ["1.00", "4.00"]);
        // CPU time, waits that were not measured, shares.
        assert_eq!(cells("crowd-b", 1)[2..4], ["100 ns", "0.125"]);
        assert_eq!(cells("crowd-b", 2)[2..4], ["-", "-"]);
        assert_eq!(cells("mean", 2)[2..4], ["-", "-"]);
        assert_eq!(cells("crowd-b", 3)[2..4], ["0.50", "0.50"]);
        assert!(page.contains("**own**") && page.contains("3 interleaved rounds"));
    }
}
