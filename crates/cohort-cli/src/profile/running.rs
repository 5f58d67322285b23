//! `cohort profile --pid`: the locks that cost a running process time.

use super::{Wanted, snapshot};
use crate::destination;
use crate::observe::watching::is_under_cohort;
use crate::outside::Process;
use crate::outside::looker::Looker;
use crate::outside::tree::Tree;
use crate::page::{self, Origin};
use crate::problem::{self, Problem};
use crate::top::frame::Looks;
use crate::top::{self, Sort, text};
use cohort_measure::interrupt;
use std::process::ExitCode;
use std::time::Duration;

/// Locks that are listed, and those of them that are shown by places, as in a profile.
const LISTED: usize = 12;
const SHOWN: usize = 4;

/// Profiles a process: by its records if it runs under Cohort, otherwise from outside.
///
/// # Errors
/// The process cannot be observed; a file cannot be written.
pub fn run(
    id: u32,
    has_tree: bool,
    length: Duration,
    wanted: &Wanted,
) -> Result<ExitCode, Problem> {
    if !has_tree && is_under_cohort(id) {
        return snapshot::of(id, length, wanted);
    }
    let files = [("--html", &wanted.html), ("--pprof", &wanted.pprof)];
    if let Some((option, _)) = files.iter().find(|(_, file)| file.is_some()) {
        return Err(Problem::usage(format!(
            "{option}: process {id} is sampled from outside, without counts; for this file, start \
             the program by `cohort run --observe`"
        )));
    }
    wanted.check()?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let mut looker: Box<dyn Looks> = if has_tree {
        Box::new(Tree::open(id)?)
    } else {
        Box::new(Looker::new(Process::open(id)?))
    };
    // After a signal, what has been seen so far.
    let _ = top::look_for(&mut *looker, length)?;
    let seen = looker.finish();
    let program = looker.program();
    let rows = text::rows(&seen, Sort::Lost, "");
    let sheet = top::sheet(&*looker, &program, &seen, &rows);
    if let Some(file) = &wanted.output {
        destination::write(file, page::json(Origin::here(), &sheet)?.as_bytes())?;
    }
    if wanted.json {
        page::print_json(Origin::here(), &sheet)?;
    } else {
        let mut said = text::head(id, &program, &seen);
        said.push_str("\n\n");
        said.push_str(&text::table_or_none(&rows, LISTED));
        let shown = rows.iter().filter(|row| row.lost_per_second > 0.0);
        for row in shown.take(SHOWN) {
            said.push_str("\n\n");
            said.push_str(text::places(row).trim_end());
        }
        page::print(&said)?;
    }
    if seen.has_ended {
        problem::tell(format!("note: process {id} has ended"));
    }
    Ok(ExitCode::SUCCESS)
}
