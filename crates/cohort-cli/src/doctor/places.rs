//! Places for files, and whether preloading works.

use super::Finding;
use crate::program::{Program, own_path};
use crate::report::ReportFile;
use crate::{environment, library, proof};
use cohort_measure::runner::{self, in_words};
use std::process::Command;
use std::sync::atomic::Ordering;

/// Whether reports can use memory.
pub fn shared_memory() -> Finding {
    const TOPIC: &str = "/dev/shm";
    match tempfile::tempfile_in(TOPIC) {
        Ok(_) => Finding::good(
            TOPIC,
            "writable",
            "`run --report` keeps its counters in a file there",
        ),
        Err(error) => Finding::good(
            TOPIC,
            format!("not writable ({error})"),
            format!(
                "`run --report` keeps its counters in {}",
                std::env::temp_dir().display()
            ),
        )
        .costs("the kernel may write the counters to disk"),
    }
}

/// The source of the preload library.
pub fn library() -> Finding {
    const TOPIC: &str = "library";
    match library::USUAL.locate() {
        Ok(path) => Finding::good(
            TOPIC,
            format!(
                "{} bytes, identical to this command's build",
                library::USUAL.bytes.len()
            ),
            format!("preloaded from {}", path.display()),
        ),
        Err(problem) => Finding::good(TOPIC, "not found", "nothing").fails(problem.to_string()),
    }
}

/// Whether preloading works, by doing it.
pub fn preload() -> Finding {
    const TOPIC: &str = "LD_PRELOAD";
    match served_itself() {
        Ok(()) => {
            let mut offered = vec!["a test process loaded the library".to_owned()];
            offered.extend(environment::shared());
            Finding::good(TOPIC, offered.join("; "), "`cohort run` preloads it")
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
            format!("the test process did not start: {why}")
        })?
        .status;
    if !status.success() {
        return Err(format!("the test process failed ({status})"));
    }
    let counted = report.read().map_err(|problem| problem.to_string())?;
    match counted.processes.load(Ordering::Relaxed) {
        0 => Err("the test process did not load the library".to_owned()),
        _ => Ok(()),
    }
}
