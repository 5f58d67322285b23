//! A profile as a self-contained HTML page.

use super::figures::Spread;
use super::merge::label;
use super::text::{cost_of, count, long, seconds, share};
use super::{Lock, Profile, flame};
use crate::problem::Problem;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Locks shown with their sites.
const SHOWN: usize = 20;

/// Sites shown per lock.
const PLACES: usize = 12;

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; \
color: #1f2937 } \
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2.2rem 0 .3rem } \
table { border-collapse: collapse; width: 100% } \
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid #e5e7eb; \
vertical-align: top; white-space: nowrap } \
th { font-weight: 600; color: #6b7280 } \
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere } \
svg { max-width: 100%; height: auto } .note { color: #6b7280; font-size: .9rem } \
.caller { color: #6b7280; font-size: .85rem; padding-left: 1rem; display: block }";

/// The page.
///
/// # Errors
/// The flame graph cannot be drawn.
pub fn page(profile: &Profile) -> Result<String, Problem> {
    let graph = flame::svg(profile)?;
    let cost = &profile.cost;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Locks of " (profile.program) }
                style { (STYLE) }
            }
            body {
                h1 { "Locks of " (profile.program) }
                p {
                    (format!("{:.2}", profile.seconds)) " s under " (profile.lock) "; "
                    (profile.processes) " process(es), at most " (profile.threads)
                    " thread(s) at once. " (cost_of(cost))
                }
                (overview(profile))
                p.note {
                    "lost: thread-seconds of waiting. queue: mean number of waiters while any \
                     thread waits, and the maximum. wait and hold: over all acquisitions, of \
                     which " (count(cost.sampled)) " of " (count(cost.acquired))
                    " were timed. Intervals: 95 % confidence."
                }
                @if let Some(graph) = &graph {
                    h2 { "Wait times by call site" }
                    p.note { "Width: time spent waiting. Click to zoom." }
                    (PreEscaped(graph))
                } @else {
                    p { "No waiting thread was sampled." }
                }
                @for (place, lock) in profile.locks.iter().enumerate().take(SHOWN) {
                    @if lock.lost.value > 0.0 { (section(place, lock)) }
                }
                @if !profile.conditions.is_empty() { (conditions(profile)) }
            }
        }
    };
    Ok(page.into_string())
}

fn overview(profile: &Profile) -> Markup {
    html! {
        table {
            tr {
                th { "lock" } th { "lost, s" } th { "taken" } th { "contended" } th { "queue" }
                th { "wait: mean" } th { "p50" } th { "p99" } th { "p99.9" }
                th { "hold: mean" } th { "p50" } th { "p99" } th { "p99.9" }
            }
            @for (place, lock) in profile.locks.iter().enumerate().take(100) {
                tr {
                    td {
                        @if place < SHOWN && lock.lost.value > 0.0 {
                            a href={ "#lock" (place) } { (long(lock)) }
                        } @else {
                            (long(lock))
                        }
                        @if lock.objects > 1 { " (" (count(lock.objects as u64)) " locks)" }
                    }
                    td { (seconds(lock.lost.value)) }
                    td { (count(lock.acquired)) }
                    td { (share(lock.contended, lock.acquired)) }
                    td {
                        (format!("{:.1}", lock.queue.mean)) ", " (lock.queue.greatest)
                    }
                    (spread(lock.wait.as_ref()))
                    (spread(lock.hold.as_ref()))
                }
            }
        }
    }
}

fn spread(spread: Option<&Spread>) -> Markup {
    html! {
        @match spread {
            Some(spread) => {
                td { (spread.time(spread.mean.value)) }
                td { (spread.time(spread.p50 as f64)) }
                td { (spread.time(spread.p99 as f64)) }
                td { (spread.time(spread.p999 as f64)) }
            }
            None => { td { "–" } td { "–" } td { "–" } td { "–" } }
        }
    }
}

fn section(place: usize, lock: &Lock) -> Markup {
    html! {
        h2 id={ "lock" (place) } { (place + 1) ". " (long(lock)) }
        p {
            "lost " (seconds(lock.lost.value)) " s (" (seconds(lock.lost.low)) "–"
            (seconds(lock.lost.high)) ")"
            @if lock.objects > 1 {
                "; " (count(lock.objects as u64)) " locks, one of them with "
                (format!("{:.0}", 100.0 * lock.busiest)) " % of it"
            }
            "; " (format!("{:.1}", lock.nested)) " other locks held at its acquisition"
            @if let Some(handed) = &lock.handed {
                "; " (handed.text()) " (" (count(handed.samples)) " seen)"
            }
        }
        table {
            tr {
                th { "place" } th { "waited, s" } th { "held, s" } th { "taken" }
                th { "contended" } th { "wait: mean" } th { "hold: mean" }
            }
            @for site in lock.sites.iter().take(PLACES) {
                tr {
                    td {
                        @if lock.kind.ends_with("rwlock") { (site.how) ": " }
                        @for (depth, frame) in site.frames.iter().enumerate() {
                            @if depth == 0 { (label(frame)) }
                            @else { span.caller { (label(frame)) } }
                        }
                    }
                    td { (seconds(site.lost)) }
                    td { (seconds(site.blamed)) }
                    td { (count(site.acquired)) }
                    td { (share(site.contended, site.acquired)) }
                    td { (site.wait.as_ref().map_or("–".into(), |spread| spread.time(spread.mean.value))) }
                    td { (site.hold.as_ref().map_or("–".into(), |spread| spread.time(spread.mean.value))) }
                }
            }
        }
    }
}

fn conditions(profile: &Profile) -> Markup {
    html! {
        h2 { "Conditions" }
        table {
            tr {
                th { "condition" } th { "waits" }
                th { "wait: mean" } th { "p50" } th { "p99" } th { "p99.9" }
            }
            @for condition in profile.conditions.iter().take(100) {
                tr {
                    td { (condition.name) }
                    td { (count(condition.waits)) }
                    (spread(condition.wait.as_ref()))
                }
            }
        }
    }
}
