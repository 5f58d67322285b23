//! Code of modules that a process closes: of a place there, only the address is known.

use super::{MODULES, PATH, Records};
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// A module's code, which the process may have closed.
#[derive(Debug)]
#[repr(C)]
pub struct Module {
    /// Its first address.
    pub from: AtomicU64,
    /// The first address after it.
    pub to: AtomicU64,
    /// Its offset in the file.
    pub offset: AtomicU64,
    /// Whether it was closed.
    pub is_closed: AtomicU32,
    /// Bytes of the path.
    pub length: AtomicU32,
    /// The file.
    pub path: [AtomicU8; PATH],
}

impl Module {
    /// Whether that is its file.
    #[must_use]
    pub fn is_of(&self, path: &[u8]) -> bool {
        self.length.load(Relaxed) as usize == path.len() && self.path().eq(path.iter().copied())
    }

    /// Whether that has the same file.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.path().eq(other.path())
    }

    /// The bytes of its file's path.
    pub fn path(&self) -> impl Iterator<Item = u8> {
        let bytes = self.path.iter().take(self.length.load(Relaxed) as usize);
        bytes.map(|byte| byte.load(Relaxed))
    }
}

impl Records {
    /// The listed modules.
    pub fn modules(&self) -> &[Module] {
        let listed = self.listed_modules.load(Acquire) as usize;
        &self.modules[..listed.min(MODULES)]
    }

    /// The closed modules.
    pub fn closed(&self) -> impl Iterator<Item = &Module> {
        let modules = self.modules().iter();
        modules.filter(|module| module.is_closed.load(Acquire) != 0)
    }
}
