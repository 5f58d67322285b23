//! Draws the envelope: for each judged lock a map of its share of the best raw lock's throughput,
//! with a row for each machine and workload, and a column for each number of threads.

use super::{Envelope, Point};
use crate::plot::sheet::{self, Drawn, FAINT, INK, bold, plain};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::BTreeMap;
use std::path::Path;

const MARGIN: i32 = 28;
const HEADER: i32 = 150;
const FOOTER: i32 = 24;
const NAMES: i32 = 210;
const ROW: i32 = 11;
const CELL: i32 = 17;
const GAP: i32 = 26;
const BETWEEN: i32 = 5;

/// The columns: threads, absolute or as a multiple of the CPUs.
const COLUMNS: [&str; 9] = ["1", "2", "4", "8", "n/4", "n/2", "n", "2n", "4n"];

const EMPTY: RGBColor = RGBColor(243, 244, 246);

/// Lower limits of shares, with their colours: dark for large losses, light for small ones,
/// distinct in grey too.
const COLOURS: [(f64, RGBColor, &str); 6] = [
    (0.97, RGBColor(15, 118, 110), "0.97 and more"),
    (0.90, RGBColor(94, 190, 174), "0.90"),
    (0.75, RGBColor(190, 228, 190), "0.75"),
    (0.50, RGBColor(250, 214, 130), "0.50"),
    (0.25, RGBColor(234, 125, 60), "0.25"),
    (0.0, RGBColor(153, 27, 27), "less"),
];

/// Writes the picture as SVG.
///
/// # Errors
/// The reason why the picture cannot be drawn, or the file cannot be written.
pub fn save(envelope: &Envelope, file: &Path) -> Result<(), String> {
    sheet::save(svg(envelope), file)
}

/// The column of a point.
fn column(point: &Point) -> usize {
    let (threads, cpus) = (point.threads, point.cpus);
    match threads {
        _ if threads == 4 * cpus => 8,
        _ if threads == 2 * cpus => 7,
        _ if threads == cpus => 6,
        _ if threads == cpus / 2 => 5,
        8 => 3,
        4 => 2,
        2 => 1,
        1 => 0,
        _ => 4,
    }
}

fn colour(share: f64) -> RGBColor {
    let reached = COLOURS.iter().find(|(least, ..)| share >= *least);
    reached.map_or(EMPTY, |(_, colour, _)| *colour)
}

/// The rows in the order of the points.
fn rows(envelope: &Envelope) -> Vec<(&str, &str)> {
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for point in &envelope.points {
        let row = (point.machine.as_str(), point.workload);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

/// The lowest share of a lock in each row and column.
fn cells<'a>(envelope: &'a Envelope, lock: &str) -> BTreeMap<(&'a str, &'a str, usize), f64> {
    let mut cells = BTreeMap::new();
    for point in &envelope.points {
        if let Some(share) = point.share(lock) {
            let key = (point.machine.as_str(), point.workload, column(point));
            let lowest = cells.entry(key).or_insert(share);
            *lowest = share.min(*lowest);
        }
    }
    cells
}

fn svg(envelope: &Envelope) -> Drawn<String> {
    let rows = rows(envelope);
    let mut tops = Vec::new();
    let mut top = HEADER;
    for (place, (machine, _)) in rows.iter().enumerate() {
        if place > 0 && rows[place - 1].0 != *machine {
            top += BETWEEN;
        }
        tops.push(top);
        top += ROW;
    }
    let panel = CELL * COLUMNS.len() as i32;
    let locks = &envelope.judged;
    let width = (MARGIN + NAMES + (panel + GAP) * locks.len() as i32).max(760);
    let size = (u32::try_from(width)?, u32::try_from(top + FOOTER)?);
    sheet::svg(size, |root| {
        let left = Pos::new(HPos::Left, VPos::Top);
        let form = if envelope.served { "served" } else { "raw" };
        let title = format!("Locks, {form}: throughput relative to the best raw lock");
        root.draw(&Text::new(title, (MARGIN, 18), bold(22, &INK).pos(left)))?;
        let subtitle = format!(
            "{} of {} points, simulated, seed {}; the lowest of each cell",
            envelope.points.len(),
            envelope.wanted,
            envelope.seed
        );
        root.draw(&Text::new(
            subtitle,
            (MARGIN, 50),
            plain(14, &FAINT).pos(left),
        ))?;
        for (place, (_, colour, words)) in COLOURS.iter().enumerate() {
            let x = MARGIN + 118 * place as i32;
            root.draw(&Rectangle::new([(x, 78), (x + 14, 90)], colour.filled()))?;
            let at = (x + 19, 78);
            root.draw(&Text::new(*words, at, plain(12, &INK).pos(left)))?;
        }
        for (place, (machine, workload)) in rows.iter().enumerate() {
            let is_first = place == 0 || rows[place - 1].0 != *machine;
            if is_first {
                let at = (MARGIN, tops[place] - 1);
                root.draw(&Text::new(*machine, at, bold(12, &INK).pos(left)))?;
            }
            let at = (MARGIN + NAMES - 8, tops[place] - 1);
            let right = Pos::new(HPos::Right, VPos::Top);
            root.draw(&Text::new(*workload, at, plain(11, &FAINT).pos(right)))?;
        }
        for (number, lock) in locks.iter().enumerate() {
            let x = MARGIN + NAMES + (panel + GAP) * number as i32;
            let at = (x, HEADER - 44);
            root.draw(&Text::new(lock.as_str(), at, bold(15, &INK).pos(left)))?;
            for (place, name) in COLUMNS.iter().enumerate() {
                let at = (x + CELL * place as i32 + CELL / 2, HEADER - 5);
                let style = plain(10, &FAINT).pos(Pos::new(HPos::Center, VPos::Bottom));
                root.draw(&Text::new(*name, at, style))?;
            }
            let cells = cells(envelope, lock);
            for ((machine, workload), top) in rows.iter().zip(&tops) {
                for place in 0..COLUMNS.len() {
                    let share = cells.get(&(*machine, *workload, place));
                    let fill = share.map_or(EMPTY, |share| colour(*share));
                    let left = x + CELL * place as i32;
                    let area = [(left, *top), (left + CELL - 1, top + ROW - 1)];
                    root.draw(&Rectangle::new(area, fill.filled()))?;
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_down_with_the_share() {
        let places: Vec<RGBColor> = [1.2, 0.93, 0.8, 0.6, 0.3, 0.1].map(colour).to_vec();
        let expected: Vec<RGBColor> = COLOURS.iter().map(|(_, colour, _)| *colour).collect();
        assert_eq!(places, expected);
    }
}
