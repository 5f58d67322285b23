//! Tasks: mutexes with guards across an await, beside dropped futures and locking threads.

use crate::dice::Dice;
use crate::soak::Soak;
use cohort::{Mutex, RawLock, RawTry, ThreadOblivious, Waking};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

const MUTEXES: usize = 3;

struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs one task to completion.
pub fn block_on<R>(mut future: Pin<&mut impl Future<Output = R>>) -> R {
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

/// Polls a future that may be dropped afterwards.
pub fn poll_once<R>(future: Pin<&mut impl Future<Output = R>>) -> Option<R> {
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    match future.poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Yields to the executor's other tasks.
pub async fn yields() {
    let mut first = true;
    std::future::poll_fn(|context| {
        if !first {
            return Poll::Ready(());
        }
        first = false;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

struct Shared<L> {
    mutex: Mutex<u64, Waking<L>>,
    inside: AtomicI32,
    counted: AtomicU64,
}

impl<L> Shared<L> {
    fn enter(&self, soak: &Soak, count: &mut u64) {
        soak.check(self.inside.fetch_add(1, SeqCst) == 0, "a section is alone");
        *count += 1;
        self.counted.fetch_add(1, SeqCst);
    }

    fn leave(&self) {
        self.inside.fetch_sub(1, SeqCst);
    }
}

/// Runs the family.
pub fn soak<L>(soak: &Soak)
where
    L: RawLock + RawTry + ThreadOblivious + Default + Send + Sync,
{
    let all: [Shared<L>; MUTEXES] = std::array::from_fn(|_| Shared {
        mutex: Mutex::from(0),
        inside: AtomicI32::new(0),
        counted: AtomicU64::new(0),
    });
    let round = |thread: usize, dice: &mut Dice| {
        let shared = &all[dice.roll(MUTEXES as u32) as usize];
        match dice.roll(8) {
            0 => {
                soak.note(thread, &"lock");
                let mut guard = shared.mutex.lock();
                shared.enter(soak, &mut guard);
                dice.linger();
                shared.leave();
            }
            1 => {
                soak.note(thread, &"try_lock");
                if let Some(mut guard) = shared.mutex.try_lock() {
                    shared.enter(soak, &mut guard);
                    shared.leave();
                }
            }
            2 | 3 => {
                soak.note(thread, &"a future that is dropped");
                let mut future = Box::pin(shared.mutex.lock_async());
                let guard = poll_once(future.as_mut());
                if dice.one_in(2) {
                    thread::sleep(dice.micros(100));
                }
                if let Some(mut guard) = guard {
                    shared.enter(soak, &mut guard);
                    shared.leave();
                }
            }
            _ => {
                soak.note(thread, &"lock_async");
                let awaits = dice.roll(3);
                block_on(std::pin::pin!(async {
                    let mut guard = shared.mutex.lock_async().await;
                    shared.enter(soak, &mut guard);
                    for _ in 0..awaits {
                        yields().await;
                    }
                    shared.leave();
                }));
            }
        }
    };
    soak.run(round, || {
        for shared in &all {
            for _ in 0..3 {
                let count = shared.mutex.try_lock().map(|count| *count);
                soak.check(
                    count == Some(shared.counted.load(SeqCst)),
                    "a mutex is free at the end, and each section counts once",
                );
            }
        }
    });
}
