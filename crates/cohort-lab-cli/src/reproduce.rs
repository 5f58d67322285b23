//! `cohort reproduce`: what the papers claim, and what simulated machines, or this one, say to it.

mod here;

use clap::ValueHint;
use cohort_cli::destination;
use cohort_cli::library;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::{self, Problem};
use cohort_cli::results;
use cohort_lab::claims::{
    self, CLAIMS, Claim, Ends, Forecast, Judged, JudgedPart, Kept, Record, Verdict,
};
use cohort_lab::interrupt;
use cohort_lab::plot::figure;
use cohort_lab::progress::Progress;
use cohort_machine::description::nearest;
use comfy_table::Cell;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Options of `cohort reproduce`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Run these claims, such as `k14 f1`; a letter selects a paper [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List the claims without a run
    #[arg(long, conflicts_with = "html")]
    list: bool,
    /// Run the claims about this machine only
    #[arg(long)]
    here: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Run each claim with N seeds
    #[arg(long, value_name = "N", default_value_t = SEEDS, value_parser = clap::value_parser!(u8).range(1..),
        conflicts_with_all = ["list", "here"])]
    seeds: u8,
    /// Run each claim also at both ends of every estimate in its machines' files
    #[arg(long, conflicts_with_all = ["list", "here"])]
    ends: bool,
    /// Write an HTML page
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath,
        conflicts_with = "here")]
    html: Option<PathBuf>,
}

/// The usual number of seeds.
const SEEDS: u8 = 5;

const NOTES: &str = "\
Each claim is a result of a paper. Its parts run with every seed on the simulated counterpart of the \
paper's machine; it agrees if four of five seeds lie in the claim's range. A disagreeing claim also \
runs its counterfactuals, with one assumption changed. A claim that an estimate in a machine's file \
decides also runs at both ends of the estimate's range, and agrees within the estimate if it does \
at some values of the range only. --here runs the claims about real machines, \
and needs a C compiler.

Letters: K Lock Cohorting (Dice et al. 2015), S SANL (Zhang et al. 2017), F CLoF (Chehab et al. \
2021), T HMCS-T (Chabbi et al. 2017), G GLS and GLK (Antić et al. 2016). Except with --here, output \
is identical on every host. After Ctrl-C, the same build continues with the complete claims. \
The announced time is estimated from recorded runs; runs on this host correct it.

Exit status: 0 if all claims ran, also with disagreements; 2 for invalid options; 125 if a page \
cannot be written; 130 after Ctrl-C.";

/// Carries out `cohort reproduce`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let mut chosen = chosen(&arguments.ids)?;
    if arguments.here {
        chosen.retain(|claim| here::is_here(claim));
        if chosen.is_empty() {
            return Err(Problem::usage(format!(
                "--here: none of these claims is about a real machine; choose from: {}",
                here::NAMES.join(", ")
            )));
        }
        if !arguments.list {
            return here::run(&chosen, arguments.json);
        }
    }
    if arguments.list {
        if arguments.json {
            let listed: Vec<Listed> = chosen.into_iter().map(Listed::from).collect();
            page::print_list(Origin::here(), "claims", &listed)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = page::bare();
        for claim in chosen {
            table.add_row([
                page::name(claim.id),
                Cell::new(format!("{}. ({})", claim.says, claim.source)),
            ]);
        }
        page::print(&page::lines(table, 0..0))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &arguments.html {
        destination::writable(file)?;
    }
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let seeds = usize::from(arguments.seeds);
    let ends = if arguments.ends {
        Ends::All
    } else {
        Ends::Deciding
    };
    let mut kept = kept(seeds, ends);
    let (there, missing): (Vec<&'static Claim>, Vec<&'static Claim>) = chosen
        .iter()
        .copied()
        .partition(|claim| kept.find(claim).is_some());
    if !there.is_empty() {
        let rows = match there.len() {
            1 => "1 complete claim".to_owned(),
            rows => format!("{rows} complete claims"),
        };
        problem::tell(format!("Resumed with {rows} from an interrupted run."));
    }
    let learnt = library::cache_folder().map(|cache| cache.join("reproduce-times"));
    let mut forecast = Forecast::new(&missing, seeds, ends, Record::open(learnt));
    if let Some(text) = expected(&forecast, missing.len(), seeds) {
        problem::tell(text);
    }
    let began = Instant::now();
    let mut progress = Progress::new(claims::planned(&missing, seeds, ends), false);
    let watched = std::io::stderr().is_terminal();
    let pace = progress.pace();
    let mut done = |row: &Judged, forecast: &Forecast| {
        let left = left(forecast, began.elapsed());
        pace.leaves(left);
        if !watched {
            let left = time_left(left).map_or_else(String::new, |left| format!("; {left}"));
            problem::tell(format!("{}: {}{left}", row.id, row.verdict_text()));
        }
    };
    let judged = claims::run(
        &chosen,
        seeds,
        ends,
        &mut kept,
        &mut forecast,
        &mut progress,
        &mut done,
    );
    drop(progress);
    let rows = match judged {
        Ok(rows) => rows,
        Err(signal) => {
            let finished: Vec<Judged> = chosen
                .iter()
                .filter_map(|claim| kept.find(claim).cloned())
                .collect();
            if !finished.is_empty() {
                keep(&finished);
                report(&finished, arguments.json)?;
                problem::tell(format!(
                    "{} of {} claims complete; the same command continues with the rest.",
                    finished.len(),
                    chosen.len()
                ));
            }
            return Ok(ExitCode::from(signal.status()));
        }
    };
    if let Some(times) = times(&rows) {
        problem::tell(times);
    }
    keep(&rows);
    let printed = report(&rows, arguments.json);
    // Minutes of simulation are lost only if neither can be written.
    if let Some(file) = &arguments.html {
        destination::write(file, claims::page::page(&rows).as_bytes())?;
    }
    printed?;
    kept.forget(&chosen);
    Ok(ExitCode::SUCCESS)
}

/// The machine of all rows.
fn origin() -> Origin {
    Origin::simulated("as each part says")
}

/// Keeps rows for `cohort report`.
fn keep(rows: &[Judged]) {
    for row in rows {
        results::keep("reproduce", row.id, "claims", row, origin());
    }
}

/// Prints rows.
fn report(rows: &[Judged], json: bool) -> Result<(), Problem> {
    if json {
        page::print_list(origin(), "claims", &rows)
    } else {
        page::print(&text(rows))
    }
}

/// The rows that an earlier run of this build with so many seeds has finished.
fn kept(seeds: usize, ends: Ends) -> Kept {
    let file = library::cache_folder().map(|cache| cache.join("reproduce"));
    let build = std::env::current_exe().and_then(std::fs::metadata);
    let (Some(file), Ok(build)) = (file, build) else {
        return Kept::nowhere();
    };
    let changed = build.modified().ok();
    let changed = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let Some(changed) = changed else {
        return Kept::nowhere();
    };
    let key = format!(
        "build {} of {} bytes, seeds {seeds}, estimates {ends:?}",
        changed.as_nanos(),
        build.len()
    );
    Kept::open(file, key)
}

/// The estimated duration of so many rows; none if short.
fn expected(forecast: &Forecast, rows: usize, seeds: usize) -> Option<String> {
    let cpus = cpus();
    let many =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let (least, most) = forecast.range();
    (most >= EXPECTED).then(|| {
        format!(
            "{} with {}: {} of CPU time, {} on {}.",
            many(rows, "row"),
            many(seeds, "seed"),
            between(least, most),
            between(least / cpus, most / cpus),
            many(cpus as usize, "CPU")
        )
    })
}

/// The number of CPUs for runs.
fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// A range of durations in words.
fn between(least: Duration, most: Duration) -> String {
    let (least, most) = (least.as_secs_f64(), most.as_secs_f64());
    if most < 90.0 {
        format!("{least:.0} to {most:.0} s")
    } else {
        format!("{:.0} to {:.0} min", least / 60.0, most / 60.0)
    }
}

/// The time left by the clock, at the speed so far: other processes may have taken CPUs.
fn left(forecast: &Forecast, elapsed: Duration) -> Duration {
    let spent = forecast.spent();
    let rate = if spent >= MEASURED {
        elapsed.as_secs_f64() / spent.as_secs_f64()
    } else {
        1.0 / f64::from(cpus())
    };
    forecast.left().mul_f64(rate)
}

/// The least CPU time that shows a host's load.
const MEASURED: Duration = Duration::from_secs(5);

/// The time left in words; none if short.
fn time_left(left: Duration) -> Option<String> {
    let minutes = left.as_secs_f64() / 60.0;
    match left {
        _ if left < EXPECTED => None,
        _ if minutes < 1.5 => Some(format!("about {} s left", left.as_secs())),
        _ => Some(format!("about {minutes:.0} min left")),
    }
}

/// The least duration to announce.
const EXPECTED: Duration = Duration::from_secs(20);

/// A claim as the list in JSON shows it.
#[derive(Serialize)]
struct Listed {
    id: &'static str,
    says: &'static str,
    source: &'static str,
}

impl From<&'static Claim> for Listed {
    fn from(claim: &'static Claim) -> Self {
        Self {
            id: claim.id,
            says: claim.says,
            source: claim.source,
        }
    }
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
                "unknown claim `{id}`{hint}\n`cohort reproduce --list` lists the claims"
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
fn times(rows: &[Judged]) -> Option<String> {
    let mut slow: Vec<&Judged> = rows.iter().filter(|row| row.took >= TOLD).collect();
    slow.sort_by_key(|row| std::cmp::Reverse(row.took));
    let times = slow.iter().map(|row| {
        let seconds = row.took.as_secs_f64();
        format!("{} {seconds:.1} s", row.id)
    });
    match slow.as_slice() {
        [] => None,
        _ => Some(format!(
            "CPU time by claim, including shared runs: {}.",
            times.collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The least that is told.
const TOLD: Duration = Duration::from_millis(100);

fn text(rows: &[Judged]) -> String {
    let mut parts: Vec<String> = rows.iter().map(row_text).collect();
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    parts.push(page::prose(&format!(
        "{} of {}; {} within an estimate, {} agree so far, {} undecided, {} disagree, {} failed, {} not yet runnable. \
         All our figures are simulated.",
        count(Verdict::Agrees),
        page::counted(rows.len(), "claim agrees", "claims agree"),
        count(Verdict::AgreesWithinEstimate),
        count(Verdict::AgreesSoFar),
        count(Verdict::Undecided),
        count(Verdict::Disagrees),
        count(Verdict::Failed),
        count(Verdict::NotYetRunnable),
    )));
    parts.join("\n\n")
}

fn row_text(row: &Judged) -> String {
    let mut table = page::bare();
    table.add_row([page::name(row.id), page::name(&row.verdict_text())]);
    let mut add = |mark: &str, text: String| {
        table.add_row([format!("{mark:>3}"), text]);
    };
    add("", format!("{} ({})", row.claim, row.source));
    for part in row.parts.iter().filter(|part| part.missing.is_empty()) {
        add(mark(part), part_text(part));
    }
    for end in &row.ends {
        for part in end.parts.iter().filter(|part| part.missing.is_empty()) {
            let text = format!("{} {}: {}", end.end, end.estimate, part_text(part));
            add(&format!("at {}", mark(part)), text);
        }
    }
    if let Some(missing) = &row.missing {
        add("", format!("not yet runnable: {missing}"));
    }
    if matches!(row.verdict, Verdict::Disagrees | Verdict::Undecided) {
        for part in &row.counterfactuals {
            add(&format!("if {}", mark(part)), part_text(part));
        }
        add("", format!("because: {}", row.because()));
    }
    page::lines(table, 0..0)
}

const fn mark(part: &JudgedPart) -> &'static str {
    match part.agrees {
        Some(true) => "+",
        Some(false) if part.is_undecided() => "~",
        Some(false) => "-",
        None => "!",
    }
}

fn part_text(part: &JudgedPart) -> String {
    let ours = part.ours.map_or_else(|| "nothing".to_owned(), figure);
    let at = part
        .at
        .as_ref()
        .map_or_else(String::new, |at| format!(" at {at}"));
    let longest = part.longest.map_or_else(String::new, |longest| {
        format!(", the longest {}", figure(longest as f64))
    });
    let spread = part.spread.map_or_else(String::new, |(least, most)| {
        format!(
            " ({} to {}, {} of {} seeds agree)",
            figure(least),
            figure(most),
            part.agreeing,
            part.seeds
        )
    });
    let mut text = format!(
        "{}: paper {}, ours {ours}{spread}{at}{longest}\n{} on {} (file {}), {} sections: {}",
        part.says,
        part.paper,
        part.computed,
        part.machine,
        part.hash,
        part.sections,
        part.experiment
    );
    if let Some(why) = &part.why {
        let _ = write!(text, "\nwhy: {why}");
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
