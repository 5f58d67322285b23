//! Each compiled composition, abortable ones included, under a program: no update is lost, and the
//! program ends.

use crate::check::{Check, Tier};
use crate::conformance::run_case;
use crate::crowd::CASE;
use crate::program::cohort_run;
use crate::selection::Selection;
use cohort::compose::{abortables, generated};
use cohort::name::{Build, Lock, Name};
use cohort::recipe::{Basic, LEVELS, Locks};

/// All compositions of one depth together, and the top locks that occur nowhere else; none if locks
/// were requested by name.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    if selection.is_narrowed() {
        return Ok(Vec::new());
    }
    let check = |depth| Check {
        name: format!("compositions/{depth}"),
        // Nineteen of twenty are deeper, and made of the same locks by the same code.
        tier: if depth <= 2 { Tier::Quick } else { Tier::Full },
        needs: &[("cc", "gcc")],
        run: Box::new(move || of_depth(depth)),
    };
    Ok((1..=LEVELS).map(check).collect())
}

fn of_depth(depth: usize) -> Result<(), String> {
    let these = generated::all().filter(|locks| locks.len() == depth);
    let tops = Basic::TOPS.iter().filter(|top| !Basic::ALL.contains(top));
    let below_tops = tops.filter_map(|top| {
        let mut locks = vec![Basic::ALL[0]; depth];
        locks[depth - 1] = *top;
        Locks::of(&locks)
    });
    let compiled = these.chain(below_tops).map(|locks| Name {
        build: Some(Build::Compiled),
        ..Name::of(Lock::Composed(locks))
    });
    let abortable = abortables::all().filter(|locks| locks.len() == depth);
    let abortable = abortable.map(|locks| Name {
        abortable: true,
        ..Name::of(Lock::Composed(locks))
    });
    let mut checked = 0;
    for name in compiled.chain(abortable) {
        let lock = name.to_string();
        run_case(cohort_run(&lock, &[]), "stress", CASE)
            .map_err(|error| format!("{lock}: {error}"))?;
        checked += 1;
    }
    let all_of = |basic: &[Basic]| basic.len().pow(depth as u32);
    let tops = Basic::TOPS.len() - Basic::ALL.len();
    let expected = all_of(&Basic::ALL) + tops + all_of(&Basic::ABORTABLE);
    if checked == expected {
        Ok(())
    } else {
        Err(format!("{checked} of {expected} were checked"))
    }
}
