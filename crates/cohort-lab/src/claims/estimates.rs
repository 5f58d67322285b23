//! Estimates of machine files that decide a row: the row also runs at both ends of their ranges.
//!
//! An end is a variant of the row's machine: `kunpeng-920x2, most occupancy`. All estimates with the
//! same last word, such as every distance's `occupancy`, move together.

use super::judge::{Judged, JudgedPart, Verdict};
use super::variants::{interned, ranged};
use super::{Claim, Part};
use cohort_machine::description::End;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Rows and their deciding estimates: one end of each changes the row's verdict, as
/// `cohort reproduce ROW --ends` shows.
const DECIDED: &[(&str, &[&str])] = &[(
    "K7",
    &[
        "each",
        "instruction",
        "invalidate",
        "load",
        "pause",
        "store",
    ],
)];

/// Which estimates a row runs at both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// The deciding ones.
    #[default]
    Deciding,
    /// Every estimate of its machines.
    All,
}

/// The estimates that a row runs at both ends.
pub(super) fn of(claim: &Claim, ends: Ends) -> Vec<&'static str> {
    if ends == Ends::All {
        let machines = claim.parts.iter().map(|part| part.experiment.machine);
        let machines: BTreeSet<&str> = machines.collect();
        let estimates: BTreeSet<&str> = machines.into_iter().flat_map(ranged).collect();
        return estimates.into_iter().collect();
    }
    let mut decided = DECIDED.iter().filter(|(id, _)| *id == claim.id);
    decided
        .next()
        .map_or_else(Vec::new, |(_, estimates)| estimates.to_vec())
}

/// The parts of a row that have such an estimate, at that end.
pub(super) fn parts(claim: &Claim, estimate: &str, end: End) -> Vec<Part> {
    let moved = |part: &Part| {
        let machine = part.experiment.machine;
        if !ranged(machine).contains(&estimate) {
            return *part;
        }
        let machine = interned(&format!("{machine}, {} {estimate}", end.name()));
        let experiment = super::Experiment {
            machine,
            ..part.experiment
        };
        Part {
            experiment,
            ..*part
        }
    };
    claim.parts.iter().map(moved).collect()
}

impl Judged {
    /// Judges the row by its ends too: if it agrees at the file's values and not at an end, or the
    /// other way round, an estimate decides it.
    pub(super) fn decide(&mut self, claim: &Claim) {
        let agrees = |parts: &[JudgedPart]| parts.iter().all(|part| part.agrees == Some(true));
        let disagrees = |parts: &[JudgedPart]| parts.iter().any(|part| part.agrees == Some(false));
        let decided = match self.verdict {
            Verdict::Agrees => self.ends.iter().any(|end| disagrees(&end.parts)),
            Verdict::Disagrees | Verdict::Undecided => self
                .ends
                .iter()
                .any(|end| agrees(&end.parts) || self.lies_across(claim, &end.parts)),
            _ => false,
        };
        if decided {
            self.verdict = Verdict::AgreesWithinEstimate;
        }
    }

    /// Whether the row agrees between the file's value and that end: a part outside of its band is
    /// on the band's other side there, or inside; the other parts agree at both.
    fn lies_across(&self, claim: &Claim, there: &[JudgedPart]) -> bool {
        let mut parts = claim.parts.iter().zip(self.parts.iter().zip(there));
        parts.all(|(part, (here, there))| {
            let side = |judged: &JudgedPart| judged.ours.map(|ours| part.band.side(ours));
            match (side(here), side(there)) {
                (Some(Ordering::Equal), Some(Ordering::Equal)) => true,
                (Some(Ordering::Equal), _) | (_, None) | (None, _) => false,
                (Some(here), Some(there)) => here != there,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge::JudgedEnd;
    use super::super::variants::find;
    use super::*;
    use crate::claims::{Band, CLAIMS, Experiment, Fold, Measure, Metric, Seeds, Side, Sweep};
    use crate::world::Placement;
    use std::time::Duration;

    #[test]
    fn every_deciding_estimate_is_one_of_its_row() {
        for (id, estimates) in DECIDED {
            let claim = CLAIMS.iter().find(|claim| claim.id == *id).unwrap();
            let all = of(claim, Ends::All);
            assert_eq!(of(claim, Ends::Deciding), *estimates);
            for estimate in *estimates {
                assert!(all.contains(estimate), "{id}: {estimate}");
                for end in End::BOTH {
                    let parts = parts(claim, estimate, end);
                    let moved = |part: &&Part| find(part.experiment.machine).is_some();
                    assert!(parts.iter().any(|part| moved(&part)), "{id}: {estimate}");
                }
            }
        }
    }

    const fn part(band: Band) -> Part {
        Part {
            says: "",
            experiment: Experiment::new(
                "superdome-x",
                "lbench",
                Placement::Scattered,
                Sweep::Threads(&[2]),
            ),
            measure: Measure::Value {
                of: Side::most(&["mcs"]),
                metric: Metric::Throughput,
                fold: Fold::Everywhere,
            },
            band,
        }
    }

    /// One part within 1 to 2, one at least 5.
    static CLAIM: Claim = Claim {
        id: "",
        source: "",
        says: "",
        parts: &[part(Band::Between(1.0, 2.0)), part(Band::AtLeast(5.0))],
        needs: None,
        counterfactuals: &[],
        seeds: Seeds::All,
    };

    /// The parts with those figures.
    fn judged_parts(figures: [f64; 2]) -> Vec<JudgedPart> {
        let parts = CLAIM.parts.iter().zip(figures);
        let judged = |(part, ours): (&Part, f64)| JudgedPart {
            says: String::new(),
            machine: String::new(),
            hash: String::new(),
            experiment: String::new(),
            computed: String::new(),
            paper: String::new(),
            ours: Some(ours),
            spread: None,
            at: None,
            longest: None,
            sections: 1,
            agrees: Some(part.band.holds(ours)),
            agreeing: 0,
            seeds: 5,
            missing: Vec::new(),
            why: None,
            curves: None,
        };
        parts.map(judged).collect()
    }

    /// The verdict of a row with these figures, and with those at the ends.
    fn verdict(here: [f64; 2], there: &[[f64; 2]]) -> Verdict {
        let end = |figures: &[f64; 2]| JudgedEnd {
            estimate: "occupancy".to_owned(),
            end: "most".to_owned(),
            parts: judged_parts(*figures),
        };
        let parts = judged_parts(here);
        let agrees = parts.iter().all(|part| part.agrees == Some(true));
        let mut row = Judged {
            id: "",
            source: "",
            claim: "",
            verdict: if agrees {
                Verdict::Agrees
            } else {
                Verdict::Disagrees
            },
            agreeing: 0,
            seeds: 5,
            missing: None,
            parts,
            ends: there.iter().map(end).collect(),
            counterfactuals: Vec::new(),
            took: Duration::ZERO,
        };
        row.decide(&CLAIM);
        row.verdict
    }

    #[test]
    fn a_row_whose_agreement_an_end_changes_agrees_within_the_estimate() {
        let within = Verdict::AgreesWithinEstimate;
        assert_eq!(
            verdict([1.5, 6.0], &[[1.2, 5.0], [1.9, 9.0]]),
            Verdict::Agrees
        );
        assert_eq!(verdict([1.5, 6.0], &[]), Verdict::Agrees);
        assert_eq!(verdict([1.5, 6.0], &[[1.2, 5.0], [1.9, 4.0]]), within);
        assert_eq!(verdict([0.5, 6.0], &[[0.4, 6.0], [1.0, 6.0]]), within);
        // Above the band here, below it at an end.
        assert_eq!(verdict([2.5, 6.0], &[[0.5, 6.0]]), within);
        assert_eq!(
            verdict([2.5, 6.0], &[[2.1, 6.0], [9.0, 6.0]]),
            Verdict::Disagrees
        );
        // What one part gains, the other loses.
        assert_eq!(
            verdict([2.5, 6.0], &[[1.5, 4.0], [0.5, 4.0]]),
            Verdict::Disagrees
        );
    }

    #[test]
    fn an_end_is_a_machine_with_that_estimate_alone_moved() {
        let ends = End::BOTH.map(|end| parts(&CLAIM, "occupancy", end)[0].experiment.machine);
        assert_eq!(
            ends,
            [
                "superdome-x, least occupancy",
                "superdome-x, most occupancy"
            ]
        );
        let within = |name| {
            let machine = find(name).unwrap();
            machine
                .transfers
                .iter()
                .map(|transfer| transfer.occupancy.value)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ends.map(within),
            [vec![1, 12, 67, 112], vec![4, 48, 270, 450]]
        );
        // The machine has a paper's figure, not an estimate.
        let kept = parts(&CLAIM, "clock", End::Most)[0].experiment.machine;
        assert_eq!(kept, "superdome-x");
    }
}
