//! The heat map (Chehab et al. 2021 figure 1): a tile for each pair of CPUs, darker for nearer
//! ones.
//!
//! Drawn once by the CPUs' numbers, and once by the discovered cohorts, which stand out for any
//! numbering.

use super::Discovery;
use crate::plot::sheet;
use maud::{Markup, html};
use std::fmt::Write;
use std::path::Path;

/// The side of a map, in pixels.
const SIDE: f64 = 440.0;
const MARGIN: f64 = 44.0;
const HEADER: f64 = 92.0;
const FOOTER: f64 = 76.0;

/// Steps of darkness.
const SHADES: usize = 24;

/// Writes the heat map as SVG.
///
/// # Errors
/// The reason why the file cannot be written.
pub fn save(discovery: &Discovery, file: &Path) -> Result<(), String> {
    sheet::save(Ok(svg(discovery).into_string()), file)
}

fn svg(discovery: &Discovery) -> Markup {
    let by_number: Vec<usize> = (0..discovery.cpus.len()).collect();
    let by_cohort = discovery.order();
    let scale = Scale::of(discovery);
    let maps = [("by number", &by_number), ("by cohort", &by_cohort)];
    let width = 3.0 * MARGIN + 2.0 * SIDE;
    let height = HEADER + SIDE + FOOTER;
    let title = format!("Hand-overs between the CPUs of {}", discovery.on);
    let subtitle = format!(
        "{} of {} pairs measured; darker tiles are nearer CPUs, white tiles are unmeasured",
        discovery.map.pairs(),
        super::cluster::pairs(discovery.cpus.len())
    );
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox={ "0 0 " (width) " " (height) } font-family="sans-serif" fill="#1f2937" {
            rect width="100%" height="100%" fill="#ffffff" {}
            text x=(MARGIN) y="34" font-size="22" font-weight="bold" { (title) }
            text x=(MARGIN) y="58" font-size="13" fill="#6b7280" { (subtitle) }
            @for (index, (name, order)) in maps.into_iter().enumerate() {
                g transform={ "translate(" (MARGIN + index as f64 * (SIDE + MARGIN)) " " (HEADER) ")" } {
                    text x="0" y="-8" font-size="14" font-weight="bold" { "CPUs " (name) }
                    (tiles(discovery, order, &scale))
                    rect width=(SIDE) height=(SIDE) fill="none" stroke="#9ca3af" {}
                    @if index == 0 { (numbers(discovery)) }
                }
            }
            (legend(&scale, height))
        }
    }
}

/// Shades by the logarithm of the time.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    fn of(discovery: &Discovery) -> Self {
        let times = discovery
            .levels
            .iter()
            .filter_map(|level| level.nanoseconds);
        let times = times.chain(discovery.system);
        let least = times.clone().fold(f64::INFINITY, f64::min);
        let most = times.fold(0.0, f64::max);
        let least = if least.is_finite() { least } else { 1.0 };
        // A flat machine is grey rather than black or white.
        Self {
            least: least / 1.2,
            most: most.max(least) * 1.2,
        }
    }

    /// 0 is darkest.
    fn shade(&self, nanoseconds: f64) -> usize {
        let share = (nanoseconds / self.least).ln() / (self.most / self.least).ln();
        ((share * SHADES as f64) as usize).min(SHADES - 1)
    }

    fn colour(shade: usize) -> String {
        let share = shade as f64 / (SHADES - 1) as f64;
        let between = |dark: f64, light: f64| (dark + (light - dark) * share) as u8;
        format!(
            "#{:02x}{:02x}{:02x}",
            between(8.0, 226.0),
            between(51.0, 242.0),
            between(68.0, 239.0)
        )
    }
}

/// The tiles of equal shade as one path each: runs of them, row by row.
fn tiles(discovery: &Discovery, order: &[usize], scale: &Scale) -> Markup {
    let mut paths = vec![String::new(); SHADES];
    for (row, one) in order.iter().enumerate() {
        let shade = |other: &usize| {
            let time = discovery.map.get((*one, *other))?;
            Some(scale.shade(time))
        };
        let shades: Vec<Option<usize>> = order.iter().map(shade).collect();
        let mut column = 0;
        for run in shades.chunk_by(|one, next| one == next) {
            if let Some(shade) = run[0] {
                let _ = write!(paths[shade], "M{column} {row}h{}v1h-{0}z", run.len());
            }
            column += run.len();
        }
    }
    let scaled = SIDE / order.len().max(1) as f64;
    html! {
        g transform={ "scale(" (scaled) ")" } shape-rendering="crispEdges" {
            @for (shade, path) in paths.iter().enumerate() {
                @if !path.is_empty() { path fill=(Scale::colour(shade)) d=(path) {} }
            }
        }
    }
}

/// Numbers of some CPUs along the edges.
fn numbers(discovery: &Discovery) -> Markup {
    let count = discovery.cpus.len();
    let step = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
    let step = step
        .into_iter()
        .find(|step| count / step <= 12)
        .unwrap_or(1024);
    let tile = SIDE / count.max(1) as f64;
    let at = |place: usize| (place as f64 + 0.5) * tile;
    html! {
        g font-size="11" fill="#6b7280" {
            @for place in (0..count).step_by(step) {
                text x=(at(place)) y=(SIDE + 15.0) text-anchor="middle" { (discovery.cpus[place]) }
                text x="-6" y=(at(place) + 4.0) text-anchor="end" { (discovery.cpus[place]) }
            }
        }
    }
}

fn legend(scale: &Scale, height: f64) -> Markup {
    let width = SIDE / SHADES as f64;
    html! {
        g transform={ "translate(" (MARGIN) " " (height - 40.0) ")" } font-size="12" fill="#6b7280" {
            @for shade in 0..SHADES {
                rect x=(shade as f64 * width) width=(width + 0.5) height="12"
                    fill=(Scale::colour(shade)) {}
            }
            text x="0" y="28" { (format!("{:.0} ns", scale.least)) }
            text x=(SIDE) y="28" text-anchor="end" { (format!("{:.0} ns per hand-over", scale.most)) }
        }
    }
}
