//! Mode changes of adaptive locks, for an observer.

use core::fmt;

/// A mode of an adaptive lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Mode {
    /// The default lock's word alone, for which its waiters compete.
    Word,
    /// The default lock's word, with a queue by cache groups that has a place for each CPU.
    Queue,
    /// The same with few places, while CPUs are oversubscribed.
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

    /// The mode's printed name.
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

/// A lock's change to another mode.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The address of the lock, or of its object while it is inflated.
    pub lock: usize,
    /// The old mode.
    pub from: Mode,
    /// The new mode.
    pub to: Mode,
    /// The cause.
    pub why: fmt::Arguments<'a>,
}

impl fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (AsItIs(self.from.name()), AsItIs(self.to.name()));
        write!(f, "lock {:#x}: {from} to {to}: {}", self.lock, self.why)
    }
}

/// A text without padding or truncation. The interposer has no other messages, and is a hundredth
/// smaller this way.
#[derive(Debug)]
pub(crate) struct AsItIs<'a>(pub &'a str);

impl fmt::Display for AsItIs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An observer of such locks. Any thread may call both functions while it holds the lock or waits
/// for it; they must not use locks.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// The calling thread has acquired a lock of that mode after a wait.
    pub waited: fn(Mode),
    /// A lock has changed its mode.
    pub changed: fn(&Change<'_>),
}
