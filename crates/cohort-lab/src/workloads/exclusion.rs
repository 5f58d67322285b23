//! Locks as their users call them.

use super::pthread;
use cohort::{Delegate, Delegated};

/// Lock under load, called as in programs: inlined where its users inline it, otherwise through a
/// library's function.
pub trait Exclusion: Sync {
    /// Per-thread state, such as a queue node.
    type Token;

    /// Creates a thread's token, for all of its acquisitions.
    fn token(&self) -> Self::Token;

    /// Runs `section` with the lock held, in any thread. Blocks.
    fn with<R: Send>(&self, token: &mut Self::Token, section: impl FnOnce() -> R + Send) -> R;

    /// Acquires and releases the lock `count` times. Overridden for locks that their users compile
    /// in another language.
    #[inline]
    fn pairs(&self, token: &mut Self::Token, count: u32) {
        for _ in 0..count {
            self.with(token, || ());
        }
    }
}

/// Reader–writer lock under load, called as in programs.
pub trait Sharing: Sync {
    /// Runs `section` with a read lock held. Blocks.
    fn reading<R>(&self, section: impl FnOnce() -> R) -> R;

    /// Runs `section` with the write lock held. Blocks.
    fn writing<R>(&self, section: impl FnOnce() -> R) -> R;
}

impl Sharing for CachePadded<pthread::RwLock> {
    #[inline]
    fn reading<R>(&self, section: impl FnOnce() -> R) -> R {
        self.0.reading(section)
    }

    #[inline]
    fn writing<R>(&self, section: impl FnOnce() -> R) -> R {
        self.0.writing(section)
    }
}

impl Exclusion for pthread::Mutex {
    type Token = ();

    fn token(&self) {}

    #[inline]
    fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
        pthread::Mutex::with(self, section)
    }
}

/// Value on cache lines of its own, to exclude false sharing.
#[repr(align(128))]
#[derive(Debug, Default)]
pub struct CachePadded<T>(pub T);

impl Exclusion for CachePadded<parking_lot::Mutex<()>> {
    type Token = ();

    fn token(&self) {}

    #[inline]
    fn with<R>(&self, (): &mut (), section: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock();
        section()
    }
}

impl<D: Delegate> Exclusion for CachePadded<Delegated<(), D>> {
    type Token = ();

    fn token(&self) {}

    #[inline]
    fn with<R: Send>(&self, (): &mut (), section: impl FnOnce() -> R + Send) -> R {
        self.0.run(|()| section())
    }
}

/// Lock of Cohort's, without an adapter.
#[derive(Debug, Default)]
pub struct Raw<L>(pub L);

impl<L: cohort::RawLock> Exclusion for CachePadded<Raw<L>> {
    type Token = CachePadded<L::Context>;

    fn token(&self) -> CachePadded<L::Context> {
        CachePadded::default()
    }

    #[inline]
    fn with<R>(&self, token: &mut CachePadded<L::Context>, section: impl FnOnce() -> R) -> R {
        // SAFETY: a token is borrowed mutably, so one acquisition uses it; it and the lock stay
        // until the release, since no workload's section unwinds.
        unsafe {
            self.0.0.acquire(&token.0);
            let result = section();
            self.0.0.release(&token.0);
            result
        }
    }
}
