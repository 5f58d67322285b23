//! `cohort tune -- PROGRAM`: finds the fastest lock for a program or a server by successive halving,
//! and writes a configuration.
//!
//! One run of each lock drops all but three. More rounds, and other rwlocks and ways to wait, drop
//! all but one. The final compares this one with the default in fresh rounds only: accidental leads
//! from earlier rounds give no gain there.

use crate::choice::{Choice, DEFAULT};
use crate::compare::contestants::{self, Counted};
use crate::compare::server_instead;
use crate::compare::subject::Served;
use crate::destination;
use crate::page::{self, Origin};
use crate::problem::{self, Problem};
use crate::program::{Program, command_line};
use crate::report::counts::Counts;
use crate::rwlocks::Rwlocks;
use crate::settings::Settings;
use crate::wait::Wait;
use crate::{environment, proof};
use clap::ValueHint;
use cohort_measure::compare::{Answer, Comparison, times};
use cohort_measure::interrupt;
use cohort_measure::metric::Metric;
use cohort_measure::progress::Progress;
use cohort_measure::rounds::{self, Contestant, Played, Rules, Series};
use cohort_measure::runner::{self, Client, Launch, Run};
use cohort_measure::stats::{Estimate, median};
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Options of `cohort tune -- PROGRAM`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
// The laboratory's options of `cohort tune` include these, as another group of the same name.
#[group(skip)]
pub struct Arguments {
    /// Write a configuration for `cohort run --config`
    #[arg(short, long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// With a program: compare `wall` or `cpu` seconds, or a figure from the output of the program
    /// or client: the group of a regular expression, optionally with a name
    #[arg(long, value_name = "wall|cpu|[NAME=]REGEX", default_value = "wall")]
    pub metric: String,
    /// With a program: treat lower figures of REGEX as better
    #[arg(long)]
    pub lower_is_better: bool,
    /// With a program: limit the search to this time; programs over 5 seconds take longer
    #[arg(long, value_name = "SECONDS", default_value = "180", value_parser = crate::top::interval)]
    pub within: Duration,
    #[command(flatten)]
    pub(crate) served: Served,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Find the best lock for this program by running it
    #[arg(last = true, value_names = ["PROGRAM", "ARGS"], group = "subject",
        value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

impl Arguments {
    /// Whether a program or a server is to be tuned, rather than a machine.
    #[must_use]
    pub fn has_subject(&self) -> bool {
        !self.command.is_empty() || self.served.server.is_some()
    }
}

const NOTES: &str = "\
A dozen locks run the program once, then the best three and the default again, the best one also \
with other rwlocks and wait policies; a final round alternates the best one and the default. A proven \
gain writes a configuration: -o, or PROGRAM.cohort.toml. `cohort-lab` also tunes for a machine. For a \
server, each run starts --server and measures it with --client, as `cohort compare` does.

Examples:
  cohort tune -- kccachetest wicked -th 2 -capcnt 500000 400000
  cohort tune --server 'memcached -u nobody -l 127.0.0.1 -p {port}' \\
      --client 'memcaslap -s 127.0.0.1:{port} -t 3s' --metric tps='TPS: ([0-9]+)'

Exit status: 0 with a result; 2 for invalid options; 125 if a run failed; 130 after Ctrl-C.";

/// The candidates besides the default: one lock of each kind that can serve programs.
const FIELD: [&str; 12] = [
    "futex",
    "ticket",
    "ttas",
    "ptl",
    "mcs",
    "clh",
    "hemlock",
    "glk",
    "cna",
    "shfl",
    "hmcs-2",
    "c-tkt-mcs",
];

/// The number of locks kept after the first run of each, beside the default.
const STAY: usize = 3;

/// Bounds of the final's rounds; the least suffices for a verdict.
const FEWEST: usize = 6;
const MOST: usize = 15;

/// The shares of the time for the first runs, and for the middle ones.
const FIRST: f64 = 0.5;
const MIDDLE: f64 = 0.15;

/// Lock, rwlock and way to wait, with their measurements.
struct Candidate {
    settings: Settings,
    figures: Vec<f64>,
    failure: Option<String>,
}

impl Candidate {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            figures: Vec::new(),
            failure: None,
        }
    }

    fn of(lock: &str) -> Result<Self, Problem> {
        Ok(Self::new(Settings::of(Choice::for_programs(lock)?)))
    }

    fn name(&self) -> String {
        let mut name = self.settings.name();
        if self.settings.wait != Wait::default() {
            name += &format!(", wait {}", self.settings.wait.name());
        }
        name
    }

    fn figure(&self) -> Option<f64> {
        median(&self.figures).filter(|_| self.failure.is_none())
    }

    /// The lock with another rwlock, or another way to wait, than its own.
    fn variants(&self) -> Vec<Self> {
        let with = |change: &dyn Fn(&mut Settings)| {
            let mut settings = self.settings.clone();
            change(&mut settings);
            Self::new(settings)
        };
        let rwlocks = [Rwlocks::Rwlock, Rwlocks::Neutral, Rwlocks::WritersFirst];
        let others = rwlocks
            .into_iter()
            .filter(|one| *one != self.settings.rwlocks);
        let mut variants: Vec<Self> = others
            .map(|rwlocks| with(&|settings| settings.rwlocks = rwlocks))
            .collect();
        variants.push(with(&|settings| settings.wait = Wait::Yield));
        variants
    }
}

/// Sorts candidates, the best first; candidates without a figure last.
fn rank(candidates: &mut [Candidate], lower_is_better: bool) {
    let sign = if lower_is_better { 1.0 } else { -1.0 };
    let key = |candidate: &Candidate| {
        candidate
            .figure()
            .map_or(f64::INFINITY, |figure| sign * figure)
    };
    candidates.sort_by(|one, other| key(one).total_cmp(&key(other)));
}

/// The number of rounds of `runs` runs each that fit into a time, within these bounds.
fn fitting(left: Duration, runs: usize, seconds: f64, (least, most): (usize, usize)) -> usize {
    let fit = left.as_secs_f64() / (runs as f64 * seconds.max(1e-3));
    (fit as usize).clamp(least, most)
}

/// Runs the candidates.
struct Runner<'a> {
    launch: Launch,
    /// The client that measures, if the program is a server.
    client: Option<Client>,
    metric: &'a Metric,
    within: Duration,
    started: Instant,
    progress: Progress,
}

impl Runner<'_> {
    fn contestant(
        &self,
        candidate: &Candidate,
        counted: Option<&Counted>,
    ) -> Result<Contestant<'static>, Problem> {
        let library = candidate.settings.served_from().locate()?;
        let counted_run = counted.cloned().unwrap_or_default();
        let made = contestants::counting(&candidate.settings, &library, &self.launch, counted_run)?;
        let is_counted = counted.is_some();
        Ok(Contestant {
            name: candidate.name(),
            warm_up: made.warm_up.filter(|_| is_counted),
            proof: made.proof.filter(|_| is_counted),
            ..made
        })
    }

    /// Runs candidates in interleaved rounds.
    fn play(
        &mut self,
        candidates: &[&Candidate],
        rounds: usize,
        counted: Option<&Counted>,
    ) -> Result<Played<f64>, Problem> {
        let contestants = candidates.iter().map(|one| self.contestant(one, counted));
        let contestants: Vec<Contestant> = contestants.collect::<Result<_, Problem>>()?;
        let rules = Rules {
            warm_ups: usize::from(counted.is_some()),
            looks: counted.is_some(),
            client: self.client.as_ref(),
            ..Rules::of(rounds)
        };
        let metric = self.metric;
        let read = |run: &Run| metric.read(run);
        Ok(rounds::play_by(
            &rules,
            &contestants,
            read,
            &mut self.progress,
        ))
    }

    /// Runs candidates in interleaved rounds and adds their figures; returns the exit status after
    /// a signal.
    fn measure(
        &mut self,
        candidates: &mut [Candidate],
        rounds: usize,
    ) -> Result<Option<u8>, Problem> {
        let all: Vec<&Candidate> = candidates.iter().collect();
        let played = self.play(&all, rounds, None)?;
        for (candidate, series) in candidates.iter_mut().zip(played.series) {
            candidate
                .figures
                .extend(series.figures(|sample| sample.value));
            candidate.failure = series.failure;
        }
        Ok(played.interrupted.map(|signal| signal.status()))
    }

    /// [`measure`](Self::measure) in as many rounds as there is time for in the middle of a search.
    fn measure_more(
        &mut self,
        candidates: &mut [Candidate],
        seconds: f64,
    ) -> Result<Option<u8>, Problem> {
        let time = self.within.mul_f64(MIDDLE);
        self.measure(candidates, fitting(time, candidates.len(), seconds, (1, 3)))
    }

    /// The rest of a share of the time.
    fn left(&self, share: f64) -> Duration {
        self.within
            .mul_f64(share)
            .saturating_sub(self.started.elapsed())
    }
}

/// Result of a search.
#[derive(Debug, Serialize)]
struct Found {
    metric: String,
    /// The judgement from the first run's counts, if it ends the search.
    judgement: Option<String>,
    /// The tried locks, the best first.
    tried: Vec<Tried>,
    /// Candidates skipped for lack of time.
    untried: Vec<&'static str>,
    /// The best candidate besides the default.
    best: Option<String>,
    /// Its gain over the default in the final, with the verdict.
    gain: Option<Estimate>,
    answer: Option<Answer>,
    verdict: String,
    /// The configuration, if written.
    file: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Tried {
    lock: String,
    figures: Vec<f64>,
    failure: Option<String>,
}

impl Tried {
    fn of(candidate: &Candidate) -> Self {
        Self {
            lock: candidate.name(),
            figures: candidate.figures.clone(),
            failure: candidate.failure.clone(),
        }
    }
}

/// Executes `cohort tune -- PROGRAM`.
///
/// # Errors
/// The program cannot be served, fails, or is a server without --server.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let subject = arguments.served.or(&arguments.command)?;
    let words = &subject.words;
    if words.is_empty() {
        return Err(Problem::usage("write a program after --, or use --server"));
    }
    let name = Path::new(&words[0]).file_name().unwrap_or(&words[0]);
    let own = || PathBuf::from(format!("{}.cohort.toml", name.display()));
    let file = arguments.output.clone().unwrap_or_else(own);
    destination::writable(&file)?;
    let metric = Metric::parse(&arguments.metric, arguments.lower_is_better)
        .map_err(|why| Problem::usage(format!("--metric: {why}")))?;
    let program = Program::find(&words[0])?;
    let image = program.image.as_ref().map_err(Problem::refused)?;
    let library = crate::library::COMPOSITIONS.locate()?;
    proof::ask_loader(image, &library, &environment::preload(Some(&library)))
        .map_err(Problem::refused)?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let mut launched = words.clone();
    launched[0] = program.path.clone().into_os_string();
    let launch = Launch {
        words: launched,
        environment: Vec::new(),
        cpus: None,
        limit: None,
    };
    let mut runner = Runner {
        launch,
        client: contestants::client(&subject),
        metric: &metric,
        within: arguments.within,
        started: Instant::now(),
        progress: Progress::new(FIELD.len() + 2 * FEWEST, false),
    };
    let found = search(&mut runner, words);
    // Includes processes outside the process group.
    runner::end_children();
    let (mut found, best, interrupted) = found?;
    drop(runner);
    if let (Some(best), Some(Answer::Better)) = (&best, found.answer) {
        let text = configuration(best, &found.verdict);
        destination::write(&file, text.as_bytes())?;
        found.file = Some(file);
    }
    if arguments.json {
        page::print_json(Origin::here(), &found)?;
    } else {
        page::print(&text(&found, &metric, interrupted.is_some()))?;
    }
    if let Some(status) = interrupted {
        problem::tell("interrupted: the search is incomplete");
        return Ok(ExitCode::from(status));
    }
    Ok(ExitCode::SUCCESS)
}

/// The result, the best candidate's settings if it is not the default, and the exit status after a
/// signal.
type Outcome = (Found, Option<Settings>, Option<u8>);

fn search(runner: &mut Runner, words: &[OsString]) -> Result<Outcome, Problem> {
    let lower = runner.metric.lower_is_better();
    let mut found = Found {
        metric: runner.metric.title(),
        judgement: None,
        tried: Vec::new(),
        untried: Vec::new(),
        best: None,
        gain: None,
        answer: None,
        verdict: "no lock was compared with the default".to_owned(),
        file: None,
    };
    let mut default = Candidate::of(DEFAULT)?;
    let counted = Counted::default();
    let played = runner.play(&[&default], 1, Some(&counted))?;
    if let Some(signal) = played.interrupted {
        return Ok((found, None, Some(signal.status())));
    }
    let first = &played.series[0];
    if let Some(why) = &first.failure {
        return Err(Problem::refused(if played.listens.is_empty() {
            match runner.client {
                None => format!("the program fails under the default lock: {why}"),
                Some(_) => format!("no measurement under the default lock: {why}"),
            }
        } else {
            server_instead("tune", words, &played.listens)
        }));
    }
    default.figures = first.figures(|sample| sample.value);
    let seconds = first.samples.first().map_or(0.0, |sample| sample.run.wall);
    // Starting and ending a server takes time too. This was a warm-up and a run.
    let cost = match runner.client {
        None => seconds,
        Some(_) => seconds.max(runner.started.elapsed().as_secs_f64() / 2.0),
    };
    let counts: Option<Counts> = counted.borrow().values().next().copied();
    if let Some(few) = counts.and_then(Counts::judgement) {
        found.verdict = format!("no lock gains over the default, {DEFAULT}: {few}");
        found.judgement = Some(few);
        found.tried.push(Tried::of(&default));
        return Ok((found, None, None));
    }
    // A lock that doubles the program's time cannot be the best.
    runner.launch.limit = Some(Duration::from_secs_f64(2.0 * seconds + 1.0));
    let mut candidates = vec![default];
    let mut interrupted = None;
    for lock in FIELD {
        if interrupted.is_some() || runner.left(FIRST).is_zero() {
            found.untried.push(lock);
            continue;
        }
        let mut one = [Candidate::of(lock)?];
        interrupted = runner.measure(&mut one, 1)?;
        candidates.extend(one);
    }
    let stayed = (STAY + 1).min(candidates.len());
    if interrupted.is_some() {
        rank(&mut candidates, lower);
    } else {
        // The default stays in the field.
        rank(&mut candidates[1..], lower);
        interrupted = runner.measure_more(&mut candidates[..stayed], cost)?;
        rank(&mut candidates[..stayed], lower);
    }
    if interrupted.is_none() {
        let mut variants = candidates[0].variants();
        interrupted = runner.measure_more(&mut variants, cost)?;
        let all = stayed + variants.len();
        // After the best candidate: an equally fast variant is not worth a setting.
        drop(candidates.splice(1..1, variants));
        rank(&mut candidates[..all], lower);
    }
    found.tried = candidates.iter().map(Tried::of).collect();
    let best = candidates.swap_remove(0);
    let default = Candidate::of(DEFAULT)?;
    if interrupted.is_some() {
        return Ok((found, None, interrupted));
    }
    if best.name() == default.name() {
        found.verdict = format!("no lock gains over the default, {DEFAULT}");
        return Ok((found, None, None));
    }
    found.best = Some(best.name());
    // A candidate that hangs must not hang the search.
    runner.launch.limit = Some(Duration::from_secs_f64(20.0 * seconds + 30.0));
    let rounds = fitting(runner.left(1.0), 2, cost, (FEWEST, MOST));
    let mut played = runner.play(&[&default, &best], rounds, None)?;
    let interrupted = played.interrupted.map(|signal| signal.status());
    level(&mut played.series);
    let comparison = Comparison::new(runner.metric, &played.series);
    let row = &comparison.rows[1];
    found.gain = row.gain;
    found.answer = row.answer.filter(|_| interrupted.is_none());
    let words = row.verdict.as_deref().unwrap_or_default();
    found.verdict = match (found.answer, row.gain) {
        (Some(Answer::Better), Some(gain)) => format!(
            "{}: {words} than the default, {DEFAULT} ({} to {} in {} rounds)",
            best.name(),
            times(gain.low),
            times(gain.high),
            gain.count
        ),
        _ if interrupted.is_some() => {
            format!(
                "{} is in the final against the default, {DEFAULT}",
                best.name()
            )
        }
        _ => format!(
            "no lock gains over the default, {DEFAULT}; {} in the final: {words}",
            best.name()
        ),
    };
    Ok((found, Some(best.settings), interrupted))
}

/// Keeps the rounds completed by all.
fn level(series: &mut [Series<f64>]) {
    let least = series
        .iter()
        .map(|one| one.samples.len())
        .min()
        .unwrap_or(0);
    for one in series {
        one.samples.truncate(least);
    }
}

fn configuration(best: &Settings, verdict: &str) -> String {
    let mut text = format!(
        "# {}\n# {verdict}\nlock = \"{}\"\n",
        command_line(),
        best.lock.name()
    );
    if best.rwlocks != Rwlocks::for_machine(None) {
        text += &format!("rwlock = \"{}\"\n", best.rwlocks.name());
    }
    if best.wait != Wait::default() {
        text += &format!("wait = \"{}\"\n", best.wait.name());
    }
    text
}

fn text(found: &Found, metric: &Metric, is_interrupted: bool) -> String {
    let mut table = page::titled(&["lock", "runs", &metric.column()]);
    let mut failed = String::new();
    for one in &found.tried {
        let figure = median(&one.figures).filter(|_| one.failure.is_none());
        let figure = figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.3}"));
        table.add_row([one.lock.clone(), one.figures.len().to_string(), figure]);
        if let Some(why) = &one.failure {
            let why = why.lines().next().unwrap_or_default();
            failed += &page::prose(&format!("{}: {why}", one.lock));
            failed.push('\n');
        }
    }
    let mut text = page::lines(table, 1..3);
    text.push_str("\n\n");
    text.push_str(&failed);
    if !found.untried.is_empty() {
        let untried = found.untried.join(", ");
        text += &page::prose(&if is_interrupted {
            format!("Not measured: {untried}.")
        } else {
            format!("Not measured for lack of time: {untried}; raise --within.")
        });
        text.push('\n');
    }
    text += &page::prose(&found.verdict);
    if let Some(file) = &found.file {
        text += &format!("\nThen: cohort run --config {} -- PROGRAM", file.display());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_serves_programs() {
        for lock in FIELD {
            Candidate::of(lock).unwrap();
        }
        assert!(!FIELD.contains(&DEFAULT));
    }

    #[test]
    fn the_best_come_first_and_failures_last() {
        let of = |lock: &str, figures: &[f64], failure: Option<&str>| Candidate {
            figures: figures.to_vec(),
            failure: failure.map(str::to_owned),
            ..Candidate::of(lock).unwrap()
        };
        let mut all = [
            of("mcs", &[3.0, 5.0, 4.0], None),
            of("clh", &[1.0], Some("hung")),
            of("futex", &[2.0], None),
            of("ticket", &[], None),
        ];
        let names = |all: &[Candidate]| all.iter().map(Candidate::name).collect::<Vec<_>>();
        rank(&mut all, true);
        assert_eq!(names(&all)[..2], ["futex", "mcs"]);
        rank(&mut all, false);
        assert_eq!(names(&all)[..2], ["mcs", "futex"]);
    }

    #[test]
    fn rounds_fit_into_the_time_and_are_enough_for_a_verdict() {
        assert_eq!(fitting(Duration::from_secs(60), 2, 5.0, (6, 15)), 6);
        assert_eq!(fitting(Duration::from_secs(120), 2, 5.0, (6, 15)), 12);
        assert_eq!(fitting(Duration::ZERO, 2, 5.0, (6, 15)), 6);
        assert_eq!(fitting(Duration::from_secs(60), 2, 0.0, (6, 15)), 15);
        let sure = Estimate::of(&[1.0; FEWEST]).unwrap();
        assert!(sure.is_sure());
    }

    /// A program of 5 s takes at most 3 minutes, with any result.
    #[test]
    fn a_search_keeps_to_its_time() {
        let (within, run) = (180.0, 5.0);
        let first = 2.0 * run + FIELD.len() as f64 * run;
        assert!(first - run <= within * FIRST, "not every lock has a run");
        let middle = |runs: usize| {
            let rounds = fitting(Duration::from_secs_f64(within * MIDDLE), runs, run, (1, 3));
            rounds as f64 * runs as f64 * run
        };
        let variants = Candidate::of(DEFAULT).unwrap().variants().len();
        let before = first + middle(STAY + 1) + middle(variants);
        assert!(
            before + 2.0 * FEWEST as f64 * run <= within + 2.0 * run,
            "{before}"
        );
    }
}
