//! Common parts of pictures: their colours, their fonts, and their output files.

use plotters::coord::{CoordTranslate, Shift};
use plotters::prelude::*;
use std::path::Path;

/// Colour of important text.
pub const INK: RGBColor = RGBColor(31, 41, 55);

/// Colour of explanations.
pub const FAINT: RGBColor = RGBColor(107, 114, 128);

/// Colour of grid lines.
pub const GRID: RGBColor = RGBColor(229, 231, 235);

/// Colours of curves that remain distinct in grey and for most eyes.
pub const COLOURS: [RGBColor; 8] = [
    RGBColor(15, 118, 110),
    RGBColor(180, 83, 9),
    RGBColor(67, 56, 202),
    RGBColor(190, 24, 93),
    RGBColor(77, 124, 15),
    RGBColor(2, 132, 199),
    RGBColor(120, 53, 15),
    RGBColor(100, 116, 139),
];

/// Result of drawing.
pub type Drawn<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Part of a picture, or all of it.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The regular font in that size.
pub fn plain(size: i32, colour: &RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(colour)
}

/// The bold font in that size.
pub fn bold(size: i32, colour: &RGBColor) -> TextStyle<'static> {
    ("sans-serif", size)
        .into_font()
        .style(FontStyle::Bold)
        .color(colour)
}

/// A drawing on a white sheet of that size, as SVG.
///
/// # Errors
/// Those of `draw`, or of the backend.
pub fn svg(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> Drawn<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE)?;
        draw(&root)?;
        root.present()?;
    }
    Ok(text)
}

/// Draws the names of a chart's curves, in that corner.
///
/// # Errors
/// Those of the backend.
pub fn legend<'a, 'b: 'a, C: CoordTranslate>(
    chart: &mut ChartContext<'a, SVGBackend<'b>, C>,
    corner: SeriesLabelPosition,
) -> Drawn {
    chart
        .configure_series_labels()
        .position(corner)
        .background_style(WHITE.mix(0.8))
        .label_font(plain(12, &INK))
        .draw()?;
    Ok(())
}

/// Writes a picture to a file.
///
/// # Errors
/// The reason why it could not be drawn, or the file cannot be written.
pub fn save(svg: Drawn<String>, file: &Path) -> Result<(), String> {
    let text = svg.map_err(|error| format!("cannot draw the plot: {error}"))?;
    std::fs::write(file, text).map_err(|error| {
        format!(
            "cannot write the plot to {}: {error}; choose another file",
            file.display()
        )
    })
}
