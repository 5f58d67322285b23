//! Mutexes and rwlocks for tasks: wake-ups of their futures, and waiters without one.

#[path = "support/wakers.rs"]
mod wakers;

use cohort::basic::{Mcs, Tas};
use cohort::numa::HmcsT1;
use cohort::rwlock::RawRwLock;
use cohort::{LockAsync, Mutex, MutexGuard, Patience, RawTry, RwLock, ThreadOblivious, Waking};
use std::future::poll_fn;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};
use wakers::{Panics, Woken};

/// A waker that counts its calls.
fn waker() -> (Arc<Woken>, Waker) {
    let woken = Arc::<Woken>::default();
    (Arc::clone(&woken), Waker::from(woken))
}

type Guard<'a, L> = MutexGuard<'a, u64, Waking<L>>;

fn poll<'a, L: RawTry + ThreadOblivious>(
    future: Pin<&mut LockAsync<'a, u64, L>>,
    waker: &Waker,
) -> Poll<Guard<'a, L>> {
    future.poll(&mut Context::from_waker(waker))
}

fn a_task_is_woken_when_it_may_lock<L: RawTry + ThreadOblivious>() {
    let total: Mutex<u64, Waking<L>> = Mutex::from(1);
    let (woken, waker) = waker();
    let mut future = pin!(total.lock_async());
    let guard = total.lock();
    assert!(poll(future.as_mut(), &waker).is_pending());
    assert_eq!(woken.0.load(Relaxed), 0);
    drop(guard);
    assert_eq!(woken.0.load(Relaxed), 1);
    let Poll::Ready(mut guard) = poll(future.as_mut(), &waker) else {
        panic!("the mutex is free");
    };
    *guard += 1;
    drop(guard);
    assert_eq!(*total.lock(), 2);
    assert_eq!(woken.0.load(Relaxed), 1, "no thread waits");
}

#[test]
fn a_task_is_woken_when_it_may_lock_under_each_kind_of_lock() {
    a_task_is_woken_when_it_may_lock::<Tas>();
    a_task_is_woken_when_it_may_lock::<Mcs>();
    a_task_is_woken_when_it_may_lock::<HmcsT1>();
}

/// One task has two futures and polls the second; it would never proceed if the mutex went to the
/// first.
#[test]
fn a_future_that_nobody_polls_is_passed_over() {
    let total: Mutex<u64, Waking<Mcs>> = Mutex::from(1);
    let ((first_woken, first_waker), (woken, waker)) = (waker(), waker());
    let mut unpolled = pin!(total.lock_async());
    let mut future = pin!(total.lock_async());
    let guard = total.lock();
    assert!(poll(unpolled.as_mut(), &first_waker).is_pending());
    assert!(poll(future.as_mut(), &waker).is_pending());
    drop(guard);
    let calls = || (first_woken.0.load(Relaxed), woken.0.load(Relaxed));
    assert_eq!(calls(), (1, 0), "one unlocking, one wake");
    drop(total.lock());
    assert_eq!(calls(), (1, 1), "the first is not polled");
    let guard = poll(future.as_mut(), &waker);
    assert!(guard.is_ready(), "the mutex is free");
    assert!(poll(unpolled.as_mut(), &first_waker).is_pending());
    drop(guard);
    assert_eq!(first_woken.0.load(Relaxed), 2, "it waits where it waited");
    assert!(poll(unpolled.as_mut(), &first_waker).is_ready());
}

#[test]
fn a_future_that_is_dropped_is_forgotten() {
    let total: Mutex<u64, Waking<Tas>> = Mutex::from(1);
    let ((dropped_woken, dropped_waker), (woken, waker)) = (waker(), waker());
    let mut future = pin!(total.lock_async());
    let guard = total.lock();
    let mut dropped = Box::pin(total.lock_async());
    assert!(poll(dropped.as_mut(), &dropped_waker).is_pending());
    assert!(poll(future.as_mut(), &waker).is_pending());
    drop(dropped);
    drop(guard);
    assert_eq!(dropped_woken.0.load(Relaxed), 0);
    assert_eq!(Arc::strong_count(&dropped_woken), 2, "its waker is gone");
    assert_eq!(woken.0.load(Relaxed), 1);
    assert!(poll(future.as_mut(), &waker).is_ready());
}

#[test]
fn a_called_future_that_is_dropped_passes_its_call_on() {
    let total: Mutex<u64, Waking<Tas>> = Mutex::from(1);
    let ((dropped_woken, dropped_waker), (woken, waker)) = (waker(), waker());
    let guard = total.lock();
    let mut dropped = Box::pin(total.lock_async());
    let mut future = pin!(total.lock_async());
    assert!(poll(dropped.as_mut(), &dropped_waker).is_pending());
    assert!(poll(future.as_mut(), &waker).is_pending());
    drop(guard);
    let calls = || (dropped_woken.0.load(Relaxed), woken.0.load(Relaxed));
    assert_eq!(calls(), (1, 0));
    drop(dropped);
    assert_eq!(calls(), (1, 1));
    assert!(poll(future.as_mut(), &waker).is_ready());
}

/// Each of many tasks holds the mutex across a turn of its executor. The number of polls is linear
/// in the acquisitions, and each task acquires.
#[test]
fn a_crowd_of_tasks_takes_a_bounded_number_of_polls_each() {
    const TASKS: usize = 1_000;
    const ROUNDS: usize = 4;
    let total: Mutex<usize, Waking<Mcs>> = Mutex::from(0);
    let polls = AtomicUsize::new(0);
    let wakers: Vec<_> = (0..TASKS).map(|_| waker()).collect();
    let mut tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            Box::pin(async {
                for _ in 0..ROUNDS {
                    *total.lock_async().await += 1;
                    let mut guard = total.lock_async().await;
                    yields().await;
                    *guard += 1;
                }
            })
        })
        .collect();
    let mut seen = vec![0; TASKS];
    let mut left: Vec<usize> = (0..TASKS).collect();
    let mut is_first = true;
    while !left.is_empty() {
        let before = left.len();
        let mut has_polled = false;
        left.retain(|&task| {
            let woken = wakers[task].0.0.load(Relaxed);
            if !is_first && woken == seen[task] {
                return true;
            }
            seen[task] = woken;
            has_polled = true;
            polls.fetch_add(1, Relaxed);
            let cx = &mut Context::from_waker(&wakers[task].1);
            tasks[task].as_mut().poll(cx).is_pending()
        });
        assert!(has_polled, "{before} tasks sleep for ever");
        is_first = false;
    }
    assert_eq!(*total.lock(), 2 * TASKS * ROUNDS);
    let each = polls.into_inner() / (TASKS * ROUNDS);
    assert!(each <= 6, "{each} polls for each two acquisitions");
}

#[test]
fn a_thread_that_gives_up_or_tries_owes_tasks_a_wake_up() {
    let total: Mutex<u64, Waking<Tas>> = Mutex::from(1);
    let (woken, waker) = waker();
    let mut future = pin!(total.lock_async());
    let guard = total.lock();
    assert!(poll(future.as_mut(), &waker).is_pending());
    assert!(total.try_lock().is_none());
    let past = Patience::until(cohort::Deadline::monotonic(1));
    assert!(total.lock_within(&past).is_none());
    assert_eq!(woken.0.load(Relaxed), 0, "the mutex is locked all the time");
    drop(guard);
    assert_eq!(woken.0.load(Relaxed), 1);
}

#[test]
fn a_waker_that_panics_keeps_no_other_asleep() {
    let total: Mutex<u64, Waking<Tas>> = Mutex::from(1);
    let (woken, waker) = waker();
    let mut first = pin!(total.lock_async());
    let mut second = pin!(total.lock_async());
    let guard = total.lock();
    assert!(poll(first.as_mut(), &Waker::from(Arc::new(Panics))).is_pending());
    assert!(poll(second.as_mut(), &waker).is_pending());
    drop(guard);
    assert_eq!(woken.0.load(Relaxed), 1);
}

/// A rwlock for threads and tasks.
type Shared = RwLock<u64, Waking<RawRwLock>>;

fn poll_pinned<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

const fn is_send<T: Send>(_: &T) {}

/// Tasks hold guards across an await, and executors move tasks between threads.
#[test]
fn a_guard_of_a_task_goes_to_another_thread() {
    let total = Shared::from(1);
    let (_, waker) = waker();
    let future = pin!(total.read_async());
    is_send(&*future);
    let Poll::Ready(reader) = poll_pinned(future, &waker) else {
        panic!("the lock is free");
    };
    std::thread::scope(|scope| {
        scope.spawn(move || assert_eq!(*reader, 1));
    });
    let Poll::Ready(mut writer) = poll_pinned(pin!(total.write_async()), &waker) else {
        panic!("the reader has left");
    };
    std::thread::scope(|scope| {
        scope.spawn(move || *writer += 1);
    });
    assert_eq!(total.reading(|total| *total), 2);
}

/// A turn of the executor.
async fn yields() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Each of many tasks holds the lock across a turn of its executor, one in four to write. The number
/// of polls is linear in the acquisitions, and each task acquires.
#[test]
fn a_crowd_of_readers_and_writers_takes_a_bounded_number_of_polls_each() {
    const TASKS: usize = 400;
    let total = Shared::from(0);
    let wakers: Vec<_> = (0..TASKS).map(|_| waker()).collect();
    let mut tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let total = &total;
            Box::pin(async move {
                if task % 4 == 0 {
                    let mut guard = total.write_async().await;
                    yields().await;
                    *guard += 1;
                } else {
                    let guard = total.read_async().await;
                    yields().await;
                    assert!(*guard <= TASKS as u64);
                }
            })
        })
        .collect();
    let (mut polls, mut is_first) = (0, true);
    let mut seen = vec![0; TASKS];
    let mut left: Vec<usize> = (0..TASKS).collect();
    while !left.is_empty() {
        let before = polls;
        left.retain(|&task| {
            let woken = wakers[task].0.0.load(Relaxed);
            if !is_first && woken == seen[task] {
                return true;
            }
            seen[task] = woken;
            polls += 1;
            poll_pinned(tasks[task].as_mut(), &wakers[task].1).is_pending()
        });
        assert!(polls > before, "{} tasks sleep for ever", left.len());
        is_first = false;
    }
    assert_eq!(total.reading(|total| *total), TASKS as u64 / 4);
    assert!(polls <= 6 * TASKS, "{polls} polls for {TASKS} tasks");
}

#[test]
fn a_thread_that_gives_up_a_rwlock_owes_tasks_a_wake_up() {
    let total = Shared::from(1);
    let (woken, waker) = waker();
    let mut future = pin!(total.read_async());
    let past = Patience::until(cohort::Deadline::monotonic(1));
    total.writing(|_| {
        assert!(poll_pinned(future.as_mut(), &waker).is_pending());
        assert!(total.reading_within(&past, |_| ()).is_none());
        assert!(total.writing_within(&past, |_| ()).is_none());
        assert_eq!(woken.0.load(Relaxed), 0, "the lock is held all the time");
    });
    assert_eq!(woken.0.load(Relaxed), 1);
    assert!(poll_pinned(future.as_mut(), &waker).is_ready());
}

/// Each of two tasks reads again in the same poll in which it ends a read lock, and the two overlap.
/// A third task that writes acquires all the same.
#[test]
fn reading_tasks_do_not_starve_a_writing_task() {
    const TURNS: usize = 100;
    let total = Shared::from(0);
    let reads = || async {
        loop {
            let guard = total.read_async().await;
            yields().await;
            drop(guard);
        }
    };
    let writes = async {
        *total.write_async().await += 1;
    };
    let mut tasks: [Pin<Box<dyn Future<Output = ()>>>; 3] =
        [Box::pin(reads()), Box::pin(reads()), Box::pin(writes)];
    let wakers = [(); 3].map(|()| waker());
    let mut seen = [u32::MAX; 3];
    for _ in 0..TURNS {
        for task in 0..3 {
            let woken = wakers[task].0.0.load(Relaxed);
            if woken == mem::replace(&mut seen[task], woken) {
                continue;
            }
            if poll_pinned(tasks[task].as_mut(), &wakers[task].1).is_ready() {
                return;
            }
        }
    }
    panic!("the writer waits for ever");
}

/// A waker that panics when it is dropped.
struct PanicsLate;

impl Wake for PanicsLate {
    fn wake(self: Arc<Self>) {}
}

impl Drop for PanicsLate {
    fn drop(&mut self) {
        panic!("a waker's, on purpose");
    }
}

/// A future that is polled while another waker of its is in the list drops that waker once it has
/// acquired.
#[test]
fn a_waker_that_panics_when_dropped_leaves_the_lock_free() {
    let total = Shared::from(0);
    let hold = || poll_pinned(pin!(total.write_async()), Waker::noop());
    let late = || Waker::from(Arc::new(PanicsLate));
    let (mut reader, mut writer) = (Box::pin(total.read_async()), Box::pin(total.write_async()));
    let mut unpolled = Box::pin(total.write_async());
    // The first in the list is called; the next keeps its waker.
    let guard = hold();
    assert!(poll_pinned(unpolled.as_mut(), Waker::noop()).is_pending());
    assert!(poll_pinned(reader.as_mut(), &late()).is_pending());
    drop(guard);
    let polled = || drop(poll_pinned(reader.as_mut(), Waker::noop()));
    assert!(catch_unwind(AssertUnwindSafe(polled)).is_err());
    assert!(hold().is_ready(), "read for ever");
    drop(unpolled);
    let mut unpolled = Box::pin(total.write_async());
    let guard = hold();
    assert!(poll_pinned(unpolled.as_mut(), Waker::noop()).is_pending());
    assert!(poll_pinned(writer.as_mut(), &late()).is_pending());
    drop(guard);
    let polled = || drop(poll_pinned(writer.as_mut(), Waker::noop()));
    assert!(catch_unwind(AssertUnwindSafe(polled)).is_err());
    assert!(hold().is_ready(), "written for ever");
}

#[test]
fn a_read_lock_too_many_owes_tasks_a_wake_up() {
    const MOST: usize = 1 << 19;
    let total = Shared::from(0);
    let readers: Vec<_> = (0..MOST)
        .map(|_| poll_pinned(pin!(total.read_async()), Waker::noop()))
        .collect();
    assert!(readers.iter().all(Poll::is_ready));
    let refused = catch_unwind(AssertUnwindSafe(|| total.reading(|_| ())));
    assert!(refused.is_err(), "one too many");
    drop(readers);
    let ((_, first_waker), (woken, waker)) = (waker(), waker());
    let mut unpolled = pin!(total.write_async());
    let mut future = pin!(total.write_async());
    total.writing(|_| {
        assert!(poll_pinned(unpolled.as_mut(), &first_waker).is_pending());
        assert!(poll_pinned(future.as_mut(), &waker).is_pending());
    });
    total.reading(|_| ());
    assert_eq!(woken.0.load(Relaxed), 1, "the first is not polled");
}
