//! The stack frames of a library's functions, by its object code.

use object::{Object, ObjectSection, SectionKind};

/// The largest permitted frame of a lock function; threads with the smallest stack and signal
/// handlers use locks too.
pub const MOST: u64 = 4_096;

/// The largest number of bytes that one instruction of the library takes from the stack. Frames
/// above a page are allocated and touched page by page.
///
/// # Panics
/// The library has no code that is known here.
pub fn largest(library: &[u8]) -> u64 {
    let file = object::File::parse(library).expect("an object file");
    let code = file
        .sections()
        .filter(|part| part.kind() == SectionKind::Text);
    let code: Vec<u8> = code
        .flat_map(|part| part.data().expect("code").to_vec())
        .collect();
    let taken: Vec<u64> = match file.architecture() {
        object::Architecture::X86_64 => code.windows(7).filter_map(of_x86).collect(),
        object::Architecture::Aarch64 => code.chunks_exact(4).filter_map(of_arm).collect(),
        other => panic!("code of {other:?} is not read here"),
    };
    taken.into_iter().max().expect("some function has a frame")
}

/// Decodes `sub rsp, imm32`; data that looks like it has an implausible number.
fn of_x86(bytes: &[u8]) -> Option<u64> {
    let number = bytes.strip_prefix(&[0x48, 0x81, 0xec])?;
    let number = u32::from_le_bytes(number.try_into().ok()?);
    (number < 1 << 24).then_some(u64::from(number))
}

/// Decodes `sub sp, sp, imm12`, optionally shifted by twelve bits.
fn of_arm(bytes: &[u8]) -> Option<u64> {
    let word = u32::from_le_bytes(bytes.try_into().ok()?);
    let number = u64::from(word >> 10 & 0xfff);
    match word & 0xffc0_03ff {
        0xd100_03ff => Some(number),
        0xd140_03ff => Some(number << 12),
        _ => None,
    }
}
