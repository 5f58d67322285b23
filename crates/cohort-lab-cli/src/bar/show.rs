//! Bars as text for users.

use cohort_cli::page;
use cohort_lab::bars::{Bar, Judged, Judgement, Unit, Verdict};
use cohort_lab::stats::Estimate;

/// Every bar and what it asks for.
pub fn list(bars: &[&Bar]) -> String {
    let mut table = page::titled(&["bar", "comparison", "target"]);
    for bar in bars {
        table.add_row([bar.name, bar.asks, &bar.target()]);
    }
    page::lines(table, 0..0)
}

/// Every bar, its figure and its result.
pub fn table(judgements: &[Judgement], points: bool) -> String {
    let mut table = page::titled(&["bar", "figure", "interval", "target", "verdict"]);
    for judgement in judgements {
        let unit = judgement.unit;
        table.add_row([
            judgement.name.to_owned(),
            judgement
                .figure
                .map_or_else(nothing, |figure| unit.show(figure.median)),
            judgement
                .figure
                .map_or_else(nothing, |figure| interval(figure, unit)),
            judgement.target.clone(),
            verdict(judgement),
        ]);
        if points && judgement.points.len() > 1 {
            for point in &judgement.points {
                table.add_row([
                    format!("  {}", point.at),
                    unit.show(point.figure.median),
                    interval(point.figure, unit),
                    String::new(),
                    String::new(),
                ]);
            }
        }
    }
    page::lines(table, 1..4)
}

/// The number of bars that are met, and how far to trust it.
pub fn closing(judged: &Judged, quick: bool) -> String {
    let judgements = &judged.judgements;
    let count = |wanted: fn(&Verdict) -> bool| {
        judgements
            .iter()
            .filter(|judgement| wanted(&judgement.verdict))
            .count()
    };
    let met = count(|verdict| matches!(verdict, Verdict::Met));
    let barred = count(|verdict| matches!(verdict, Verdict::CannotRun { .. }));
    let mut text = format!("{met} of {} targets met", judgements.len());
    if barred > 0 {
        text.push_str(&format!("; {barred} cannot run on this machine"));
    }
    text.push('.');
    if quick {
        text.push_str(" Short runs: a rough estimate.");
    }
    if judgements.iter().any(|judgement| judgement.disturbed > 0) {
        text.push_str(" Other processes used the CPUs: repeat on an idle machine.");
    }
    if let Some([measured, wanted]) = judged.points
        && measured < wanted
    {
        text.push_str(&format!(
            " Interrupted after {measured} of {wanted} simulated points."
        ));
    } else if judged.signal.is_some() {
        text.push_str(" Interrupted before the other targets were measured.");
    }
    let mut text = page::prose(&text);
    let missed = judgements
        .iter()
        .filter(|judgement| matches!(judgement.verdict, Verdict::Missed { .. }));
    let mut again: Vec<&str> = missed.filter_map(|it| it.again.as_deref()).collect();
    again.sort_unstable();
    again.dedup();
    if !again.is_empty() {
        text.push_str("\n\nTo repeat the missed points:");
        for words in again {
            text.push_str(&format!("\n  cohort {words}"));
        }
    }
    text
}

fn nothing() -> String {
    "-".to_owned()
}

fn interval(figure: Estimate, unit: Unit) -> String {
    if figure.count < 2 {
        return nothing();
    }
    page::interval(&unit.show(figure.low), &unit.show(figure.high))
}

fn verdict(judgement: &Judgement) -> String {
    let mut words = match &judgement.verdict {
        Verdict::Met => "met".to_owned(),
        Verdict::Missed { by } => format!("missed by {by}"),
        Verdict::CannotRun { why } => return format!("cannot run: {why}"),
        Verdict::Failed { why } => return format!("failed: {why}"),
    };
    if !judgement.at.is_empty() {
        words.push_str(&format!(" ({})", judgement.at));
    }
    if judgement.near {
        words.push_str(", within noise");
    }
    if judgement.disturbed > 0 {
        words.push_str(&format!(
            "; {} of {} runs disturbed",
            judgement.disturbed, judgement.rounds
        ));
    }
    words
}
