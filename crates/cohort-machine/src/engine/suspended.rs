//! A waiter that the engine looks for: see `foreseen.rs`.

use super::access::Access;
use super::clock::Ticks;
use super::lines::LineId;
use std::mem::MaybeUninit;
use std::ptr;

/// The next look of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foreseen {
    /// The word, in the memory of a lock.
    pub(crate) word: *const u32,
    /// The access in vain.
    pub(crate) access: Access,
    ready: Ready,
}

impl Foreseen {
    /// Whether the wait is over with the word's present value.
    pub(crate) fn is_over(&self) -> bool {
        // SAFETY: the word is in a lock that the suspended fiber uses; all threads are on this host
        // thread.
        let value = unsafe { self.word.read_volatile() };
        // SAFETY: the predicate stays until that fiber resumes.
        unsafe { self.ready.is_true(value) }
    }

    /// A look at that word, in vain unless it is `ready`.
    pub(crate) fn new<F: Fn(u32) -> bool>(word: *const u32, access: Access, ready: &F) -> Self {
        let ready = Ready::new(ready);
        Self {
            word,
            access,
            ready,
        }
    }
}

/// A predicate of a value: a copy if it is small, else where it is. A look in the frame of a
/// suspended fiber would cost the host a miss.
#[derive(Clone, Copy, Debug)]
struct Ready {
    copy: [MaybeUninit<u64>; WORDS],
    place: *const (),
    call: unsafe fn(*const (), u32) -> bool,
}

/// The largest predicate to be copied, in words.
const WORDS: usize = 2;

impl Ready {
    fn new<F: Fn(u32) -> bool>(ready: &F) -> Self {
        /// # Safety
        /// An `F` is there.
        unsafe fn call<F: Fn(u32) -> bool>(ready: *const (), value: u32) -> bool {
            // SAFETY: the caller's.
            unsafe { (*ready.cast::<F>())(value) }
        }
        let place: *const F = ready;
        let mut copy = [MaybeUninit::uninit(); WORDS];
        let is_small = size_of::<F>() <= size_of_val(&copy) && align_of::<F>() <= align_of::<u64>();
        if is_small {
            // SAFETY: it has room. The copy is called while the original stays, and never dropped.
            unsafe {
                copy.as_mut_ptr()
                    .cast::<F>()
                    .copy_from_nonoverlapping(place, 1)
            };
        }
        Self {
            copy,
            place: if is_small { ptr::null() } else { place.cast() },
            call: call::<F>,
        }
    }

    /// # Safety
    /// The predicate that was given stays.
    unsafe fn is_true(&self, value: u32) -> bool {
        let place = if self.place.is_null() {
            self.copy.as_ptr().cast()
        } else {
            self.place
        };
        // SAFETY: of that type, by the caller and by `new`.
        unsafe { (self.call)(place, value) }
    }
}

/// A wait with its fiber suspended between two looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspended {
    pub(crate) look: Foreseen,
    /// Whether the step of the look has begun, so that only its turn is missing.
    pub(crate) has_arrived: bool,
    /// A look by a load-linked and a store-conditional.
    pub(crate) linked: Linked,
}

impl Suspended {
    pub(crate) const fn new(look: Foreseen) -> Self {
        Self {
            look,
            has_arrived: false,
            linked: Linked::Before,
        }
    }
}

/// An exchange between two of its steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Linked {
    /// Before a load-linked.
    #[default]
    Before,
    /// The load-linked waits for its turn: none yet, or that one.
    Waits(Option<Ticks>),
    /// The load-linked saw that version of the line.
    Reserved(LineId, u32),
    /// The store-conditional has arrived.
    Stores(LineId, u32),
    /// A pair that holds the line has arrived.
    Holds,
}
