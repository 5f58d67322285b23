//! The bugs of G7: programs that have one each, and what `cohort debug` finds in them.

use super::Part;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A bug, and what `cohort debug` has to say of it.
pub(super) struct Bug {
    /// What the claim calls it.
    says: &'static str,
    /// The program's name and text.
    pub(super) program: &'static str,
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
            text: include_str!(concat!("../../../bugs/", $program, ".c")),
            kind: $kind,
            locks: &$locks,
            functions: &$functions,
        }
    };
}

/// Those of the claim, in its order.
pub(super) const BUGS: [Bug; 5] = [
    bug!(
        "an uninitialised lock",
        "uninitialised",
        "uninitialised",
        ["ledger"],
        ["main"]
    ),
    bug!(
        "a double lock",
        "lock_twice",
        "lock-twice",
        ["list"],
        ["append", "main"]
    ),
    bug!(
        "an unlock of a free lock",
        "unlock_free",
        "unlock-free",
        ["counter"],
        ["main"]
    ),
    bug!(
        "an unlock by a non-owner",
        "unlock_others",
        "unlock-others",
        ["cache"],
        ["unlock", "main"]
    ),
    bug!(
        "a deadlock with the stacks of its threads",
        "abba",
        "deadlock",
        ["first", "second"],
        ["forwards", "backwards"]
    ),
];

impl Bug {
    /// Runs it.
    pub(super) fn part(&self, command: &Path, folder: &Path) -> Part {
        let (agrees, found, stacks) = match self.findings(command, folder) {
            Err(why) => (None, why, Vec::new()),
            Ok(findings) => self.judge(&findings),
        };
        Part {
            says: self.says,
            program: self.program.to_owned(),
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
            .map_err(|_| "no C compiler `cc`; on Debian, install gcc".to_owned())?;
        if !compiled.status.success() {
            let said = String::from_utf8_lossy(&compiled.stderr);
            return Err(format!("does not compile: {}", said.trim()));
        }
        let output = Command::new(command)
            .args(["debug", "--level", "owner", "--json", "--"])
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
                [] => "no finding".to_owned(),
                _ => format!("other findings only: {}", kinds.join(", ")),
            };
            return (Some(false), found, Vec::new());
        };
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        // What the C library calls before the program's own functions says nothing of the bug.
        let source = format!("{}.c", self.program);
        let stacks: Vec<Vec<String>> = list(&finding["parts"])
            .iter()
            .map(|part| {
                let frames = list(&part["stack"]["frames"]);
                let own = frames.iter().filter_map(|frame| place(frame, &source));
                own.collect()
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

/// A frame with a line of that file, in words.
fn place(frame: &Value, source: &str) -> Option<String> {
    let function = frame["function"].as_str()?;
    let file = frame["file"].as_str()?.rsplit('/').next()?;
    let line = frame["line"].as_u64()?;
    (file == source).then(|| format!("{function} at {file}:{line}"))
}
