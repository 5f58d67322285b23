//! The report as a self-contained HTML page.

use super::host::HostView;
use super::{Bench, Body, Gathered, HandOvers, Replay, Source, Topic, Tuned};
use crate::claims::page as claims;
use crate::plot::figure;
use crate::sheet;
use crate::study::page as studies;
use cohort_topology::list;
use maud::{Markup, html};
use std::collections::BTreeMap;

const STYLE: &str = "\
.box { display: inline-block; vertical-align: top; border: 1px solid #94a3b8; border-radius: .3rem; \
padding: .3rem .5rem .5rem; margin: .2rem; max-width: 100%; box-sizing: border-box } \
.label { display: block; font-size: .85rem } \
.cpu { display: inline-block; border: 1px solid #cbd5e1; border-radius: .2rem; background: #f0fdfa; \
padding: .1rem .4rem; margin: .15rem; font-size: .8rem } \
.missing { background: #f3f4f6; padding: .4rem .7rem; border-radius: .3rem } \
.missing code, p code { overflow-wrap: anywhere } ul { padding-left: 1.2rem } \
@media (max-width: 500px) { body { margin: 1rem auto; padding: 0 .6rem } th, td { padding: .25rem .35rem } }";

/// Where and how the report was made.
pub struct Setting<'a> {
    /// This machine and the date.
    pub caption: &'a str,
    /// The command line.
    pub command: &'a str,
}

/// The page.
#[must_use]
pub fn page(host: &HostView, gathered: &Gathered, setting: &Setting) -> String {
    let style = format!("{} {} {STYLE}", studies::STYLE, claims::STYLE);
    let content = html! {
        p { code { (setting.command) } }
        p.note { (setting.caption) }
        h2 id="machine" { "This machine" }
        (machine(host))
        @for topic in Topic::ALL {
            h2 id=(anchor(topic)) { (topic.title()) }
            @if gathered.has(topic) {
                (section(topic, gathered))
                @if let Some(rest) = gathered.rest(topic) { p.missing { (rest) "." } }
            } @else {
                p.missing { "No results. To add them: " code { (topic.commands()) } }
            }
        }
    };
    sheet::page("Cohort on this machine", &style, &content)
}

const fn anchor(topic: Topic) -> &'static str {
    match topic {
        Topic::HandOvers => "hand-overs",
        Topic::Tuned => "tuned",
        Topic::Bench => "bench",
        Topic::Programs => "programs",
        Topic::Replays => "replays",
        Topic::Claims => "claims",
    }
}

fn machine(host: &HostView) -> Markup {
    html! {
        (host.draw())
        ul {
            @for cache in &host.caches {
                li { (cache.name) " cache: " (cache.size) ", CPUs " (cache.cpus) }
            }
            @if let Some(memory) = host.memory {
                li { "Memory: " (format!("{:.1}", memory as f64 / f64::from(1 << 30))) " GiB" }
            }
        }
    }
}

fn section(topic: Topic, gathered: &Gathered) -> Markup {
    match topic {
        Topic::Programs => html! {
            (sources(&gathered.sources(topic)))
            p.note { (studies::LEGEND) }
            @let programs: Vec<_> = gathered.programs().into_iter().map(|(one, _)| one).collect();
            (studies::matrix(&programs))
            @for program in &programs { (studies::section(program)) }
            (studies::absent(&programs))
        },
        Topic::Claims => html! {
            (sources(&gathered.sources(topic)))
            @let claims: Vec<_> = gathered.claims().into_iter().map(|(one, _)| one).collect();
            (self::claims::table(&claims))
        },
        _ => html! {
            @for document in gathered.of(topic) {
                (sources(&[&document.source]))
                @match &document.body {
                    Body::HandOvers(found) => (hand_overs(found)),
                    Body::Tuned(found) => (tuned(found)),
                    Body::Bench(found) => (bench(found)),
                    Body::Replay(found) => (replay(found)),
                    Body::Programs(_) | Body::Claims(_) => {},
                }
            }
        },
    }
}

/// The commands and dates of results.
fn sources(sources: &[&Source]) -> Markup {
    html! {
        @for source in sources {
            p { code { (source.command) } br; span.note { (source.caption()) } }
        }
    }
}

fn hand_overs(found: &HandOvers) -> Markup {
    let time =
        |time: Option<f64>| time.map_or_else(|| "–".to_owned(), |time| format!("{time:.0} ns"));
    html! {
        div.wide {
            table.figures {
                tr { th { "level" } th { "cohorts" } th { "hand-over" } th.text { "CPUs" } }
                @for level in &found.levels {
                    tr {
                        td { (level.name.as_deref().unwrap_or("unnamed")) }
                        td { (level.cohorts.len()) }
                        td { (time(level.nanoseconds)) }
                        td.text { @for cohort in &level.cohorts { (list(cohort)) "  " } }
                    }
                }
                tr { td { "system" } td { "1" } td { (time(found.system_nanoseconds)) } td {} }
            }
        }
    }
}

fn tuned(found: &Tuned) -> Markup {
    let mut marks: Vec<(&String, &Vec<f64>)> = found.marks.iter().collect();
    marks.sort_by(|(_, one), (_, other)| {
        let first = |marks: &[f64]| marks.first().copied().unwrap_or(0.0);
        first(other).total_cmp(&first(one))
    });
    let threads: Vec<String> = found.threads.iter().map(ToString::to_string).collect();
    let ties: Vec<&str> = found
        .ties
        .iter()
        .map(String::as_str)
        .filter(|tie| *tie != found.lock)
        .collect();
    html! {
        p {
            b { (found.lock) } " for " (found.workload) " with " (threads.join(", ")) " threads on " (found.on)
            @if !ties.is_empty() { "; tied with " (ties.join(", ")) }
            ". Use it: " code { "cohort run --config best.toml -- PROGRAM" }
        }
        div.wide {
            table.figures {
                tr { th { "lock" } @for policy in &found.policies { th { "score, " (policy) } } }
                @for (lock, marks) in marks.iter().take(SHOWN) {
                    tr { td { (lock) } @for mark in *marks { td style=(bar(*mark)) { (format!("{mark:.3}")) } } }
                }
            }
        }
        @if marks.len() > SHOWN { p.note { "The best " (SHOWN) " of " (marks.len()) " locks." } }
    }
}

/// Tuned locks in the table.
const SHOWN: usize = 12;

/// A bar behind a figure.
fn bar(share: f64) -> String {
    let percent = (share.clamp(0.0, 1.0) * 100.0).round();
    format!("background: linear-gradient(to right, #99f6e4 {percent}%, transparent {percent}%)")
}

fn bench(found: &Bench) -> Markup {
    let mut locks: Vec<&str> = Vec::new();
    let mut rows: BTreeMap<(usize, &str), BTreeMap<&str, &super::Spot>> = BTreeMap::new();
    for spot in &found.points {
        if !locks.contains(&spot.lock.as_str()) {
            locks.push(&spot.lock);
        }
        rows.entry((spot.threads, spot.outside.as_deref().unwrap_or_default()))
            .or_default()
            .insert(&spot.lock, spot);
    }
    let disturbed = found
        .points
        .iter()
        .filter(|spot| spot.disturbed > 0)
        .count();
    html! {
        p.note {
            (found.workload) " on " (found.on) ": million operations per second (" (found.operation)
            "), medians with intervals. Bars are relative to the best lock of the row."
        }
        div.wide {
            table.figures {
                tr { th { "threads" } @for lock in &locks { th { (lock) } } }
                @for ((threads, outside), spots) in &rows {
                    @let best = spots.values().map(|spot| spot.per_second.median).fold(0.0, f64::max);
                    tr {
                        td {
                            (threads)
                            @if !outside.is_empty() { div.note { (outside) " apart" } }
                        }
                        @for lock in &locks {
                            @if let Some(spot) = spots.get(lock) {
                                td style=(bar(spot.per_second.median / best)) {
                                    (millions(spot.per_second.median))
                                    div.note {
                                        (millions(spot.per_second.low)) "–" (millions(spot.per_second.high))
                                    }
                                }
                            } @else { td { "–" } }
                        }
                    }
                }
            }
        }
        @if disturbed > 0 {
            p.note { "Other processes disturbed " (disturbed) " of " (found.points.len()) " figures." }
        }
    }
}

fn millions(per_second: f64) -> String {
    figure(per_second / 1e6)
}

fn replay(found: &Replay) -> Markup {
    html! {
        p {
            (found.trace.program) ", " (found.threads * found.copies) " threads on " (found.on)
            ": throughput relative to the C library's locks"
        }
        div.wide {
            table.figures {
                tr { th { "lock" } th { "ratio" } th { "least" } th { "greatest" } }
                @for point in &found.points {
                    @let ratios = point.ratios.iter().copied();
                    tr {
                        td { (point.lock) }
                        td { (format!("{:.2}", ratios.clone().sum::<f64>() / ratios.len().max(1) as f64)) }
                        td { (format!("{:.2}", ratios.clone().fold(f64::INFINITY, f64::min))) }
                        td { (format!("{:.2}", ratios.fold(0.0, f64::max))) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use super::*;

    fn host() -> HostView {
        HostView {
            cpus: vec![0],
            levels: Vec::new(),
            caches: Vec::new(),
            memory: Some(3 << 30),
        }
    }

    const SETTING: Setting = Setting {
        caption: "m, d",
        command: "cohort report",
    };

    #[test]
    fn missing_results_name_their_commands() {
        let page = page(&host(), &Gathered::default(), &SETTING);
        for topic in Topic::ALL {
            let command = topic.commands().replace('>', "&gt;");
            assert!(page.contains(&command), "{command}");
        }
        assert!(page.contains("3.0 GiB") && !page.contains("<script"));
    }

    #[test]
    fn figures_have_their_command_and_date_and_quotes_are_escaped() {
        let text = r#"{"format": 1, "origin": {"command": ["cohort", "bench", "<b>"], "version": "0",
            "machine": {"cpu": "C", "cpus": 2}, "date": "2026-01-01T00:00:00Z"},
            "workload": "w", "operation": "o", "on": "native", "points": [
            {"lock": "mcs", "threads": 2, "disturbed": 1,
             "per_second": {"median": 2e6, "low": 1e6, "high": 3e6, "confidence": 0.9, "count": 5}}]}"#;
        let mut gathered = Gathered::default();
        gathered.add(Document::read(text).unwrap());
        let page = page(&host(), &gathered, &SETTING);
        for words in [
            "cohort bench &lt;b&gt;",
            "2026-01-01T00:00:00Z",
            "2.00",
            "1.00–3.00",
            "disturbed 1 of 1",
        ] {
            assert!(page.contains(words), "{words}");
        }
        assert!(!page.contains("cohort bench --json &gt;"));
    }
}
