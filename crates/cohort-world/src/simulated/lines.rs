//! Memory of a simulated machine, as a workload uses it.

use super::super::{Block, Memory, WORDS};
use cohort_machine::{Owner, door};
use std::alloc::Layout;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The memory of one run, kept until its last user drops it.
pub struct Arena(cohort_machine::Memory);

// SAFETY: an owner that has a share of an arena only keeps it alive; its methods are called
// by the one world that owns it, which stays on the host thread that made it.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(cohort_machine::Memory::new()))
    }

    /// Memory for a part of a lock. It lives as long as the arena, and its content is not dropped,
    /// as the engine drops nothing.
    pub(super) fn block(self: &Arc<Self>, layout: Layout) -> Block {
        let at = self.0.allocate(layout, Owner::Lock);
        Block::of(Arc::clone(self) as Arc<dyn Send + Sync>, at, layout)
    }

    /// The engine's view of it.
    pub(super) const fn memory(&self) -> &cohort_machine::Memory {
        &self.0
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").finish_non_exhaustive()
    }
}

/// Lines of the simulated machine.
#[derive(Debug)]
pub struct Lines {
    first: usize,
    lines: usize,
    bytes: usize,
    /// Notes, outside the machine's lines.
    notes: Box<[AtomicU64]>,
    _arena: Arc<Arena>,
}

impl Lines {
    /// Fresh lines, `bytes` long each.
    pub(super) fn new(arena: &Arc<Arena>, lines: usize, bytes: usize) -> Self {
        Self {
            first: arena.memory().bytes(lines.max(1) * bytes),
            lines,
            bytes,
            notes: (0..lines.min(1)).map(|_| AtomicU64::new(0)).collect(),
            _arena: Arc::clone(arena),
        }
    }

    fn word(&self, line: usize, word: usize) -> &AtomicU64 {
        assert!(
            line < self.lines && word < WORDS,
            "there is no word {word} of line {line}"
        );
        let address = self.first + line * self.bytes + word * size_of::<AtomicU64>();
        // SAFETY: within the zeroed bytes that these lines are, whose alignment is
        // that of lines; only atomics are made of them, and the arena stays.
        unsafe { AtomicU64::from_ptr(address as *mut u64) }
    }
}

impl Memory for Lines {
    fn read(&self, line: usize, word: usize) -> u64 {
        let word = self.word(line, word);
        door::load(word.as_ptr() as usize);
        word.load(Ordering::Relaxed)
    }

    fn write(&self, line: usize, word: usize, value: u64) {
        let word = self.word(line, word);
        door::store(word.as_ptr() as usize);
        word.store(value, Ordering::Relaxed);
    }

    fn add(&self, line: usize, word: usize, value: u64) -> u64 {
        let word = self.word(line, word);
        door::read_modify_write(word.as_ptr() as usize, || true);
        word.fetch_add(value, Ordering::Relaxed)
    }

    fn ahead(&self, lines: Range<usize>) {
        door::load_ahead(lines.map(|line| self.word(line, 0).as_ptr() as usize));
    }

    fn note(&self, line: usize, value: u64) -> u64 {
        self.notes[line].swap(value, Ordering::Relaxed)
    }
}
