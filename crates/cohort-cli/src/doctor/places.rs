//! Places for files, and whether preloading works.

use super::Finding;
use crate::bar::own_path;
use crate::program::Program;
use crate::report::ReportFile;
use crate::{environment, library, proof};
use cohort_lab::runner::{self, in_words};
use std::process::Command;
use std::sync::atomic::Ordering;

/// Whether reports can use memory.
pub fn shared_memory() -> Finding {
    const TOPIC: &str = "/dev/shm";
    match tempfile::tempfile_in(TOPIC) {
        Ok(_) => Finding::good(TOPIC, "writable", "`run --report` counts in a file there"),
        Err(error) => Finding::good(
            TOPIC,
            format!("not writable ({error})"),
            format!(
                "`run --report` counts in {}",
                std::env::temp_dir().display()
            ),
        )
        .costs("counts may be written to a disk now and then"),
    }
}

/// The source of the preload library.
pub fn library() -> Finding {
    const TOPIC: &str = "library";
    match library::USUAL.locate() {
        Ok(path) => Finding::good(
            TOPIC,
            format!(
                "{} bytes, the ones this command was built with",
                library::USUAL.bytes.len()
            ),
            format!("preloaded from {}", path.display()),
        ),
        Err(problem) => {
            Finding::good(TOPIC, "no place for it", "nothing").fails(problem.to_string())
        }
    }
}

/// Whether preloading works, by doing it.
pub fn preload() -> Finding {
    const TOPIC: &str = "LD_PRELOAD";
    match served_itself() {
        Ok(()) => {
            let mut offered =
                vec!["a process was started with the library, and the library answered".to_owned()];
            offered.extend(environment::shared());
            Finding::good(
                TOPIC,
                offered.join("; "),
                "`cohort run` puts it under programs",
            )
        }
        Err(why) => Finding::good(TOPIC, "does not work", "nothing").fails(why),
    }
}

/// Runs this command's own `--version` with the library and a report.
fn served_itself() -> Result<(), String> {
    let library = library::USUAL
        .locate()
        .map_err(|problem| problem.to_string())?;
    let own = own_path().map_err(|problem| problem.to_string())?;
    let program = Program::find(own.as_os_str()).map_err(|problem| problem.to_string())?;
    let preload = environment::preload(Some(&library));
    proof::ask_loader(&program.image?, &library, &preload)?;
    let report = ReportFile::new().map_err(|problem| problem.to_string())?;
    let status = Command::new(own)
        .arg("--version")
        .env("LD_PRELOAD", preload)
        .env("COHORT_REPORT", report.path())
        .env_remove("COHORT_LOCK")
        .env_remove("COHORT_ONLY")
        .env_remove("COHORT_EXCLUDE")
        .stdin(runner::nothing().map_err(|error| in_words(&error))?)
        .output()
        .map_err(|error| {
            let why = in_words(&error);
            format!("a process with the library cannot be started: {why}")
        })?
        .status;
    if !status.success() {
        return Err(format!("a process with the library failed ({status})"));
    }
    let counted = report.read().map_err(|problem| problem.to_string())?;
    match counted.processes.load(Ordering::Relaxed) {
        0 => Err("a process was started with the library, but it did not answer".to_owned()),
        _ => Ok(()),
    }
}
