//! Names of a program's variables, by the symbol table of the file that defines them.
//!
//! It takes no lock, as observers of locks must: the loader's functions take the loader's. The
//! file's bytes are untrusted.

use crate::libc::{close, length, map, open, unmap};
use crate::mapped::each_piece;
use core::ffi::{CStr, c_int};
use core::fmt;
use core::slice;

/// Longest path of a file, and longest name.
const ROOM: usize = 256;

/// A variable's name, and an address's offset in the variable.
pub struct Variable {
    name: [u8; ROOM],
    length: usize,
    offset: u64,
}

/// Prints `name`, or `name+0x28`.
impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.get(..self.length).unwrap_or_default();
        f.write_str(str::from_utf8(name).unwrap_or("?"))?;
        if self.offset > 0 {
            write!(f, "+{:#x}", self.offset)?;
        }
        Ok(())
    }
}

/// The variable at that address; none on the heap, on stacks, and in stripped files.
#[inline(never)]
pub fn at(address: usize) -> Option<Variable> {
    const O_CLOEXEC: c_int = 0x80000;
    const MAP_PRIVATE: c_int = 2;
    let mut path = [0u8; ROOM];
    let base = file_below(address, &mut path)?;
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let file = open(path, O_CLOEXEC, 0);
    let size = usize::try_from(length(file)).ok().filter(|size| *size > 0);
    let mapped = size.and_then(|size| Some((map(size, MAP_PRIVATE, file)?, size)));
    close(file);
    let (bytes, size) = mapped?;
    // SAFETY: mapped just above. The length is the file's; who shortens an executable in use ends
    // its processes anyway.
    let found = find(unsafe { slice::from_raw_parts(bytes, size) }, base, address);
    unmap(bytes, size);
    found
}

/// The first address and the path of the last file mapped at or below that address. A variable
/// without initial value lies behind the file's own part.
fn file_below(address: usize, path: &mut [u8; ROOM]) -> Option<usize> {
    let mut base = None;
    let mut length = 0;
    each_piece(|piece| {
        if piece.from > address {
            return;
        }
        if base.is_none() || path[..length] != *piece.path {
            base = (piece.path.len() < ROOM).then_some(piece.from);
            length = piece.path.len().min(ROOM - 1);
            path.fill(0);
            path[..length].copy_from_slice(&piece.path[..length]);
        }
    });
    base
}

/// The variable at `address` by the symbols of a file mapped at `base`.
fn find(file: &[u8], base: usize, address: usize) -> Option<Variable> {
    const EXECUTABLE: u64 = 2;
    const SYMBOLS: u64 = 2;
    const DYNAMIC_SYMBOLS: u64 = 11;
    const SYMBOL_BYTES: usize = 24;
    const OBJECT: u8 = 1;
    file.strip_prefix(b"\x7fELF\x02")?;
    let has_own_addresses = number::<2>(file, 16)? == EXECUTABLE;
    let at = (address - if has_own_addresses { 0 } else { base }) as u64;
    let (sections, size) = (number::<8>(file, 0x28)?, number::<2>(file, 0x3a)?);
    let count = number::<2>(file, 0x3c)?;
    let section = |place: u64| {
        let from = usize::try_from(sections.checked_add(place.checked_mul(size)?)?).ok()?;
        file.get(from..)
    };
    let content = |header: &[u8]| {
        let from = usize::try_from(number::<8>(header, 0x18)?).ok()?;
        let size = usize::try_from(number::<8>(header, 0x20)?).ok()?;
        file.get(from..from.checked_add(size)?)
    };
    for place in 0..count {
        let header = section(place)?;
        if !matches!(number::<4>(header, 4)?, SYMBOLS | DYNAMIC_SYMBOLS) {
            continue;
        }
        let names = content(section(number::<4>(header, 0x28)?)?)?;
        for symbol in content(header)?.chunks_exact(SYMBOL_BYTES) {
            let (from, bytes) = (number::<8>(symbol, 8)?, number::<8>(symbol, 16)?);
            if symbol[4] & 15 != OBJECT || at.checked_sub(from).is_none_or(|by| by >= bytes) {
                continue;
            }
            let name = names.get(number::<4>(symbol, 0)? as usize..)?;
            let name = CStr::from_bytes_until_nul(name).ok()?.to_bytes();
            let mut variable = Variable {
                name: [0; ROOM],
                length: name.len().min(ROOM),
                offset: at - from,
            };
            variable.name[..variable.length].copy_from_slice(&name[..variable.length]);
            return Some(variable);
        }
    }
    None
}

/// A number of `N` bytes at that offset.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut whole = [0; 8];
    whole[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(whole))
}
