//! Whether a process that can be watched while it runs is watched, and which threads' records
//! belong to that watch.
//!
//! A process reads one word before each of its lock operations, and records nothing while it is 0.
//! A watching command puts a fresh number there. A thread that finds another number than its
//! record's drops the record: it recorded nothing between the two watches. So a lock held at that
//! time has no owner until it is acquired again.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `word` | commands; threads that end an abandoned watch | the present watch's number; 0: none |
//! | `last` | commands | the greatest number so far |
//! | `beats` | the watching command | how often it has looked |
//! | `heard` | threads of the process | `beats` at its last change, and the second of that |
//! | [`Follows`] | one thread | the watch of its record |

use crate::door::{AtomicU32, AtomicU64, Order, orders};
use crate::support::padded::CachePadded;

orders! {
    /// A thread that sees a watch sees the command's preparations for it.
    WATCH_BEGIN = Release;
    /// The same, from the thread's side.
    WATCH_SEEN = Acquire;
    /// A command that sees a record of this watch sees nothing older in it.
    FOLLOW = Release;
    /// The same, from the command's side.
    FOLLOWS = Acquire;
}

/// The number of an endless watch: of a process started under the command.
pub const ALWAYS: u32 = 1;

/// Seconds without a look after which a watch is over.
pub const PATIENCE: u32 = 5;

/// Whether the process is watched; all zero when new: unwatched.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Watch {
    word: CachePadded<AtomicU32>,
    last: AtomicU32,
    beats: AtomicU32,
    heard: AtomicU64,
}

impl Watch {
    /// The present watch's number, for repeated looks; 0: unwatched.
    pub fn word(&self) -> &AtomicU32 {
        &self.word.0
    }

    /// The present watch's number; 0: unwatched.
    #[inline(always)]
    pub fn number(&self) -> u32 {
        self.word.0.load(WATCH_SEEN)
    }

    /// Begins an endless watch.
    pub fn begin_for_ever(&self) {
        self.word.0.store(ALWAYS, WATCH_BEGIN);
    }

    /// Begins a watch in place of the watch `instead`, 0 for none; returns its number, or `None` if
    /// another watch is there.
    pub fn begin(&self, instead: u32) -> Option<u32> {
        let number = self
            .last
            .load(Order::RELAXED)
            .max(instead)
            .max(ALWAYS)
            .checked_add(1)?;
        self.word
            .0
            .compare_exchange(instead, number, WATCH_BEGIN, Order::RELAXED)
            .ok()?;
        self.last.store(number, Order::RELAXED);
        Some(number)
    }

    /// Ends that watch, if it is the present one.
    pub fn end(&self, number: u32) {
        let _ = self
            .word
            .0
            .compare_exchange(number, 0, Order::RELAXED, Order::RELAXED);
    }

    /// Counts a look of the command.
    pub fn beat(&self) {
        self.beats.fetch_add(1, Order::RELAXED);
    }

    /// The number of looks.
    pub fn beats(&self) -> u32 {
        self.beats.load(Order::RELAXED)
    }

    /// Ends that watch if its command has not looked for [`PATIENCE`] seconds; threads of the
    /// process check now and then. `second` is the caller's clock.
    pub fn end_if_left(&self, number: u32, second: u32) {
        if number == ALWAYS {
            return;
        }
        let heard = self.heard.load(Order::RELAXED);
        let (beats, at) = ((heard >> 32) as u32, heard as u32);
        let now = self.beats();
        if now != beats {
            let heard = u64::from(now) << 32 | u64::from(second);
            self.heard.store(heard, Order::RELAXED);
        } else if second.saturating_sub(at) > PATIENCE {
            self.end(number);
        }
    }
}

/// The watch of a thread's record; 0 when new: none.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Follows(AtomicU32);

impl Follows {
    /// Whether the record belongs to that watch, for the thread that writes it.
    #[inline(always)]
    pub fn is_mine(&self, number: u32) -> bool {
        self.0.load(Order::RELAXED) == number
    }

    /// Assigns the emptied record to that watch.
    pub fn follow(&self, number: u32) {
        self.0.store(number, FOLLOW);
    }

    /// Whether the record belongs to that watch, for the command.
    pub fn follows(&self, number: u32) -> bool {
        number != 0 && self.0.load(FOLLOWS) == number
    }
}

#[cfg(all(test, not(checker)))]
mod tests {
    use super::*;

    #[test]
    fn no_watch_has_the_number_of_another() {
        let watch = Watch::default();
        assert!(watch.number() == 0);
        let first = watch.begin(0).expect("nobody watches");
        assert!(first > ALWAYS && watch.number() != 0);
        assert_eq!(watch.begin(0), None);
        let second = watch.begin(first).expect("in its place");
        watch.end(first);
        assert_eq!(watch.number(), second);
        watch.end(second);
        assert!(watch.number() == 0);
        assert!(watch.begin(0).expect("nobody watches") > second);
    }

    #[test]
    fn a_watch_that_nobody_sustains_is_ended_and_no_other() {
        let watch = Watch::default();
        let number = watch.begin(0).expect("nobody watches");
        for second in 100..120 {
            watch.beat();
            watch.end_if_left(number, second);
        }
        watch.end_if_left(number, 119 + PATIENCE);
        assert!(watch.number() != 0, "it is not over yet");
        watch.end_if_left(number, 120 + PATIENCE);
        assert!(watch.number() == 0);
        watch.begin_for_ever();
        watch.end_if_left(ALWAYS, 1_000);
        assert!(watch.number() != 0);
    }
}
