//! Draws a profile: the time of a critical section against the interval, and the best numbers of
//! idle polls with the fitted quadratic (Zhang et al. 2017 figures 7 and 8).

use super::{LOCKS, Profile, Sample};
use crate::plot::figure;
use crate::plot::sheet::{self, Area, COLOURS, Drawn, FAINT, GRID, INK};
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (960, 760);

/// Steps of the drawn quadratic.
const STEPS: u32 = 100;

/// Writes the picture as SVG.
///
/// # Errors
/// The reason why it cannot be drawn, or the file cannot be written.
pub fn save(profile: &Profile, on: &str, file: &Path) -> Result<(), String> {
    sheet::save(svg(profile, on), file)
}

fn svg(profile: &Profile, on: &str) -> Drawn<String> {
    sheet::svg(SIZE, |root| {
        let (above, below) = root.split_vertically(SIZE.1 / 2);
        times(profile, on, &above)?;
        looks(profile, &below)?;
        Ok(())
    })
}

/// Cycles of a critical section against the interval.
fn times(profile: &Profile, on: &str, area: &Area<'_>) -> Drawn {
    let all = profile.samples.iter().flatten();
    let (mut least, mut most, mut last) = (f64::INFINITY, 1.0_f64, 2.0_f64);
    for sample in all {
        least = least.min(sample.cycles);
        most = most.max(sample.cycles);
        last = last.max(sample.interval as f64);
    }
    let first = profile.samples[0].first();
    let first = first.map_or(1.0, |sample| sample.interval.max(1) as f64);
    let title = format!("sanl with {} threads on {on}", profile.threads);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20).into_font().color(&INK))
        .margin(24)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(
            (first..last).log_scale(),
            (least.min(most) * 0.8..most * 1.25).log_scale(),
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_label_formatter(&|cycles| figure(*cycles))
        .y_label_formatter(&|cycles| figure(*cycles))
        .x_desc("cycles between critical sections")
        .y_desc("cycles per critical section")
        .label_style(("sans-serif", 13).into_font().color(&FAINT))
        .draw()?;
    for ((lock, samples), colour) in LOCKS.iter().zip(&profile.samples).zip(COLOURS) {
        let at = |sample: &Sample| (sample.interval.max(1) as f64, sample.cycles);
        let style = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(samples.iter().map(at), style))?
            .label(*lock)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        chart.draw_series(
            samples
                .iter()
                .map(|s| Circle::new(at(s), 3, colour.filled())),
        )?;
    }
    sheet::legend(&mut chart, SeriesLabelPosition::LowerLeft)
}

/// Idle polls against the inverse contention.
fn looks(profile: &Profile, area: &Area<'_>) -> Drawn {
    let found: Vec<(f64, f64)> = profile
        .looks
        .iter()
        .map(|looks| (1.0 / looks.sample.contention, f64::from(looks.best)))
        .collect();
    let last = found.iter().map(|at| at.0).fold(2.0, f64::max);
    let idle = profile.thresholds().idle;
    let curve: Vec<(f64, f64)> = (0..=STEPS)
        .map(|step| {
            let inverse = 1.0 + (last - 1.0) * f64::from(step) / f64::from(STEPS);
            let contention = (f64::from(cohort::WHOLE) / inverse).round() as u32;
            (inverse, f64::from(idle.at(contention)))
        })
        .collect();
    let most = found
        .iter()
        .chain(&curve)
        .map(|at| at.1)
        .fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(24)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(1.0..last, 0.0..most * 1.05)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_desc("1 / contention")
        .y_desc("fruitless polls (L_s)")
        .label_style(("sans-serif", 13).into_font().color(&FAINT))
        .draw()?;
    chart.draw_series(LineSeries::new(curve, COLOURS[0].stroke_width(2)))?;
    chart.draw_series(
        found
            .iter()
            .map(|at| Circle::new(*at, 4, COLOURS[1].filled())),
    )?;
    Ok(())
}
