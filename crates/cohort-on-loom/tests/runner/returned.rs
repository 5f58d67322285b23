//! A dropped lock returns all its nodes, whatever was left in it, and has created no more of them
//! than there were contexts.

use crate::clients::guest::Guest;
use crate::locks::door::{AtomicU32, Nodes, Order, Spinner, together};
use crate::locks::host::Census;
use crate::locks::numa::hmcs_t::{Cohort, Form, HmcsTNode};
use crate::locks::wait::SpinOnly;
use crate::locks::{Abortable, Outcome, Patience};
use crate::world::soon;
use std::any::Any;
use std::sync::Arc;

/// The number of a pool's nodes created in this execution, and of those in use.
fn count<T: Default + Send + Sync + 'static>(pool: &'static dyn Any) -> (usize, usize) {
    let pool: &Nodes<T> = pool.downcast_ref().expect("a pool of this world");
    let mut made = 0;
    pool.each(&mut |_| made += 1);
    (made, pool.taken())
}

/// All other threads arrive while the first holds the lock, and time out. Then the lock is dropped:
/// released, or held by an abandoned context.
pub fn gives_all_back<L: Abortable + 'static>(threads: usize, cohorts: usize, held: bool) {
    let shared = Arc::new((L::default(), AtomicU32::new(0)));
    let theirs = Arc::clone(&shared);
    let ended = together(threads, move |thread| {
        let (lock, stage) = &*theirs;
        let until = |reached: u32| {
            let mut spinner = Spinner::new();
            while stage.load(Order::RELAXED) < reached {
                spinner.turn();
            }
        };
        let guest = Guest::of(lock);
        if thread > 0 {
            until(1);
            let outcome = guest.acquire_within(&Patience::until(soon()));
            assert!(outcome == Outcome::GaveUp, "the lock was held");
            stage.fetch_add(1, Order::RELAXED);
            return;
        }
        guest.acquire();
        stage.fetch_add(1, Order::RELAXED);
        until(threads as u32);
        if !held {
            guest.release();
        }
    });
    if ended.is_none() {
        return;
    }
    let nodes = || count::<HmcsTNode<SpinOnly>>(<SpinOnly as Form>::nodes());
    let made_cohorts = || count::<Cohort<SpinOnly>>(<SpinOnly as Form>::cohorts());
    let ((made, taken), (tall, taken_tall)) = (nodes(), made_cohorts());
    assert!(
        (made, tall) == (taken, taken_tall) && made > 0,
        "the lock has them: {taken} of {made}, {taken_tall} of {tall}"
    );
    assert!(
        made <= threads + cohorts && tall <= cohorts,
        "{made} nodes and {tall} cohorts for {threads} contexts"
    );
    drop(Arc::into_inner(shared).expect("all others have ended"));
    let left = (nodes().1, made_cohorts().1);
    assert_eq!(left, (0, 0), "leaked nodes and cohorts");
}
