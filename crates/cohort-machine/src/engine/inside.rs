//! The threads that are in plain memory, between the beginning and the end of an access: only where
//! time does not decide.

/// All of them.
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
    /// A thread begins to touch plain memory.
    ///
    /// # Panics
    /// If another is in the same memory, one of the two writing.
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

    /// It has done so.
    pub(crate) fn leave(&mut self, thread: usize, address: usize) {
        let own = |one: &Access| one.thread == thread && one.address == address;
        if let Some(place) = self.accesses.iter().rposition(own) {
            self.accesses.swap_remove(place);
        }
    }
}
