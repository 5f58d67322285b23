//! Properties of the preload library's file.

use super::figure::Figure;
use super::reading::Reading;
use crate::stats::Estimate;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, elf};
use std::path::Path;

/// The C library's name: the GNU one's on all architectures.
const C_LIBRARY: &str = "libc.so.6";

/// The file's size, or the number of other libraries that it needs.
pub fn read(figure: Figure, library: &Path) -> Result<Vec<Reading>, String> {
    let bytes = std::fs::read(library)
        .map_err(|error| format!("cannot read {}: {error}", library.display()))?;
    let (at, value) = if figure == Figure::LibraryBytes {
        (String::new(), bytes.len() as f64)
    } else {
        let others: Vec<String> = needed(&bytes)?
            .into_iter()
            .filter(|name| name != C_LIBRARY)
            .collect();
        (others.join(", "), others.len() as f64)
    };
    let figure = Estimate::of(&[value]).ok_or("no figure")?;
    Ok(vec![Reading { at, figure }])
}

fn needed(bytes: &[u8]) -> Result<Vec<String>, String> {
    let file = ElfFile64::<Endianness>::parse(bytes)
        .map_err(|error| format!("the preload library is not a 64-bit ELF file: {error}"))?;
    let broken = |error| format!("the preload library's dynamic section: {error}");
    let endian = file.endian();
    let header = file.elf_header();
    let segments = header.program_headers(endian, bytes).map_err(broken)?;
    let sections = header.sections(endian, bytes).map_err(broken)?;
    let mut names = Vec::new();
    for segment in segments {
        let Some(entries) = segment.dynamic(endian, bytes).map_err(broken)? else {
            continue;
        };
        let (_, link) = sections
            .dynamic(endian, bytes)
            .map_err(broken)?
            .ok_or("the preload library has no dynamic section")?;
        let strings = sections.strings(endian, bytes, link).map_err(broken)?;
        for entry in entries
            .iter()
            .filter(|entry| entry.tag32(endian) == Some(elf::DT_NEEDED))
        {
            let name = entry.string(endian, strings).map_err(broken)?;
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_needs_the_c_library_and_more() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let names = needed(&own).unwrap();
        assert!(names.iter().any(|name| name == C_LIBRARY), "{names:?}");
        assert!(names.len() > 1, "{names:?}");
        assert!(needed(b"no ELF").is_err());
    }
}
