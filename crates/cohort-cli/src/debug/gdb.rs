//! Commands for GDB: a breakpoint at each place of a finding.

use super::finding::Finding;
use crate::observe::stacks::Frame;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The commands.
pub fn commands(findings: &[Finding]) -> String {
    let mut text = String::from(
        "# Findings of `cohort debug`: gdb -x THIS-FILE --args PROGRAM ARGS\n\
         set breakpoint pending on\n",
    );
    let mut set = BTreeSet::new();
    for finding in findings {
        let _ = writeln!(text, "\n# {}", finding.says);
        for part in &finding.parts {
            let Some(frame) = part.stack.frames.first() else {
                continue;
            };
            match place(frame) {
                Some(place) if set.insert(place.clone()) => {
                    let _ = writeln!(text, "break {place}");
                }
                Some(_) => {}
                None => {
                    let _ = writeln!(text, "# no name for {frame}");
                }
            }
        }
    }
    text
}

/// A place in GDB's syntax: a line, or a function with its own name.
fn place(frame: &Frame) -> Option<String> {
    match (&frame.file, frame.line, &frame.function) {
        (Some(file), Some(line), _) => Some(format!("{file}:{line}")),
        // The nearest symbol below a place belongs to another function.
        (_, _, Some(function)) if !function.contains("+0x") => Some(function.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_first_and_names_that_are_only_near_are_none() {
        let frame = |file: Option<&str>, line, function: &str| Frame {
            file: file.map(str::to_owned),
            line,
            function: Some(function.to_owned()),
            ..Frame::default()
        };
        for (frame, expected) in [
            (
                frame(Some("bugs/abba.c"), Some(13), "forwards"),
                Some("bugs/abba.c:13"),
            ),
            (frame(None, None, "forwards"), Some("forwards")),
            (frame(None, None, "_init+0x3f0"), None),
        ] {
            assert_eq!(place(&frame).as_deref(), expected);
        }
    }
}
