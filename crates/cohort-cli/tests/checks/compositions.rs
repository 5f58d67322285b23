//! Each generated composition, compiled, under a program: nothing is lost, and it ends.

use crate::check::{Check, Tier};
use crate::conformance::run_case;
use crate::crowd::CASE;
use crate::program::cohort_run;
use crate::selection::Selection;
use cohort::compose::generated::{self, Basic};

/// All of those of one depth at once, and the top locks that stand nowhere else; none if
/// locks were asked for by name.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    if selection.is_narrowed() {
        return Ok(Vec::new());
    }
    let check = |depth| Check {
        name: format!("compositions/{depth}"),
        // Three of four are of the greatest depth.
        tier: if depth < generated::LEVELS {
            Tier::Quick
        } else {
            Tier::Full
        },
        needs: &[("cc", "gcc")],
        run: Box::new(move || of_depth(depth)),
    };
    Ok((1..=generated::LEVELS).map(check).collect())
}

fn of_depth(depth: usize) -> Result<(), String> {
    let these = generated::all().filter(|(_, levels)| *levels == depth);
    let tops = Basic::TOPS.iter().filter(|top| !Basic::ALL.contains(top));
    let below_tops = tops.map(|top| {
        let mut locks = [Basic::ALL[0]; generated::LEVELS];
        locks[depth - 1] = *top;
        (locks, depth)
    });
    let mut checked = 0;
    for (locks, levels) in these.chain(below_tops) {
        let names: Vec<&str> = locks[..levels].iter().map(|lock| lock.name()).collect();
        let lock = format!("clof:{}/compiled", names.join("-"));
        run_case(cohort_run(&lock, &[]), "stress", CASE)
            .map_err(|error| format!("{lock}: {error}"))?;
        checked += 1;
    }
    let expected = Basic::ALL.len().pow(depth as u32) + Basic::TOPS.len() - Basic::ALL.len();
    if checked == expected {
        Ok(())
    } else {
        Err(format!("{checked} of {expected} were checked"))
    }
}
