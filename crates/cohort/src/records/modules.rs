//! Code of modules that a process closes: what is known of a place there is its address.

use super::{MODULES, PATH, Records};
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Code of a module, which the process may have closed.
#[derive(Debug)]
#[repr(C)]
pub struct Module {
    /// Where it is mapped.
    pub from: AtomicU64,
    /// The first address behind it.
    pub to: AtomicU64,
    /// Where in the file it begins.
    pub offset: AtomicU64,
    /// Whether it has been closed.
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
    /// The modules that are listed.
    pub fn modules(&self) -> &[Module] {
        let listed = self.listed_modules.load(Acquire) as usize;
        &self.modules[..listed.min(MODULES)]
    }

    /// The modules that have been closed.
    pub fn closed(&self) -> impl Iterator<Item = &Module> {
        let modules = self.modules().iter();
        modules.filter(|module| module.is_closed.load(Acquire) != 0)
    }
}
