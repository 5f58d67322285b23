//! Pages straight from the kernel: the locks serve allocators, so they cannot
//! use one.

use super::super::{NODES, PAGE};
use super::atoms::{AtomicUsize, Ordering};
use super::kernel::{call, number};
use core::cell::UnsafeCell;
use core::ptr::NonNull;

const READ_WRITE: usize = 1 | 2;
const PRIVATE_ANONYMOUS_NORESERVE: usize = 0x02 | 0x20 | 0x4000;
const SHARED_ANONYMOUS: usize = 0x01 | 0x20;
const MADV_WIPEONFORK: usize = 18;

/// Maps room for `count` slots, all atoms zero; `None` if the kernel refuses and the reserve is
/// used up. `make` creates a slot where zero bytes are none.
#[must_use]
pub fn map_slots<S>(count: usize, _make: fn() -> S) -> Option<NonNull<S>> {
    map_room(count * size_of::<S>()).map(NonNull::cast)
}

/// Unmaps that room, still unused.
pub fn unmap_slots<S>(slots: NonNull<S>, count: usize) {
    unmap_room(slots.cast(), count * size_of::<S>());
}

/// [`map_slots`], once for slots of all sorts.
#[cold]
#[inline(never)]
fn map_room(bytes: usize) -> Option<NonNull<u8>> {
    map_pages(bytes, PRIVATE_ANONYMOUS_NORESERVE).or_else(|| from_reserve(bytes))
}

/// [`unmap_slots`], likewise.
#[cold]
#[inline(never)]
fn unmap_room(room: NonNull<u8>, bytes: usize) {
    if !to_reserve(room, bytes) {
        // SAFETY: the caller's room, all of it, was mapped as a piece.
        unsafe { call(number::MUNMAP, [room.as_ptr() as usize, bytes, 0, 0, 0, 0]) };
    }
}

/// Pages reserved from the beginning, at no cost until they are touched: a process without free
/// address space can still wait.
#[repr(C, align(4096))]
struct Reserve(UnsafeCell<[u8; RESERVE]>);

/// The first five segments of an arena with nodes of a cache line, or the first few of several.
const RESERVE: usize = 31 * PAGE;

const _: () = assert!(align_of::<Reserve>() == PAGE);

// SAFETY: each piece of it is handed out once.
unsafe impl Sync for Reserve {}

static PAGES: Reserve = Reserve(UnsafeCell::new([0; RESERVE]));

/// Bytes of it in use.
static RESERVED: AtomicUsize = AtomicUsize::new(0);

#[cold]
fn from_reserve(bytes: usize) -> Option<NonNull<u8>> {
    let begin = RESERVED
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |begin| {
            let end = begin + bytes.next_multiple_of(PAGE);
            (end <= RESERVE).then_some(end)
        })
        .ok()?;
    NonNull::new(PAGES.0.get().cast::<u8>().wrapping_add(begin))
}

/// Takes a piece of the reserve back, if it was the last; false if it is not part of it.
fn to_reserve(piece: NonNull<u8>, bytes: usize) -> bool {
    let begin = (piece.as_ptr() as usize).wrapping_sub(PAGES.0.get() as usize);
    let end = begin.wrapping_add(bytes.next_multiple_of(PAGE));
    let is_reserve = begin < RESERVE;
    if is_reserve {
        let _ = RESERVED.compare_exchange(end, begin, Ordering::Relaxed, Ordering::Relaxed);
    }
    is_reserve
}

/// Maps `bytes` of zeroes, at no cost until they are touched; `None` if the kernel refuses. The
/// flags are an anonymous mapping's.
fn map_pages(bytes: usize, flags: usize) -> Option<NonNull<u8>> {
    // SAFETY: an anonymous mapping at an address of the kernel's choice disturbs nothing.
    let at = unsafe { call(number::MMAP, [0, bytes, READ_WRITE, flags, usize::MAX, 0]) };
    if (-4095..=0).contains(&at) {
        return None;
    }
    NonNull::new(at as *mut u8)
}

/// Moves whole pages, with their contents, to the calling thread's NUMA node; false if the kernel
/// refuses, as it may in a container.
///
/// The kernel may refuse pages larger than [`PAGE`].
#[must_use]
pub fn place_here(pages: *const u8, bytes: usize) -> bool {
    const MPOL_PREFERRED: usize = 1;
    const MPOL_MF_MOVE: usize = 2;
    let mut node = 0u32;
    let mut nodes = [0u64; NODES / 64];
    // SAFETY: the kernel writes only the node's number, and reads the set of nodes; the place of
    // pages does not affect their contents.
    unsafe {
        let asked = call(number::GETCPU, [0, &raw mut node as usize, 0, 0, 0, 0]);
        let Some(word) = nodes.get_mut(node as usize / 64) else {
            return false;
        };
        *word = 1 << (node % 64);
        // The kernel takes one bit less than the given number.
        let placed = call(
            number::MBIND,
            [
                pages as usize,
                bytes,
                MPOL_PREFERRED,
                nodes.as_ptr() as usize,
                NODES + 1,
                MPOL_MF_MOVE,
            ],
        );
        asked == 0 && placed == 0
    }
}

/// Maps a page that a forked child finds zeroed; `None` if the kernel (before Linux 4.14), or an
/// emulator in its place, cannot.
#[must_use]
pub fn page_of_zeroes_in_child() -> Option<NonNull<u8>> {
    let page = map_pages(PAGE, PRIVATE_ANONYMOUS_NORESERVE)?;
    (!takes_any_advice()? && advise_to_wipe(page)).then_some(page)
}

/// Advises that a forked child find this page, mapped by the caller, zeroed; returns whether the
/// advice is accepted.
fn advise_to_wipe(page: NonNull<u8>) -> bool {
    // SAFETY: the advice affects only a page mapped by the caller.
    let result = unsafe {
        call(
            number::MADVISE,
            [page.as_ptr() as usize, PAGE, MADV_WIPEONFORK, 0, 0, 0],
        )
    };
    result == 0
}

/// Whether such advice is accepted even for shared memory, where no kernel accepts it; `None` if
/// none can be mapped. Some emulators accept every advice, since most are hints, and ignore this
/// one.
fn takes_any_advice() -> Option<bool> {
    let shared = map_pages(PAGE, SHARED_ANONYMOUS)?;
    let taken = advise_to_wipe(shared);
    // SAFETY: mapped above, and not shared yet.
    unsafe { call(number::MUNMAP, [shared.as_ptr() as usize, PAGE, 0, 0, 0, 0]) };
    Some(taken)
}
