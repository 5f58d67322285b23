//! Scripts: the program in their first line.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The part of a file's start that the kernel examines.
const START: u64 = 256;

/// The interpreter line of a script.
#[derive(Debug, PartialEq, Eq)]
pub struct Shebang {
    program: OsString,
    argument: Option<OsString>,
}

/// The first bytes of `path`.
pub fn start(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(START).read_to_end(&mut start)?;
    Ok(start)
}

/// The interpreter line, if the file starts with one: the program, and the rest
/// of the line as its single argument, as the kernel splits it.
pub fn shebang(start: &[u8]) -> Option<Shebang> {
    let line = start.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let end = line
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(line.len());
    let (program, argument) = line.split_at(end);
    let argument = argument.trim_ascii();
    Some(Shebang {
        program: OsStr::from_bytes(program).to_owned(),
        argument: (!argument.is_empty()).then(|| OsStr::from_bytes(argument).to_owned()),
    })
}

/// The program that will run: the interpreter, or the program that `env` looks up.
pub fn interpreter(shebang: &Shebang) -> Result<OsString, String> {
    if shebang.program.is_empty() {
        return Err("no interpreter after `#!`".to_owned());
    }
    if Path::new(&shebang.program).file_name() != Some(OsStr::new("env")) {
        return Ok(shebang.program.clone());
    }
    let argument = shebang.argument.as_ref().ok_or("no program after `env`")?;
    behind_env(argument.as_bytes())
}

/// The program in the argument of `#!/usr/bin/env`: after `-S`, other flags and assignments.
fn behind_env(argument: &[u8]) -> Result<OsString, String> {
    let split = argument
        .strip_prefix(b"-S")
        .or_else(|| argument.strip_prefix(b"--split-string="));
    let Some(split) = split else {
        // Without -S the whole argument is one program name.
        return Ok(OsString::from_vec(argument.to_vec()));
    };
    split
        .split(u8::is_ascii_whitespace)
        .find(|word| !word.is_empty() && !word.starts_with(b"-") && !word.contains(&b'='))
        .map(|word| OsString::from_vec(word.to_vec()))
        .ok_or_else(|| "no program after `env -S`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(line: &str) -> Result<String, String> {
        let shebang = shebang(line.as_bytes()).ok_or("no script")?;
        interpreter(&shebang).map(|program| program.into_string().unwrap())
    }

    #[test]
    fn first_lines_name_their_interpreter() {
        for (line, program) in [
            ("#!/bin/sh\necho", "/bin/sh"),
            ("#! /bin/sh -e\n", "/bin/sh"),
            ("#!/usr/bin/env python3\n", "python3"),
            ("#!/usr/bin/env -S python3 -u\n", "python3"),
            ("#!/usr/bin/env -S -i A=1 perl -w\n", "perl"),
            ("#!/usr/bin/env --split-string=node --x\n", "node"),
            ("#!/bin/bash", "/bin/bash"),
        ] {
            assert_eq!(runs(line).as_deref(), Ok(program), "{line}");
        }
    }

    #[test]
    fn broken_first_lines_are_told_apart() {
        assert!(runs("#!\n").unwrap_err().contains("no interpreter after"));
        assert!(runs("#!/usr/bin/env\n").unwrap_err().contains("no program"));
        assert_eq!(shebang(b"echo"), None);
    }
}
