//! A comparison's final judgement, from counts and measurements.

use super::contestants::ONE_CPU;
use crate::report::counts::Counts;
use cohort_measure::compare::{Answer, Comparison, Row, times};
use std::collections::BTreeMap;

/// The rows of Cohort's locks.
fn ours(comparison: &Comparison) -> impl Iterator<Item = &Row> {
    let is_ours = |row: &&Row| row.answer.is_some() && row.lock != ONE_CPU;
    comparison.rows.iter().filter(is_ours)
}

/// The greatest proven gain, if any.
pub fn gain(comparison: &Comparison) -> Option<String> {
    let gain = |row: &Row| row.gain.map_or(0.0, |gain| gain.median);
    let best = ours(comparison)
        .filter(|row| row.answer == Some(Answer::Better))
        .max_by(|one, other| gain(one).total_cmp(&gain(other)));
    let row = best?;
    let gain = row.gain?;
    let mut sentence = format!(
        "Cohort gains {} ({} to {}) under {}",
        times(gain.median),
        times(gain.low),
        times(gain.high),
        row.lock
    );
    let mut rows = comparison.rows.iter();
    let confined = rows.find(|row| row.lock == ONE_CPU);
    if let Some(alone) = confined.filter(|row| row.answer == Some(Answer::Better))
        && let Some(alone) = alone.gain
    {
        sentence.push_str(&format!(
            "; the C library's locks on one CPU gain {} ({} to {})",
            times(alone.median),
            times(alone.low),
            times(alone.high)
        ));
    }
    Some(format!("{sentence}."))
}

/// One sentence about whether Cohort helps.
pub fn closing(comparison: &Comparison, counted: &BTreeMap<String, Counts>) -> Option<String> {
    if let Some(gain) = gain(comparison) {
        return Some(gain);
    }
    let row = ours(comparison).find(|row| row.failure.is_none())?;
    let counts = *counted.get(&row.lock)?;
    if let Some(few) = counts.judgement() {
        return Some(format!("{few}."));
    }
    let is_shown = ours(comparison).all(|row| row.answer == Some(Answer::Noise));
    let is_worse = ours(comparison).all(|row| row.answer == Some(Answer::Worse));
    let what = match (is_shown, is_worse) {
        (true, _) => "and no lock made a difference: `cohort profile` shows the call sites",
        (_, true) => "and the C library's locks are the fastest here",
        _ => "and no gain is shown",
    };
    Some(format!("{}, {what}.", counts.in_words()))
}
