//! Studies as a self-contained HTML page: a heat map of programs and locks, then each program.

use super::{Conclusion, Found, Studied, StudiedCase};
use crate::compare::{Answer, Row};
use crate::sheet;
use crate::stats::Estimate;
use crate::survey::judge::in_digits;
use maud::{Markup, html};

/// Style of the matrix and the details.
pub const STYLE: &str = "\
h3 { font-size: 1.05rem; margin: 1.6rem 0 .2rem } \
.figures th, .figures td { text-align: right; white-space: nowrap } \
.figures th:first-child, .figures td:first-child, .figures .text { text-align: left } \
td.why { text-align: left; white-space: pre-wrap } \
td.noise, td.unsure { color: #6b7280 } td.failed { background: #fee2e2 }";

/// The matrix in words.
pub const LEGEND: &str = "Gains over the C library's locks: above 1 is faster. Medians of interleaved \
    rounds. Colours mark gains (green) and losses (red) beyond the interval; grey figures are within it, \
    or from too few rounds.";

/// Where and how the studies were run.
pub struct Setting<'a> {
    /// The machine and the date.
    pub caption: &'a str,
    /// The command line.
    pub command: &'a str,
}

/// The page.
#[must_use]
pub fn page(found: &[Studied], setting: &Setting) -> String {
    let found: Vec<&Studied> = found.iter().collect();
    let content = html! {
        p { code { (setting.command) } }
        p.note { (setting.caption) ". " (LEGEND) }
        (matrix(&found))
        @for program in &found { (section(program)) }
        (absent(&found))
    };
    sheet::page("Programs under Cohort's locks", STYLE, &content)
}

/// All locks of the studies, in their order.
fn locks<'a>(found: &[&'a Studied]) -> Vec<&'a str> {
    let mut locks = Vec::new();
    for case in found.iter().flat_map(|program| program.cases()) {
        for row in case.rows().skip(1) {
            if !locks.contains(&row.lock.as_str()) {
                locks.push(row.lock.as_str());
            }
        }
    }
    locks
}

/// The heat map of programs and locks, with each program's conclusion.
#[must_use]
pub fn matrix(found: &[&Studied]) -> Markup {
    let locks = locks(found);
    html! {
        div.wide {
            table.figures {
                tr {
                    th { "program" } th { "threads" } th { "C library, s" }
                    @for lock in &locks { th { (lock) } }
                    th.text { "conclusion" }
                }
                @for program in found {
                    @for (place, case) in program.cases().iter().enumerate() {
                        tr {
                            td { @if place == 0 { a href={ "#" (program.name) } { (program.name) } } }
                            td { (case.threads) }
                            td { (seconds(case)) }
                            @for lock in &locks { (cell(row_of(case, lock))) }
                            td.text { @if place == 0 { (in_words(&program.conclusion)) } }
                        }
                    }
                }
            }
        }
    }
}

fn row_of<'a>(case: &'a StudiedCase, lock: &str) -> Option<&'a Row> {
    case.rows().skip(1).find(|row| row.lock == lock)
}

/// The system's median time.
fn seconds(case: &StudiedCase) -> String {
    let system = case.rows().next().and_then(|row| row.figure);
    system.map_or_else(|| "–".to_owned(), |figure| format!("{:.3}", figure.median))
}

/// A gain in the colour of its answer.
fn cell(row: Option<&Row>) -> Markup {
    let Some(row) = row else {
        return html! { td { "–" } };
    };
    if row.failure.is_some() {
        return html! { td.failed { "failed" } };
    }
    let Some(gain) = row.gain else {
        return html! { td { "–" } };
    };
    let title = interval(gain);
    match row.answer {
        Some(Answer::Better | Answer::Worse) => html! {
            td style={ "background: " (colour(gain.median)) } title=(title) { (in_digits(gain.median)) }
        },
        Some(Answer::Unsure) => html! { td.unsure title=(title) { (in_digits(gain.median)) "?" } },
        _ => html! { td.noise title=(title) { (in_digits(gain.median)) } },
    }
}

/// From red over white to green, on a logarithmic scale that ends at four times.
fn colour(gain: f64) -> String {
    let strength = (gain.ln() / 4_f64.ln()).clamp(-1.0, 1.0);
    let lightness = 96.0 - 26.0 * strength.abs();
    let hue = if strength < 0.0 { 0 } else { 150 };
    format!("hsl({hue} 70% {lightness:.0}%)")
}

/// "1.32 (1.20–1.41)".
#[must_use]
pub fn interval(gain: Estimate) -> String {
    if gain.count < 2 {
        return in_digits(gain.median);
    }
    format!(
        "{} ({}–{})",
        in_digits(gain.median),
        in_digits(gain.low),
        in_digits(gain.high)
    )
}

/// A program's conclusion as a sentence without its end.
#[must_use]
pub fn in_words(conclusion: &Conclusion) -> String {
    match conclusion {
        Conclusion::NotRun => "not run".to_owned(),
        Conclusion::Failed { why } => {
            format!("failed: {}", why.lines().next().unwrap_or_default())
        }
        Conclusion::Nothing => "nothing to gain".to_owned(),
        Conclusion::Unsure => "too few rounds to tell".to_owned(),
        Conclusion::Gains {
            lock,
            threads,
            gain,
            one_cpu,
        } => {
            let noun = if *threads == 1 { "thread" } else { "threads" };
            let one_cpu = one_cpu.map_or_else(String::new, |one_cpu| {
                format!("; the C library's on one CPU: {}", in_digits(one_cpu))
            });
            format!("{lock} with {threads} {noun}: {}{one_cpu}", interval(*gain))
        }
    }
}

/// A program's figures; nothing if it was not run.
#[must_use]
pub fn section(program: &Studied) -> Markup {
    let cases = program.cases();
    if cases.is_empty() {
        return html! {};
    }
    html! {
        h3 id=(program.name) { (program.name) }
        p.note { (program.about) "; " (in_words(&program.conclusion)) }
        div.wide {
            table.figures {
                tr { th { "lock" } th { "threads" } th { "seconds" } th { "gain" } th { "CPU s" } th { "switches" } }
                @for case in cases {
                    @if let Some(why) = &case.failure { tr { td.why colspan="6" { (why) } } }
                    @for row in case.rows() { (detail(row, case.threads)) }
                }
            }
        }
    }
}

fn detail(row: &Row, threads: u32) -> Markup {
    let switches = match (row.voluntary, row.involuntary) {
        (Some(voluntary), Some(involuntary)) => format!("{:.0}", voluntary + involuntary),
        _ => "–".to_owned(),
    };
    html! {
        tr {
            td { (row.lock) }
            td { (threads) }
            @if let Some(why) = &row.failure {
                td.why colspan="4" { (why) }
            } @else {
                td { (row.figure.map_or_else(|| "–".to_owned(), |figure| format!("{:.3}", figure.median))) }
                td { (row.gain.map_or_else(|| "–".to_owned(), interval)) }
                td { (row.cpu.map_or_else(|| "–".to_owned(), |cpu| format!("{cpu:.2}"))) }
                td { (switches) }
            }
        }
    }
}

/// Programs that were not run, with reasons.
#[must_use]
pub fn absent(found: &[&Studied]) -> Markup {
    let why = |program: &Studied| match &program.found {
        Found::NotHere(what) => Some(format!("missing: {what}")),
        Found::Unprepared(why) => Some(why.clone()),
        Found::Cases(_) => None,
    };
    let absent: Vec<(&str, String)> = found
        .iter()
        .filter_map(|program| Some((program.name.as_str(), why(program)?)))
        .collect();
    html! {
        @if !absent.is_empty() {
            h2 { "Not run" }
            ul { @for (name, why) in absent { li { (name) ": " (why) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_from_red_over_white_to_green() {
        assert_eq!(colour(1.0), "hsl(150 70% 96%)");
        assert_eq!(colour(4.0), "hsl(150 70% 70%)");
        assert_eq!(colour(100.0), colour(4.0));
        assert_eq!(colour(0.25), "hsl(0 70% 70%)");
    }

    #[test]
    fn what_programs_print_is_quoted() {
        let failed = StudiedCase {
            threads: 2,
            comparison: None,
            failure: Some("<script>".to_owned()),
        };
        let found = Found::Cases(vec![failed]);
        let studied = Studied {
            name: "a".to_owned(),
            about: "b".to_owned(),
            conclusion: Conclusion::of(&found),
            found,
        };
        let setting = Setting {
            caption: "m",
            command: "c",
        };
        let page = page(&[studied], &setting);
        assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
    }
}
