//! Locks as measured: raw, with a context for each thread.
//!
//! Calls go through a table of functions, as a program's calls of a library do, so that a workload
//! is compiled once and not for each lock. Every lock pays the same for that; on a simulated
//! machine it is free.

use cohort::{
    Able, Abortable, AbortableDelegate, Attended, Delegate, Operations, Outcome, Patience, RawLock,
    RawShared, RawTry, Reading, Section, Thresholds, TryAcquire, Tunable, TwoForms, Within,
};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

/// Lock under test.
///
/// # Safety
/// As [`RawLock`]: it gives mutual exclusion.
pub unsafe trait Tested: Send + Sync {
    /// Blocks until thread `thread` has acquired the lock. A number belongs to one thread at a
    /// time, which must not hold the lock already.
    ///
    /// # Panics
    /// If the lock was created for fewer threads.
    fn acquire(&self, thread: usize);

    /// [`acquire`](Self::acquire), at most for `patience`. If this lock cannot end a wait, the
    /// thread tries repeatedly. `None` if the lock supports neither timeouts nor tries.
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    fn acquire_within(&self, thread: usize, patience: &Patience) -> Option<Outcome>;

    /// Tries to acquire the lock for thread `thread`; true if it did. `None` if this lock, as
    /// created here, has no try.
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    fn try_acquire(&self, _thread: usize) -> Option<bool> {
        None
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// Thread `thread` holds it.
    unsafe fn release(&self, thread: usize);

    /// Whether the lock is held: a hint.
    fn is_locked(&self) -> bool;

    /// Blocks until `section` has been run once under the lock; by thread `thread`, unless this is
    /// a delegation lock.
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    fn run(&self, thread: usize, section: &mut dyn FnMut()) {
        self.acquire(thread);
        section();
        // SAFETY: acquired above.
        unsafe { self.release(thread) };
    }

    /// [`run`](Self::run), at most for `patience`; `None`, without running anything, if waits
    /// cannot end.
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    fn run_within(
        &self,
        thread: usize,
        patience: &Patience,
        section: &mut dyn FnMut(),
    ) -> Option<Outcome> {
        let outcome = self.acquire_within(thread, patience)?;
        if outcome == Outcome::Acquired {
            section();
            // SAFETY: acquired above.
            unsafe { self.release(thread) };
        }
        Some(outcome)
    }

    /// The lock, for a dedicated thread that runs the delegated sections; `None` if it needs none.
    fn attended(&self) -> Option<&dyn Server> {
        None
    }

    /// Blocks until thread `thread` has acquired the lock for reading; exclusively, if readers do
    /// not share it.
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    fn read(&self, thread: usize) {
        self.acquire(thread);
    }

    /// Releases a read lock.
    ///
    /// # Safety
    /// Thread `thread` holds it for reading.
    unsafe fn release_read(&self, thread: usize) {
        // SAFETY: the caller's.
        unsafe { self.release(thread) };
    }
}

/// A delegation lock, as its server sees it.
pub trait Server {
    /// Runs the delegated sections in one round; true if there were any.
    fn attend(&self) -> bool;

    /// Ends the calling thread's role as the server.
    fn leave(&self);
}

impl<D: Attended> Server for D {
    fn attend(&self) -> bool {
        Attended::attend(self)
    }

    fn leave(&self) {
        Attended::leave(self);
    }
}

/// Serves these locks until `is_over` holds; calls `after` each round with whether there were
/// sections.
pub(super) fn serve(
    locks: &[Arc<dyn Tested>],
    mut is_over: impl FnMut() -> bool,
    mut after: impl FnMut(bool),
) {
    let all: Vec<&dyn Server> = locks.iter().filter_map(|lock| lock.attended()).collect();
    while !is_over() {
        let mut found = false;
        for lock in &all {
            found |= lock.attend();
        }
        after(found);
    }
    all.iter().for_each(|lock| lock.leave());
}

/// Locks of a run that need servers.
#[derive(Default)]
pub(super) struct Unattended(Vec<Arc<dyn Tested>>);

impl Unattended {
    /// Records a lock, if it needs a server.
    pub(super) fn note(&mut self, lock: &Arc<dyn Tested>) {
        if lock.attended().is_some() {
            self.0.push(Arc::clone(lock));
        }
    }

    /// The locks of each server: one server for a single lock, otherwise two for alternate locks
    /// (Zhang et al. 2017 §4.3).
    pub(super) fn servers(&self) -> Vec<Vec<Arc<dyn Tested>>> {
        let count = self.0.len().min(2);
        let locks = |first| self.0.iter().skip(first).step_by(count).cloned();
        (0..count).map(|first| locks(first).collect()).collect()
    }
}

impl fmt::Debug for Unattended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unattended").field(&self.0.len()).finish()
    }
}

/// Allocator of a world's locks and their contexts.
pub trait Room {
    /// Fresh memory on cache lines of its own.
    fn block(&mut self, layout: Layout) -> Block;

    /// How threads poll there.
    fn polling(&self) -> Polling;

    /// What all locks of a composition share there: the pool of their queue nodes.
    fn pool(&mut self) -> &mut Option<Pool>;
}

/// A pool of queue nodes, of a type that the locks' maker knows.
pub type Pool = Arc<dyn Any + Send + Sync>;

/// Polls until a look succeeds or patience runs out; true in the first case. Blocks.
pub type Polling = fn(&mut dyn FnMut() -> bool, &Patience) -> bool;

/// Memory on cache lines of its own.
pub struct Block {
    at: NonNull<u8>,
    layout: Layout,
    /// The owner of the memory, which drops its content; without an owner, the block does.
    owner: Option<Arc<dyn Send + Sync>>,
}

// SAFETY: a block is memory; its content is shared by the rules of its type.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// From the heap.
    pub(super) fn new(layout: Layout) -> Self {
        // Processors prefetch lines in pairs.
        let layout = Layout::from_size_align(layout.size().max(1), layout.align().max(128))
            .expect("a type's layout, on lines of its own")
            .pad_to_align();
        // SAFETY: the size is not zero.
        let at = unsafe { alloc(layout) };
        let at = NonNull::new(at).unwrap_or_else(|| handle_alloc_error(layout));
        Self {
            at,
            layout,
            owner: None,
        }
    }

    /// A part of an owner's memory; drops nothing.
    pub(super) fn of(owner: Arc<dyn Send + Sync>, at: NonNull<u8>, layout: Layout) -> Self {
        Self {
            at,
            layout,
            owner: Some(owner),
        }
    }

    /// Writes `value` there; the block was requested for its layout.
    pub(super) fn put<T>(&self, value: T) {
        assert!(self.layout.size() >= size_of::<T>() && self.layout.align() >= align_of::<T>());
        // SAFETY: the memory is large enough, aligned, and not yet shared.
        unsafe { self.at.cast::<T>().write(value) };
    }

    /// The content.
    ///
    /// # Safety
    /// It is a `T`.
    pub(super) unsafe fn get<T>(&self) -> &T {
        // SAFETY: the caller's; it lives as long as the block.
        unsafe { self.at.cast().as_ref() }
    }

    /// Drops the content, unless an owner keeps it.
    ///
    /// # Safety
    /// `drop` fits the content, which is not used afterwards.
    unsafe fn empty(&mut self, drop: unsafe fn(*mut u8)) {
        if self.owner.is_none() {
            // SAFETY: the caller's.
            unsafe { drop(self.at.as_ptr()) };
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.owner.is_none() {
            // SAFETY: allocated with this layout by `new`.
            unsafe { dealloc(self.at.as_ptr(), self.layout) };
        }
    }
}

/// Lock and contexts, with the operations of their type: the code that creates and measures
/// hundreds of locks is compiled once.
struct Raw {
    lock: Block,
    contexts: Box<[Block]>,
    operations: Operations,
    /// Its read operations, if readers share it.
    reading: Option<Reading>,
    polling: Polling,
}

impl Raw {
    fn lock(&self) -> *const u8 {
        self.lock.at.as_ptr()
    }

    fn context(&self, thread: usize) -> *const u8 {
        self.contexts[thread].at.as_ptr()
    }
}

// SAFETY: every call goes to the lock, with a context that only its thread uses.
unsafe impl Tested for Raw {
    fn acquire(&self, thread: usize) {
        // SAFETY: both are of the type whose operations these are.
        unsafe { (self.operations.acquire)(self.lock(), self.context(thread)) };
    }

    fn acquire_within(&self, thread: usize, patience: &Patience) -> Option<Outcome> {
        let (lock, context) = (self.lock(), self.context(thread));
        if let Some(within) = self.operations.acquire_within {
            // SAFETY: as above.
            return Some(unsafe { within(lock, context, patience) });
        }
        let try_acquire = self.operations.try_acquire?;
        // SAFETY: as above.
        let taken = (self.polling)(&mut || unsafe { try_acquire(lock, context) }, patience);
        Some(if taken {
            Outcome::Acquired
        } else {
            Outcome::GaveUp
        })
    }

    fn try_acquire(&self, thread: usize) -> Option<bool> {
        let try_acquire = self.operations.try_acquire?;
        // SAFETY: as above.
        Some(unsafe { try_acquire(self.lock(), self.context(thread)) })
    }

    unsafe fn release(&self, thread: usize) {
        // SAFETY: as above; the caller's thread acquired the lock with this context.
        unsafe { (self.operations.release)(self.lock(), self.context(thread)) };
    }

    fn is_locked(&self) -> bool {
        // SAFETY: as above.
        unsafe { (self.operations.is_locked)(self.lock()) }
    }

    fn read(&self, thread: usize) {
        let read = self
            .reading
            .map_or(self.operations.acquire, |reading| reading.read);
        // SAFETY: as above.
        unsafe { read(self.lock(), self.context(thread)) };
    }

    unsafe fn release_read(&self, thread: usize) {
        let release = self
            .reading
            .map_or(self.operations.release, |reading| reading.release_read);
        // SAFETY: as above; the caller's thread acquired the lock with this context.
        unsafe { release(self.lock(), self.context(thread)) };
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: as above, and the dropping thread holds the last reference.
        unsafe {
            self.lock.empty(self.operations.drop);
            for context in &mut self.contexts {
                context.empty(self.operations.drop_context);
            }
        }
    }
}

/// Declares, for a catalogue's `for_each_lock!`, the function that creates a lock by its identifier
/// in any world. `spins` selects the spin-only form of a lock compiled in two forms; a lock with
/// one form follows the policy.
macro_rules! lock_maker {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        /// Creates the lock of that identifier.
        pub fn make(
            room: &mut dyn $crate::Room,
            identifier: &str,
            threads: usize,
            spins: bool,
        ) -> Option<std::sync::Arc<dyn $crate::Tested>> {
            use $crate::raw::*;
            match identifier {
                $(stringify!($name) => {
                    let operations = match (Spinning::<$lock>::OPERATIONS, spins) {
                        (Some(spinning), true) => cohort::Operations {
                            try_acquire: Spinning::<$lock>::TRY,
                            acquire_within: Spinning::<$lock>::WITHIN,
                            ..spinning
                        },
                        _ => cohort::operations!($lock),
                    };
                    Some(fresh(room, threads, operations, None))
                })+
                _ => None,
            }
        }
    };
}

pub(crate) use lock_maker;

/// Runs a section under a delegate.
type Run<D> = fn(&D, &mut <D as Delegate>::Context, Section<'_>);

/// The timed form of [`Run`].
pub(crate) type RunWithin<D> =
    fn(&D, &mut <D as Delegate>::Context, Section<'_>, &Patience) -> Outcome;

/// The delegate, for a server.
pub(crate) type Serves<D> = fn(&D) -> &dyn Server;

/// What a delegate of that type can do. An inherent constant takes precedence over one of
/// [`AnyDelegate`] where its bounds are met.
pub(crate) struct Capable<D>(PhantomData<D>);

impl<D: AbortableDelegate> Capable<D> {
    /// Its timed operation.
    pub(crate) const WITHIN: Option<RunWithin<D>> = Some(D::run_within);
}

impl<D: Attended + 'static> Capable<D> {
    /// Its server's interface.
    pub(crate) const SERVER: Option<Serves<D>> = Some(|delegate| delegate);
}

impl<D: Tunable> Capable<D> {
    /// Creates it, with those thresholds.
    pub(crate) const MAKE: fn(&Thresholds) -> D = D::with;
}

/// [`Capable`] for delegates without capabilities.
pub(crate) trait AnyDelegate<D: Delegate> {
    const WITHIN: Option<RunWithin<D>> = None;
    const SERVER: Option<Serves<D>> = None;
    const MAKE: fn(&Thresholds) -> D = |_| D::default();
}

impl<D: Delegate> AnyDelegate<D> for Capable<D> {}

/// Delegation lock and contexts. Its functions are called by their addresses, as those of any lock
/// under test are.
struct Brought<D: Delegate> {
    delegate: Block,
    contexts: Box<[Block]>,
    run: Run<D>,
    within: Option<RunWithin<D>>,
    server: Option<Serves<D>>,
}

/// Puts a delegate and its contexts into that room.
pub(crate) fn brought<D>(
    room: &mut dyn Room,
    delegate: D,
    threads: usize,
    (within, server): (Option<RunWithin<D>>, Option<Serves<D>>),
) -> Arc<dyn Tested>
where
    D: Delegate<Context: Send + Sync + 'static> + 'static,
{
    let block = room.block(Layout::new::<D>());
    block.put(delegate);
    let contexts = blocks(room, Layout::new::<D::Context>(), threads);
    for context in &contexts {
        context.put(D::Context::default());
    }
    Arc::new(Brought {
        delegate: block,
        contexts,
        run: D::run,
        within,
        server,
    })
}

impl<D: Delegate> Brought<D> {
    fn delegate(&self) -> &D {
        // SAFETY: `brought` put one there.
        unsafe { self.delegate.get() }
    }

    /// # Safety
    /// Only the thread of that number uses its context, for one call at a time.
    #[expect(
        clippy::mut_from_ref,
        reason = "the context is beside the lock, in the room"
    )]
    unsafe fn context(&self, thread: usize) -> &mut D::Context {
        // SAFETY: `brought` put one there, and the caller's.
        unsafe { self.contexts[thread].at.cast().as_mut() }
    }
}

// SAFETY: every section goes to the delegate, with a context that only its thread uses.
unsafe impl<D> Tested for Brought<D>
where
    D: Delegate<Context: Send + Sync + 'static> + 'static,
{
    fn acquire(&self, _thread: usize) {
        unreachable!("sections are brought to this lock, and workloads bring them");
    }

    fn acquire_within(&self, _thread: usize, _patience: &Patience) -> Option<Outcome> {
        None
    }

    unsafe fn release(&self, _thread: usize) {}

    fn is_locked(&self) -> bool {
        false
    }

    fn attended(&self) -> Option<&dyn Server> {
        Some((self.server?)(self.delegate()))
    }

    fn run(&self, thread: usize, mut section: &mut dyn FnMut()) {
        // SAFETY: the context is the thread's. A panicking workload ends its whole run. A
        // workload's section accesses its own thread's data, or atomics, which any thread may
        // access while that one waits.
        unsafe {
            let section = Section::new(&mut section);
            (self.run)(self.delegate(), self.context(thread), section);
        }
    }

    fn run_within(
        &self,
        thread: usize,
        patience: &Patience,
        mut section: &mut dyn FnMut(),
    ) -> Option<Outcome> {
        let within = self.within?;
        // SAFETY: as above.
        Some(unsafe {
            let section = Section::new(&mut section);
            within(self.delegate(), self.context(thread), section, patience)
        })
    }
}

/// # Safety
/// It is a `T` that is not used afterwards.
unsafe fn dropped<T>(at: *mut u8) {
    // SAFETY: the caller's.
    unsafe { at.cast::<T>().drop_in_place() }
}

impl<D: Delegate> Drop for Brought<D> {
    fn drop(&mut self) {
        // SAFETY: these are their types, and the dropping thread holds the last reference.
        unsafe {
            self.delegate.empty(dropped::<D>);
            for context in &mut self.contexts {
                context.empty(dropped::<D::Context>);
            }
        }
    }
}

/// Requirements on a lock under test and its contexts.
pub trait Testable: RawLock<Context: Send + Sync + 'static> + 'static {}

impl<L: RawLock<Context: Send + Sync + 'static> + 'static> Testable for L {}

/// The spin-only form of a lock, if it has one. The lock's type decides: an inherent constant takes
/// precedence over a trait's where its bounds are met.
pub(crate) struct Spinning<L>(PhantomData<L>);

impl<L: TwoForms<Spinning: Testable>> Spinning<L> {
    /// Its operations, except for timed ones.
    pub(crate) const OPERATIONS: Option<Operations> = Some(Operations::of::<L::Spinning>());
}

impl<L: TwoForms<Spinning: Testable + Abortable>> Spinning<L> {
    /// Its timed operation, if any.
    pub(crate) const WITHIN: Option<Within> = Able::<L::Spinning>::WITHIN_OPERATION;
}

impl<L: TwoForms<Spinning: Testable + RawTry>> Spinning<L> {
    /// Its try operation, if any.
    pub(crate) const TRY: Option<TryAcquire> = Able::<L::Spinning>::TRY_OPERATION;
}

/// [`Spinning`] for a lock compiled in one form.
pub(crate) trait OneForm {
    const TRY: Option<TryAcquire> = None;
    const OPERATIONS: Option<Operations> = None;
    const WITHIN: Option<Within> = None;
}

impl<L> OneForm for Spinning<L> {}

/// The operations of an abortable lock.
const fn giving_up<L: Abortable>() -> &'static Operations {
    const {
        &Operations {
            acquire_within: Able::<L>::WITHIN_OPERATION,
            ..Operations::of::<L>()
        }
    }
}

/// The operations of a lock with a try operation.
const fn trying<L: RawTry>() -> &'static Operations {
    const {
        &Operations {
            try_acquire: Able::<L>::TRY_OPERATION,
            ..Operations::of::<L>()
        }
    }
}

/// Puts a lock and its contexts into that room. Compiled once; its callers are compiled for each of
/// hundreds of types.
///
/// # Safety
/// The operations are those of the lock's type. The lock is moved, and not used afterwards at its
/// old address.
unsafe fn placed(
    room: &mut dyn Room,
    lock: *const u8,
    threads: usize,
    operations: &Operations,
) -> Arc<dyn Tested> {
    let block = room.block(operations.lock);
    // SAFETY: the block was requested for the type's own layout, and is not shared.
    unsafe {
        block
            .at
            .as_ptr()
            .copy_from_nonoverlapping(lock, operations.lock.size())
    };
    with_contexts(room, block, threads, *operations, None)
}

/// Puts any lock and its contexts into that room; it need not be in the catalogue.
pub fn tested<L: Testable>(room: &mut dyn Room, lock: L, threads: usize) -> Arc<dyn Tested> {
    let operations = const { &Operations::of::<L>() };
    // SAFETY: the operations are this type's, and the lock is moved from here.
    unsafe {
        placed(
            room,
            (&raw const *ManuallyDrop::new(lock)).cast(),
            threads,
            operations,
        )
    }
}

/// [`tested`] for a lock with a try operation.
pub fn tried<L: Testable + RawTry>(
    room: &mut dyn Room,
    lock: L,
    threads: usize,
) -> Arc<dyn Tested> {
    // SAFETY: as above.
    unsafe {
        placed(
            room,
            (&raw const *ManuallyDrop::new(lock)).cast(),
            threads,
            trying::<L>(),
        )
    }
}

/// [`tested`] for an abortable lock.
pub fn abortable<L: Testable + Abortable>(
    room: &mut dyn Room,
    lock: L,
    threads: usize,
) -> Arc<dyn Tested> {
    let operations = giving_up::<L>();
    // SAFETY: as above.
    unsafe {
        placed(
            room,
            (&raw const *ManuallyDrop::new(lock)).cast(),
            threads,
            operations,
        )
    }
}

/// Creates a lock that readers share, and its contexts, in that room.
pub(crate) fn shared<L>(room: &mut dyn Room, threads: usize) -> Arc<dyn Tested>
where
    L: RawShared<Context: Send + Sync + 'static> + 'static,
{
    let (writing, reading) = Operations::of_shared::<L>();
    fresh(room, threads, writing, Some(reading))
}

/// Creates a lock with those operations, and its contexts, in that room.
pub(crate) fn fresh(
    room: &mut dyn Room,
    threads: usize,
    operations: Operations,
    reading: Option<Reading>,
) -> Arc<dyn Tested> {
    let block = room.block(operations.lock);
    // SAFETY: the block was requested for the type's own layout, and is not shared.
    unsafe { (operations.make)(block.at.as_ptr()) };
    with_contexts(room, block, threads, operations, reading)
}

/// Adds a context for each thread to the lock in that block, which has those operations.
fn with_contexts(
    room: &mut dyn Room,
    lock: Block,
    threads: usize,
    operations: Operations,
    reading: Option<Reading>,
) -> Arc<dyn Tested> {
    let contexts = blocks(room, operations.context, threads);
    for context in &contexts {
        // SAFETY: as above.
        unsafe { (operations.make_context)(context.at.as_ptr()) };
    }
    Arc::new(Raw {
        lock,
        contexts,
        operations,
        reading,
        polling: room.polling(),
    })
}

fn blocks(room: &mut dyn Room, layout: Layout, count: usize) -> Box<[Block]> {
    (0..count).map(|_| room.block(layout)).collect()
}

/// No lock: for workloads with their own mutual exclusion.
struct Open;

// SAFETY: workloads that use it have their own mutual exclusion; the data of all others is made of
// atomics.
unsafe impl Tested for Open {
    fn acquire(&self, _thread: usize) {}

    fn acquire_within(&self, _thread: usize, _patience: &Patience) -> Option<Outcome> {
        Some(Outcome::Acquired)
    }

    unsafe fn release(&self, _thread: usize) {}

    fn is_locked(&self) -> bool {
        false
    }
}

/// The lock named [`NO_LOCK`](crate::NO_LOCK).
pub(crate) fn open() -> Arc<dyn Tested> {
    Arc::new(Open)
}
