//! Files mapped into this process, as the kernel lists them.

use crate::libc::{close, open, read};
use core::ffi::c_int;
use core::str::from_utf8;

/// Mapped part of a file.
#[cfg_attr(
    not(feature = "observe"),
    expect(
        dead_code,
        reason = "only observers ask what a piece has beside its beginning"
    )
)]
pub struct Piece<'a> {
    pub path: &'a [u8],
    pub from: usize,
    pub to: usize,
    /// Its offset in the file.
    pub offset: usize,
    pub is_code: bool,
}

impl<'a> Piece<'a> {
    /// Parses a line of the list, `FROM-TO r-xp OFFSET DEVICE NUMBER PATH`; none without a file.
    fn of(line: &'a [u8]) -> Option<Self> {
        let at = line.iter().position(|byte| *byte == b'/')?;
        let (before, path) = line.split_at(at);
        let mut words = from_utf8(before).ok()?.split(' ');
        let hex = |digits| usize::from_str_radix(digits, 16).ok();
        let (from, to) = words.next()?.split_once('-')?;
        let is_code = words.next()?.contains('x');
        Some(Self {
            path,
            from: hex(from)?,
            to: hex(to)?,
            offset: hex(words.next()?)?,
            is_code,
        })
    }
}

/// Calls `each` with every piece, by ascending address. A lock function may run this on a small
/// stack.
#[inline(never)]
pub fn each_piece(mut each: impl FnMut(&Piece<'_>)) {
    const O_CLOEXEC: c_int = 0x80000;
    /// Longest line that is read, path included.
    const ROOM: usize = 3_072;
    let mut buffer = [0u8; ROOM];
    let file = open(c"/proc/self/maps", O_CLOEXEC, 0);
    if file < 0 {
        return;
    }
    let mut filled = 0;
    loop {
        let room = &mut buffer[filled..];
        // SAFETY: the length is the room's.
        let count = unsafe { read(file, room.as_mut_ptr(), room.len()) };
        filled += usize::try_from(count).unwrap_or(0);
        let mut done = 0;
        while let Some(length) = buffer[done..filled].iter().position(|byte| *byte == b'\n') {
            let line = &buffer[done..done + length];
            done += length + 1;
            if let Some(piece) = Piece::of(line) {
                each(&piece);
            }
        }
        buffer.copy_within(done..filled, 0);
        filled -= done;
        if count <= 0 || filled == ROOM {
            break;
        }
    }
    close(file);
}
