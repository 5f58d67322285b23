//! Modules that the program closes, listed so that call sites in their code can be named later.
//!
//! A recorded call site is an address. Before the program closes a module, its code is listed in
//! the records, with its file. Afterwards its addresses stay reserved: another module there would
//! have ambiguous call sites.

use super::own::own;
use crate::filter;
use crate::libc::reserve;
use crate::mapped::{Piece, each_piece};
use crate::next::observed;
use cohort::records::{MODULES, Records};
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Whether a thread is using the list.
static BUSY: AtomicBool = AtomicBool::new(false);

/// See `dlclose(3)`.
///
/// # Safety
/// As that page asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlclose(module: *mut c_void) -> c_int {
    // SAFETY: the program's.
    let close = || unsafe { observed::dlclose(module) };
    // A filter may kill for the system calls below.
    let Some(own) = own().filter(|_| !filter::is_there()) else {
        return close();
    };
    let records = own.records();
    alone(|| list(records));
    // The module's own code may run, and close others.
    let result = close();
    alone(|| settle(records));
    result
}

/// Runs `run` under mutual exclusion. Skipped in a child forked while a thread ran it: that child's
/// modules lose their names when closed.
fn alone(run: impl FnOnce()) {
    const TRIES: usize = 10_000;
    for _ in 0..TRIES {
        if !BUSY.swap(true, Acquire) {
            run();
            BUSY.store(false, Release);
            return;
        }
        cohort::door::yield_now();
    }
}

/// Lists the code that is mapped at present, as far as there is room.
fn list(records: &Records) {
    each_piece(|piece| {
        if !piece.is_code {
            return;
        }
        let listed = records.modules().len();
        if let Some(place) = find(records, piece) {
            // It may be open again.
            records.modules()[place].is_closed.store(0, Relaxed);
        } else if let Some(module) = records.modules.get(listed)
            && let Some(path) = module.path.get(..piece.path.len())
        {
            module.from.store(piece.from as u64, Relaxed);
            module.to.store(piece.to as u64, Relaxed);
            module.offset.store(piece.offset as u64, Relaxed);
            module.length.store(path.len() as u32, Relaxed);
            for (to, byte) in path.iter().zip(piece.path) {
                to.store(*byte, Relaxed);
            }
            let listed = listed as u32 + 1;
            records.listed_modules.store(listed, Release);
        }
    });
}

/// The index of a piece's entry, open or closed.
fn find(records: &Records, piece: &Piece<'_>) -> Option<usize> {
    records.modules().iter().position(|module| {
        module.from.load(Relaxed) == piece.from as u64
            && module.to.load(Relaxed) == piece.to as u64
            && module.is_of(piece.path)
    })
}

/// Marks listed modules that are unmapped, and reserves their addresses. A file with many past
/// addresses gets no more reserved: the loader mostly reuses its addresses.
fn settle(records: &Records) {
    const PLACES: usize = 64;
    let mut there = [false; MODULES];
    each_piece(|piece| {
        if piece.is_code
            && let Some(place) = find(records, piece)
        {
            there[place] = true;
        }
    });
    for (module, is_there) in records.modules().iter().zip(there) {
        if module.is_closed.load(Relaxed) != 0 || is_there {
            continue;
        }
        let same = records
            .modules()
            .iter()
            .filter(|other| other.is_like(module));
        if same.count() < PLACES {
            let [from, to] = [&module.from, &module.to].map(|end| end.load(Relaxed) as usize);
            reserve(from, to - from);
        }
        module.is_closed.store(1, Release);
    }
}
