//! Draws an analysis as in the paper: the crossings of `mcs` and `ticket`, and the throughput left
//! by each period (Antić et al. 2016 figures 5 and 6).

use super::{Analysis, Cost, Length};
use crate::plot::figure;
use crate::plot::sheet::{self, Area, Drawn, FAINT, GRID, INK};
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (960, 760);
const TICKET: RGBColor = RGBColor(15, 118, 110);
const MCS: RGBColor = RGBColor(180, 83, 9);

/// A colour for each length of a critical section, the shortest first.
const SHADES: [RGBColor; super::SECTIONS.len()] = [
    RGBColor(190, 24, 93),
    RGBColor(180, 83, 9),
    RGBColor(101, 163, 13),
    RGBColor(15, 118, 110),
    RGBColor(29, 78, 216),
    RGBColor(67, 56, 202),
];

/// Writes the picture as SVG.
///
/// # Errors
/// The reason why it cannot be drawn, or the file cannot be written.
pub fn save(analysis: &Analysis, on: &str, file: &Path) -> Result<(), String> {
    sheet::save(svg(analysis, on), file)
}

fn svg(analysis: &Analysis, on: &str) -> Drawn<String> {
    sheet::svg(SIZE, |root| {
        let (above, below) = root.split_vertically(SIZE.1 / 2);
        gains(analysis, on, &above)?;
        let (left, right) = below.split_horizontally(SIZE.0 / 2);
        let (costs, tuning) = (&analysis.costs, analysis.tuning());
        periods("mode decisions", &costs.consider, tuning.consider, &left)?;
        periods("queue samples", &costs.sample, tuning.sample, &right)?;
        Ok(())
    })
}

/// Speed-up of `mcs` over `ticket`, in percent.
fn gain(ticket: f64, mcs: f64) -> f64 {
    (mcs / ticket - 1.0) * 100.0
}

/// `mcs` against `ticket`, by the number of threads.
fn gains(analysis: &Analysis, on: &str, area: &Area<'_>) -> Drawn {
    let all = analysis.lengths.iter().flat_map(|length| &length.pairs);
    let all = all.map(|pair| (pair.threads as f64, gain(pair.ticket, pair.mcs)));
    let (mut least, mut most, mut last) = (-5.0_f64, 5.0_f64, 3.0_f64);
    for (threads, gain) in all {
        least = least.min(gain);
        most = most.max(gain);
        last = last.max(threads);
    }
    let (least, most) = (least * 1.1, most * 1.1);
    let mut chart = ChartBuilder::on(area)
        .caption(
            format!("glk on {on}"),
            ("sans-serif", 20).into_font().color(&INK),
        )
        .margin(24)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(1.5..last + 0.5, least..most)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_labels(last as usize)
        .x_label_formatter(&|threads| format!("{threads:.0}"))
        .y_label_formatter(&|gain| format!("{gain:+.0} %"))
        .x_desc("threads")
        .y_desc("mcs over ticket")
        .label_style(("sans-serif", 13).into_font().color(&FAINT))
        .draw()?;
    chart.draw_series(LineSeries::new([(1.5, 0.0), (last + 0.5, 0.0)], INK))?;
    let up = f64::from(analysis.tuning().up) + 0.5;
    let edge = INK.mix(0.4).stroke_width(1);
    chart
        .draw_series(LineSeries::new([(up, least), (up, most)], edge))?
        .label("up: ticket on its left, mcs on its right")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], edge));
    for (length, colour) in analysis.lengths.iter().zip(SHADES) {
        curve(length, colour, &mut chart)?;
    }
    sheet::legend(&mut chart, SeriesLabelPosition::UpperLeft)
}

type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// The curve of one length of a critical section.
fn curve(length: &Length, colour: RGBColor, chart: &mut Chart<'_, '_>) -> Drawn {
    let pairs = length.pairs.iter();
    let points = pairs.map(|pair| (pair.threads as f64, gain(pair.ticket, pair.mcs)));
    let style = colour.stroke_width(2);
    chart
        .draw_series(LineSeries::new(points.clone(), style))?
        .label(format!("critical sections of {} cycles", length.critical))
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    chart.draw_series(points.map(|at| Circle::new(at, 3, colour.filled())))?;
    Ok(())
}

/// The throughput left by each period, and the chosen period.
fn periods(what: &str, costs: &[Cost], taken: u32, area: &Area<'_>) -> Drawn {
    let left = |cost: &Cost| cost.mcs.map_or(cost.ticket, |mcs| mcs.min(cost.ticket));
    let least = costs.iter().map(left).fold(0.98, f64::min);
    let most = costs
        .iter()
        .flat_map(|cost| cost.mcs.into_iter().chain([cost.ticket]));
    let most = most.fold(1.0, f64::max) * 1.02;
    let last = costs.iter().map(|cost| cost.period).max().unwrap_or(2);
    let last = f64::from(last.max(taken)) * 1.2;
    let mut chart = ChartBuilder::on(area)
        .margin(24)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d((0.8..last).log_scale(), least * 0.98..most)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_label_formatter(&|period| figure(*period))
        .y_label_formatter(&|left| format!("{left:.2}"))
        .x_desc(format!("period of {what}, in critical sections"))
        .y_desc("remaining throughput")
        .label_style(("sans-serif", 13).into_font().color(&FAINT))
        .draw()?;
    let taken = f64::from(taken);
    let edge = INK.mix(0.4).stroke_width(1);
    chart
        .draw_series(LineSeries::new(
            [(taken, least * 0.98), (taken, most)],
            edge,
        ))?
        .label("taken")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], edge));
    let ticket = costs
        .iter()
        .map(|cost| (f64::from(cost.period), cost.ticket));
    let ticket: Vec<(f64, f64)> = ticket.collect();
    let mcs = costs
        .iter()
        .filter_map(|cost| Some((f64::from(cost.period), cost.mcs?)));
    let mcs: Vec<(f64, f64)> = mcs.collect();
    for (name, points, colour) in [("ticket", ticket, TICKET), ("mcs", mcs, MCS)] {
        if points.is_empty() {
            continue;
        }
        let style = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(points.clone(), style))?
            .label(format!("in mode {name}"))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        chart.draw_series(points.iter().map(|at| Circle::new(*at, 3, colour.filled())))?;
    }
    sheet::legend(&mut chart, SeriesLabelPosition::LowerRight)
}
