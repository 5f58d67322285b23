//! Pictures: every round a dot, the median a line, its interval a band.

pub mod sheet;

use crate::stats::Estimate;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use sheet::{Area, Drawn, FAINT, GRID, INK, bold, plain};
use std::path::Path;

/// Picture.
#[derive(Debug)]
pub struct Picture {
    /// Its title.
    pub title: String,
    /// Its subtitle: how it was measured.
    pub subtitle: String,
    /// Panels with an axis each, one below the other.
    pub panels: Vec<Panel>,
}

/// Rows that share an axis.
#[derive(Debug)]
pub struct Panel {
    /// What was run.
    pub title: String,
    /// The axis's quantity, and its better direction.
    pub axis: String,
    /// The compared rows.
    pub rows: Vec<PlotRow>,
}

/// Row of a panel.
#[derive(Debug)]
pub struct PlotRow {
    /// Its name.
    pub name: String,
    /// The figure of each round.
    pub values: Vec<f64>,
    /// Their median; none if it failed.
    pub estimate: Option<Estimate>,
    /// A note at the end of the row.
    pub note: String,
    /// Whether it is the reference.
    pub is_reference: bool,
}

const WIDTH: u32 = 960;
const MARGIN: i32 = 28;
const HEADER: u32 = 84;
const PANEL_HEADER: u32 = 34;
const PANEL_FOOTER: u32 = 64;
const FOOTER: u32 = 12;
const ROW: u32 = 52;
const NAMES: i32 = 110;
const NOTES: i32 = 190;

const REFERENCE: RGBColor = RGBColor(148, 163, 184);
const OURS: RGBColor = RGBColor(15, 118, 110);

impl Picture {
    /// Writes the picture as SVG.
    ///
    /// # Errors
    /// The reason why the picture cannot be drawn, or the file cannot be written.
    pub fn save(&self, file: &Path) -> Result<(), String> {
        sheet::save(self.svg(), file)
    }

    fn svg(&self) -> Drawn<String> {
        let height = HEADER + FOOTER + self.panels.iter().map(Panel::height).sum::<u32>();
        sheet::svg((WIDTH, height), |root| {
            let left = Pos::new(HPos::Left, VPos::Top);
            root.draw(&Text::new(
                self.title.clone(),
                (MARGIN, 20),
                bold(22, &INK).pos(left),
            ))?;
            root.draw(&Text::new(
                self.subtitle.clone(),
                (MARGIN, 52),
                plain(14, &FAINT).pos(left),
            ))?;
            let (_, mut rest) = root.split_vertically(HEADER);
            for panel in &self.panels {
                let (area, below) = rest.split_vertically(panel.height());
                panel.draw(&area)?;
                rest = below;
            }
            Ok(())
        })
    }
}

impl Panel {
    fn height(&self) -> u32 {
        let rows = u32::try_from(self.rows.len()).unwrap_or(u32::MAX / ROW);
        self.header() + PANEL_FOOTER + ROW * rows
    }

    fn header(&self) -> u32 {
        if self.title.is_empty() {
            0
        } else {
            PANEL_HEADER
        }
    }

    fn draw<'a>(&self, area: &Area<'a>) -> Drawn {
        let (header, body) = area.split_vertically(self.header());
        header.draw(&Text::new(
            self.title.clone(),
            (MARGIN, 8),
            bold(16, &INK).pos(Pos::new(HPos::Left, VPos::Top)),
        ))?;
        let bottom = -f64::from(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
        // The axis starts at zero, so that lengths are proportional to figures.
        let mut chart = ChartBuilder::on(&body)
            .margin_left(MARGIN)
            .margin_right(NOTES)
            .x_label_area_size(PANEL_FOOTER - 20)
            .margin_bottom(20)
            .y_label_area_size(NAMES)
            .build_cartesian_2d(0.0..self.greatest() * 1.05, bottom..0.0)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(8)
            .x_label_formatter(&|value| figure(*value))
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(GRID)
            .label_style(plain(12, &FAINT))
            .x_desc(self.axis.clone())
            .axis_desc_style(plain(13, &FAINT))
            .draw()?;
        let mut centre = -0.5;
        for row in &self.rows {
            row.draw(chart.plotting_area(), &body, centre)?;
            centre -= 1.0;
        }
        Ok(())
    }

    fn greatest(&self) -> f64 {
        let values = self.rows.iter().flat_map(|row| row.values.iter().copied());
        let greatest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        if greatest > 0.0 { greatest } else { 1.0 }
    }
}

type Plane<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl PlotRow {
    fn draw<'a>(&self, plane: &Plane<'a>, body: &Area<'a>, centre: f64) -> Drawn {
        let colour = if self.is_reference { REFERENCE } else { OURS };
        if let Some(estimate) = &self.estimate {
            let band = |from: f64, to: f64, half: f64| [(from, centre - half), (to, centre + half)];
            plane.draw(&Rectangle::new(
                band(0.0, estimate.median, 0.28),
                colour.mix(0.22).filled(),
            ))?;
            plane.draw(&Rectangle::new(
                band(estimate.low, estimate.high, 0.28),
                colour.mix(0.45).filled(),
            ))?;
            plane.draw(&PathElement::new(
                band(estimate.median, estimate.median, 0.34),
                colour.stroke_width(3),
            ))?;
        }
        for value in &self.values {
            plane.draw(&Circle::new((*value, centre), 4, colour.filled()))?;
        }
        let (columns, _) = plane.get_pixel_range();
        let (_, top) = body.get_base_pixel();
        let (_, height) = plane.map_coordinate(&(0.0, centre));
        let height = height - top;
        let beside = |x: i32, side: HPos| ((x, height), Pos::new(side, VPos::Center));
        let (place, anchor) = beside(columns.start - 14, HPos::Right);
        body.draw(&Text::new(
            self.name.clone(),
            place,
            bold(15, &INK).pos(anchor),
        ))?;
        let (place, anchor) = beside(columns.end + 14, HPos::Left);
        body.draw(&Text::new(
            self.note.clone(),
            place,
            plain(14, &INK).pos(anchor),
        ))?;
        Ok(())
    }
}

/// A figure with three significant digits, and a suffix for thousands and millions.
#[must_use]
pub fn figure(value: f64) -> String {
    let (scaled, letter) = match value.abs() {
        size if size >= 999.5e6 => (value / 1e9, " G"),
        size if size >= 999.5e3 => (value / 1e6, " M"),
        size if size >= 9_999.5 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        0.0 => 0,
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.09995 => 3,
        _ => 4,
    };
    format!("{scaled:.digits$}{letter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        let values = vec![2.0e6, 2.2e6, 1.9e6];
        Picture {
            title: "A < B".to_owned(),
            subtitle: String::new(),
            panels: vec![Panel {
                title: "load".to_owned(),
                axis: "operations per second".to_owned(),
                rows: vec![
                    PlotRow {
                        name: "system".to_owned(),
                        estimate: Estimate::of(&values),
                        values,
                        note: "2.0 M".to_owned(),
                        is_reference: true,
                    },
                    PlotRow {
                        name: "broken".to_owned(),
                        estimate: None,
                        values: Vec::new(),
                        note: "failed".to_owned(),
                        is_reference: false,
                    },
                ],
            }],
        }
    }

    #[test]
    fn every_round_is_a_dot_and_text_is_escaped() {
        let text = picture().svg().unwrap();
        assert_eq!(text.matches("<circle").count(), 3);
        assert!(text.contains("A &lt; B") && text.contains("broken"));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let why = picture().save(Path::new("/nowhere/x.svg")).unwrap_err();
        assert!(why.contains("/nowhere/x.svg"), "{why}");
    }

    #[test]
    fn figures_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.1234, "0.123"),
            (0.012_34, "0.0123"),
            (1.5, "1.50"),
            (9_999.0, "9999"),
            (12_345.0, "12.3 k"),
            (1_234_567.0, "1.23 M"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}
