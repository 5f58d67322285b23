//! Claims that are about this machine: each is a few programs, and what has to come of them.

use crate::bar::own_path;
use crate::page::{self, Origin};
use crate::problem::Problem;
use cohort_lab::claims::Claim;
use cohort_lab::interrupt;
use cohort_lab::progress::Progress;
use cohort_lab::rounds::Observer;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The claims that can be run here.
pub const NAMES: [&str; 1] = ["G7"];

/// Whether a claim can be run here.
pub fn is_here(claim: &Claim) -> bool {
    NAMES.contains(&claim.id)
}

/// A bug, and what `cohort debug` has to say of it.
struct Bug {
    /// What the claim calls it.
    says: &'static str,
    /// The program's name and text.
    program: &'static str,
    text: &'static str,
    /// The kind of the finding.
    kind: &'static str,
    /// The locks that take part, and functions that have to be in the stacks.
    locks: &'static [&'static str],
    functions: &'static [&'static str],
}

macro_rules! bug {
    ($says:literal, $program:literal, $kind:literal, $locks:expr, $functions:expr) => {
        Bug {
            says: $says,
            program: $program,
            text: include_str!(concat!("../../../../examples/bugs/", $program, ".c")),
            kind: $kind,
            locks: &$locks,
            functions: &$functions,
        }
    };
}

/// Those of the claim, in its order.
const BUGS: [Bug; 5] = [
    bug!(
        "a lock that was never initialised",
        "uninitialised",
        "uninitialised",
        ["ledger"],
        ["main"]
    ),
    bug!(
        "a lock that is locked twice",
        "lock_twice",
        "lock-twice",
        ["list"],
        ["append", "main"]
    ),
    bug!(
        "a free lock that is unlocked",
        "unlock_free",
        "unlock-free",
        ["counter"],
        ["main"]
    ),
    bug!(
        "a lock that another thread unlocks",
        "unlock_others",
        "unlock-others",
        ["cache"],
        ["unlock", "main"]
    ),
    bug!(
        "a deadlock, with the stacks of its threads",
        "abba",
        "deadlock",
        ["first", "second"],
        ["forwards", "backwards"]
    ),
];

/// A claim, run here.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    verdict: &'static str,
    claim: &'static str,
    source: &'static str,
    parts: Vec<Part>,
}

/// One of its parts.
#[derive(Serialize)]
struct Part {
    says: &'static str,
    /// The program.
    program: &'static str,
    /// Whether what was found is what has to be; none if it could not be run.
    agrees: Option<bool>,
    /// What was found, in words, or why it could not be run.
    found: String,
    /// Where, innermost first, a stack for each thread that takes part.
    stacks: Vec<Vec<String>>,
}

/// Runs these claims and prints what came of them.  Blocks for some seconds.
///
/// # Errors
/// The command's own file is not there; nothing can be printed.
pub fn run(claims: &[&'static Claim], json: bool) -> Result<ExitCode, Problem> {
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot watch for signals: {error}")))?;
    let command = own_path()?;
    let folder = tempfile::tempdir()
        .map_err(|error| Problem::refused(format!("no folder can be made: {error}")))?;
    let mut progress = Progress::new(BUGS.len(), false);
    let mut rows = Vec::new();
    for claim in claims {
        let mut parts = Vec::new();
        for bug in &BUGS {
            if let Err(signal) = interrupt::check() {
                return Ok(ExitCode::from(signal.status()));
            }
            progress.starts(bug.program, false);
            parts.push(bug.part(&command, folder.path()));
        }
        let all = |wanted| parts.iter().all(|part| part.agrees == wanted);
        let verdict = if all(Some(true)) {
            "agrees"
        } else if parts.iter().any(|part| part.agrees.is_none()) {
            "failed"
        } else {
            "disagrees"
        };
        rows.push(Row {
            id: claim.id,
            verdict,
            claim: claim.says,
            source: claim.source,
            parts,
        });
    }
    drop(progress);
    if json {
        page::print_list(Origin::here(), "claims", &rows)?;
    } else {
        page::print(&text(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Bug {
    fn part(&self, command: &Path, folder: &Path) -> Part {
        let (agrees, found, stacks) = match self.findings(command, folder) {
            Err(why) => (None, why, Vec::new()),
            Ok(findings) => self.judge(&findings),
        };
        Part {
            says: self.says,
            program: self.program,
            agrees,
            found,
            stacks,
        }
    }

    /// What `cohort debug` finds in the program.
    fn findings(&self, command: &Path, folder: &Path) -> Result<Vec<Value>, String> {
        let source = folder.join(format!("{}.c", self.program));
        let program = folder.join(self.program);
        std::fs::write(&source, self.text)
            .map_err(|error| format!("cannot be written: {error}"))?;
        let compiled = Command::new("cc")
            .args(["-g", "-O1", "-o"])
            .args([&program, &source])
            .arg("-lpthread")
            .output()
            .map_err(|_| "there is no C compiler `cc`; on Debian it is in gcc".to_owned())?;
        if !compiled.status.success() {
            let said = String::from_utf8_lossy(&compiled.stderr);
            return Err(format!("it cannot be compiled: {}", said.trim()));
        }
        let output = Command::new(command)
            .args(["debug", "--json", "--"])
            .arg(&program)
            .env_remove("COHORT_LOCK")
            .output()
            .map_err(|error| format!("`cohort debug` cannot be run: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let told: Value = serde_json::from_str(&said)
            .map_err(|_| format!("`cohort debug` failed: {}", said.trim()))?;
        Ok(told["findings"].as_array().cloned().unwrap_or_default())
    }

    /// Whether it is among these, what was found, and the stacks.
    fn judge(&self, findings: &[Value]) -> (Option<bool>, String, Vec<Vec<String>>) {
        let Some(finding) = findings.iter().find(|finding| finding["kind"] == self.kind) else {
            let kinds = findings
                .iter()
                .filter_map(|finding| finding["kind"].as_str());
            let kinds: Vec<&str> = kinds.collect();
            let found = match kinds.as_slice() {
                [] => "nothing was found".to_owned(),
                _ => format!("found only: {}", kinds.join(", ")),
            };
            return (Some(false), found, Vec::new());
        };
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let stacks: Vec<Vec<String>> = list(&finding["parts"])
            .iter()
            .map(|part| {
                let frames = list(&part["stack"]["frames"]);
                frames.iter().filter_map(place).collect()
            })
            .collect();
        let locks = list(&finding["locks"]);
        let is_named = |lock: &&str| locks.iter().any(|known| known == *lock);
        let is_shown = |function: &&str| {
            let begin = format!("{function} at ");
            let mut places = stacks.iter().flatten();
            places.any(|place| place.starts_with(&begin))
        };
        let agrees = self.locks.iter().all(is_named) && self.functions.iter().all(is_shown);
        let says = finding["says"].as_str().unwrap_or_default().to_owned();
        (Some(agrees), says, stacks)
    }
}

/// A frame with a line, in words.
fn place(frame: &Value) -> Option<String> {
    let function = frame["function"].as_str()?;
    let file = frame["file"].as_str()?.rsplit('/').next()?;
    Some(format!("{function} at {file}:{}", frame["line"].as_u64()?))
}

fn text(rows: &[Row]) -> String {
    let mut parts = Vec::new();
    for row in rows {
        let mut table = page::bare();
        table.add_row([page::name(row.id), page::name(row.verdict)]);
        table.add_row([String::new(), format!("{} ({})", row.claim, row.source)]);
        for part in &row.parts {
            let mark = match part.agrees {
                Some(true) => "+",
                Some(false) => "-",
                None => "!",
            };
            let mut words = format!("{}: {}", part.says, part.found);
            for stack in &part.stacks {
                words.push_str("\n  ");
                words.push_str(&stack.join(" < "));
            }
            table.add_row([format!("{mark:>3}"), words]);
        }
        parts.push(page::lines(table, 0..0));
    }
    let agree = rows.iter().filter(|row| row.verdict == "agrees").count();
    parts.push(page::prose(&format!(
        "{agree} of {} rows agree. All of it was run on this machine; the programs are in \
         examples/bugs.",
        rows.len()
    )));
    parts.join("\n\n")
}
