//! `Posting<L>`: a lock under which tasks, too, run critical sections, without blocking a thread;
//! and [`RunAsync`], their future. Only with the feature `std`.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `lock` | threads that bring sections | the lock that runs them |
//! | `state` | arriving and leaving threads, and posters | registered threads, in `ONE`s; with `POSTED`: the list is not empty, or its poster is about to register |
//! | `posts` | posters, and registered threads; it has a lock of its own | the pending posts |
//! | a post's `stage` | its future, and the thread that runs it, which locks it meanwhile | the section's progress, and the task to wake |
//!
//! A thread registers before it brings its section to the lock. It leaves by an exchange that
//! succeeds only if nothing is posted; otherwise it takes the list and runs all of it as one
//! section. A poster appends its post to the list and marks the count. If a thread was registered,
//! its leaving exchange finds the mark. If none was, the poster registers itself, as a thread
//! without a section. So every post is run.
//!
//! No access to `state` carries an order. All threads see one sequence of its exchanges. Between a
//! mark and a later leaving thread, this sequence contains an exchange that clears the mark. Marks
//! are set and cleared under the list's lock only. So the thread that cleared the mark locks the
//! list after the poster, and finds the post.
//!
//! The thread that ran the posts calls the wakers after it has left: in no section, and where a
//! waker may register itself.
//!
//! A thread inside a section of other data runs no posts. It arrives and leaves unregistered, and
//! as a poster it runs its own section at once. The same holds for a thread that tries or may give
//! up: posts would make it wait at the lock without a limit. A poster that finds only such threads
//! registers itself, and waits for the lock behind them.
//!
//! A dropped future locks its post's `stage` and takes the section back, or finds that it has been
//! run. A forgotten future leaves a post, which owns all its data.

extern crate std;

use crate::basic::Futex;
use crate::delegation::may_serve;
use crate::door::{AtomicU32, Order, Panic, caught, flaws, mutant, panic_on};
use crate::sync::delegated::Delegated;
use crate::sync::mutex::Mutex;
use cohort_raw::{AbortableDelegate, Delegate, Outcome, Patience, RawLock, Section, TryDelegate};
use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

flaws! {
    /// A thread leaves although something is posted.
    GO_ALL_THE_SAME = "posting.go-all-the-same";
    /// A poster leaves its post to registered threads, even if there are none.
    TRUST_OTHERS = "posting.trust-others";
    /// Wakers are called under the lock.
    WAKE_INSIDE = "posting.wake-inside";
    /// A thread inside a section of other data runs posts.
    SERVE_INSIDE = "posting.serve-inside";
    /// A thread that tries or may give up registers, and leaves without a check for posts.
    COUNT_HURRIED = "posting.count-hurried";
    /// A dropped future does not wait for its section.
    DROP_EARLY = "posting.drop-early";
    /// A dropped future leaves its section to be run.
    KEEP_DROPPED = "posting.keep-dropped";
}

/// Mark: posts are pending.
const POSTED: u32 = 1;
/// One registered thread.
const ONE: u32 = 2;

/// A post of any type.
trait Post: Send + Sync {
    /// Runs the section, unless it was taken back or has been run.
    ///
    /// # Safety
    /// The calling thread runs a section of this post's lock, and lends the data to no other
    /// thread.
    unsafe fn run(&self);

    /// Wakes the section's task, and threads that wait for conditions. The calling thread is in no
    /// section of that lock.
    fn wake(self: Arc<Self>);
}

/// A lock around `L` under which tasks, too, run sections, by [`Delegated::run_async`]. Each thread
/// registers here, by two more exchanges on one line than `L` needs. It blocks until it has run the
/// sections that tasks posted meanwhile.
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
/// If `L` allows it, threads may try or give up here. Such a thread runs no posts, unless `L`'s
/// holder runs the sections of other threads. A task that posts while only such threads are here
/// waits for the lock in its first poll.
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
/// Threads can give up here only if they can under `L`:
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

/// Wakes the waiters of each post.
fn wake(posts: Vec<Arc<dyn Post>>) {
    for post in posts {
        // A waker's panic has been reported, and does not affect the others.
        let _ = caught(|| post.wake());
    }
}

impl<L: Delegate> Posting<L> {
    /// Has a registered thread run the section, or the calling thread if there is none.
    ///
    /// # Safety
    /// The section accesses the data that this lock guards.
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

    /// Takes the pending posts, for the caller to run.
    fn take(&self) -> Vec<Arc<dyn Post>> {
        self.posts.locking(|posts| {
            self.state.fetch_and(!POSTED, Order::RELAXED);
            mem::take(posts)
        })
    }

    /// Runs these posts under the lock, as one section.
    fn serve(&self, cx: &mut L::Context, posts: &[Arc<dyn Post>]) {
        let mut all = || {
            for post in posts {
                // SAFETY: in a section of this lock, one after the other.
                unsafe { post.run() };
                if mutant(flaw::WAKE_INSIDE) {
                    Arc::clone(post).wake();
                }
            }
        };
        // SAFETY: a post's panic is caught; any thread may run posts, as they are `Sync`.
        self.lock.run(cx, unsafe { Section::new(&mut all) });
    }

    /// Deregisters the calling thread, after running the posts of the meantime. The context is
    /// unused.
    fn go(&self, cx: &mut L::Context) {
        let mut over = Vec::new();
        let mut state = self.state.load(Order::RELAXED);
        loop {
            if state & POSTED != 0 && !mutant(flaw::GO_ALL_THE_SAME) {
                let posts = self.take();
                // Another leaving thread may have been faster.
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

    /// Has the lock run a section by `run`, and then the posts of the meantime.
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
    /// Runs a thread that tries or may give up: unregistered, and so without a duty to run posts.
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

/// A section of any type.
type Whole<T, R> = Box<dyn FnOnce(&mut T) -> R + Send>;

/// Progress of a post.
struct Stage<T, R> {
    /// The pending section.
    section: Option<Whole<T, R>>,
    /// The section's result, until its future takes it.
    ended: Option<Result<R, Panic>>,
    /// The task that waits for it.
    waker: Option<Waker>,
}

/// The shared part of a future and its post.
struct Posted<T, L, R> {
    of: Arc<Delegated<T, Posting<L>>>,
    stage: Mutex<Stage<T, R>, Futex>,
}

impl<T, L, R> Posted<T, L, R> {
    /// Takes the result; if there is none yet, registers the waker for it.
    fn listens(&self, waker: &Waker) -> Option<Result<R, Panic>> {
        let waker = waker.clone();
        // The previous waker is dropped outside the lock.
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
    /// Ordered after all other threads' accesses by `Arc`, which the checkers do not see.
    fn drop(&mut self) {
        // SAFETY: the lock has no contexts, and no users left.
        unsafe { self.stage.raw().acquire(&()) };
    }
}

/// The future of [`Delegated::run_async`]: ready with the section's result.
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

/// Progress of a future.
#[derive(Clone, Copy, Debug)]
enum Progress {
    /// Not yet polled.
    New,
    /// Its section is posted.
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
    /// Creates a future that runs `section` on the data and is ready with its result.
    ///
    /// The first poll posts the section. Threads at the data run it before they leave, and then
    /// wake the task. Without such threads, the poll runs the section, and the posts of other tasks
    /// meanwhile; threads that [try](Self::try_run) or [may give up](Self::run_within) do not
    /// count. Inside a section of other data, the poll runs the section as [`run`](Self::run) does.
    /// Later polls wait only for the section, once it has begun.
    ///
    /// If the future is dropped, a pending section never runs, and a running one is waited for. So
    /// a section must not drop or poll its own future. If the future is forgotten, a posted section
    /// still runs at some time; therefore it borrows nothing.
    ///
    /// Wakers are called in no section of the data, one after the other. A waker's panic does not
    /// affect the others, and does not propagate.
    ///
    /// # Panics
    /// A poll, if the section did, or after the poll that was ready. In debug builds, also the
    /// first poll inside a section of the same data, where it might wait for ever.
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
    /// capture data that must stay in its thread,
    ///
    /// ```compile_fail,E0277
    /// # use cohort::{Delegated, Posting, basic::Mcs};
    /// # use std::{rc::Rc, sync::Arc};
    /// let total: Arc<Delegated<u64, Posting<Mcs>>> = Arc::new(Delegated::from(1));
    /// let mine = Rc::new(1);
    /// let future = total.run_async(move |total| *total += *mine);
    /// ```
    ///
    /// or return such data:
    ///
    /// ```compile_fail,E0277
    /// # use cohort::{Delegated, Posting, basic::Mcs};
    /// # use std::{rc::Rc, sync::Arc};
    /// let total: Arc<Delegated<u64, Posting<Mcs>>> = Arc::new(Delegated::from(1));
    /// let future = total.run_async(|total| Rc::new(*total));
    /// ```
    ///
    /// Only this lock accepts posts:
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
        // The values taken are dropped outside the lock.
        let _taken =
            stage.locking(|stage| (stage.section.take(), stage.ended.take(), stage.waker.take()));
    }
}
