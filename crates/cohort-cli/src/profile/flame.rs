//! The flame graph of waiting: widths are thread-seconds.

use super::Profile;
use super::text::long;
use crate::problem::Problem;
use inferno::flamegraph::{self, Options};

/// The graph as SVG; none without waits.
///
/// # Errors
/// It cannot be drawn.
pub fn svg(profile: &Profile) -> Result<Option<String>, Problem> {
    // Microseconds, since a frame's width is an integer.
    let lines: Vec<String> = profile
        .stacks
        .iter()
        .filter_map(|(lock, frames, seconds)| {
            let microseconds = (seconds * 1e6).round() as u64;
            let calls = frames
                .iter()
                .rev()
                .map(|frame| plain(&super::merge::label(frame)));
            let mut calls: Vec<String> = calls.collect();
            calls.push(plain(&long(profile.locks.get(*lock)?)));
            (microseconds > 0).then(|| format!("{} {microseconds}", calls.join(";")))
        })
        .collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let mut options = Options::default();
    options.title = String::from("Waiting for locks");
    options.subtitle = Some(format!("{} under {}", profile.program, profile.lock));
    options.count_name = String::from("µs of thread time");
    options.deterministic = true;
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
        .map_err(|error| Problem::refused(format!("cannot draw the flame graph: {error}")))?;
    let svg = String::from_utf8_lossy(&svg);
    // An embedded SVG has no XML declaration.
    let from = svg.find("<svg").unwrap_or(0);
    Ok(Some(svg[from..].to_owned()))
}

/// A name without the separators of frames.
fn plain(name: &str) -> String {
    name.replace(';', ",")
}
