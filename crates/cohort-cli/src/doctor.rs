//! `cohort doctor`: what this machine and container offer to the locks.

mod cgroup;
mod clock;
mod cpus;
mod extension;
mod glibc;
mod kernel;
mod monitor;
mod places;
mod topology;

use crate::page::{self, Origin};
use crate::problem::{Problem, status};
use comfy_table::{Cell, Color, Row};
use serde::Serialize;
use std::process::ExitCode;

/// Options of `cohort doctor`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Print JSON: `ready`, and `findings` in the order of the table
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Each row shows what the machine offers, how Cohort uses it, and what is missing. All results come \
from tests and measurements at run time. Run it in the program's environment: the same container \
and user.

Exit status: 0 if the machine meets Cohort's requirements, else 1.";

/// The state of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Fully available.
    Good,
    /// Checked, but without effect on Cohort.
    Unused,
    /// It works, but something is missing, at a cost in performance.
    Costs,
    /// Cohort does not work here.
    Fails,
}

/// One item that was checked.
#[derive(Debug, Serialize)]
pub struct Finding {
    topic: &'static str,
    grade: Grade,
    offered: String,
    used: String,
    missing: Option<String>,
}

impl Finding {
    /// Fully available: the offer, and Cohort's use of it.
    pub fn good(topic: &'static str, offered: impl Into<String>, used: impl Into<String>) -> Self {
        Self {
            topic,
            grade: Grade::Good,
            offered: offered.into(),
            used: used.into(),
            missing: None,
        }
    }

    /// Without effect: the offer, and the reason.
    pub fn unused(topic: &'static str, offered: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            grade: Grade::Unused,
            ..Self::good(topic, offered, why)
        }
    }

    /// The same, with something missing at a cost in performance.
    pub fn costs(self, missing: impl Into<String>) -> Self {
        self.lacks(Grade::Costs, missing)
    }

    /// The same, with something missing without which Cohort does not work.
    pub fn fails(self, missing: impl Into<String>) -> Self {
        self.lacks(Grade::Fails, missing)
    }

    fn lacks(self, grade: Grade, missing: impl Into<String>) -> Self {
        Self {
            grade,
            missing: Some(missing.into()),
            ..self
        }
    }

    fn row(&self) -> Row {
        let (mark, color) = match self.grade {
            Grade::Good => ("good", Color::Green),
            Grade::Unused => ("unused", Color::DarkGrey),
            Grade::Costs => ("costs", Color::Yellow),
            Grade::Fails => ("FAILS", Color::Red),
        };
        let mut text = format!("{}\n→ {}", self.offered, self.used);
        if let Some(missing) = &self.missing {
            text.push_str("\n! ");
            text.push_str(missing);
        }
        Row::from([
            Cell::new(mark).fg(color),
            page::name(self.topic),
            Cell::new(text),
        ])
    }
}

#[derive(Serialize)]
struct Examination {
    ready: bool,
    findings: Vec<Finding>,
}

/// Executes `cohort doctor`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let findings = examine();
    let ready = findings.iter().all(|finding| finding.grade != Grade::Fails);
    if arguments.json {
        let examination = Examination { ready, findings };
        page::print_json(Origin::here(), &examination)?;
    } else {
        let verdict = page::prose(&verdict(&findings));
        page::print(&format!("{}\n\n{verdict}", table(&findings)))?;
    }
    Ok(if ready {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(status::NEGATIVE)
    })
}

fn examine() -> Vec<Finding> {
    vec![
        cpus::cpus(),
        cgroup::quota(),
        cpus::siblings(),
        cpus::nodes(),
        topology::topology(),
        monitor::monitor(),
        kernel::release(),
        kernel::policy(),
        kernel::seccomp(),
        kernel::futex(),
        kernel::futex_waitv(),
        kernel::membarrier(),
        kernel::wipe_on_fork(),
        clock::clock(),
        glibc::version(),
        glibc::rseq(),
        extension::extension(),
        places::shared_memory(),
        places::library(),
        places::preload(),
    ]
}

fn table(findings: &[Finding]) -> String {
    let mut table = page::bare();
    for finding in findings {
        table.add_row(finding.row());
    }
    page::lines(table, 0..0)
}

fn verdict(findings: &[Finding]) -> String {
    let topics = |grade| {
        let of: Vec<&str> = findings
            .iter()
            .filter(|finding| finding.grade == grade)
            .map(|finding| finding.topic)
            .collect();
        of.join(", ")
    };
    let (fails, costs) = (topics(Grade::Fails), topics(Grade::Costs));
    match (fails.is_empty(), costs.is_empty()) {
        (false, _) => format!("Cohort does not work on this machine: {fails}."),
        (true, false) => format!("Cohort works on this machine, at a cost: {costs}."),
        (true, true) => "Cohort works on this machine without restriction.".to_owned(),
    }
}
