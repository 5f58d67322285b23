//! What locks that adapt say of themselves, where somebody wants to know.

use core::fmt;

/// A mode in which a lock that adapts can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Mode {
    /// The default lock's word alone, for which its waiters compete.
    Word,
    /// The default lock's word, with a queue by cache groups that has a place for each CPU.
    Queue,
    /// The same with few places, since others want the waiters' CPUs.
    ShortQueue,
    /// `glk` by its ticket lock.
    Ticket,
    /// `glk` by its queue.
    Mcs,
    /// `glk` by its mutex.
    Mutex,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Word,
        Self::Queue,
        Self::ShortQueue,
        Self::Ticket,
        Self::Mcs,
        Self::Mutex,
    ];

    /// The name by which people are told.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Queue => "queue",
            Self::ShortQueue => "short queue",
            Self::Ticket => "ticket",
            Self::Mcs => "mcs",
            Self::Mutex => "mutex",
        }
    }
}

/// That a lock goes on in another mode.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The address of the lock, or of the object that it serves while that is inflated.
    pub lock: usize,
    /// What it was.
    pub from: Mode,
    /// What it is now.
    pub to: Mode,
    /// What made it change.
    pub why: fmt::Arguments<'a>,
}

impl fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (AsItIs(self.from.name()), AsItIs(self.to.name()));
        write!(f, "lock {:#x}: {from} to {to}: {}", self.lock, self.why)
    }
}

/// A text that is neither padded nor cut, by which the interposer, which says nothing else, is a
/// hundredth smaller.
#[derive(Debug)]
pub(crate) struct AsItIs<'a>(pub &'a str);

impl fmt::Display for AsItIs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What is told of such locks.  Both functions may be called by any thread, while it holds the
/// lock or waits for it, and must not use locks themselves.
#[derive(Clone, Copy, Debug)]
pub struct Hearer {
    /// The calling thread has waited for a lock of that mode, and has it.
    pub waited: fn(Mode),
    /// A lock goes on in another mode.
    pub changed: fn(&Change<'_>),
}
