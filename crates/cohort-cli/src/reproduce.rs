//! `cohort reproduce`: what the papers claim, and what simulated machines say to it.

use crate::problem::{Problem, status};
use clap::ValueHint;
use cohort_lab::claims::{self, CLAIMS, Claim, Judged, JudgedPart, UNEXPLAINED, Verdict, page};
use cohort_lab::interrupt;
use cohort_lab::plot::figure;
use cohort_lab::progress::Progress;
use cohort_machine::description::nearest;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Options of `cohort reproduce`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// The claims, as in `k14 f1`, or a paper's letter for all of its own [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Show what is claimed; run nothing
    #[arg(long, conflicts_with_all = ["json", "html"])]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a page for a browser
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
}

const NOTES: &str = "\
Each row is a result that one of the papers states. Its parts are run on the simulated machine \
that stands for the paper's, and computed as the row says; ours agrees if it lies in the row's \
band. What needs a lock that is not in `cohort list` waits for it. The letters are K (000, Lock \
Cohorting), S (001, SANL), F (002, CLoF), T (003, HMCS-T) and G (004, GLS and GLK).

A disagreement is a finding, not a failure: the exit status is 0 if everything that could be run \
was run; 2 for a mistake in the options; 125 if a page cannot be written; 130 after Ctrl-C. The \
same command gives the same bytes on every host.";

/// Carries out `cohort reproduce`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let chosen = chosen(&arguments.ids)?;
    if arguments.list {
        for claim in chosen {
            println!("{:4} {}. ({})", claim.id, claim.says, claim.source);
        }
        return Ok(ExitCode::SUCCESS);
    }
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot watch for signals: {error}")))?;
    let mut progress = Progress::new(claims::planned(&chosen), false);
    let judged = claims::run(&chosen, &mut progress);
    drop(progress);
    let rows = match judged {
        Ok(rows) => rows,
        Err(signal) => return Ok(ExitCode::from(signal.status())),
    };
    eprint!("{}", times(&rows));
    if let Some(file) = &arguments.html {
        std::fs::write(file, page::page(&rows)).map_err(|error| {
            Problem::new(
                status::REFUSED,
                format!(
                    "the page cannot be written to {}: {error}; name another file",
                    file.display()
                ),
            )
        })?;
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&rows)
            .map_err(|error| Problem::refused(format!("cannot write JSON: {error}")))?;
        println!("{text}");
    } else {
        print!("{}", text(&rows));
    }
    Ok(ExitCode::SUCCESS)
}

/// The claims of these names, in the order of the list, each once.
fn chosen(ids: &[String]) -> Result<Vec<&'static Claim>, Problem> {
    if ids.is_empty() {
        return Ok(CLAIMS.iter().collect());
    }
    let of_paper = |id: &str, claim: &Claim| {
        let letter = claim.id.get(..1).unwrap_or_default();
        letter.eq_ignore_ascii_case(id)
    };
    for id in ids {
        if claims::find(id).is_none() && !CLAIMS.iter().any(|claim| of_paper(id, claim)) {
            let hint = nearest::hint(id, CLAIMS.iter().map(|claim| claim.id));
            return Err(Problem::usage(format!(
                "no claim is called `{id}`{hint}\n`cohort reproduce --list` shows every claim"
            )));
        }
    }
    let wanted = |claim: &&Claim| {
        ids.iter()
            .any(|id| claim.id.eq_ignore_ascii_case(id) || of_paper(id, claim))
    };
    Ok(CLAIMS.iter().filter(wanted).collect())
}

/// How long each row took, slowest first; on stderr, since it differs from run to run.
fn times(rows: &[Judged]) -> String {
    let mut slow: Vec<&Judged> = rows.iter().filter(|row| row.took >= TOLD).collect();
    slow.sort_by_key(|row| std::cmp::Reverse(row.took));
    let times = slow.iter().map(|row| {
        let seconds = row.took.as_secs_f64();
        format!("{} {seconds:.1} s", row.id)
    });
    match slow.as_slice() {
        [] => String::new(),
        _ => format!(
            "CPU time by row, with the runs that it shares with others: {}.\n",
            times.collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The least that is told.
const TOLD: Duration = Duration::from_millis(100);

fn text(rows: &[Judged]) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(text, "{:4} {}", row.id, row.verdict.name());
        let _ = writeln!(text, "     {} ({})", row.claim, row.source);
        for part in &row.parts {
            if part.missing.is_empty() {
                text.push_str(&part_text(part));
            }
        }
        if let Some(missing) = &row.missing {
            let _ = writeln!(text, "     not yet runnable: {missing}");
        }
        if row.verdict == Verdict::Disagrees {
            let because = row.because.unwrap_or(UNEXPLAINED);
            let _ = writeln!(text, "     because: {because}");
        }
        text.push('\n');
    }
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let _ = writeln!(
        text,
        "{} of {} rows agree, {} agree so far, {} disagree, {} failed, {} cannot be run yet.\nAll figures of \
         ours are simulated; none was measured on the machine it is for.",
        count(Verdict::Agrees),
        rows.len(),
        count(Verdict::AgreesSoFar),
        count(Verdict::Disagrees),
        count(Verdict::Failed),
        count(Verdict::NotYetRunnable),
    );
    text
}

fn part_text(part: &JudgedPart) -> String {
    let mark = match part.agrees {
        Some(true) => "+",
        Some(false) => "-",
        None => "!",
    };
    let ours = part.ours.map_or_else(|| "nothing".to_owned(), figure);
    let at = part
        .at
        .as_ref()
        .map_or_else(String::new, |at| format!(" at {at}"));
    let mut text = format!(
        "   {mark} {}: paper {}, ours {ours}{at}\n       {} on {} (file {}), {} sections: {}\n",
        part.says,
        part.paper,
        part.computed,
        part.machine,
        part.hash,
        part.sections,
        part.experiment
    );
    if let Some(why) = &part.why {
        let _ = writeln!(text, "       why: {why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(typed: &[&str]) -> Result<Vec<&'static str>, Problem> {
        let typed: Vec<String> = typed.iter().map(|id| (*id).to_owned()).collect();
        chosen(&typed).map(|claims| claims.iter().map(|claim| claim.id).collect())
    }

    #[test]
    fn claims_are_chosen_by_name_or_by_paper() {
        assert_eq!(ids(&[]).unwrap().len(), CLAIMS.len());
        assert_eq!(ids(&["g1", "K14", "G1"]).unwrap(), ["K14", "G1"]);
        assert_eq!(ids(&["t"]).unwrap().len(), 9);
    }

    #[test]
    fn an_unknown_claim_is_answered_with_a_near_one() {
        let problem = ids(&["K99"]).unwrap_err().to_string();
        assert!(problem.contains("--list"), "{problem}");
    }
}
