//! Rooms for locks, of a few sizes.

use cohort::host::Arena;
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// The alignment of rooms: two cache lines, which are fetched together.
const LINES: usize = 128;

/// A size in units of two lines.
#[repr(C, align(128))]
struct Room<const COUNT: usize>(UnsafeCell<MaybeUninit<[[u8; LINES]; COUNT]>>);

impl<const COUNT: usize> Default for Room<COUNT> {
    fn default() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }
}

// SAFETY: a room is accessed only as the lock in it.
unsafe impl<const COUNT: usize> Send for Room<COUNT> {}
// SAFETY: as above.
unsafe impl<const COUNT: usize> Sync for Room<COUNT> {}

macro_rules! sizes {
    ($($count:literal)+) => {
        /// A free room of that size or more.
        pub fn take(room: Layout) -> NonNull<u8> {
            $({
                static ROOMS: Arena<Room<$count>> = Arena::bare();
                if room.size() <= $count * LINES {
                    assert!(room.align() <= LINES, "a lock on larger lines");
                    return NonNull::from(ROOMS.take_uncached()).cast();
                }
            })+
            panic!("a lock of {} bytes", room.size())
        }
    };
}
sizes!(1 2 4 8 16 32 64 128 256 512);
