//! The program under each lock, ready to run.

use super::Arguments;
use crate::choice::Choice;
use crate::problem::Problem;
use crate::program::Program;
use crate::report::ReportFile;
use crate::settings::Settings;
use crate::{environment, proof};
use cohort_lab::rounds::{Contestant, Proof};
use cohort_lab::runner::Launch;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A contestant for each of `all`.
pub fn all(arguments: &Arguments, all: &[Settings]) -> Result<Vec<Contestant<'static>>, Problem> {
    let program = Program::find(&arguments.command[0])?;
    let image = program.image.as_ref().map_err(Problem::refused)?;
    let mut words = arguments.command.clone();
    words[0] = program.path.clone().into_os_string();
    let launch = Launch {
        words,
        environment: Vec::new(),
        cpus: None,
        limit: arguments.timeout.map(Duration::from_secs_f64),
    };
    all.iter()
        .map(|settings| {
            let mut settings = settings.clone();
            settings.find_mutexes(&program)?;
            let settings = &settings;
            let library = settings.served_from().locate()?;
            proof::ask_loader(image, &library, &environment::preload(Some(&library)))
                .map_err(Problem::refused)?;
            let contestant = under(settings, &library, &launch)?;
            Ok(Contestant {
                prepare: arguments.prepare.as_deref().map(prepare),
                ..contestant
            })
        })
        .collect()
}

/// A text for the shell, which runs under the system's locks whatever comes after it.
fn prepare(text: &OsStr) -> Launch {
    let system = Settings::of(Choice::System);
    Launch {
        words: vec!["/bin/sh".into(), "-c".into(), text.to_owned()],
        environment: environment(&system, Path::new(""), None),
        cpus: None,
        limit: None,
    }
}

/// `launch` under those settings.  Its warm-up run counts acquisitions, which the
/// measured runs are spared, and proves that the lock serves the program.
pub fn under(
    settings: &Settings,
    library: &Path,
    launch: &Launch,
) -> Result<Contestant<'static>, Problem> {
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
            let proof: Proof = Box::new(move || served(&report));
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

/// What must change in the environment for a program to run under those settings.
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

fn served(report: &ReportFile) -> Result<(), String> {
    let report = report.read().map_err(|problem| problem.to_string())?;
    if report.processes.load(Ordering::Relaxed) > 0 {
        return Ok(());
    }
    Err(
        "no process of the program was served: it may have emptied LD_PRELOAD, or passed on to a \
         static or setuid program, or --only and --exclude leave out every executable that ran"
            .to_owned(),
    )
}
