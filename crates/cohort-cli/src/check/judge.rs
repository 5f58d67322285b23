//! The evidence on a program (looks, counts, measurements), and the verdict.

use crate::compare::{self, Compared};
use crate::outside::looker::Looker;
use crate::page;
use crate::problem::Problem;
use crate::profile::merge::label;
use crate::program::{Program, own_path, runtime};
use crate::report::counts::Counts;
use crate::top::frame::{Looks, Row, WaitSite};
use crate::top::text;
use cohort_measure::compare::{Comparison, times};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Below this share of time lost, and of contended acquisitions, locks are no matter.
const FEW: f64 = 0.01;

/// From this share of the time on, a lock is held too long to be of more use.
const HALF: f64 = 0.5;

/// Below this share of contended acquisitions, a program that ends early is known to hardly ever wait.
const FEW_COUNTED: f64 = 0.001;

/// Fewer looks than this show too little of a program.
const LOOKS: u64 = 100;

/// A program that ran for less may have had several threads between two lists of its processes, in seconds.
const BRIEF: f64 = 1.0;

/// Locks that are named.
const NAMED: usize = 3;

/// The program's locks, as they were seen and counted.
#[derive(Default, Serialize)]
pub struct Evidence {
    /// For how long the program was looked at.
    seconds: f64,
    /// How often its threads were looked at.
    looks: u64,
    /// Thread-seconds of waiting for locks.
    lost: f64,
    /// CPU seconds that the program used meanwhile.
    used: f64,
    /// Thread-seconds by what threads slept for, locks or not.
    slept: BTreeMap<&'static str, f64>,
    /// The locks, those first that cost most; rates are by the second.
    pub locks: Vec<Row>,
    /// Acquisitions of a run under Cohort, if it could be served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counts>,
    /// What a comparison showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Where the lock that costs most is held, by a profile under Cohort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

/// Where a lock is held while others wait.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// The lock.
    pub lock: String,
    /// The place.
    pub at: String,
    /// The share of the waits that it is held from there.
    pub blamed: f64,
    /// The share of the program's time for which the lock is held.
    pub held: Option<f64>,
}

/// One of the answers.
pub enum Verdict {
    /// Threads hardly ever wait.
    NotLocks(f64),
    /// It ran too briefly: this often it was looked at, in so many seconds.
    TooBrief(u64, f64),
    /// A gain: the factor, its interval, and the lock.
    Gains(String),
    /// Held too long.
    HeldTooLong(Held),
    /// Cohort cannot serve the locks: the owner (a language runtime or library), and its share of the lost time.
    NotServed(String, f64),
    /// A running process has locks that Cohort serves.
    Served(String, f64),
    /// No gain, and no place to blame.
    NoGain(String),
}

impl Verdict {
    /// The verdict in few words.
    pub fn brief(&self) -> String {
        match self {
            Self::NotLocks(_) => "not locks".to_owned(),
            Self::TooBrief(..) => "too few samples".to_owned(),
            Self::Gains(gain) => format!("locks: {gain}"),
            Self::HeldTooLong(held) => format!("{} is held too long at {}", held.lock, held.at),
            Self::NotServed(whose, _) => format!("not served: {whose}"),
            Self::Served(lock, _) => format!("locks: {lock}"),
            Self::NoGain(_) => "locks, no gain".to_owned(),
        }
    }

    /// For JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotLocks(_) => "not-locks",
            Self::TooBrief(..) => "too-brief",
            Self::Gains(_) => "gains",
            Self::HeldTooLong(_) => "held-too-long",
            Self::NotServed(..) => "not-served",
            Self::Served(..) => "served",
            Self::NoGain(_) => "no-gain",
        }
    }
}

/// A share of the time.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.1 => "less than 0.1 %".to_owned(),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLocks(share) => write!(
                to,
                "Not locks: threads waited for locks for {} of their time.",
                percent(*share)
            ),
            Self::TooBrief(looks, seconds) => write!(
                to,
                "Too short: {} in {seconds:.2} s, {LOOKS} are needed. Check a longer run.",
                page::counted(*looks as usize, "sample", "samples")
            ),
            Self::Gains(gain) => write!(to, "Locks, and {gain}"),
            Self::HeldTooLong(held) => {
                write!(
                    to,
                    "Locks, held too long at {}: shorten the critical section of {}.",
                    held.at, held.lock
                )?;
                match held.held.filter(|share| *share > 0.0) {
                    Some(share) => write!(
                        to,
                        " It is held for {} of the time: no lock can gain more than {}.",
                        percent(share.min(1.0)),
                        times((1.0 / share).max(1.0))
                    ),
                    None => write!(
                        to,
                        " Its holder is asleep there during {} of the waits.",
                        percent(held.blamed)
                    ),
                }
            }
            Self::NotServed(whose, share) => write!(
                to,
                "Locks that Cohort cannot serve: {} of the lost time is at {whose}.",
                percent(*share)
            ),
            Self::Served(lock, share) => write!(
                to,
                "Locks: threads waited for {} of their time, mostly for {lock}. To measure the gain, run \
                 `cohort check -- PROGRAM`, or `cohort compare --server` for a server.",
                percent(*share)
            ),
            Self::NoGain(why) => write!(to, "Locks, and no gain from Cohort: {why}"),
        }
    }
}

impl Evidence {
    /// The sum of the looks at some processes.
    pub fn of_processes<'a>(lookers: impl IntoIterator<Item = &'a mut Looker>) -> Self {
        let mut evidence = Self::default();
        for looker in lookers {
            evidence.add(looker);
        }
        evidence
    }

    /// The sum of the looks at each process of a program.
    pub fn of_program(mut lookers: Vec<Looker>, seconds: f64, used: f64) -> Self {
        Self {
            seconds,
            used,
            ..Self::of_processes(&mut lookers)
        }
    }

    /// Thread-seconds of waiting for locks in a second.
    pub fn lost_per_second(&self) -> f64 {
        self.lost / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// CPU seconds that the program used in a second.
    pub fn used_per_second(&self) -> f64 {
        self.used / self.seconds.max(f64::MIN_POSITIVE)
    }

    fn add(&mut self, looker: &mut Looker) {
        self.used += looker.used();
        self.looks += looker.looks();
        let seen = looker.finish();
        self.seconds = self.seconds.max(seen.seconds);
        self.lost += seen.lost_per_second * seen.seconds;
        for (kind, rate) in &looker.others().by_kind {
            *self.slept.entry(kind).or_default() += rate * seen.seconds;
        }
        self.locks.extend(seen.locks);
        self.locks
            .sort_by(|one, other| other.lost_per_second.total_cmp(&one.lost_per_second));
    }

    /// The share of its threads' time, on a CPU or waiting for locks, that they waited.
    pub fn share(&self) -> f64 {
        let all = self.lost + self.used;
        if all > 0.0 { self.lost / all } else { 0.0 }
    }

    /// Whether too little was seen to say that locks are no matter: the counts of a program that hardly ever
    /// found a lock held say enough.
    fn is_brief(&self) -> bool {
        let hardly_waited = |counts: Counts| {
            let share = FEW_COUNTED * counts.acquired as f64;
            counts.contended as f64 <= share && counts.left_to_libc == 0
        };
        let is_counted = self.counted.is_some_and(hardly_waited);
        let had_threads = self.looks > 0;
        self.looks < LOOKS && !is_counted && (had_threads || self.seconds < BRIEF)
    }

    /// The verdict where neither time nor acquisitions are lost to locks.
    pub fn without_locks(&self) -> Verdict {
        if self.is_brief() {
            Verdict::TooBrief(self.looks, self.seconds)
        } else {
            Verdict::NotLocks(self.share())
        }
    }

    /// Whether neither time nor acquisitions are lost to locks.
    pub fn is_without_locks(&self) -> bool {
        let is_quiet = self.counted.is_none_or(|counts| {
            counts.acquired == 0 || (counts.contended as f64) < FEW * counts.acquired as f64
        });
        self.share() < FEW && is_quiet
    }

    /// Each topic, and what is said of it.
    pub fn in_words(&self) -> Vec<(&'static str, String)> {
        let mut said = vec![(
            "time lost",
            format!(
                "threads waited for locks for {} of their time ({:.2} thread-seconds, {:.2} CPU \
                 seconds, in {:.2} s and {})",
                percent(self.share()),
                self.lost,
                self.used,
                self.seconds,
                page::counted(self.looks as usize, "sample", "samples")
            ),
        )];
        let all: f64 = self.locks.iter().map(|row| row.lost_per_second).sum();
        let locks: Vec<String> = self
            .locks
            .iter()
            .take(NAMED)
            .filter(|row| row.lost_per_second > 0.0)
            .map(|row| {
                let share = percent(row.lost_per_second / all);
                format!("{} {share}", text::title(row))
            })
            .collect();
        if !locks.is_empty() {
            said.push(("locks", locks.join(", ")));
        }
        if let Some(place) = self.locks.first().and_then(|row| row.waited_at.first()) {
            said.push(("waits at", calls(place, 3)));
        }
        if let Some(row) = self.locks.first()
            && let Some(holder) = row.holders.first()
        {
            let name = holder.name.as_deref();
            let name = name.map_or_else(String::new, |name| format!(" {name}"));
            let share = holder.share.map_or_else(String::new, |share| {
                format!(", during {} of the waits", percent(share))
            });
            said.push(("held by", format!("thread {}{name}{share}", holder.thread)));
        }
        if let Some(counts) = self.counted {
            let judged = counts.judgement();
            let said_of = judged.unwrap_or_else(|| counts.in_words());
            said.push(("counted", said_of));
        }
        if let Some(comparison) = &self.comparison {
            let rows = comparison.rows.iter().filter_map(|row| {
                let verdict = row.verdict.as_ref()?;
                Some(format!("{}: {verdict}", row.lock))
            });
            let rounds = comparison.rows[0].values.len();
            let rows: Vec<String> = rows.collect();
            said.push(("compared", format!("{rounds} rounds; {}", rows.join("; "))));
        }
        if let Some(held) = &self.held {
            said.push((
                "held at",
                format!(
                    "{} from {} during {} of the waits for it",
                    held.lock,
                    held.at,
                    percent(held.blamed)
                ),
            ));
        }
        said
    }
}

/// A place and its callers, so many frames.
fn calls(place: &WaitSite, most: usize) -> String {
    let frames = place.frames.iter().take(most).map(label);
    frames.collect::<Vec<_>>().join(" < ")
}

/// The owner of the locks that Cohort cannot serve, and their share of the lost time, where that is most of it.
fn others(evidence: &Evidence) -> Option<(String, f64)> {
    let is_served = |row: &Row| matches!(row.kind, "mutex" | "rwlock");
    let sum = |rows: &dyn Fn(&&Row) -> bool| -> f64 {
        let rows = evidence.locks.iter().filter(rows);
        rows.map(|row| row.lost_per_second).sum()
    };
    let all = sum(&|_| true);
    let theirs = sum(&|row| !is_served(row));
    if all == 0.0 || theirs <= all / 2.0 {
        return None;
    }
    let first = evidence.locks.iter().find(|row| !is_served(row))?;
    Some((text::title(first), theirs / all))
}

/// The verdict on a process that runs, by its executable.
pub fn running(evidence: &Evidence, executable: &str) -> Verdict {
    let share = evidence.share();
    if runtime::is_go(Path::new(executable)) {
        return Verdict::NotServed("Go's own locks".to_owned(), 1.0);
    }
    if share < FEW {
        return evidence.without_locks();
    }
    if let Some((whose, share)) = others(evidence) {
        return Verdict::NotServed(whose, share);
    }
    let Some(row) = evidence.locks.first() else {
        return Verdict::NotLocks(share);
    };
    asleep(row).map_or_else(
        || Verdict::Served(text::title(row), share),
        Verdict::HeldTooLong,
    )
}

/// Where a lock's holder sleeps during most of the waits.
fn asleep(row: &Row) -> Option<Held> {
    let place = row.held_at.first()?;
    let held: f64 = row.held_at.iter().map(|place| place.lost_per_second).sum();
    let is_most = held > row.awaited / 2.0;
    is_most.then(|| Held {
        lock: text::title(row),
        at: calls(place, 2),
        blamed: (held / row.awaited).min(1.0),
        held: None,
    })
}

/// The verdict on a program that loses most time at locks that Cohort cannot serve, or that links its own
/// locks (Go, a static binary).
pub fn unserved(evidence: &Evidence, program: &Program) -> Option<Verdict> {
    let is_go = program
        .image
        .as_ref()
        .is_ok_and(|image| runtime::is_go(&image.path));
    if is_go || program.image.is_err() && evidence.share() >= FEW {
        let whose = match &program.image {
            Ok(_) => "Go's own locks".to_owned(),
            Err(why) => format!("the locks of a program that Cohort cannot serve ({why})"),
        };
        return Some(Verdict::NotServed(whose, 1.0));
    }
    if evidence.share() < FEW {
        return None;
    }
    let (whose, share) = others(evidence)?;
    Some(Verdict::NotServed(whose, share))
}

/// What the program's acquisitions are under Cohort.
pub fn counts(command: &[OsString]) -> Result<Option<Counts>, Problem> {
    let mut words = vec![OsString::from("run"), "--json".into(), "--".into()];
    words.extend(command.iter().cloned());
    let said = ours(&words)?;
    let number = |field: &str| said["counts"][field].as_u64();
    let counts = || {
        Some(Counts {
            acquired: number("acquired")?,
            contended: number("contended")?,
            left_to_libc: number("left_to_libc")?,
        })
    };
    Ok(counts())
}

/// Runs this command, and reads the JSON that it writes on standard error.
fn ours(words: &[OsString]) -> Result<Value, Problem> {
    let own = own_path()?;
    let output = Command::new(own)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(|error| Problem::refused(format!("cannot run this command again: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // The program's own words may stand before.
    let begin = said.rfind("\n{\n").map_or(0, |at| at + 1);
    Ok(serde_json::from_str(&said[begin..]).unwrap_or_default())
}

/// Compares the program under the system's locks and the default.
pub fn compare(command: &[OsString], rounds: u16) -> Result<Comparison, Problem> {
    let Compared { comparisons, .. } = compare::program(command, rounds)?;
    let mut comparisons = comparisons.into_iter();
    comparisons
        .next()
        .ok_or_else(|| Problem::refused("no comparison"))
}

/// The verdict of a comparison that shows a gain.
pub fn gain(comparison: &Comparison) -> Option<Verdict> {
    let gain = compare::closing::gain(comparison)?;
    Some(Verdict::Gains(gain))
}

/// Where the lock that costs most is held, by a profile.
pub fn held(command: &[OsString], evidence: &mut Evidence) -> Result<Verdict, Problem> {
    let mut words = vec![OsString::from("profile"), "--json".into(), "--".into()];
    words.extend(command.iter().cloned());
    let profile = ours(&words)?;
    evidence.held = most_held(&profile);
    Ok(blamed(evidence.held.clone()))
}

/// The verdict on a lock that is held there, if it is known where.
fn blamed(held: Option<Held>) -> Verdict {
    match held {
        None => Verdict::NoGain("no call site holds a lock while threads wait.".to_owned()),
        // Blame is no measure of how long a lock is held.
        Some(held) if held.held.is_none() => Verdict::NoGain(format!(
            "{} is held from {} during {} of the waits for it.",
            held.lock,
            held.at,
            percent(held.blamed)
        )),
        Some(held) if held.held.is_some_and(|share| share < HALF) => Verdict::NoGain(format!(
            "{} is held for {} of the time, most of it from {}.",
            held.lock,
            percent(held.held.unwrap_or(0.0)),
            held.at
        )),
        Some(held) => Verdict::HeldTooLong(held),
    }
}

/// The place that holds the first lock of a profile while others wait for it.
fn most_held(profile: &Value) -> Option<Held> {
    let lock = &profile["locks"][0];
    let sites = lock["sites"].as_array()?;
    let blamed = |site: &Value| site["blamed"].as_f64().unwrap_or(0.0);
    let all: f64 = sites.iter().map(blamed).sum();
    let first = sites
        .iter()
        .max_by(|one, other| blamed(one).total_cmp(&blamed(other)))?;
    if blamed(first) == 0.0 {
        return None;
    }
    let frame = serde_json::from_value(first["frames"][0].clone()).ok()?;
    let seconds = profile["seconds"].as_f64()?;
    // Holds of one lock follow each other: the program takes as long as all of them.
    let is_one = lock["objects"].as_u64() == Some(1) && lock["kind"] == "mutex";
    let mean = lock["hold"]["mean"]["value"].as_f64();
    let acquired = lock["acquired"].as_f64();
    let held = mean.zip(acquired).filter(|_| is_one);
    Some(Held {
        lock: lock["name"].as_str()?.to_owned(),
        at: label(&frame),
        blamed: blamed(first) / all,
        held: held.map(|(mean, acquired)| mean * acquired / 1e9 / seconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::NamedBy;
    use cohort_measure::compare::Comparison;
    use cohort_measure::metric::Metric;
    use cohort_measure::rounds::{Sample, Series};
    use cohort_measure::runner::Run;

    fn row(kind: &'static str, name: &str, lost: f64) -> Row {
        Row {
            lost_per_second: lost,
            awaited: lost,
            ..Row::unseen(kind, name.to_owned(), NamedBy::Symbol)
        }
    }

    fn evidence(looks: u64, lost: f64, counted: Option<[u64; 2]>) -> Evidence {
        Evidence {
            seconds: 2.0,
            looks,
            lost,
            used: 1.0,
            counted: counted.map(|[acquired, contended]| Counts {
                acquired,
                contended,
                left_to_libc: 0,
            }),
            ..Evidence::default()
        }
    }

    #[test]
    fn too_few_looks_say_nothing_of_a_program_that_finds_locks_held() {
        let says = |evidence: Evidence| evidence.without_locks().to_string();
        let short = says(evidence(3, 0.0, Some([1000, 2])));
        assert_eq!(
            short,
            "Too short: 3 samples in 2.00 s, 100 are needed. Check a longer run."
        );
        // Nothing is known of its acquisitions.
        assert!(says(evidence(99, 0.0, None)).starts_with("Too short"));
        for enough in [
            evidence(3, 0.0, Some([1000, 1])),
            evidence(3, 0.0, Some([0, 0])),
            evidence(100, 0.0, Some([1000, 2])),
            // It has one thread.
            evidence(0, 0.0, None),
        ] {
            assert!(says(enough).starts_with("Not locks: "));
        }
        let brief = Evidence {
            seconds: 0.1,
            ..evidence(0, 0.0, None)
        };
        assert!(says(brief).starts_with("Too short"));
    }

    #[test]
    fn locks_of_others_are_named() {
        let mut seen = evidence(500, 1.0, None);
        seen.locks = vec![
            row("Rust std lock", "serve", 0.8),
            row("mutex", "table", 0.2),
        ];
        let said = running(&seen, "/bin/true").to_string();
        assert_eq!(
            said,
            "Locks that Cohort cannot serve: 80 % of the lost time is at serve (Rust std lock)."
        );
        seen.locks.reverse();
        (seen.locks[0].lost_per_second, seen.locks[0].awaited) = (4.0, 4.0);
        assert!(matches!(running(&seen, "/bin/true"), Verdict::Served(..)));
    }

    #[test]
    fn a_lock_that_is_held_for_most_of_the_time_is_held_too_long() {
        let held = |kind: &str, mean: f64| {
            let frame = serde_json::to_value(crate::observe::stacks::Frame {
                function: Some("drain".to_owned()),
                file: Some("a/queue.c".to_owned()),
                line: Some(7),
                ..Default::default()
            });
            let profile = serde_json::json!({
                "seconds": 2.0,
                "locks": [{
                    "name": "queue", "kind": kind, "objects": 1, "acquired": 1000,
                    "hold": { "mean": { "value": mean } },
                    "sites": [{ "blamed": 3.0, "frames": [frame.expect("a frame")] }],
                }],
            });
            blamed(most_held(&profile)).to_string()
        };
        let long = held("mutex", 1.6e6);
        for words in [
            "held too long at drain",
            "shorten",
            "queue",
            "80 %",
            "1.25×",
        ] {
            assert!(long.contains(words), "no {words:?} in {long}");
        }
        // Held for a tenth of the time, or for an unknown share of it.
        for said in [held("mutex", 0.2e6), held("rwlock", 1.6e6)] {
            assert!(
                said.starts_with("Locks, and no gain from Cohort: queue"),
                "{said}"
            );
        }
    }

    #[test]
    fn a_gain_is_one_sentence() {
        let series = |name: &str, values: [f64; 8]| Series {
            name: name.to_owned(),
            samples: values
                .map(|value| Sample {
                    value,
                    run: Run {
                        wall: value,
                        user: 0.0,
                        system: 0.0,
                        voluntary: 0,
                        involuntary: 0,
                        foreign: Some(0.0),
                        output: String::new(),
                    },
                })
                .into(),
            failure: None,
        };
        let times = [1.5, 1.51, 1.49, 1.5, 1.52, 1.5, 1.5, 1.48];
        let all = [
            series("system", times),
            series("futex-hmcs", times.map(|time| time / 1.5)),
        ];
        let comparison = Comparison::new(&Metric::Wall, &all);
        let said = gain(&comparison).expect("a gain").to_string();
        assert!(
            said.starts_with("Locks, and Cohort gains 1.50× ("),
            "{said}"
        );
        assert!(said.ends_with("under futex-hmcs."), "{said}");
    }
}
