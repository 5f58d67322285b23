//! Locks outside the catalogue under a program: each compiled composition, abortable ones included,
//! cohort locks with a bound or a bypass, trees of queues. No update is lost, and the program ends.

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
    let named = Check {
        name: "compositions/named".to_owned(),
        tier: Tier::Quick,
        needs: &[("cc", "gcc")],
        run: Box::new(|| run_each(&NAMED)),
    };
    Ok((1..=LEVELS).map(check).chain([named]).collect())
}

/// A name of each kind and form.
const NAMED: [&str; 18] = [
    "c-bo-bo/7",
    "c-tkt-tkt/endless",
    "c-ptl-tkt/20us",
    "c-bo-mcs/bypass",
    "c-tkt-mcs/7/bypass",
    "c-mcs-mcs/adaptive",
    "a-c-bo-bo/7",
    "a-c-bo-clh/20us",
    "hmcs-1",
    "hmcs-4/64",
    "hmcs-2@cache,system",
    "hmcs-fast-3",
    "ahmcs-2/7",
    "hmcs-t-3/64/peers-2",
    "hmcs-t-2/naive/pessimistic",
    "ahmcs-t-4/64",
    "clof:k42-hemlock_ctr@numa,system",
    "clof:hemlock_ctr-mcs-k42@core,numa,system",
];

fn run_each(names: &[&str]) -> Result<(), String> {
    names.iter().try_for_each(|lock| {
        run_case(cohort_run(lock, &[]), "stress", CASE).map_err(|error| format!("{lock}: {error}"))
    })
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
