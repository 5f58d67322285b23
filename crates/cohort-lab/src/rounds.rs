//! Interleaved rounds: every contestant runs once a round, in an order that
//! rotates, so that whatever drifts on the machine drifts for all alike.

use crate::interrupt::Interrupted;
use crate::runner::{self, Failure, Launch, Run};
use std::time::Duration;

/// How often one run may be repeated because others used the CPUs.
const REPEATS: usize = 2;

/// The last lines of a failed program's output that are worth showing.
const LINES: usize = 12;

/// Something that a contestant must prove after its warm-up run.
pub type Proof<'a> = Box<dyn Fn() -> Result<(), String> + 'a>;

/// One of those that are compared.
pub struct Contestant<'a> {
    /// How results call it.
    pub name: String,
    /// What is measured.
    pub launch: Launch,
    /// What is run once before, and not measured; none to do without.
    pub warm_up: Option<Launch>,
    /// What is run before each of its runs, and not measured.
    pub prepare: Option<Launch>,
    /// What must hold after the warm-up run.
    pub proof: Option<Proof<'a>>,
}

/// One measured run.
#[derive(Clone, Debug)]
pub struct Sample<T> {
    /// The figure that was read from it.
    pub value: T,
    /// What it used.
    pub run: Run,
}

/// All that is known about one contestant.
#[derive(Clone, Debug)]
pub struct Series<T> {
    /// Its name.
    pub name: String,
    /// One sample for each round; fewer if it failed.
    pub samples: Vec<Sample<T>>,
    /// Why it was taken out.
    pub failure: Option<String>,
}

impl<T> Series<T> {
    /// How many rounds stayed disturbed in spite of repeats.
    #[must_use]
    pub fn disturbed(&self) -> usize {
        self.samples
            .iter()
            .filter(|sample| sample.run.is_disturbed())
            .count()
    }

    /// One figure of every sample, in the order of the rounds.
    pub fn figures(&self, figure: impl Fn(&Sample<T>) -> f64) -> Vec<f64> {
        self.samples.iter().map(figure).collect()
    }
}

/// What a round reports while it goes on.
pub trait Observer {
    /// `name` is about to run; `again` if only because it was disturbed.
    fn starts(&mut self, name: &str, again: bool);
    /// `name` has written this.
    fn wrote(&mut self, name: &str, output: &str);
}

/// How many runs [`play`] makes where nothing is repeated and nothing fails.
#[must_use]
pub fn planned(contestants: &[Contestant], rounds: usize) -> usize {
    let warm_ups = contestants
        .iter()
        .filter(|contestant| contestant.warm_up.is_some());
    warm_ups.count() + contestants.len() * rounds
}

/// Lets the contestants run `rounds` times after a warm-up round, and reads a
/// figure from each run.  A contestant that fails is taken out; if the first one
/// fails, with which the others are compared, nothing more is run.  A run without a
/// time limit of its own gets one from the first contestant's, twenty times as
/// long and half a minute more: a lock that hangs a program must not hang the
/// measurement.  Blocks.
///
/// # Errors
/// A signal asked this process to end.
pub fn play<T>(
    contestants: &[Contestant],
    rounds: usize,
    read: impl Fn(&Run) -> Result<T, String>,
    observer: &mut dyn Observer,
) -> Result<Vec<Series<T>>, Interrupted> {
    let mut series: Vec<Series<T>> = contestants
        .iter()
        .map(|contestant| Series {
            name: contestant.name.clone(),
            samples: Vec::new(),
            failure: None,
        })
        .collect();
    let mut limit = None;
    for (place, (contestant, series)) in contestants.iter().zip(&mut series).enumerate() {
        let Some(launch) = &contestant.warm_up else {
            continue;
        };
        observer.starts(&contestant.name, false);
        match attempt(contestant, &limited(launch, limit), &read, observer)? {
            Ok(sample) => {
                let patience = Duration::from_secs_f64(30.0 + 20.0 * sample.run.wall);
                limit = limit.or(Some(patience));
                let proof = contestant.proof.as_ref().map_or(Ok(()), |proof| proof());
                series.failure = proof.err();
            }
            Err(why) => series.failure = Some(format!("in the warm-up round, {why}")),
        }
        if place == 0 && series.failure.is_some() {
            break;
        }
    }
    let mut spare = (contestants.len() * rounds).div_ceil(2);
    for round in 0..rounds {
        for place in 0..contestants.len() {
            if series[0].failure.is_some() {
                return Ok(series);
            }
            let place = (place + round) % contestants.len();
            let (contestant, series) = (&contestants[place], &mut series[place]);
            if series.failure.is_some() {
                continue;
            }
            let launch = limited(&contestant.launch, limit);
            match settled(contestant, &launch, &read, &mut spare, observer)? {
                Ok(sample) => series.samples.push(sample),
                Err(why) => series.failure = Some(format!("in round {}, {why}", round + 1)),
            }
        }
    }
    Ok(series)
}

fn limited(launch: &Launch, limit: Option<Duration>) -> Launch {
    Launch {
        limit: launch.limit.or(limit),
        ..launch.clone()
    }
}

/// Runs `launch` until it is left alone, as often as is allowed; the least
/// disturbed run counts.
fn settled<T>(
    contestant: &Contestant,
    launch: &Launch,
    read: &impl Fn(&Run) -> Result<T, String>,
    spare: &mut usize,
    observer: &mut dyn Observer,
) -> Result<Result<Sample<T>, String>, Interrupted> {
    observer.starts(&contestant.name, false);
    let mut best = match attempt(contestant, launch, read, observer)? {
        Ok(sample) => sample,
        failed => return Ok(failed),
    };
    for _ in 0..REPEATS {
        if !best.run.is_disturbed() || *spare == 0 {
            break;
        }
        *spare -= 1;
        observer.starts(&contestant.name, true);
        match attempt(contestant, launch, read, observer)? {
            Ok(sample) if sample.run.foreign < best.run.foreign => best = sample,
            Ok(_) => {}
            failed => return Ok(failed),
        }
    }
    Ok(Ok(best))
}

fn attempt<T>(
    contestant: &Contestant,
    launch: &Launch,
    read: &impl Fn(&Run) -> Result<T, String>,
    observer: &mut dyn Observer,
) -> Result<Result<Sample<T>, String>, Interrupted> {
    let name = &contestant.name;
    if let Some(prepare) = &contestant.prepare {
        match runner::run(prepare) {
            Err(Failure::Interrupted(signal)) => return Err(signal),
            Err(Failure::Program { why, output }) => {
                let why = format!("what prepares it failed: {why}");
                return Ok(Err(with_last_lines(why, &output)));
            }
            Ok(_) => {}
        }
    }
    let (why, output) = match runner::run(launch) {
        Err(Failure::Interrupted(signal)) => return Err(signal),
        Err(Failure::Program { why, output }) => {
            observer.wrote(name, &output);
            (why, output)
        }
        Ok(run) => {
            observer.wrote(name, &run.output);
            match read(&run) {
                Ok(value) => return Ok(Ok(Sample { value, run })),
                Err(why) => (why, run.output),
            }
        }
    };
    Ok(Err(with_last_lines(why, &output)))
}

fn with_last_lines(why: String, output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    if last.is_empty() {
        return format!("{why}; it wrote nothing");
    }
    format!("{why}; its last words:\n    {}", last.join("\n    "))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Log(Vec<String>);

    impl Observer for Log {
        fn starts(&mut self, name: &str, again: bool) {
            if !again {
                self.0.push(name.to_owned());
            }
        }
        fn wrote(&mut self, _name: &str, _output: &str) {}
    }

    fn contestant<'a>(name: &str, script: &str) -> Contestant<'a> {
        let launch = Launch {
            words: ["/bin/sh", "-c", script].map(Into::into).to_vec(),
            environment: Vec::new(),
            cpus: None,
            limit: None,
        };
        Contestant {
            name: name.to_owned(),
            warm_up: Some(launch.clone()),
            launch,
            prepare: None,
            proof: None,
        }
    }

    fn number(run: &Run) -> Result<f64, String> {
        run.output
            .trim()
            .parse()
            .map_err(|_| "no number".to_owned())
    }

    #[test]
    fn the_order_rotates_after_the_warm_up_round() {
        let contestants = [contestant("a", "echo 1"), contestant("b", "echo 2")];
        let mut log = Log(Vec::new());
        let series = play(&contestants, 3, number, &mut log).unwrap();
        assert_eq!(log.0.join(""), "ababbaab");
        assert_eq!(log.0.len(), planned(&contestants, 3));
        assert_eq!(series[1].figures(|sample| sample.value), [2.0; 3]);
    }

    #[test]
    fn a_failure_takes_out_its_contestant_alone() {
        let contestants = [
            contestant("a", "echo 1"),
            contestant("b", "echo hello; exit 4"),
            contestant("c", "echo x"),
        ];
        let series = play(&contestants, 2, number, &mut Log(Vec::new())).unwrap();
        assert!(series[0].failure.is_none());
        assert_eq!(series[0].samples.len(), 2);
        let why = series[1].failure.as_ref().unwrap();
        assert!(
            why.contains("exit status 4") && why.contains("hello"),
            "{why}"
        );
        assert!(series[2].failure.as_ref().unwrap().contains("no number"));
        assert!(series[2].samples.is_empty());
    }

    #[test]
    fn what_prepares_a_run_comes_before_each() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let file = file.display();
        let mut prepared = contestant("a", &format!("mv {file} {file}.gone && echo 1"));
        let first = contestant("", &format!("touch {file}"));
        prepared.prepare = Some(first.launch);
        let series = play(&[prepared], 3, number, &mut Log(Vec::new())).unwrap();
        assert_eq!(series[0].samples.len(), 3, "{:?}", series[0].failure);
        let mut unprepared = contestant("a", "echo 1");
        unprepared.prepare = Some(contestant("", "exit 3").launch);
        let series = play(&[unprepared], 1, number, &mut Log(Vec::new())).unwrap();
        let why = series[0].failure.as_ref().unwrap();
        assert!(why.contains("what prepares it failed"), "{why}");
    }

    #[test]
    fn nothing_is_run_against_one_that_failed() {
        let contestants = [contestant("a", "exit 1"), contestant("b", "echo 1")];
        let mut log = Log(Vec::new());
        let series = play(&contestants, 2, number, &mut log).unwrap();
        assert_eq!(log.0, ["a"]);
        assert!(series[0].failure.is_some() && series[1].samples.is_empty());
    }

    #[test]
    fn a_proof_that_fails_takes_the_contestant_out() {
        let mut unproven = contestant("a", "echo 1");
        unproven.proof = Some(Box::new(|| Err("not served".to_owned())));
        let series = play(&[unproven], 1, number, &mut Log(Vec::new())).unwrap();
        assert_eq!(series[0].failure.as_deref(), Some("not served"));
    }
}
