//! An ELF file's machine and dynamic loader.

use super::runtime;
use object::endian::Endian;
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, elf};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The preload library's machine.
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = elf::EM_X86_64;
/// The preload library's machine.
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = elf::EM_AARCH64;

/// Rust's name of the target with the C library musl.
const MUSL: &str = if MACHINE == elf::EM_X86_64 {
    "x86_64-unknown-linux-musl"
} else {
    "aarch64-unknown-linux-musl"
};

/// The dynamic loader of `path`.
///
/// # Errors
/// The reason why Cohort's library cannot be loaded into it.
pub fn loader(path: &Path) -> Result<PathBuf, String> {
    let shown = path.display();
    let broken = |error: &dyn std::fmt::Display| format!("{shown} is a damaged ELF file ({error})");
    let data = ReadCache::new(File::open(path).map_err(|error| broken(&error))?);
    let interpreter = match FileKind::parse(&data).map_err(|error| broken(&error))? {
        FileKind::Elf64 => interpreter::<elf::FileHeader64<Endianness>>(path, &data)?,
        FileKind::Elf32 => {
            return Err(format!(
                "{shown} is a 32-bit program, and Cohort's library is 64-bit; \
                 use a 64-bit build of the program"
            ));
        }
        _ => return Err(format!("{shown} is not an ELF executable")),
    };
    let Some(interpreter) = interpreter else {
        if runtime::is_go(path) {
            return Err(format!(
                "{shown} is a statically linked Go program: no dynamic loader runs, so no library \
                 can be preloaded; Go's own mutexes are never served"
            ));
        }
        return Err(format!(
            "{shown} is statically linked: no dynamic loader runs, so no library can be \
             preloaded; link it dynamically (Rust for musl is static by default: there, use \
             the crate `cohort`, which serves {MUSL})"
        ));
    };
    let name = interpreter
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    if name.starts_with("ld-musl") {
        return Err(format!(
            "{shown} is built for the musl C library, and Cohort's library serves the mutexes and \
             conditions of glibc; use a glibc build of the program, or in Rust the crate \
             `cohort`, which serves {MUSL}"
        ));
    }
    if name.starts_with("linker") || name.starts_with("ld-uClibc") {
        return Err(format!(
            "{shown} uses the loader {}, and Cohort's library needs glibc's",
            interpreter.display()
        ));
    }
    Ok(interpreter)
}

fn interpreter<Header: FileHeader>(
    path: &Path,
    data: &ReadCache<File>,
) -> Result<Option<PathBuf>, String> {
    let shown = path.display();
    let broken = |error| format!("{shown} is a damaged ELF file ({error})");
    let header = Header::parse(data).map_err(broken)?;
    let endian = header.endian().map_err(broken)?;
    let machine = header.e_machine(endian);
    if machine != MACHINE || endian.is_big_endian() != cfg!(target_endian = "big") {
        return Err(format!(
            "{shown} is built for another processor (ELF machine {machine}, this one is \
             {MACHINE}); use a build for this machine"
        ));
    }
    for segment in header.program_headers(endian, data).map_err(broken)? {
        if let Some(interpreter) = segment.interpreter(endian, data).map_err(broken)? {
            let interpreter = OsString::from_vec(interpreter.to_vec());
            return Ok(Some(PathBuf::from(interpreter)));
        }
    }
    Ok(None)
}
