//! Curves of throughput, fairness and transfers against the number of threads; or of cycles per
//! critical section against the interval, in a report with several intervals.

use super::report::{Point, Report};
use crate::plot::figure;
use crate::plot::sheet::{self, Area, COLOURS, Drawn, FAINT, GRID, INK, bold, plain};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

const WIDTH: u32 = 960;
const MARGIN: i32 = 28;
const HEADER: u32 = 84;
const PANEL: u32 = 300;
const LEGEND: i32 = 150;
const AXIS: u32 = 84;
const AXIS_BELOW: u32 = 44;

/// A panel's value of a point; none if unknown.
type Of = fn(&Point) -> Option<f64>;

/// Panel: its axis, its value, whether the point's rounds scatter, and whether its axis is
/// logarithmic.
struct Panel {
    axis: String,
    of: Of,
    rounds: bool,
    is_log: bool,
}

/// Abscissa of the points.
struct Against {
    title: &'static str,
    of: fn(&Point) -> f64,
    base: f64,
    label: fn(&f64) -> String,
}

/// The number of threads.
const THREADS: Against = Against {
    title: "threads",
    of: |point| point.threads as f64,
    base: 2.0,
    label: |threads| format!("{threads:.0}"),
};

/// The interval between critical sections; a logarithmic axis shows zero as one cycle.
const INTERVALS: Against = Against {
    title: "cycles between critical sections",
    of: |point| point.interval().unwrap_or(0).max(1) as f64,
    base: 10.0,
    label: |cycles| figure(*cycles),
};

impl Against {
    fn of(report: &Report) -> Self {
        if report.sweeps() { INTERVALS } else { THREADS }
    }

    /// Each measured value, in order.
    fn values(&self, report: &Report) -> Vec<f64> {
        let mut values: Vec<f64> = report.points.iter().map(self.of).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }
}

/// Points of a curve, and its name.
struct Curve<'a> {
    name: String,
    points: Vec<&'a Point>,
}

/// A curve for each lock; against intervals, also for each number of threads.
fn curves(report: &Report) -> Vec<Curve<'_>> {
    let counts: BTreeSet<usize> = report.points.iter().map(|point| point.threads).collect();
    let apart = report.sweeps() && counts.len() > 1;
    let of_lock = |lock: &str| -> Vec<Curve<'_>> {
        let points = report.points.iter().filter(|point| point.lock == lock);
        let points: Vec<&Point> = points.collect();
        if !apart {
            let name = lock.to_owned();
            return vec![Curve { name, points }];
        }
        let with = |threads: &usize| Curve {
            name: format!("{lock} × {threads}"),
            points: points
                .iter()
                .filter(|point| point.threads == *threads)
                .copied()
                .collect(),
        };
        counts.iter().map(with).collect()
    };
    report.locks().into_iter().flat_map(of_lock).collect()
}

/// Writes the report's curves as SVG.
///
/// # Errors
/// The reason why the picture cannot be drawn, or the file cannot be written.
pub fn save(report: &Report, file: &Path) -> Result<(), String> {
    sheet::save(svg(report), file)
}

/// The report's curves as SVG.
///
/// # Errors
/// The picture cannot be drawn.
pub fn svg(report: &Report) -> Drawn<String> {
    draw(report, &panels(report))
}

/// The report's throughput alone, as SVG.
///
/// # Errors
/// The picture cannot be drawn.
pub fn throughput(report: &Report) -> Drawn<String> {
    let panels = panels(report);
    draw(report, &panels[..panels.len().min(1)])
}

fn draw(report: &Report, panels: &[Panel]) -> Drawn<String> {
    let count = u32::try_from(panels.len())?;
    let size = (WIDTH, HEADER + count * PANEL);
    sheet::svg(size, |root| {
        let left = Pos::new(HPos::Left, VPos::Top);
        root.draw(&Text::new(
            format!(
                "{} on {}, locks {}",
                report.workload,
                report.on,
                if report.served { "served" } else { "raw" }
            ),
            (MARGIN, 20),
            bold(22, &INK).pos(left),
        ))?;
        root.draw(&Text::new(
            subtitle(report),
            (MARGIN, 52),
            plain(14, &FAINT).pos(left),
        ))?;
        let (_, mut rest) = root.split_vertically(HEADER);
        for panel in panels {
            let (area, below) = rest.split_vertically(PANEL);
            panel.draw(report, &area)?;
            rest = below;
        }
        Ok(())
    })
}

fn subtitle(report: &Report) -> String {
    let options: Vec<String> = report
        .options
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let how = report.hash.as_ref().map_or_else(
        || "measured".to_owned(),
        |hash| format!("simulated, machine file {hash}"),
    );
    let mut text = vec![how];
    text.extend(options);
    text.join(" · ")
}

/// The panels with content.
fn panels(report: &Report) -> Vec<Panel> {
    let first = if report.sweeps() {
        Panel {
            axis: "cycles per critical section".to_owned(),
            of: |point| Some(point.middle.round_trip?.mean),
            rounds: false,
            is_log: true,
        }
    } else {
        Panel {
            axis: format!("{}s a second", report.operation),
            of: |point| Some(point.per_second.median),
            rounds: true,
            is_log: false,
        }
    };
    let all = [
        first,
        Panel {
            axis: "Jain's fairness".to_owned(),
            of: |point| Some(point.middle.fairness.jain),
            rounds: false,
            is_log: false,
        },
        Panel {
            axis: "migrations per critical section".to_owned(),
            of: |point| point.middle.migrations_each(),
            rounds: false,
            is_log: false,
        },
        Panel {
            axis: "transfers per critical section".to_owned(),
            of: |point| point.middle.transfers_each(),
            rounds: false,
            is_log: false,
        },
    ];
    all.into_iter()
        .filter(|panel| {
            report
                .points
                .iter()
                .any(|point| (panel.of)(point).is_some())
        })
        .collect()
}

impl Panel {
    fn draw(&self, report: &Report, area: &Area<'_>) -> Drawn {
        let values = report.points.iter().filter_map(|point| (self.of)(point));
        let mut values: Vec<f64> = values.collect();
        if self.rounds {
            values.extend(report.points.iter().flat_map(|point| &point.rounds));
        }
        let greatest = values.iter().copied().fold(0.0, f64::max);
        let greatest = if greatest > 0.0 { greatest } else { 1.0 };
        if self.is_log {
            let least = values.iter().copied().fold(greatest, f64::min).max(1.0);
            self.draw_on(report, area, (least * 0.8..greatest * 1.25).log_scale())
        } else {
            self.draw_on(report, area, 0.0..greatest * 1.05)
        }
    }

    fn draw_on<Y>(&self, report: &Report, area: &Area<'_>, values: Y) -> Drawn
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let against = Against::of(report);
        let at = against.values(report);
        let mut chart = ChartBuilder::on(area)
            .margin_left(MARGIN)
            .margin_right(LEGEND)
            .margin_bottom(12)
            .x_label_area_size(AXIS_BELOW)
            .y_label_area_size(AXIS)
            .build_cartesian_2d(
                span(&at)
                    .log_scale()
                    .base(against.base)
                    .with_key_points(ticks(&at)),
                values,
            )?;
        chart
            .configure_mesh()
            .x_labels(10)
            .y_labels(6)
            .x_label_formatter(&against.label)
            .y_label_formatter(&|value| figure(*value))
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .label_style(plain(12, &FAINT))
            .x_desc(against.title)
            .y_desc(self.axis.clone())
            .axis_desc_style(plain(13, &FAINT))
            .draw()?;
        let (plane, _) = chart.plotting_area().get_pixel_range();
        let (left, _) = area.get_base_pixel();
        for (number, drawn) in curves(report).into_iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let hollow = number / COLOURS.len() % 2 == 1;
            let Curve { name, points } = drawn;
            let curve = points
                .iter()
                .filter_map(|point| Some(((against.of)(point), (self.of)(point)?)));
            let curve: Vec<(f64, f64)> = curve.collect();
            chart.draw_series(LineSeries::new(curve.clone(), colour.stroke_width(2)))?;
            let mark = if hollow {
                ShapeStyle::from(colour).stroke_width(2)
            } else {
                colour.filled()
            };
            chart.draw_series(curve.iter().map(|at| Circle::new(*at, 4, mark)))?;
            if self.rounds {
                let scattered = points.iter().flat_map(|point| {
                    let at = (against.of)(point);
                    point.rounds.iter().map(move |round| (at, *round))
                });
                let pale = colour.mix(0.35).filled();
                chart.draw_series(scattered.map(|at| Circle::new(at, 2, pale)))?;
            }
            let line = i32::try_from(number)? * 17 + 14;
            let at = (plane.end - left + 16, line);
            let side = Pos::new(HPos::Left, VPos::Center);
            area.draw(&Circle::new(at, 4, mark))?;
            area.draw(&Text::new(
                name,
                (at.0 + 12, line),
                plain(13, &INK).pos(side),
            ))?;
        }
        Ok(())
    }
}

/// The range of the abscissa; a single value is centred.
fn span(values: &[f64]) -> Range<f64> {
    let most = values.last().copied().unwrap_or(1.0);
    match values {
        [] | [_] => most / 2.0..most * 2.0,
        [first, ..] => first.min(most)..most,
    }
}

/// A tick for each measured value, unless it would overlap the one before it.
fn ticks(values: &[f64]) -> Vec<f64> {
    const MOST: f64 = 24.0;
    let all = span(values);
    let least_step = (all.end / all.start.max(1.0)).log2() / MOST;
    let mut ticks: Vec<f64> = Vec::new();
    for value in values {
        if ticks
            .last()
            .is_none_or(|last| (value / last).log2() >= least_step)
        {
            ticks.push(*value);
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_tick_for_each_value_that_has_room() {
        assert_eq!(ticks(&[8.0]), [8.0]);
        assert_eq!(ticks(&[1.0]), [1.0]);
        assert_eq!(ticks(&[1.0, 2.0, 64.0]), [1.0, 2.0, 64.0]);
        assert_eq!(ticks(&[1.0, 63.0, 64.0]), [1.0, 63.0]);
        assert_eq!(ticks(&[100.0, 1e3, 2e6]), [100.0, 1e3, 2e6]);
        assert_eq!(span(&[8.0]), 4.0..16.0);
        assert_eq!(span(&[100.0, 2e6]), 100.0..2e6);
    }
}
