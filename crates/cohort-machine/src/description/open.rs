//! From the name typed by a user to a machine.

use super::machine::Machine;
use super::{check, drawn, nearest, shipped};
use std::path::Path;

impl Machine {
    /// Whether a machine may have that name.
    ///
    /// # Errors
    /// States the name and the permitted ones.
    pub fn check_name(name: &str) -> Result<(), String> {
        check::name(name)
    }

    /// The shipped machine of that name, the [drawn](Self::drawn) machine (`drawn-SEED-NUMBER`), or
    /// the machine in the file at that path. A name with a `/` or with the ending `.toml` is a
    /// path, so a file never hides a shipped machine.
    ///
    /// # Errors
    /// Says which name is unknown, which file cannot be read, or what is wrong with
    /// it, by line and column.
    pub fn open(named: &str) -> Result<Self, String> {
        let is_toml = Path::new(named)
            .extension()
            .is_some_and(|extension| extension == "toml");
        if !is_toml && !named.contains('/') {
            return drawn::named(named)
                .unwrap_or_else(|| shipped::find(named).ok_or_else(|| unknown(named)));
        }
        let bytes =
            std::fs::read(named).map_err(|error| format!("cannot read {named}: {error}"))?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Self::parse(text).map_err(|complaint| {
                let is_other = complaint.message.starts_with("missing field");
                let hint = if is_other { EXAMPLE } else { "" };
                format!("{named}:{complaint}{hint}")
            }),
            Err(error) => {
                let line = bytes[..error.valid_up_to()]
                    .split(|byte| *byte == b'\n')
                    .count();
                Err(format!(
                    "{named}:{line}: found a byte that is not UTF-8, expected TOML text"
                ))
            }
        }
    }
}

/// What a file without a necessary entry should look like.
const EXAMPLE: &str = "; `cohort machines show i5-12500 --file` prints a whole machine file";

fn unknown(named: &str) -> String {
    let names = shipped::all().map(|file| file.name);
    format!(
        "unknown machine `{named}`{}\n`cohort machines` lists the machines; give your own file by its \
         path, such as `./{named}.toml`",
        nearest::hint(named, names)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_shipped_machine_s() {
        assert_eq!(Machine::open("superdome-x").unwrap().hierarchy.cpus(), 576);
        let message = Machine::open("superdom-x").unwrap_err();
        assert!(message.contains("did you mean `superdome-x`?"), "{message}");
        assert_eq!(Machine::open("grace-2s").unwrap().hierarchy.cpus(), 144);
        let message = Machine::open("graviton4").unwrap_err();
        assert!(message.contains("did you mean `graviton4x2`?"), "{message}");
        let message = Machine::open("zzz").unwrap_err();
        assert!(!message.contains("did you mean"), "{message}");
        assert!(message.contains("cohort machines"), "{message}");
    }

    #[test]
    fn a_path_is_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        let named = path.to_str().unwrap();
        let message = Machine::open(named).unwrap_err();
        assert!(
            message.starts_with(&format!("cannot read {named}: ")),
            "{message}"
        );
        std::fs::write(&path, shipped::MACHINES[0].text).unwrap();
        assert_eq!(
            Machine::open(named).unwrap().name,
            shipped::MACHINES[0].name
        );
        std::fs::write(&path, "name = 3\n").unwrap();
        let message = Machine::open(named).unwrap_err();
        assert!(message.starts_with(&format!("{named}:1:8: ")), "{message}");
        std::fs::write(&path, "about = \"no machine\"\n").unwrap();
        let message = Machine::open(named).unwrap_err();
        assert!(
            message.starts_with(&format!(
                "{named}:1:1: missing field `name`; `cohort machines show"
            )),
            "{message}"
        );
        std::fs::write(&path, b"name = \"x\"\n\xff").unwrap();
        let message = Machine::open(named).unwrap_err();
        assert!(
            message.starts_with(&format!("{named}:2: found a byte")),
            "{message}"
        );
    }
}
