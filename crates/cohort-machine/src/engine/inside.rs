//! Threads in the middle of a plain memory access, under schedules without time.

/// All such threads.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    accesses: Vec<Access>,
}

#[derive(Debug)]
struct Access {
    thread: usize,
    address: usize,
    writes: bool,
}

impl Inside {
    /// Records the begin of a plain access.
    ///
    /// # Panics
    /// If another thread accesses the same memory, and one of the two writes.
    pub(crate) fn enter(&mut self, thread: usize, address: usize, writes: bool) {
        let here = |other: &&Access| other.address == address && other.thread != thread;
        if let Some(other) = self
            .accesses
            .iter()
            .filter(here)
            .find(|other| other.writes || writes)
        {
            let other = other.thread;
            panic!("threads {other} and {thread} are in the same data at once");
        }
        self.accesses.push(Access {
            thread,
            address,
            writes,
        });
    }

    /// Records its end.
    pub(crate) fn leave(&mut self, thread: usize, address: usize) {
        let own = |one: &Access| one.thread == thread && one.address == address;
        if let Some(place) = self.accesses.iter().rposition(own) {
            self.accesses.swap_remove(place);
        }
    }
}
