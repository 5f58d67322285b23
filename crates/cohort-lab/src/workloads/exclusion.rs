//! A lock, as its user calls it.

use super::pthread;
use cohort::{Delegate, Delegated};

/// A lock under load, called the way a program calls it: inlined where its users have
/// it inlined, through a library's function where they have that.
pub trait Exclusion: Sync {
    /// What a thread brings along: a queue node, or nothing.
    type Token;

    /// A token for one thread, which keeps it for all of its acquisitions.
    fn token(&self) -> Self::Token;

    /// Runs `section` while holding the lock, in whichever thread.  Blocks.
    fn with<R: Send>(&self, token: &mut Self::Token, section: impl FnOnce() -> R + Send) -> R;

    /// Takes and releases the lock `count` times: with a body of its own for locks that
    /// their users compile in another language.
    #[inline]
    fn pairs(&self, token: &mut Self::Token, count: u32) {
        for _ in 0..count {
            self.with(token, || ());
        }
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

/// A value on cache lines of its own, so that it is measured and not its neighbours.
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

/// One of our locks by itself.
#[derive(Debug, Default)]
pub struct Raw<L>(pub L);

impl<L: cohort::RawLock> Exclusion for CachePadded<Raw<L>> {
    type Token = CachePadded<L::Context>;

    fn token(&self) -> CachePadded<L::Context> {
        CachePadded::default()
    }

    #[inline]
    fn with<R>(&self, token: &mut CachePadded<L::Context>, section: impl FnOnce() -> R) -> R {
        // SAFETY: no other acquisition uses a token that is borrowed mutably; it and the lock stay for the
        // release, since no workload's section unwinds.
        unsafe {
            self.0.0.acquire(&token.0);
            let result = section();
            self.0.0.release(&token.0);
            result
        }
    }
}
