//! Threads' numbers. A number is a thread's until the thread has ended, and another thread's only
//! after all others have been used: as the kernel's are natively.
//!
//! A destructor of thread-local data frees the number. Destructors that run later may use locks,
//! under another number, which a further destructor frees: up to four. After that a number stays in
//! use, and the nodes in its thread's caches are lost.

use super::super::ID_BITS;
use super::{ThreadRecord, std};
use core::cell::Cell;
use core::mem::MaybeUninit;
use core::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

/// The largest number, so that a full table is the process's end instead of two equal numbers.
const LAST: u32 = (1 << ID_BITS) - 1;

/// The numbers in use.
struct Numbers {
    /// The last one drawn.
    last: u32,
    /// A bit for each number.
    used: Vec<u64>,
}

static NUMBERS: Mutex<Numbers> = Mutex::new(Numbers {
    last: 0,
    used: Vec::new(),
});

fn numbers() -> MutexGuard<'static, Numbers> {
    // A panic below leaves a valid table.
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Numbers {
    fn bit(number: u32) -> (usize, u64) {
        ((number / u64::BITS) as usize, 1 << (number % u64::BITS))
    }

    fn has(&self, number: u32) -> bool {
        let (word, bit) = Self::bit(number);
        self.used.get(word).is_some_and(|used| used & bit != 0)
    }

    /// The next free number, at least 1.
    fn draw(&mut self, last: u32) -> u32 {
        let after = |number: u32| if number < last { number + 1 } else { 1 };
        let mut number = after(self.last);
        for _ in 0..last {
            if !self.has(number) {
                let (word, bit) = Self::bit(number);
                if self.used.len() <= word {
                    self.used.resize(word + 1, 0);
                }
                self.used[word] |= bit;
                self.last = number;
                return number;
            }
            number = after(number);
        }
        panic!("more than {last} threads use locks");
    }

    fn free(&mut self, number: u32) {
        let (word, bit) = Self::bit(number);
        self.used[word] &= !bit;
    }
}

std::thread_local! {
    // Has no destructor, so that it is valid after the thread's last one. A system without storage
    // of that kind gives a fresh record then.
    // SAFETY: cells of numbers, atoms and pointers, which may all be zero.
    static RECORD: ThreadRecord = const { unsafe { MaybeUninit::zeroed().assume_init() } };
}

/// The calling thread's words.
#[inline(always)]
#[must_use]
pub fn thread() -> &'static ThreadRecord {
    // SAFETY: the words live as long as their thread, which is the one running; the type is not
    // `Sync`, so the reference cannot leave it.
    RECORD.with(|record| unsafe { &*ptr::from_ref(record) })
}

/// Ends a thread's number.
struct End(Cell<u32>);

impl Drop for End {
    fn drop(&mut self) {
        let number = self.0.get();
        if number != 0 {
            // A later destructor that uses a lock draws another number.
            thread().generation.set(UNSETTLED);
            numbers().free(number);
        }
    }
}

/// A record's generation before its first use.
const UNSETTLED: u32 = 0;

macro_rules! ends {
    ($($end:ident)+) => {
        std::thread_local! {
            $(static $end: End = const { End(Cell::new(0)) };)+
        }

        /// Has the number freed by the first destructor that has not run yet; returns the number
        /// that it had, or 0.
        fn freed_at_end(number: u32) -> u32 {
            let exchange = |end: &End| end.0.replace(number);
            let none = Err(());
            $(let none = none.or_else(|()| $end.try_with(exchange).map_err(|_| ()));)+
            none.unwrap_or(0)
        }
    };
}
ends! { FIRST SECOND THIRD FOURTH }

/// The calling thread's number, newly drawn.
#[cold]
pub(super) fn find_id(_known: u32) -> u32 {
    let number = numbers().draw(LAST);
    let before = freed_at_end(number);
    if before != 0 {
        // The system has taken the record with that number away before this destructor.
        numbers().free(before);
    }
    number
}

/// Whether no thread has that number.
#[must_use]
pub fn is_gone(number: u32) -> bool {
    !numbers().has(number)
}

/// The name of a thread that has drawn a number: at least 1.
#[inline(always)]
pub(super) const fn name_of(drawn: u32, _id: u32) -> usize {
    drawn as usize + 1
}

/// The number drawn for that name.
#[inline(always)]
pub(super) const fn drawn_of(name: usize) -> u32 {
    (name - 1) as u32
}

/// The calling thread's priority under a real-time policy; the standard library knows none.
#[must_use]
pub const fn priority() -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::thread_id;

    #[test]
    fn a_number_is_drawn_again_after_all_others() {
        let mut numbers = Numbers {
            last: 0,
            used: Vec::new(),
        };
        assert_eq!([1, 2, 3].map(|_| numbers.draw(4)), [1, 2, 3]);
        numbers.free(2);
        assert!(!numbers.has(2) && numbers.has(3) && !numbers.has(1_000));
        assert_eq!([1, 2].map(|_| numbers.draw(4)), [4, 2]);
    }

    /// Uses a lock when its thread ends, and says by which number.
    struct Late(std::sync::mpsc::Sender<u32>);

    impl Drop for Late {
        fn drop(&mut self) {
            self.0.send(thread_id()).expect("the test waits");
        }
    }

    #[test]
    fn a_number_ends_with_its_thread_and_destructors_have_others() {
        std::thread_local! {
            static BEFORE: Cell<Option<Late>> = const { Cell::new(None) };
            static AFTER: Cell<Option<Late>> = const { Cell::new(None) };
        }
        let (late, said) = std::sync::mpsc::channel();
        let body = move || {
            // Destroyed in the opposite order, or in any.
            BEFORE.set(Some(Late(late.clone())));
            let here = thread_id();
            AFTER.set(Some(Late(late)));
            assert!(!is_gone(here));
            here
        };
        let here = std::thread::spawn(body).join().expect("it ends");
        for number in said.iter().chain([here]) {
            assert!(is_gone(number), "{number}");
        }
    }
}
