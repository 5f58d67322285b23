//! A thread's record, settled in its process and its thread: its id and its names.

use super::super::{Cache, ID_BITS};
use super::ThreadRecord;
use super::atoms::{AtomicU32, Ordering, compiler_fence};
use super::generation::{generation, generation_so_far};
use super::identity::{drawn_of, find_id, name_of};

/// The number of names drawn so far.
static NAMES: AtomicU32 = AtomicU32::new(0);

impl ThreadRecord {
    /// Forgets the parent process's state; called before `id` or the caches are used.
    /// [`is_gone`](super::is_gone) makes the caches' former nodes available again, since the old id
    /// names no thread of this process.
    #[inline(always)]
    pub fn settle(&self) {
        if !self.is_settled() {
            self.start_over();
        }
    }

    /// Whether there is nothing to forget.
    #[inline(always)]
    pub fn is_settled(&self) -> bool {
        let here = generation_so_far();
        here != 0 && self.generation.get() == here
    }

    /// The thread's number among those running; valid once [settled](Self::settle).
    #[inline(always)]
    pub fn id(&self) -> u32 {
        self.id.get()
    }

    /// The thread's name in the objects that it owns: at least 1, different from the name of every
    /// other thread of the process, ended threads included, and unchanged in a forked child.
    ///
    /// Drawn at the first use; see `name_of`.
    #[inline(always)]
    pub fn name(&self) -> usize {
        match self.name.get() {
            0 => self.draw_name(),
            name => name,
        }
    }

    /// A number that is unique in the process, whereas the [`id`](Self::id) is reused: the number
    /// drawn for the [name](Self::name), above the id.
    #[inline(always)]
    pub(super) fn number(&self) -> u64 {
        self.settle();
        u64::from(drawn_of(self.name())) << ID_BITS | u64::from(self.id())
    }

    #[cold]
    #[inline(never)]
    fn draw_name(&self) -> usize {
        self.settle();
        let drawn = NAMES.fetch_add(1, Ordering::Relaxed);
        let name = name_of(drawn, self.id());
        // A signal handler may have drawn a name, and own objects by it.
        if self.name.get() == 0 {
            self.name.set(name);
        }
        self.name.get()
    }

    #[cold]
    fn start_over(&self) {
        self.id.set(find_id(self.id.get()));
        self.caches.iter().for_each(Cache::forget);
        // Last: an earlier handler finds the whole task undone, and does it. Nodes that it leaves
        // in the caches are then lost until this thread ends.
        compiler_fence(Ordering::SeqCst);
        self.generation.set(generation());
    }
}
