//! A table of locks gives each key one lock, whichever thread uses it first, while the table grows
//! and keys are freed.

use super::{add_one, read};
use crate::locks::basic::Tas;
use crate::locks::context::Kept;
use crate::locks::door::{AtomicPtr, AtomicU32, Cell, Order, Strength};
use crate::locks::host::{Census, Pool};
use crate::locks::service::{Bucket, KeyedLock, Lockable, Refusal, Table};
use crate::locks::wait::{MayPark, WaitCell};
use crate::locks::{Patience, RawLock, RawTry};
use crate::world::{nodes, together};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A lock with contexts that stores the holder's context beside it.
pub struct Noted<L: RawLock> {
    lock: L,
    holder: AtomicPtr<L::Context>,
}

impl<L: RawLock> Default for Noted<L> {
    fn default() -> Self {
        Self {
            lock: L::default(),
            holder: AtomicPtr::null(),
        }
    }
}

impl<L: RawLock> Noted<L> {
    fn note(&self, context: Kept<L>) {
        self.holder
            .store(context.into_raw().as_ptr(), Order::RELAXED);
    }
}

impl<L: RawTry<Context: Send + Sync> + 'static> Lockable for Noted<L> {
    type Kind = ();

    fn is(&self, (): ()) -> bool {
        true
    }

    fn take((): (), pool: &(impl Pool<KeyedLock<Self>> + ?Sized)) -> &'static KeyedLock<Self> {
        pool.take()
    }

    unsafe fn give(entry: &'static KeyedLock<Self>, pool: &(impl Pool<KeyedLock<Self>> + ?Sized)) {
        // SAFETY: passed on.
        unsafe { pool.give(entry) };
    }

    fn lock(&self) {
        let context = Kept::new();
        // SAFETY: a new context, in a block that stays until the release, like the lock; also
        // below.
        unsafe { self.lock.acquire(context.get()) };
        self.note(context);
    }

    fn try_lock(&self) -> bool {
        let context = Kept::new();
        // SAFETY: as above.
        let taken = unsafe { self.lock.try_acquire(context.get()) };
        if taken {
            self.note(context);
        }
        taken
    }

    fn lock_within(&self, _patience: &Patience) -> bool {
        unreachable!("no timeouts here")
    }

    unsafe fn unlock(&self) {
        let context = NonNull::new(self.holder.load(Order::RELAXED)).expect("the holder noted it");
        // SAFETY: stored by the holder, and taken back here.
        let context = unsafe { Kept::<L>::from_raw(context) };
        // SAFETY: guaranteed by the caller, for that context.
        unsafe { self.lock.release(context.get()) };
    }

    fn is_locked(&self) -> bool {
        RawLock::is_locked(&self.lock)
    }
}

/// A table that grows at the second key, and splits its bucket at the third.
pub type Small<L, E, B> = Table<L, E, B, 1, 1>;

/// A table, its pools and the guarded data, shared by several threads.
pub type Shared<L, E, B> = Arc<Guarded<Small<L, Arc<E>, Arc<B>>>>;

/// An empty table.
pub fn small<L: Lockable>()
-> Shared<L, impl Census<KeyedLock<L>> + Send + 'static, impl Census<Bucket<L>> + Send + 'static> {
    Arc::new(Guarded {
        table: Small::new(15, nodes(13), nodes(14)),
        counts: std::array::from_fn(|_| Cell::new(0)),
    })
}

/// Keys: the first and the fourth share a bucket, the others another.
const KEYS: usize = 4;

/// A table with each key's guarded data.
pub struct Guarded<T> {
    table: T,
    counts: [Cell<u64>; KEYS + 1],
}

impl<L, E, B> Guarded<Small<L, E, B>>
where
    L: Lockable<Kind = ()>,
    E: Deref<Target: Pool<KeyedLock<L>>>,
    B: Deref<Target: Pool<Bucket<L>>>,
{
    /// Increments the key's data.
    pub fn add(&self, key: usize) {
        let held = self.table.lock((), key).expect("no null");
        add_one(&self.counts[key]);
        held.unlock();
    }
}

/// Each thread increments the data of its listed keys, in order.
pub fn excludes<L: Lockable<Kind = ()>, const THREADS: usize>(keys: [&'static [usize]; THREADS]) {
    let shared = small::<L>();
    let theirs = Arc::clone(&shared);
    let done = together(THREADS, move |thread| {
        for key in keys[thread] {
            theirs.add(*key);
        }
    });
    if done.is_some() {
        for key in 1..=KEYS {
            let all = keys.iter().flat_map(|keys| *keys);
            let expected = all.filter(|its| **its == key).count() as u64;
            assert_eq!(read(&shared.counts[key]), expected, "two locks of one key");
        }
    }
}

/// One thread uses a key in a loop while another frees it and uses its memory for another key,
/// without waiting for the key's lock. So both may be in critical sections of the first key, if it
/// has two locks.
pub fn frees<L: Lockable<Kind = ()>>(rounds: usize) {
    let shared = small::<L>();
    let theirs = Arc::clone(&shared);
    let done = together(2, move |thread| {
        for _ in 0..rounds {
            theirs.add(1);
            if thread == 0 {
                let freed = theirs.table.free(1);
                assert!(matches!(freed, Ok(()) | Err(Refusal::Busy)));
                if let Ok(held) = theirs.table.try_lock((), 2) {
                    add_one(&theirs.counts[2]);
                    held.unlock();
                }
                theirs.add(1);
            }
        }
    });
    if done.is_some() {
        assert_eq!(
            read(&shared.counts[1]),
            3 * rounds as u64,
            "two locks of one key"
        );
    }
}

/// A thread uses the first key before others arrive.
fn uses_first<L, E, B>(shared: &Shared<L, E, B>)
where
    L: Lockable<Kind = ()>,
    E: Census<KeyedLock<L>> + Send + Sync + 'static,
    B: Census<Bucket<L>> + Send + Sync + 'static,
{
    let theirs = Arc::clone(shared);
    together(1, move |_| theirs.add(1));
}

/// A thread locks the third key, then the first. Another frees the first key, reuses its memory for
/// the second, and locks the third inside it. The program's lock order has no cycle, so both
/// proceed.
pub fn keeps_order() {
    let shared = small::<Tas>();
    uses_first(&shared);
    let theirs = Arc::clone(&shared);
    let done = together(2, move |thread| {
        let inside = |outer: usize, inner| {
            let held = theirs.table.lock((), outer).expect("no null");
            theirs.add(inner);
            add_one(&theirs.counts[outer]);
            held.unlock();
        };
        if thread == 0 {
            let freed = theirs.table.free(1);
            assert!(matches!(freed, Ok(()) | Err(Refusal::Busy)));
            inside(2, 3);
        } else {
            inside(3, 1);
        }
    });
    if done.is_some() {
        let counts = [1, 2, 3].map(|key| read(&shared.counts[key]));
        assert_eq!(counts, [2, 1, 2], "two locks of one key");
    }
}

/// Publishes a lock to the thread that unlocks it.
const LOCKED: Order = Order::named("a client's key that is locked", Strength::Release);
/// Acquires it.
const SEEN: Order = Order::named(
    "a client's key that is unlocked elsewhere",
    Strength::Acquire,
);

/// A thread uses a key and remembers its entry. Another frees the key; a third locks it, and the
/// first unlocks it.
pub fn is_unlocked_elsewhere() {
    let shared = small::<Tas>();
    let steps = <[WaitCell<MayPark>; 2]>::default();
    let both = Arc::new((Arc::clone(&shared), steps));
    let done = together(3, move |thread| {
        let (theirs, [used, locked]) = &*both;
        match thread {
            0 => {
                theirs.add(1);
                used.set(1, LOCKED);
                locked.wait_for(SEEN, 1, |locked| locked != 0);
                // SAFETY: the locking thread leaves the unlock to this thread.
                assert_eq!(unsafe { theirs.table.unlock((), 1) }, Ok(()));
            }
            1 => {
                let freed = theirs.table.free(1);
                assert!(matches!(freed, Ok(()) | Err(Refusal::Busy)));
            }
            _ => {
                used.wait_for(SEEN, 1, |used| used != 0);
                let _ = theirs.table.lock((), 1).expect("no null");
                locked.set(1, LOCKED);
            }
        }
    });
    if done.is_some() {
        // In a new thread, which remembers no entry of an ended table.
        together(1, move |_| {
            let free = shared.table.try_lock((), 1);
            free.expect("what was locked is unlocked").unlock();
        });
    }
}

/// One thread removes all keys while another uses them.
pub fn clears(rounds: usize) {
    let shared = small::<Tas>();
    let theirs = Arc::clone(&shared);
    let done = together(2, move |thread| {
        for _ in 0..rounds {
            theirs.add(1);
            if thread == 0 {
                let cleared = theirs.table.clear();
                assert!(matches!(cleared, Ok(()) | Err(Refusal::Busy)));
                theirs.add(2);
            }
        }
    });
    if done.is_some() {
        assert_eq!(shared.table.clear(), Ok(()), "no lock is held");
        assert_eq!(shared.table.keys(), 0, "all are forgotten");
        assert_eq!(
            read(&shared.counts[1]),
            2 * rounds as u64,
            "two locks of one key"
        );
    }
}

/// One thread reserves memory for many keys while another inserts some.
pub fn reserves(keys: usize) {
    let shared = small::<Tas>();
    together(2, move |thread| {
        if thread == 0 {
            assert_eq!(shared.table.reserve(keys), Ok(()));
            shared.add(1);
        } else {
            shared.add(3);
            shared.add(2);
        }
    });
}

/// A lock of one of two kinds. No key is freed here, so entries keep their kinds.
#[derive(Default)]
struct Either {
    lock: Tas,
    kind: AtomicU32,
}

impl Lockable for Either {
    type Kind = u32;

    fn is(&self, kind: u32) -> bool {
        self.kind.load(Order::RELAXED) == kind
    }

    fn take(kind: u32, pool: &(impl Pool<KeyedLock<Self>> + ?Sized)) -> &'static KeyedLock<Self> {
        let entry = pool.take();
        entry.lock().kind.store(kind, Order::RELAXED);
        entry
    }

    unsafe fn give(entry: &'static KeyedLock<Self>, pool: &(impl Pool<KeyedLock<Self>> + ?Sized)) {
        // SAFETY: passed on.
        unsafe { pool.give(entry) };
    }

    fn lock(&self) {
        // SAFETY: the lock has no contexts, and does not move; also below.
        unsafe { self.lock.acquire(&()) };
    }

    fn try_lock(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.lock.try_acquire(&()) }
    }

    fn lock_within(&self, _patience: &Patience) -> bool {
        unreachable!("no timeouts here")
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's.
        unsafe { self.lock.release(&()) };
    }

    fn is_locked(&self) -> bool {
        RawLock::is_locked(&self.lock)
    }
}

/// Two threads use a key's lock, each as another kind. The first determines the kind; the other is
/// refused by every operation.
pub fn is_of_one_kind() {
    let entries = nodes::<KeyedLock<Either>>(13);
    let table = Table::<Either, _, _, 1, 1>::new(15, entries, nodes(14));
    let shared = Arc::new((table, std::array::from_fn(|_| Cell::new(0))));
    let theirs = Arc::clone(&shared);
    let done = together(2, move |thread| {
        let (table, counts): &(_, [Cell<u64>; 3]) = &theirs;
        let kind = thread as u32;
        match table.lock(kind, 1) {
            Ok(held) => {
                add_one(&counts[0]);
                let _ = held;
                // SAFETY: locked above.
                assert_eq!(unsafe { table.unlock(kind, 1) }, Ok(()));
            }
            Err(why) => {
                assert_eq!(why, Refusal::OtherKind);
                assert_eq!(table.try_lock(kind, 1).err(), Some(why));
                // SAFETY: refused.
                assert_eq!(unsafe { table.unlock(kind, 1) }, Err(why));
                add_one(&counts[1 + thread]);
            }
        }
    });
    if done.is_some() {
        let [taken, refused @ ..] = &shared.1;
        assert_eq!(read(taken), 1, "a lock of two kinds");
        assert_eq!(
            refused.iter().map(read).sum::<u64>(),
            1,
            "a kind is refused"
        );
    }
}

/// A held key is not freed, and is found again, while other threads make the table grow.
pub fn is_found<const OTHERS: usize>(others: [usize; OTHERS]) {
    let shared = small::<Tas>();
    together(2, move |thread| {
        let table = &shared.table;
        if thread == 0 {
            let held = table.lock((), 1).expect("no null");
            assert_eq!(table.free(1), Err(Refusal::Busy));
            add_one(&shared.counts[1]);
            let _ = held;
            // SAFETY: locked above.
            assert_eq!(unsafe { table.unlock((), 1) }, Ok(()));
        } else {
            for key in others {
                shared.add(key);
            }
        }
    });
}
