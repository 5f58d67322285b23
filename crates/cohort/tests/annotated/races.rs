//! Guarded and unguarded data, for race detectors.
//!
//! - `races guarded`: each kind of lock, with nothing to report
//! - `races open`: an addition without a lock
//! - `races apart`: additions under two locks

use cohort::adaptive::Glk;
use cohort::basic::{Clh, Mcs, Ticket};
use cohort::compose::{CTktMcs, Gated};
use cohort::delegation::{CcSynch, Sanl};
use cohort::{Condvar, Delegated, FairMutex, Mutex, Once, RawLock, ReentrantMutex, RwLock, Token};
use libc::{c_void, pthread_create, pthread_join};
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::time::Duration;

const THREADS: u64 = 3;
const ROUNDS: u64 = 40;

/// A number with or without a lock.
struct Number(UnsafeCell<u64>);

// SAFETY: unsound on purpose; the tools must report it.
unsafe impl Sync for Number {}

impl Number {
    fn add(&self) {
        // SAFETY: as above.
        unsafe {
            self.0
                .get()
                .write_volatile(self.0.get().read_volatile() + 1)
        };
    }

    fn get(&self) -> u64 {
        // SAFETY: as above.
        unsafe { self.0.get().read_volatile() }
    }
}

/// A new number on the heap, since drd ignores the stack.
fn number() -> Box<Number> {
    Box::new(Number(UnsafeCell::new(0)))
}

/// Runs `run` in threads of the C library: the tools do not understand the begin and end of the
/// standard library's.
fn each(run: impl Fn(u64) + Sync) {
    struct Thread<'a>(u64, &'a (dyn Fn(u64) + Sync));
    extern "C" fn begin(thread: *mut c_void) -> *mut c_void {
        // SAFETY: the thread is joined while the value lives.
        let Thread(number, run) = unsafe { &*thread.cast::<Thread<'_>>() };
        (0..ROUNDS).for_each(|_| run(*number));
        null_mut()
    }
    let mut threads: Vec<_> = (0..THREADS).map(|number| Thread(number, &run)).collect();
    let started = threads.iter_mut().map(|thread| {
        let mut started = MaybeUninit::uninit();
        // SAFETY: the thread is joined below.
        let failed = unsafe {
            let thread = std::ptr::from_mut(thread).cast();
            pthread_create(started.as_mut_ptr(), null(), begin, thread)
        };
        assert_eq!(failed, 0);
        // SAFETY: written just now.
        unsafe { started.assume_init() }
    });
    let started: Vec<_> = started.collect();
    for thread in started {
        // SAFETY: started above.
        assert_eq!(unsafe { pthread_join(thread, null_mut()) }, 0);
    }
}

fn mutex<L: RawLock + Default + Sync + Send>() {
    let (mutex, number) = (Mutex::<(), L>::default(), number());
    each(|_| mutex.locking(|()| number.add()));
    assert_eq!(number.get(), THREADS * ROUNDS);
}

fn impatient() {
    let (mutex, number) = (Mutex::new(()), number());
    each(|thread| {
        let guard = match thread {
            0 => mutex.try_lock(),
            1 => mutex.try_lock_for(Duration::from_micros(50)),
            _ => Some(mutex.lock()),
        };
        if guard.is_some() {
            number.add();
        }
    });
}

fn rwlock() {
    let (rwlock, number) = (RwLock::new(()), number());
    each(|thread| {
        if thread == 0 {
            let _guard = rwlock.write();
            number.add();
        } else {
            let _guard = rwlock.read();
            assert!(number.get() <= ROUNDS);
        }
    });
}

fn condition() {
    let (turn, changed, number) = (Mutex::new(0), Condvar::new(), number());
    each(|thread| {
        let mut turn = turn.lock();
        changed.wait_while(&mut turn, |turn| *turn % THREADS != thread);
        number.add();
        *turn += 1;
        changed.notify_all();
    });
    assert_eq!(number.get(), THREADS * ROUNDS);
}

fn once() {
    let (once, number) = (Once::new(), number());
    each(|_| {
        once.call_once(|| number.add());
        assert_eq!(number.get(), 1);
    });
}

fn again() {
    let mutex = ReentrantMutex::new(Cell::new(0));
    each(|_| {
        let outer = mutex.lock();
        let inner = mutex.lock();
        inner.set(outer.get() + 1);
    });
    assert_eq!(mutex.lock().get(), THREADS * ROUNDS);
}

fn delegated<L>(total: &Delegated<u64, L>)
where
    Delegated<u64, L>: Sync,
    L: cohort::Delegate,
{
    each(|_| total.run(|total| *total += 1));
    assert_eq!(total.run(|total| *total), THREADS * ROUNDS);
}

fn guarded() {
    mutex::<cohort::numa::FutexHmcs>();
    mutex::<Ticket>();
    mutex::<Mcs>();
    mutex::<Clh>();
    mutex::<Glk>();
    mutex::<Gated<CTktMcs>>();
    let (fair, number) = (FairMutex::new(()), number());
    each(|_| {
        let _guard = fair.lock();
        number.add();
    });
    impatient();
    rwlock();
    condition();
    once();
    again();
    delegated::<Sanl>(&Delegated::from(0));
    delegated::<CcSynch>(&Delegated::from(0));
    cancelled();
}

fn cancelled() {
    let (token, number) = (Token::new(), number());
    each(|thread| match (thread, token.is_cancelled()) {
        (0, false) => {
            number.add();
            token.cancel();
        }
        (_, false) => {}
        (_, true) => assert!(number.get() > 0),
    });
}

static NUMBER: Number = Number(UnsafeCell::new(0));
static LOCKS: [Mutex<()>; 2] = [const { Mutex::new(()) }; 2];

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("guarded") => guarded(),
        Some("open") => each(|_| NUMBER.add()),
        Some("apart") => each(|thread| {
            let _guard = LOCKS[usize::from(thread == 0)].lock();
            NUMBER.add();
        }),
        _ => std::process::exit(2),
    }
}
