//! The contestants: the program under each lock.

use super::Arguments;
use super::subject::Subject;
use crate::choice::Choice;
use crate::problem::Problem;
use crate::program::Program;
use crate::report::ReportFile;
use crate::report::counts::Counts;
use crate::settings::Settings;
use crate::{environment, proof};
use cohort_measure::rounds::{Contestant, Proof};
use cohort_measure::runner::{Client, Launch};
use cohort_topology::disturb;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Counts of the warm-up runs, by the lock's name.
pub type Counted = Rc<RefCell<BTreeMap<String, Counts>>>;

/// The compared configurations, and the options of the comparison.
pub struct Field {
    /// Each lock, the system's first.
    pub contestants: Vec<Contestant<'static>>,
    /// The index of the system's locks on one CPU, if included only for programs with threads.
    pub if_threaded: Option<usize>,
    /// The client, if the program is a server.
    pub client: Option<Client>,
    /// The counts of the warm-up runs.
    pub counted: Counted,
}

/// A contestant for each of `all`.
pub fn all(arguments: &Arguments, all: &[Settings], subject: &Subject) -> Result<Field, Problem> {
    let program = Program::find(&subject.words[0])?;
    let image = program.image.as_ref().map_err(Problem::refused)?;
    let mut words = subject.words.clone();
    words[0] = program.path.clone().into_os_string();
    let launch = Launch {
        words,
        environment: Vec::new(),
        cpus: None,
        limit: arguments.timeout.map(Duration::from_secs_f64),
    };
    let counted = Counted::default();
    let mut contestants = all
        .iter()
        .map(|settings| {
            let mut settings = settings.clone();
            settings.find_mutexes(&program)?;
            let settings = &settings;
            let library = settings.served_from().locate()?;
            proof::ask_loader(image, &library, &environment::preload(Some(&library)))
                .map_err(Problem::refused)?;
            counting(settings, &library, &launch, Rc::clone(&counted))
        })
        .collect::<Result<Vec<_>, Problem>>()?;
    let mut if_threaded = None;
    let has_several = disturb::allowed_cpus().len() > 1;
    if arguments.one_cpu || !arguments.no_one_cpu && has_several {
        contestants.insert(1, on_one_cpu(&launch)?);
        if_threaded = (!arguments.one_cpu).then_some(1);
    }
    for contestant in &mut contestants {
        contestant.prepare = subject.prepare.as_deref().map(|text| by_shell(text, None));
    }
    Ok(Field {
        contestants,
        if_threaded,
        client: client(subject),
        counted,
    })
}

/// The system's locks on the first CPU that this process may use.
fn on_one_cpu(launch: &Launch) -> Result<Contestant<'static>, Problem> {
    let confined = Launch {
        cpus: disturb::allowed_cpus().first().map(|cpu| vec![*cpu]),
        ..launch.clone()
    };
    let contestant = under(&Settings::of(Choice::System), Path::new(""), &confined)?;
    Ok(Contestant {
        name: ONE_CPU.to_owned(),
        ..contestant
    })
}

/// The row name of the system's locks on one CPU.
pub const ONE_CPU: &str = "system, one CPU";

/// A text for the shell, run under the system's locks, including its child processes.
pub fn by_shell(text: &OsStr, limit: Option<Duration>) -> Launch {
    let system = Settings::of(Choice::System);
    Launch {
        words: vec!["/bin/sh".into(), "-c".into(), text.to_owned()],
        environment: environment(&system, Path::new(""), None),
        cpus: None,
        limit,
    }
}

/// The client to run, if the subject is a server.
pub fn client(subject: &Subject) -> Option<Client> {
    let (text, ready) = subject.client.as_ref()?;
    Some(Client {
        launch: by_shell(text, None),
        ready: ready.clone(),
    })
}

/// `launch` under those settings. The warm-up run counts acquisitions, unlike the measured runs,
/// and proves that the lock serves the program.
pub fn under(
    settings: &Settings,
    library: &Path,
    launch: &Launch,
) -> Result<Contestant<'static>, Problem> {
    counting(settings, library, launch, Counted::default())
}

/// [`under`], with the counts of the warm-up run.
pub fn counting(
    settings: &Settings,
    library: &Path,
    launch: &Launch,
    counted: Counted,
) -> Result<Contestant<'static>, Problem> {
    let name = settings.name();
    let with = |report: Option<&Path>| {
        let mut launch = launch.clone();
        launch
            .environment
            .extend(environment(settings, library, report));
        launch
    };
    let (warm_up, proof) = match settings.lock {
        Choice::System => (with(None), None),
        Choice::Ours(_) => {
            let report = ReportFile::new()?;
            let warm_up = with(Some(&report.path()));
            let proof: Proof = Box::new(move || {
                let counts = served(&report)?;
                counted.borrow_mut().insert(name.clone(), counts);
                Ok(())
            });
            (warm_up, Some(proof))
        }
    };
    Ok(Contestant {
        name: settings.name(),
        launch: with(None),
        warm_up: Some(warm_up),
        prepare: None,
        proof,
    })
}

/// The changes of the environment for a program under those settings.
pub fn environment(
    settings: &Settings,
    library: &Path,
    report: Option<&Path>,
) -> Vec<(String, Option<OsString>)> {
    environment::changes(settings, library, report)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn served(report: &ReportFile) -> Result<Counts, String> {
    let report = report.read().map_err(|problem| problem.to_string())?;
    if report.processes.load(Ordering::Relaxed) > 0 {
        return Ok(Counts::of(&report));
    }
    Err(
        "Cohort served no process of the program: it cleared LD_PRELOAD, or executed a static or \
         setuid program, or --only and --exclude left out every executable"
            .to_owned(),
    )
}
