//! Sections delegated by tasks: wake-ups of their futures, and sections without a waker.

#[path = "support/wakers.rs"]
mod wakers;

use cohort::basic::Mcs;
use cohort::delegation::{CcSynch, SanlPlus};
use cohort::{Delegate, Delegated, Posting, RunAsync};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::thread::{scope, yield_now};
use wakers::{Panics, Woken};

type Data<L> = Arc<Delegated<u64, Posting<L>>>;

fn data<L: Delegate>() -> Data<L> {
    Arc::new(Delegated::from(1))
}

fn poll<R>(future: &mut (impl Future<Output = R> + Unpin), waker: &Waker) -> Poll<R> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Polls all futures in another thread while a section runs, so that they are posted.
fn posts<L: Delegate + 'static, R: Send + 'static>(
    total: &Data<L>,
    futures: &mut [(&mut RunAsync<u64, L, R>, &Waker)],
) {
    total.locking(|_| {
        scope(|scope| {
            scope.spawn(|| {
                for (future, waker) in futures.iter_mut() {
                    assert!(poll(future, waker).is_pending());
                }
            });
        });
    });
}

#[test]
fn a_poll_runs_what_nobody_else_is_there_for() {
    let total = data::<SanlPlus>();
    let mut future = total.run_async(|total| {
        *total += 1;
        *total
    });
    assert_eq!(total.run(|total| *total), 1, "nothing is posted yet");
    assert_eq!(poll(&mut future, Waker::noop()), Poll::Ready(2));
}

#[test]
fn a_task_is_woken_once_its_section_has_been_run() {
    let total = data::<CcSynch>();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = total.run_async(|total| {
        *total += 1;
        *total
    });
    posts(&total, &mut [(&mut future, &waker)]);
    assert_eq!(woken.0.load(Relaxed), 1);
    assert_eq!(total.run(|total| *total), 2);
    assert_eq!(poll(&mut future, &waker), Poll::Ready(2));
}

#[test]
fn the_waker_of_the_last_poll_is_called() {
    let total = data::<Mcs>();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = total.run_async(|total| *total);
    total.locking(|_| {
        scope(|scope| {
            scope.spawn(|| {
                assert!(poll(&mut future, &Waker::from(Arc::new(Panics))).is_pending());
                assert!(poll(&mut future, &waker).is_pending());
            });
        });
    });
    assert_eq!(woken.0.load(Relaxed), 1);
}

#[test]
fn a_panic_reaches_the_poll() {
    let total = data::<Mcs>();
    let mut future = total.run_async(|_| -> u64 { panic!("a section's, on purpose") });
    posts(&total, &mut [(&mut future, Waker::noop())]);
    let polled = catch_unwind(AssertUnwindSafe(|| poll(&mut future, Waker::noop())));
    assert_eq!(
        polled.expect_err("it panics").downcast_ref(),
        Some(&"a section's, on purpose")
    );
    assert_eq!(total.run(|total| *total), 1, "others go on after a panic");
}

#[test]
fn a_waker_that_panics_keeps_nobody_else_asleep() {
    let total = data::<Mcs>();
    let woken = Arc::new(Woken::default());
    let (panics, waker) = (
        Waker::from(Arc::new(Panics)),
        Waker::from(Arc::clone(&woken)),
    );
    let (mut one, mut other) = (
        total.run_async(|total| *total),
        total.run_async(|total| *total),
    );
    posts(&total, &mut [(&mut one, &panics), (&mut other, &waker)]);
    assert_eq!(woken.0.load(Relaxed), 1);
    assert_eq!(poll(&mut one, &waker), Poll::Ready(1));
}

#[test]
fn a_future_that_is_dropped_takes_its_section_back() {
    let total = data::<Mcs>();
    drop(total.run_async(|total| *total += 1));
    total.locking(|_| {
        scope(|scope| {
            scope.spawn(|| {
                let mut future = total.run_async(|total| *total += 1);
                assert!(poll(&mut future, Waker::noop()).is_pending());
            });
        });
    });
    assert_eq!(total.run(|total| *total), 1);
    assert_eq!(Arc::strong_count(&total), 1, "nothing is left of it");
}

#[test]
fn a_future_that_is_forgotten_has_its_section_run() {
    let total = data::<Mcs>();
    let mut future = total.run_async(|total| *total += 1);
    posts(&total, &mut [(&mut future, Waker::noop())]);
    std::mem::forget(future);
    assert_eq!(total.run(|total| *total), 2);
}

#[test]
fn a_poll_in_a_section_of_other_data_runs_its_own() {
    let (outer, total) = (data::<CcSynch>(), data::<CcSynch>());
    let mut future = total.run_async(|total| *total);
    let polled = outer.locking(|_| poll(&mut future, Waker::noop()));
    assert_eq!(polled, Poll::Ready(1));
}

#[test]
fn threads_that_wait_for_a_condition_are_told() {
    let total = data::<Mcs>();
    let (asked, is_asked) = channel();
    scope(|scope| {
        let waiter = scope.spawn(|| {
            let condition = move |total: &u64| {
                let _ = asked.send(());
                *total == 2
            };
            total.run_when(condition, |total| *total)
        });
        is_asked.recv().expect("the condition is asked for");
        let mut future = total.run_async(|total| *total += 1);
        // The waiter may not have left yet, and may run it on leaving.
        while poll(&mut future, Waker::noop()).is_pending() {
            yield_now();
        }
        assert_eq!(waiter.join().expect("it was told"), 2);
    });
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "would wait for it for ever")]
fn a_poll_in_a_section_of_the_same_data_is_an_error() {
    let total = data::<Mcs>();
    let mut future = total.run_async(|total| *total);
    let _ = total.locking(|_| poll(&mut future, Waker::noop()));
}

#[test]
#[should_panic(expected = "polled again after it was ready")]
fn a_poll_after_the_last_is_an_error() {
    let total = data::<Mcs>();
    let mut future = total.run_async(|total| *total);
    for _ in 0..2 {
        let _ = poll(&mut future, Waker::noop());
    }
}

/// An executor may move a future to another thread between two polls, and drop it there.
#[test]
fn a_future_may_go_to_another_thread() {
    let total = data::<Mcs>();
    let mut future = total.run_async(|total| *total);
    posts(&total, &mut [(&mut future, Waker::noop())]);
    scope(|scope| {
        scope.spawn(move || assert_eq!(poll(&mut future, Waker::noop()), Poll::Ready(1)));
    });
}
