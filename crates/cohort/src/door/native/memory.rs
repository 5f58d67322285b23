//! Pages straight from the kernel: the locks serve allocators, so they cannot
//! use one.

use super::super::{NODES, PAGE};
use super::atoms::{AtomicUsize, Ordering};
use super::system::{call, number};
use crate::host::Pool;
use core::cell::UnsafeCell;
use core::ptr::NonNull;

const READ_WRITE: usize = 1 | 2;
const PRIVATE_ANONYMOUS_NORESERVE: usize = 0x02 | 0x20 | 0x4000;
const SHARED_ANONYMOUS: usize = 0x01 | 0x20;
const MADV_WIPEONFORK: usize = 18;

/// Nodes of a cache line in an arena's first segment: a page.  Segments are mapped
/// when they are needed, since a program may have all its memory locked.
pub const ARENA_FIRST_SEGMENT: u32 = 64;

/// Nodes of one arena that one thread may keep, so that most acquisitions touch
/// no shared list.
pub const ARENA_CACHED: u32 = 8;

/// Looking for orphans costs a system call for each keeper, so it waits until
/// there may be as many as this, and again until the arena has doubled.
pub const ARENA_FIRST_SEARCH: u32 = 256;

/// Bytes for the context of any lock: with a pool's tag they take two lines that no other shares.
pub const CONTEXT_BYTES: usize = 112;

/// Places for queues that put a lock's waiters in order: more than a program has locks that many
/// threads wait for.
pub const QUEUES: usize = 256;

/// Cache groups that such a queue tells apart; those beyond share.
pub const QUEUE_GROUPS: usize = 64;

/// NUMA nodes that such a queue tells apart; those beyond share.
pub const QUEUE_NODES: usize = 16;

/// Cache groups that the waiters of an inflated lock are counted by; those beyond share.
pub const FAT_GROUPS: usize = 16;

/// How often a holder finds groups calm before those that come are not counted as here any more.
pub const CALM_LOOKS: u32 = 64;

/// What the process has once.
#[derive(Debug)]
pub struct OfProcess<T>(T);

impl<T> OfProcess<T> {
    /// That.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// What it is.
    #[inline(always)]
    pub const fn get(&'static self) -> &'static T {
        &self.0
    }
}

// SAFETY: every call goes to the process's own pool.
unsafe impl<N: 'static, P: Pool<N>> Pool<N> for OfProcess<P> {
    fn take(&self) -> &'static N {
        self.0.take()
    }

    unsafe fn give(&self, node: &'static N) {
        // SAFETY: passed on.
        unsafe { self.0.give(node) };
    }

    unsafe fn leave(&self, node: &'static N) {
        // SAFETY: passed on.
        unsafe { self.0.leave(node) };
    }

    unsafe fn return_left(&self, node: &'static N) {
        // SAFETY: passed on.
        unsafe { self.0.return_left(node) };
    }

    fn number(&self, node: &'static N) -> u32 {
        self.0.number(node)
    }

    unsafe fn at(&self, number: u32) -> &'static N {
        // SAFETY: passed on.
        unsafe { self.0.at(number) }
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// In loom's world, makes it before there are threads.
pub const fn beforehand<T>(_: &OfProcess<T>) {}

/// What a hash of an object's address begins with.
#[inline(always)]
#[must_use]
pub const fn key_of(address: usize) -> usize {
    address
}

/// Maps room for `count` slots whose atoms are all zero; `None` if the kernel
/// refuses, and the reserve is used up.  `make` says what a slot is where zero bytes are none.
#[must_use]
pub fn map_slots<S>(count: usize, _make: fn() -> S) -> Option<NonNull<S>> {
    map_room(count * size_of::<S>()).map(NonNull::cast)
}

/// Gives that room back, which nobody has used.
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

/// Pages that are there from the beginning, and cost nothing until they are touched: a
/// process whose address space is used up can still wait.
#[repr(C, align(4096))]
struct Reserve(UnsafeCell<[u8; RESERVE]>);

/// The first five segments of an arena whose nodes are cache lines, or the first few of
/// several.
const RESERVE: usize = 31 * PAGE;

const _: () = assert!(align_of::<Reserve>() == PAGE);

// SAFETY: each piece of it is handed out once.
unsafe impl Sync for Reserve {}

static PAGES: Reserve = Reserve(UnsafeCell::new([0; RESERVE]));

/// Bytes of it that are handed out.
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

/// Takes a piece of the reserve back, if nobody got one since; false if it is none.
fn to_reserve(piece: NonNull<u8>, bytes: usize) -> bool {
    let begin = (piece.as_ptr() as usize).wrapping_sub(PAGES.0.get() as usize);
    let end = begin.wrapping_add(bytes.next_multiple_of(PAGE));
    let is_reserve = begin < RESERVE;
    if is_reserve {
        let _ = RESERVED.compare_exchange(end, begin, Ordering::Relaxed, Ordering::Relaxed);
    }
    is_reserve
}

/// Maps `bytes` of zeroes, which cost nothing until they are touched; `None` if
/// the kernel refuses.  The flags are those of an anonymous mapping.
fn map_pages(bytes: usize, flags: usize) -> Option<NonNull<u8>> {
    // SAFETY: an anonymous mapping where the kernel pleases disturbs nothing.
    let at = unsafe { call(number::MMAP, [0, bytes, READ_WRITE, flags, usize::MAX, 0]) };
    if (-4095..=0).contains(&at) {
        return None;
    }
    NonNull::new(at as *mut u8)
}

/// Puts whole pages into the memory of the NUMA node on which the calling thread runs, what
/// is in them included; false if the kernel refuses, as it may in a container.
///
/// Pages that are larger than [`PAGE`] are the kernel's to refuse.
#[must_use]
pub fn place_here(pages: *const u8, bytes: usize) -> bool {
    const MPOL_PREFERRED: usize = 1;
    const MPOL_MF_MOVE: usize = 2;
    let mut node = 0u32;
    let mut nodes = [0u64; NODES / 64];
    // SAFETY: the kernel writes the number of the node alone, and reads the set of nodes;
    // where pages lie changes nothing of what is in them.
    unsafe {
        let asked = call(number::GETCPU, [0, &raw mut node as usize, 0, 0, 0, 0]);
        let Some(word) = nodes.get_mut(node as usize / 64) else {
            return false;
        };
        *word = 1 << (node % 64);
        // The kernel takes one bit less than it is told.
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

/// Maps a page that a forked child finds zeroed; `None` if the kernel cannot
/// (before Linux 4.14), or what stands for the kernel does not.
#[must_use]
pub fn page_of_zeroes_in_child() -> Option<NonNull<u8>> {
    let page = map_pages(PAGE, PRIVATE_ANONYMOUS_NORESERVE)?;
    (!takes_any_advice()? && advise_to_wipe(page)).then_some(page)
}

/// Advises that a forked child find this page zeroed, which the caller has mapped; whether
/// the advice is taken.
fn advise_to_wipe(page: NonNull<u8>) -> bool {
    // SAFETY: the advice concerns a page that the caller has mapped, and nothing else.
    let result = unsafe {
        call(
            number::MADVISE,
            [page.as_ptr() as usize, PAGE, MADV_WIPEONFORK, 0, 0, 0],
        )
    };
    result == 0
}

/// Whether such advice is taken where no kernel takes it, for memory that processes share;
/// `None` if none can be mapped.  Some emulators answer every advice with success, since most
/// are hints, and do not follow this one.
fn takes_any_advice() -> Option<bool> {
    let shared = map_pages(PAGE, SHARED_ANONYMOUS)?;
    let taken = advise_to_wipe(shared);
    // SAFETY: mapped above, and nobody else has heard of it.
    unsafe { call(number::MUNMAP, [shared.as_ptr() as usize, PAGE, 0, 0, 0, 0]) };
    Some(taken)
}
