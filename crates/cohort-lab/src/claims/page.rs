//! The verdicts as a self-contained HTML page.

use super::judge::{Judged, JudgedPart, Verdict};
use crate::plot::figure;
use crate::sheet;
use maud::{Markup, PreEscaped, html};

/// Style of claims and verdicts.
pub const STYLE: &str = "\
.claims { width: 100% } .claims th, .claims td { text-align: left; vertical-align: top } \
td.figure { white-space: nowrap } \
.verdict { border-radius: .3rem; padding: .1rem .5rem; font-size: .85rem; white-space: nowrap } \
.agrees, .agrees-so-far, .agrees-within-the-estimate { background: #ccfbf1 } \
.disagrees, .failed { background: #fee2e2 } .undecided { background: #fef3c7 } \
.not-yet-runnable { background: #f3f4f6 } \
@media (max-width: 500px) { .claims tr, .claims td { display: block } .claims th { display: none } \
.claims td { border-bottom: none } .claims tr { border-bottom: 1px solid #e5e7eb } }";

/// Origin of the figures.
const LEGEND: &str = "All our figures are simulated. Virtual runs are shorter than the papers'; the number \
    of critical sections is given.";

/// The page.
#[must_use]
pub fn page(rows: &[Judged]) -> String {
    let content = html! {
        p.note { (LEGEND) }
        (overview(&rows.iter().collect::<Vec<_>>()))
        @for row in rows { (section(row)) }
    };
    sheet::page("The papers' claims on simulated machines", STYLE, &content)
}

/// All claims in one table: verdicts, and the papers' figures beside ours.
#[must_use]
pub fn table(rows: &[&Judged]) -> Markup {
    html! {
        (overview(rows))
        div.wide {
            table.claims {
                tr { th { "claim" } th { "verdict" } th { "paper, ours" } }
                @for row in rows {
                    tr {
                        td { b { (row.id) } " " (row.claim) div.note { (row.source) } }
                        td {
                            (badge(row.verdict))
                            @if row.seeds > 0 { div.note { (row.agreeing) " of " (row.seeds) " seeds" } }
                        }
                        td {
                            @for part in row.parts.iter().filter(|part| part.missing.is_empty()) {
                                div {
                                    (part.says) ": " (part.paper) ", "
                                    (part.ours.map_or_else(|| "nothing".to_owned(), figure))
                                    span.note { " on " (part.machine) }
                                }
                            }
                            @if let Some(missing) = &row.missing { div.note { "Waits: " (missing) } }
                        }
                    }
                }
            }
        }
    }
}

fn overview(rows: &[&Judged]) -> Markup {
    html! {
        p {
            @for verdict in VERDICTS {
                @let count = rows.iter().filter(|row| row.verdict == verdict).count();
                @if count > 0 { (count) " " (badge(verdict)) "  " }
            }
        }
    }
}

const VERDICTS: [Verdict; 7] = [
    Verdict::Agrees,
    Verdict::AgreesWithinEstimate,
    Verdict::AgreesSoFar,
    Verdict::Undecided,
    Verdict::Disagrees,
    Verdict::Failed,
    Verdict::NotYetRunnable,
];

fn badge(verdict: Verdict) -> Markup {
    let class = verdict.name().replace(' ', "-");
    html! { span class={ "verdict " (class) } { (verdict.name()) } }
}

fn section(row: &Judged) -> Markup {
    html! {
        h2 id=(row.id) {
            (row.id) " " (badge(row.verdict))
            @if row.seeds > 1 {
                span.note { " in " (row.agreeing) " of " (row.seeds) " seeds" }
            }
        }
        p { (row.claim) ". " span.note { (row.source) } }
        @if let Some(missing) = &row.missing { p.note { "Waits: " (missing) "." } }
        @if matches!(row.verdict, Verdict::Disagrees | Verdict::Undecided) {
            p { "Why: " (row.because()) "." }
        }
        @if !row.parts.is_empty() {
            div.wide { table.claims {
                tr { th { "what" } th { "where" } th { "paper" } th { "ours" } }
                @for part in &row.parts { (part_row(part)) }
                @for part in row.ends.iter().flat_map(|end| &end.parts) { (part_row(part)) }
                @for part in &row.counterfactuals { (part_row(part)) }
            } }
        }
    }
}

fn part_row(part: &JudgedPart) -> Markup {
    html! {
        tr {
            td {
                (part.says)
                div.note { (part.computed) }
                @if let Some(why) = &part.why { div.note { (why) } }
                @if let Some(curves) = &part.curves {
                    details {
                        summary.note { "throughput" }
                        (PreEscaped(curves))
                    }
                }
            }
            td {
                (part.machine)
                div.note { (part.experiment) br; "file " (part.hash) }
            }
            td.figure { (part.paper) }
            td.figure {
                @match part.ours {
                    Some(ours) => {
                        (figure(ours))
                        div.note {
                            @if part.agrees == Some(true) {
                                "agrees"
                            } @else if part.is_undecided() {
                                "undecided"
                            } @else {
                                "disagrees"
                            }
                            @if part.seeds > 1 { " in " (part.agreeing) " of " (part.seeds) }
                            @if let Some((least, most)) = part.spread {
                                br; (figure(least)) " to " (figure(most))
                            }
                            @if let Some(at) = &part.at { br; "at " (at) }
                            @if let Some(longest) = part.longest { br; "longest " (longest) }
                            br; (part.sections) " sections"
                        }
                    }
                    None if part.missing.is_empty() => "failed",
                    None => "–",
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn part(says: &str, agrees: bool) -> JudgedPart {
        JudgedPart {
            says: says.to_owned(),
            machine: "m".to_owned(),
            hash: "abc".to_owned(),
            experiment: "lbench".to_owned(),
            computed: "a over b".to_owned(),
            paper: "≥ 1.00".to_owned(),
            ours: Some(0.5),
            spread: Some((0.25, 0.75)),
            at: Some("8 threads".to_owned()),
            longest: None,
            sections: 12,
            agrees: Some(agrees),
            agreeing: 1,
            seeds: 5,
            missing: Vec::new(),
            why: Some("because".to_owned()),
            curves: Some("<svg></svg>".to_owned()),
        }
    }

    #[test]
    fn a_page_shows_every_row_and_escapes_what_it_quotes() {
        let row = Judged {
            id: "K0",
            source: "Dice et al. 2015",
            claim: "a < b",
            verdict: Verdict::Disagrees,
            agreeing: 1,
            seeds: 5,
            missing: Some("the lock x is missing".to_owned()),
            parts: vec![part("ratio", false)],
            ends: Vec::new(),
            counterfactuals: vec![part("if x > y", true)],
            took: Duration::ZERO,
        };
        let text = page(&[row]);
        for words in [
            "K0",
            "a &lt; b",
            "0.500",
            "because",
            "it would agree if x &gt; y",
            "0.250 to 0.750",
            "in 1 of 5",
            "8 threads",
            "disagrees",
        ] {
            assert!(text.contains(words), "{words}");
        }
    }
}
