//! `Posting<L>`: a lock to which tasks bring sections too, which do not wait there; and
//! [`RunAsync`], the future by which they do.  Only with the feature `std`.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `lock` | threads that bring sections | the lock that runs them |
//! | `state` | threads that come and go, and posters | how many threads are here, in `ONE`s; with `POSTED`: the list is not empty, or its poster is about to come |
//! | `posts` | posters, and threads that are here; it has a lock of its own | what was posted, and nobody has taken yet |
//! | a post's `stage` | its future, and the thread that runs it, which keeps it locked meanwhile | how far the section is, and which task to wake |
//!
//! A thread is counted before it brings its section to the lock, and goes only by an exchange that
//! finds nothing posted; if something is, it takes the list and brings all of it as one section.  A
//! poster puts its post into the list and marks the count.  If somebody was counted, that
//! thread's exchange finds the mark.  If nobody was, the poster comes itself, as a thread that has
//! no section of its own.  So nothing that is posted is forgotten.
//!
//! No access to `state` carries an order.  Of one word every thread sees the same sequence of
//! exchanges, and in it stands between a mark and a thread that goes later an exchange which takes
//! the mark away.  Marks are set and taken away in the list's lock alone, so the thread that took
//! this one away has the list after its poster had it, and finds the post.
//!
//! Wakers are called by the thread that brought the posts to the lock, once it has gone: in no section,
//! and where a waker may come itself.
//!
//! A thread in a section of other data runs none of those that tasks bring: it comes and goes
//! uncounted, and as a poster runs its own section at once.  So does a thread that tries or may give
//! up: what tasks brought it would have to bring to the lock, and wait there for as long as others
//! like.  A poster that finds such threads alone comes itself, and waits for the lock behind them.
//!
//! A future that is dropped locks its post's `stage`: the section is there, and is taken back, or it has
//! been run.  One that is forgotten leaves a post which owns all that it needs.

extern crate std;

use crate::basic::Futex;
use crate::delegated::Delegated;
use crate::delegation::may_serve;
use crate::door::{AtomicU32, Order, Panic, caught, flaws, mutant, panic_on};
use crate::mutex::Mutex;
use cohort_raw::{AbortableDelegate, Delegate, Outcome, Patience, RawLock, Section, TryDelegate};
use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

flaws! {
    /// A thread goes although something is posted.
    GO_ALL_THE_SAME = "posting.go-all-the-same";
    /// A poster leaves its post to others, also where nobody is.
    TRUST_OTHERS = "posting.trust-others";
    /// Wakers are called in the lock.
    WAKE_INSIDE = "posting.wake-inside";
    /// A thread in a section of other data runs what is posted.
    SERVE_INSIDE = "posting.serve-inside";
    /// A thread that tries or may give up is counted, and goes without a look at what is posted.
    COUNT_HURRIED = "posting.count-hurried";
    /// A future that is dropped does not wait for its section.
    DROP_EARLY = "posting.drop-early";
    /// A future that is dropped leaves its section to be run.
    KEEP_DROPPED = "posting.keep-dropped";
}

/// Something is posted.
const POSTED: u32 = 1;
/// One thread here.
const ONE: u32 = 2;

/// What is posted, of whatever type.
trait Post: Send + Sync {
    /// Runs the section, if it was not taken back and has not been run.
    ///
    /// # Safety
    /// The calling thread runs a section of the lock to which this is posted, and lends the
    /// data to nobody else.
    unsafe fn run(&self);

    /// Wakes what waits for the section: its task, and threads for their conditions.  The calling
    /// thread runs no section of that lock.
    fn wake(self: Arc<Self>);
}

/// A lock around `L` to which tasks bring sections too, by [`Delegated::run_async`].  Each thread
/// that comes counts itself here, by two more exchanges on one line than `L` needs, and blocks until
/// it has run what tasks brought meanwhile.
///
/// ```
/// use cohort::delegation::Sanl;
/// use cohort::{Delegated, Posting};
///
/// let total: Delegated<u64, Posting<Sanl>> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
///
/// A thread that tries or gives up here, where `L` lets it, brings nothing that tasks brought; under an
/// `L` in which a holder runs the sections of others it may run theirs. A task that brings a section while only such threads are here waits for the lock in its first poll.
///
/// ```
/// use cohort::{Delegated, Posting, basic::Tas};
/// use std::time::Duration;
///
/// let total: Delegated<u64, Posting<Tas>> = Delegated::from(1);
/// assert_eq!(total.try_run(|total| *total), Some(1));
/// assert_eq!(total.try_run_for(Duration::from_millis(1), |total| *total), Some(1));
/// ```
///
/// Under a lock that does not let threads give up they cannot here:
///
/// ```compile_fail,E0277
/// # use cohort::{Delegated, Posting, basic::Mcs};
/// # use std::time::Duration;
/// let total: Delegated<u64, Posting<Mcs>> = Delegated::from(1);
/// total.try_run_for(Duration::from_millis(1), |total| *total);
/// ```
#[derive(Default)]
pub struct Posting<L> {
    lock: L,
    state: AtomicU32,
    posts: Mutex<Vec<Arc<dyn Post>>, Futex>,
}

impl<L> fmt::Debug for Posting<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Posting").finish_non_exhaustive()
    }
}

/// Wakes what waits for each.
fn wake(posts: Vec<Arc<dyn Post>>) {
    for post in posts {
        // A waker's panic has been reported, and keeps nobody else asleep.
        let _ = caught(|| post.wake());
    }
}

impl<L: Delegate> Posting<L> {
    /// Has a thread that is here run the section, or else the calling one.
    ///
    /// # Safety
    /// It is a section on the data that this lock guards.
    unsafe fn post(&self, post: Arc<dyn Post>) {
        if !may_serve(flaw::SERVE_INSIDE) {
            let own = Vec::from([post]);
            self.serve(&mut L::Context::default(), &own);
            return wake(own);
        }
        let before = self.posts.locking(|posts| {
            posts.push(post);
            self.state.fetch_or(POSTED, Order::RELAXED)
        });
        if before < ONE && !mutant(flaw::TRUST_OTHERS) {
            self.state.fetch_add(ONE, Order::RELAXED);
            self.go(&mut L::Context::default());
        }
    }

    /// What was posted, which is the caller's to serve.
    fn take(&self) -> Vec<Arc<dyn Post>> {
        self.posts.locking(|posts| {
            self.state.fetch_and(!POSTED, Order::RELAXED);
            mem::take(posts)
        })
    }

    /// Brings all of these to the lock, as one section.
    fn serve(&self, cx: &mut L::Context, posts: &[Arc<dyn Post>]) {
        let mut all = || {
            for post in posts {
                // SAFETY: in a section of this lock, and one after the other.
                unsafe { post.run() };
                if mutant(flaw::WAKE_INSIDE) {
                    Arc::clone(post).wake();
                }
            }
        };
        // SAFETY: a post's panic is caught; any thread may run posts, as they are `Sync`.
        self.lock.run(cx, unsafe { Section::new(&mut all) });
    }

    /// The calling thread, which is counted, is so no longer; what was posted meanwhile has been
    /// run.  The context is in no use.
    fn go(&self, cx: &mut L::Context) {
        let mut over = Vec::new();
        let mut state = self.state.load(Order::RELAXED);
        loop {
            if state & POSTED != 0 && !mutant(flaw::GO_ALL_THE_SAME) {
                let posts = self.take();
                // Another thread that goes may have been faster.
                if !posts.is_empty() {
                    self.serve(cx, &posts);
                    over.extend(posts);
                }
                state = self.state.load(Order::RELAXED);
                continue;
            }
            let (old, new) = (state, state - ONE);
            let gone = (self.state).compare_exchange(old, new, Order::RELAXED, Order::RELAXED);
            match gone {
                Ok(_) => return wake(over),
                Err(now) => state = now,
            }
        }
    }

    /// Has the lock run a section, in that way, and what was posted meanwhile.
    #[inline]
    fn counted(
        &self,
        cx: &mut L::Context,
        section: Section<'_>,
        run: fn(&L, &mut L::Context, Section<'_>),
    ) {
        if !may_serve(flaw::SERVE_INSIDE) {
            return run(&self.lock, cx, section);
        }
        self.state.fetch_add(ONE, Order::RELAXED);
        run(&self.lock, cx, section);
        self.go(cx);
    }
}

// SAFETY: all sections are run by the lock inside.
unsafe impl<L: Delegate> Delegate for Posting<L> {
    type Context = L::Context;

    #[inline]
    fn run(&self, cx: &mut L::Context, section: Section<'_>) {
        self.counted(cx, section, L::run);
    }

    fn run_here(&self, cx: &mut L::Context, section: Section<'_>) {
        self.counted(cx, section, L::run_here);
    }
}

impl<L> Posting<L> {
    /// Has the calling thread try, or wait with patience: it is not counted, and so owes tasks
    /// nothing.
    #[inline]
    fn uncounted<R>(&self, run: impl FnOnce(&L) -> R) -> R {
        let counted = mutant(flaw::COUNT_HURRIED);
        if counted {
            self.state.fetch_add(ONE, Order::RELAXED);
        }
        let result = run(&self.lock);
        if counted {
            self.state.fetch_sub(ONE, Order::RELAXED);
        }
        result
    }
}

// SAFETY: as above.
unsafe impl<L: TryDelegate> TryDelegate for Posting<L> {
    #[inline]
    fn try_run(&self, cx: &mut L::Context, section: Section<'_>) -> bool {
        self.uncounted(|lock| lock.try_run(cx, section))
    }
}

// SAFETY: as above.
unsafe impl<L: AbortableDelegate> AbortableDelegate for Posting<L> {
    #[inline]
    fn run_within(
        &self,
        cx: &mut L::Context,
        section: Section<'_>,
        patience: &Patience,
    ) -> Outcome {
        self.uncounted(|lock| lock.run_within(cx, section, patience))
    }
}

/// A section, of whatever type.
type Whole<T, R> = Box<dyn FnOnce(&mut T) -> R + Send>;

/// How far a post is.
struct Stage<T, R> {
    /// To be run.
    section: Option<Whole<T, R>>,
    /// How it ended, until its future has that.
    ended: Option<Result<R, Panic>>,
    /// The task that waits for it.
    waker: Option<Waker>,
}

/// What a future has posted, or is to.
struct Posted<T, L, R> {
    of: Arc<Delegated<T, Posting<L>>>,
    stage: Mutex<Stage<T, R>, Futex>,
}

impl<T, L, R> Posted<T, L, R> {
    /// How it ended, which is the caller's then; if it has not, that waker is woken once it has.
    fn listens(&self, waker: &Waker) -> Option<Result<R, Panic>> {
        let waker = waker.clone();
        // The waker of before is dropped behind the lock.
        let (ended, _former) = self.stage.locking(|stage| match stage.ended.take() {
            None => (None, stage.waker.replace(waker)),
            ended => (ended, None),
        });
        ended
    }
}

impl<T, L, R> Post for Posted<T, L, R>
where
    T: Send,
    L: Delegate,
    R: Send,
{
    unsafe fn run(&self) {
        self.stage.locking(|stage| {
            if let Some(section) = stage.section.take() {
                // SAFETY: the caller's.
                let (ended, _) = unsafe { self.of.inside(section) };
                stage.ended = Some(ended);
            }
        });
    }

    fn wake(self: Arc<Self>) {
        self.of.tell(true);
        let waker = self.stage.locking(|stage| stage.waker.take());
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T, L, R> Drop for Posted<T, L, R> {
    /// Comes after all that other threads did to the post: `Arc` sees to that, of which the checkers
    /// know nothing.
    fn drop(&mut self) {
        // SAFETY: the lock has no contexts, and nobody comes to it any more.
        unsafe { self.stage.raw().acquire(&()) };
    }
}

/// What [`Delegated::run_async`] returns: ready with what the section returned.
///
/// ```
/// use cohort::delegation::CcSynch;
/// use cohort::{Delegated, Posting, RunAsync};
/// use std::sync::Arc;
///
/// fn count(total: &Arc<Delegated<u64, Posting<CcSynch>>>) -> RunAsync<u64, CcSynch, u64> {
///     total.run_async(|total| *total)
/// }
/// ```
#[must_use = "nothing is posted before the first poll"]
pub struct RunAsync<T, L, R> {
    posted: Arc<Posted<T, L, R>>,
    progress: Progress,
}

/// How far a future is.
#[derive(Clone, Copy, Debug)]
enum Progress {
    /// It has not been polled.
    New,
    /// It has posted its section.
    Posted,
    /// It was ready.
    Over,
}

impl<T, L, R> fmt::Debug for RunAsync<T, L, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunAsync")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

impl<T, L> Delegated<T, Posting<L>>
where
    T: Send + 'static,
    L: Delegate + 'static,
{
    /// A future that has `section` run on the data, and is ready with what that returned.
    ///
    /// Its first poll posts the section.  Threads that are at the data then run it before they go,
    /// and wake its task after that.  If nobody is there, the poll runs the section, and what other
    /// tasks post meanwhile; threads that [try](Self::try_run) or [may give up](Self::run_within) count
    /// as nobody.  In a section of other data the poll has the section run as [`run`](Self::run) does.
    /// Later polls wait for nothing but the section, once it has begun.
    ///
    /// If the future is dropped, a section that has not begun is never run, and one that has is waited
    /// for.  So no section may drop or poll its own future.  If the future is forgotten, a section that
    /// was posted is run all the same, some time; so it borrows nothing.
    ///
    /// Wakers are called in no section of the data, one after the other.  A waker that panics
    /// keeps no other from being called, and the panic goes no further.
    ///
    /// # Panics
    /// A poll, if the section did, or after the poll that was ready; and in debug builds the first
    /// in a section of the same data, where it might wait for ever.
    ///
    /// ```
    /// use cohort::delegation::Sanl;
    /// use cohort::{Delegated, Posting};
    /// use std::pin::pin;
    /// use std::sync::Arc;
    /// use std::task::{Context, Poll, Wake, Waker};
    /// use std::thread::{self, Thread};
    ///
    /// struct Unparks(Thread);
    ///
    /// impl Wake for Unparks {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.unpark();
    ///     }
    /// }
    ///
    /// /// An executor of one task.
    /// fn block_on<R>(future: impl Future<Output = R>) -> R {
    ///     let mut future = pin!(future);
    ///     let waker = Waker::from(Arc::new(Unparks(thread::current())));
    ///     loop {
    ///         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
    ///             Poll::Ready(result) => return result,
    ///             Poll::Pending => thread::park(),
    ///         }
    ///     }
    /// }
    ///
    /// let total: Arc<Delegated<u64, Posting<Sanl>>> = Arc::new(Delegated::from(0));
    /// thread::scope(|scope| {
    ///     for each in 1..=4 {
    ///         let total = &total;
    ///         scope.spawn(move || block_on(async {
    ///             total.run_async(move |total| *total += each).await;
    ///         }));
    ///     }
    /// });
    /// assert_eq!(total.run(|total| *total), 10);
    /// ```
    ///
    /// A section cannot borrow from its caller,
    ///
    /// ```compile_fail,E0597
    /// # use cohort::{Delegated, Posting, basic::Mcs};
    /// # use std::sync::Arc;
    /// let total: Arc<Delegated<u64, Posting<Mcs>>> = Arc::new(Delegated::from(1));
    /// let mine = 1;
    /// let mine = &mine;
    /// let future = total.run_async(move |total| *total += *mine);
    /// ```
    ///
    /// nor take along what cannot go to another thread,
    ///
    /// ```compile_fail,E0277
    /// # use cohort::{Delegated, Posting, basic::Mcs};
    /// # use std::{rc::Rc, sync::Arc};
    /// let total: Arc<Delegated<u64, Posting<Mcs>>> = Arc::new(Delegated::from(1));
    /// let mine = Rc::new(1);
    /// let future = total.run_async(move |total| *total += *mine);
    /// ```
    ///
    /// nor return it from there:
    ///
    /// ```compile_fail,E0277
    /// # use cohort::{Delegated, Posting, basic::Mcs};
    /// # use std::{rc::Rc, sync::Arc};
    /// let total: Arc<Delegated<u64, Posting<Mcs>>> = Arc::new(Delegated::from(1));
    /// let future = total.run_async(|total| Rc::new(*total));
    /// ```
    ///
    /// To other locks nothing can be posted:
    ///
    /// ```compile_fail,E0599
    /// # use cohort::{Delegated, basic::Mcs};
    /// # use std::sync::Arc;
    /// let total: Arc<Delegated<u64, Mcs>> = Arc::new(Delegated::from(1));
    /// let future = total.run_async(|total| *total += 1);
    /// ```
    pub fn run_async<R: Send + 'static>(
        self: &Arc<Self>,
        section: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> RunAsync<T, L, R> {
        RunAsync {
            posted: Arc::new(Posted {
                of: Arc::clone(self),
                stage: Mutex::from(Stage {
                    section: Some(Box::new(section)),
                    ended: None,
                    waker: None,
                }),
            }),
            progress: Progress::New,
        }
    }
}

impl<T, L, R> Future for RunAsync<T, L, R>
where
    T: Send + 'static,
    L: Delegate + 'static,
    R: Send + 'static,
{
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        match self.progress {
            Progress::New => {
                self.posted.of.expect_elsewhere();
                self.progress = Progress::Posted;
                let post: Arc<dyn Post> = Arc::<Posted<T, L, R>>::clone(&self.posted);
                // SAFETY: the lock is that of the post's own data.
                unsafe { self.posted.of.raw().post(post) };
            }
            Progress::Posted => {}
            Progress::Over => panic!("polled again after it was ready"),
        }
        let Some(ended) = self.posted.listens(cx.waker()) else {
            return Poll::Pending;
        };
        self.progress = Progress::Over;
        match ended {
            Ok(result) => Poll::Ready(result),
            Err(panic) => panic_on(panic),
        }
    }
}

impl<T, L, R> Drop for RunAsync<T, L, R> {
    fn drop(&mut self) {
        let stage = &self.posted.stage;
        if mutant(flaw::KEEP_DROPPED) || mutant(flaw::DROP_EARLY) && stage.is_locked() {
            return;
        }
        // All that is taken is dropped behind the lock.
        let _taken =
            stage.locking(|stage| (stage.section.take(), stage.ended.take(), stage.waker.take()));
    }
}
