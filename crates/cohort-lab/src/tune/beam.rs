//! The beam (Chehab et al. 2021 figure 9): every composition in grey, with highlights.

use super::field::short;
use super::{Policy, Score, TunePlan, Tuned};
use crate::plot::figure;
use crate::plot::sheet::{self, COLOURS, Drawn, FAINT, GRID, INK};
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (960, 560);
const GREY: RGBColor = RGBColor(148, 163, 184);

/// Writes the beam as SVG.
///
/// # Errors
/// The reason why it cannot be drawn, or the file cannot be written.
pub fn save(plan: &TunePlan, tuned: &Tuned, on: &str, file: &Path) -> Result<(), String> {
    sheet::save(svg(plan, tuned, on), file)
}

/// A lock's name as the table has it.
fn label(lock: &str) -> String {
    let [locks, levels] = short(lock);
    if levels.is_empty() {
        locks
    } else {
        format!("{locks}@{levels}")
    }
}

fn svg(plan: &TunePlan, tuned: &Tuned, on: &str) -> Drawn<String> {
    let points = |score: &Score| -> Vec<(f64, f64)> {
        let all = score.throughputs.iter();
        all.map(|(threads, value)| (*threads as f64, value.per_second))
            .collect()
    };
    let all = tuned.scores.iter().flat_map(points);
    let most = all.fold((1.0_f64, 0.0_f64), |most, point| {
        (most.0.max(point.0), most.1.max(point.1))
    });
    let mut shown: Vec<(String, &str)> = Vec::new();
    for (policy, best) in plan.policies.iter().zip(&tuned.best) {
        let lock = &best.composition;
        let name = match policy {
            Policy::Low => "LC-best".to_owned(),
            Policy::High => "HC-best".to_owned(),
            Policy::Said(_) => "best".to_owned(),
        };
        shown.push((format!("{name}: {}", label(lock)), lock));
    }
    shown.push((format!("worst: {}", label(&tuned.worst)), &tuned.worst));
    shown.dedup_by(|one, other| one.1 == other.1);
    let rivals = tuned.scores.iter().filter(|score| score.rival);
    shown.extend(rivals.map(|score| (score.lock.clone(), score.lock.as_str())));
    sheet::svg(SIZE, |root| {
        let compositions = tuned.scores.iter().filter(|score| !score.rival).count();
        let title = format!(
            "{compositions} compositions under {} on {on}",
            plan.info.name
        );
        let mut chart = ChartBuilder::on(root)
            .caption(title, ("sans-serif", 20).into_font().color(&INK))
            .margin(24)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d((1.0..most.0).log_scale(), 0.0..most.1 * 1.05)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .x_label_formatter(&|value| format!("{value:.0}"))
            .y_label_formatter(&|value| figure(*value))
            .x_desc("threads")
            .y_desc(format!("{}s a second", plan.info.operation))
            .label_style(("sans-serif", 13).into_font().color(&FAINT))
            .draw()?;
        for score in tuned.scores.iter().filter(|score| !score.rival) {
            chart.draw_series(LineSeries::new(points(score), GREY.mix(0.35)))?;
        }
        for (index, (label, lock)) in shown.iter().enumerate() {
            let Some(score) = tuned.scores.iter().find(|score| score.lock == *lock) else {
                continue;
            };
            let colour = COLOURS[index % COLOURS.len()];
            let style = colour.stroke_width(if score.rival { 1 } else { 3 });
            chart
                .draw_series(LineSeries::new(points(score), style))?
                .label(label.clone())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
        sheet::legend(&mut chart, SeriesLabelPosition::LowerLeft)
    })
}
