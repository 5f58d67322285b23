//! The threads that sleep on a word in the kernel.

/// The sleepers, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    queue: Vec<Sleeper>,
}

#[derive(Clone, Copy, Debug)]
struct Sleeper {
    thread: usize,
    address: usize,
    expected: u32,
    bits: u32,
}

impl Sleepers {
    /// Appends a thread that sleeps on a word with the value `expected`.
    pub(crate) fn add(&mut self, thread: usize, address: usize, expected: u32, bits: u32) {
        self.queue.push(Sleeper {
            thread,
            address,
            expected,
            bits,
        });
    }

    /// Removes and returns the first thread that sleeps on that word and shares one of `bits`.
    pub(crate) fn take(&mut self, address: usize, bits: u32) -> Option<usize> {
        let is_meant = |one: &Sleeper| one.address == address && one.bits & bits != 0;
        let place = self.queue.iter().position(is_meant)?;
        Some(self.queue.remove(place).thread)
    }

    /// Removes a thread.
    pub(crate) fn remove(&mut self, thread: usize) {
        self.queue.retain(|one| one.thread != thread);
    }

    /// Requeues the first thread that sleeps on `from` at the end, on `to`; returns whether there
    /// was one.
    pub(crate) fn move_one(&mut self, from: usize, to: usize) -> bool {
        let Some(place) = self.queue.iter().position(|one| one.address == from) else {
            return false;
        };
        let sleeper = self.queue.remove(place);
        self.queue.push(Sleeper {
            address: to,
            ..sleeper
        });
        true
    }

    /// A thread's word, and the value expected there.
    pub(crate) fn word(&self, thread: usize) -> Option<(usize, u32)> {
        let sleeper = self.queue.iter().find(|one| one.thread == thread)?;
        Some((sleeper.address, sleeper.expected))
    }
}
