//! Interleaved rounds: every contestant runs once a round, in a rotating order, so that drift
//! affects all alike.

use crate::interrupt::Interrupted;
use crate::runner::{self, Address, Client, Failure, Launch, Look, Run};
use std::time::Duration;

/// Repetitions of one run because of other processes.
const REPEATS: usize = 2;

/// The number of last lines to show of a failed program's output.
const LINES: usize = 12;

/// Check of a contestant after its warm-up run.
pub type Proof<'a> = Box<dyn Fn() -> Result<(), String> + 'a>;

/// Contestant of a comparison.
pub struct Contestant<'a> {
    /// Its name in results.
    pub name: String,
    /// The measured launch.
    pub launch: Launch,
    /// An unmeasured run before all others, if any.
    pub warm_up: Option<Launch>,
    /// An unmeasured command before each run, if any.
    pub prepare: Option<Launch>,
    /// The check after the warm-up run.
    pub proof: Option<Proof<'a>>,
}

/// One measured run.
#[derive(Clone, Debug)]
pub struct Sample<T> {
    /// The figure of the run.
    pub value: T,
    /// The run's resource usage.
    pub run: Run,
}

/// Results of one contestant.
#[derive(Clone, Debug)]
pub struct Series<T> {
    /// Its name.
    pub name: String,
    /// One sample per round; fewer after a failure.
    pub samples: Vec<Sample<T>>,
    /// The reason for its removal.
    pub failure: Option<String>,
}

impl<T> Series<T> {
    /// The number of rounds still disturbed after repetitions.
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

impl Series<Vec<f64>> {
    /// The series of one figure, by its index.
    #[must_use]
    pub fn figure(&self, place: usize) -> Series<f64> {
        let samples = self.samples.iter().map(|sample| Sample {
            value: sample.value[place],
            run: sample.run.clone(),
        });
        Series {
            name: self.name.clone(),
            samples: samples.collect(),
            failure: self.failure.clone(),
        }
    }
}

/// Observer of rounds.
pub trait Observer {
    /// `name` is about to run; `again` if only because of a disturbance.
    fn starts(&mut self, name: &str, again: bool);
    /// `name` has written `output`.
    fn wrote(&mut self, name: &str, output: &str);
}

/// Observer that reports nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {
    fn starts(&mut self, _name: &str, _again: bool) {}
    fn wrote(&mut self, _name: &str, _output: &str) {}
}

/// Rules of rounds.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// The number of measurements of each contestant.
    pub rounds: usize,
    /// The number of warm-up runs: the first for the check, the others as measured.
    pub warm_ups: usize,
    /// The measuring client, for servers.
    pub client: Option<&'a Client>,
    /// Whether to examine the first program during its warm-up. Without a time limit, it is ended
    /// if it listens and stays idle, as a server does.
    pub looks: bool,
    /// The index of a contestant included only if that examination saw several threads.
    pub if_threaded: Option<usize>,
}

impl Rules<'_> {
    /// That many rounds after a warm-up round.
    #[must_use]
    pub fn of(rounds: usize) -> Self {
        Self {
            rounds,
            warm_ups: 1,
            client: None,
            looks: false,
            if_threaded: None,
        }
    }
}

/// Results of rounds, up to a signal if any.
pub struct Played<T> {
    /// The results of each participating contestant.
    pub series: Vec<Series<T>>,
    /// The first program's addresses, if it was ended as a server.
    pub listens: Vec<Address>,
    /// The signal that ended the rounds.
    pub interrupted: Option<Interrupted>,
}

/// The number of runs by [`play`] without repetitions and failures.
#[must_use]
pub fn planned(contestants: &[Contestant], rounds: usize) -> usize {
    let warm_ups = contestants
        .iter()
        .filter(|contestant| contestant.warm_up.is_some());
    warm_ups.count() + contestants.len() * rounds
}

/// Runs the contestants `rounds` times after a warm-up round, and reads a figure from each run. A
/// failing contestant is removed; if the first one, the reference, fails, everything stops. A run
/// without a time limit gets twenty times the first contestant's time plus half a minute: a lock
/// that hangs a program must not hang the measurement. Blocks.
///
/// # Errors
/// A signal asked this process to end.
pub fn play<T>(
    contestants: &[Contestant],
    rounds: usize,
    read: impl Fn(&Run) -> Result<T, String>,
    observer: &mut dyn Observer,
) -> Result<Vec<Series<T>>, Interrupted> {
    let played = play_by(&Rules::of(rounds), contestants, read, observer);
    match played.interrupted {
        None => Ok(played.series),
        Some(signal) => Err(signal),
    }
}

/// [`play`] by other rules; after a signal, the results so far. Blocks.
pub fn play_by<T>(
    rules: &Rules,
    contestants: &[Contestant],
    read: impl Fn(&Run) -> Result<T, String>,
    observer: &mut dyn Observer,
) -> Played<T> {
    let series = contestants.iter().map(|contestant| Series {
        name: contestant.name.clone(),
        samples: Vec::new(),
        failure: None,
    });
    let mut played = Played {
        series: series.collect(),
        listens: Vec::new(),
        interrupted: None,
    };
    let mut takes_part = vec![true; contestants.len()];
    let all = play_all(
        rules,
        contestants,
        &read,
        observer,
        &mut played,
        &mut takes_part,
    );
    played.interrupted = all.err();
    let mut takes_part = takes_part.into_iter();
    played.series.retain(|_| takes_part.next() == Some(true));
    played
}

fn play_all<T>(
    rules: &Rules,
    contestants: &[Contestant],
    read: &impl Fn(&Run) -> Result<T, String>,
    observer: &mut dyn Observer,
    played: &mut Played<T>,
    takes_part: &mut [bool],
) -> Result<(), Interrupted> {
    let mut limit = None;
    for warm_up in 0..rules.warm_ups {
        for (place, contestant) in contestants.iter().enumerate() {
            let Some(first) = &contestant.warm_up else {
                continue;
            };
            if !takes_part[place] || played.series[place].failure.is_some() {
                continue;
            }
            let is_first = warm_up == 0;
            let launch = if is_first { first } else { &contestant.launch };
            observer.starts(&contestant.name, false);
            let mut look = Look::default();
            let looks = rules.looks && is_first && place == 0;
            let mut run = Attempt {
                contestant,
                launch: &limited(launch, limit),
                client: rules.client,
                look: looks.then_some(&mut look),
            };
            let failure = &mut played.series[place].failure;
            match run.once(read, observer)? {
                Ok(sample) => {
                    let patience = Duration::from_secs_f64(30.0 + 20.0 * sample.run.wall);
                    limit = limit.or(Some(patience));
                    let proof = contestant.proof.as_ref().filter(|_| is_first);
                    *failure = proof.map_or(Ok(()), |proof| proof()).err();
                }
                Err(why) => *failure = Some(format!("in the warm-up round, {why}")),
            }
            if looks {
                played.listens = look.listens;
                if let Some(place) = rules.if_threaded.filter(|_| look.threads <= 1) {
                    takes_part[place] = false;
                }
            }
            if place == 0 && played.series[0].failure.is_some() {
                return Ok(());
            }
        }
    }
    let mut spare = (contestants.len() * rules.rounds).div_ceil(2);
    for round in 0..rules.rounds {
        for place in 0..contestants.len() {
            if played.series[0].failure.is_some() {
                return Ok(());
            }
            let place = (place + round) % contestants.len();
            let (contestant, series) = (&contestants[place], &mut played.series[place]);
            if !takes_part[place] || series.failure.is_some() {
                continue;
            }
            let run = Attempt {
                contestant,
                launch: &limited(&contestant.launch, limit),
                client: rules.client,
                look: None,
            };
            match run.settled(read, &mut spare, observer)? {
                Ok(sample) => series.samples.push(sample),
                Err(why) => series.failure = Some(format!("in round {}, {why}", round + 1)),
            }
        }
    }
    Ok(())
}

fn limited(launch: &Launch, limit: Option<Duration>) -> Launch {
    Launch {
        limit: launch.limit.or(limit),
        ..launch.clone()
    }
}

/// Run about to start.
struct Attempt<'a, 'b> {
    contestant: &'a Contestant<'b>,
    launch: &'a Launch,
    client: Option<&'a Client>,
    look: Option<&'a mut Look>,
}

impl Attempt<'_, '_> {
    /// Runs until undisturbed, within the allowed repetitions; the least disturbed run counts.
    fn settled<T>(
        mut self,
        read: &impl Fn(&Run) -> Result<T, String>,
        spare: &mut usize,
        observer: &mut dyn Observer,
    ) -> Result<Result<Sample<T>, String>, Interrupted> {
        let name = &self.contestant.name;
        observer.starts(name, false);
        let mut best = match self.once(read, observer)? {
            Ok(sample) => sample,
            failed => return Ok(failed),
        };
        for _ in 0..REPEATS {
            if !best.run.is_disturbed() || *spare == 0 {
                break;
            }
            *spare -= 1;
            observer.starts(name, true);
            match self.once(read, observer)? {
                Ok(sample) if sample.run.foreign < best.run.foreign => best = sample,
                Ok(_) => {}
                failed => return Ok(failed),
            }
        }
        Ok(Ok(best))
    }

    fn once<T>(
        &mut self,
        read: &impl Fn(&Run) -> Result<T, String>,
        observer: &mut dyn Observer,
    ) -> Result<Result<Sample<T>, String>, Interrupted> {
        let name = &self.contestant.name;
        if let Some(prepare) = &self.contestant.prepare {
            match runner::run(prepare) {
                Err(Failure::Interrupted(signal)) => return Err(signal),
                Err(Failure::Program { why, output }) => {
                    let why = format!("its preparation failed: {why}");
                    return Ok(Err(with_last_lines(why, &output)));
                }
                Ok(_) => {}
            }
        }
        let run = match (self.client, &mut self.look) {
            (Some(client), look) => runner::run_served(self.launch, client, look.as_deref_mut()),
            (None, Some(look)) => runner::run_looked_at(self.launch, look),
            (None, None) => runner::run(self.launch),
        };
        let (why, output) = match run {
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
}

fn with_last_lines(why: String, output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    if last.is_empty() {
        return format!("{why}; no output");
    }
    format!("{why}; end of its output:\n    {}", last.join("\n    "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

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
        assert!(why.contains("its preparation failed"), "{why}");
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

    #[test]
    fn a_row_for_programs_with_threads_is_left_out_for_others() {
        let contestants = [
            contestant("a", "sleep 0.05; echo 1"),
            contestant("b", "echo 2"),
        ];
        let rules = Rules {
            looks: true,
            if_threaded: Some(1),
            warm_ups: 2,
            ..Rules::of(1)
        };
        let mut log = Log(Vec::new());
        let played = play_by(&rules, &contestants, number, &mut log);
        assert_eq!(log.0.join(""), "aaa");
        assert_eq!(played.series.len(), 1);
    }

    #[test]
    fn an_idle_server_is_ended_and_said_to_listen() {
        if which::which("python3").is_err() {
            eprintln!("skip: no `python3` here");
            return;
        }
        let script = "exec python3 -c 'import socket, time
listener = socket.create_server((\"127.0.0.1\", 0))
time.sleep(60)'";
        let rules = Rules {
            looks: true,
            ..Rules::of(1)
        };
        let asked = Instant::now();
        let played = play_by(
            &rules,
            &[contestant("a", script)],
            number,
            &mut Log(Vec::new()),
        );
        assert!(asked.elapsed() < Duration::from_secs(30));
        let why = played.series[0].failure.as_ref().unwrap();
        assert!(why.contains("does not terminate"), "{why}");
        assert!(matches!(played.listens[..], [Address::Port(_)]), "{why}");
    }
}
