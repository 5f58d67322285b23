//! Checks of `hmcs-t`.

use crate::locks::{Abortable, Cancellation, Outcome, Patience, RawLock, RawTry};
use crate::runner::prelude::*;

/// Two cohorts without hand-offs.
type SmallHmcsT<P> = HmcsT<(Numa,), 2, 0, P, 1>;

/// The levels of `L`, with another way of timing out; 0: no bound on the waiters passed over.
#[derive(Default)]
pub struct InManner<L, const NAIVE: bool, const PESSIMISTIC: bool, const PEERS: u32>(L);

// SAFETY: passed on.
unsafe impl<L: Shape, const NAIVE: bool, const PESSIMISTIC: bool, const PEERS: u32> Shape
    for InManner<L, NAIVE, PESSIMISTIC, PEERS>
{
    const MOST: usize = L::MOST;

    type Gives = Abandonment;

    fn count(&self) -> usize {
        self.0.count()
    }

    fn cohort(&self, level: usize) -> usize {
        self.0.cohort(level)
    }

    fn in_a_row(&self, usual: u32) -> u32 {
        self.0.in_a_row(usual)
    }

    fn gives(&self) -> Abandonment {
        Abandonment {
            naive: NAIVE,
            pessimistic: PESSIMISTIC,
            peers: (PEERS > 0).then_some(PEERS),
        }
    }
}

/// Starts every acquisition at its smallest cohort, without the fast path.
#[derive(Default)]
pub struct FromLeaf;

// SAFETY: level 0 exists.
unsafe impl Entry for FromLeaf {
    const LEARNS: bool = true;

    fn level(&self, _top: usize) -> usize {
        0
    }

    fn learn(&self, _top: usize, _met: usize) {}
}

/// A token that could end a wait, and never does.
struct Never;

impl Cancellation for Never {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn sleep(&self, _word: usize, sleep: &mut dyn FnMut()) {
        sleep();
    }
}

/// A lock where every wait has a token that never ends it, so that all waits take the abortable
/// path.
#[derive(Debug, Default)]
pub struct Endable<L>(L);

// SAFETY: the inner lock excludes; also below.
unsafe impl<L: Abortable> RawLock for Endable<L> {
    type Context = L::Context;

    unsafe fn acquire(&self, cx: &L::Context) {
        // SAFETY: guaranteed by the caller; also below.
        let outcome = unsafe { self.acquire_within(cx, &Patience::ENDLESS) };
        assert!(outcome == Outcome::Acquired, "nothing ends the wait");
    }

    unsafe fn release(&self, cx: &L::Context) {
        // SAFETY: as above.
        unsafe { self.0.release(cx) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above.
unsafe impl<L: Abortable + RawTry> RawTry for Endable<L> {
    unsafe fn try_acquire(&self, cx: &L::Context) -> bool {
        // SAFETY: as above.
        unsafe { self.0.try_acquire(cx) }
    }
}

// SAFETY: as above.
unsafe impl<L: Abortable> Abortable for Endable<L> {
    unsafe fn acquire_within(&self, cx: &L::Context, patience: &Patience) -> Outcome {
        // SAFETY: as above.
        unsafe { self.0.acquire_within(cx, &patience.unless(&Never)) }
    }
}

/// One level, where every acquisition has an allocated node, not an embedded one or the queue's
/// own.
pub type WithNodes<P> = Endable<HmcsT<(), 0, 0, P, 64, FromLeaf>>;

/// Two cohorts without hand-offs, where every acquisition has an allocated node.
pub type SmallWithNodes<P> = Endable<HmcsT<(Numa,), 2, 0, P, 1, FromLeaf>>;

/// One cohort, one hand-off, and at most one waiter passed over before the top queue is abandoned.
pub type OnePeer<P> = HmcsT<InManner<(Whole,), false, false, 1>, 1, 0, P, 2, FromLeaf>;

/// Two cohorts, where late arrivals time out.
pub type Pessimistic<P> = HmcsT<InManner<(Numa,), false, true, 0>, 2, 0, P, 2, FromLeaf>;

/// Two levels of cohorts, abandoned from the top down.
pub type Naive<P> = HmcsT<InManner<(Numa, Whole), true, false, 0>, 2, 1, P, 2, FromLeaf>;

/// A tree with adaptive entry levels.
pub type SmallAhmcsT<P> = HmcsT<(Numa,), 2, 0, P, 1, WhereMet>;

impl Checked for HmcsT1 {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        destroyed: false,
        fewer_hosted: 1,
        ..ALL
    };
}

impl Checked for HmcsT2 {
    type Smallest = SmallHmcsT<MayPark>;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        destroyed: false,
        fewer: 1,
        fewer_hosted: 1,
        ..ALL
    };
}

as_in! { "hmcs_t_2": HmcsT3, HmcsT4 }

looked_for_in!["hmcs_t_1::", "hmcs_t_2::", "hmcs_t::", "fork::hmcs_t"];

models![
    deep("hmcs_t::turns", SPIN_1, || {
        mutex::takes_turns::<SmallHmcsT<SpinOnly>, _>([2, 1, 1]);
    }),
    deep("hmcs_t::turns_with_nodes", SPIN_1, || {
        mutex::takes_turns::<SmallWithNodes<SpinOnly>, _>([2, 1, 1]);
    }),
    lighter("hmcs_t::with_nodes", SPIN, || {
        mutex::excludes::<WithNodes<SpinOnly>>(3, 1, 0);
    }),
    lighter("hmcs_t::park_with_nodes", PARK, || {
        mutex::excludes::<WithNodes<MayPark>>(3, 1, 0);
    }),
    lighter("hmcs_t::among_others", SPIN, || {
        // SAFETY: `acquire_among_others` acquires.
        unsafe { mutex::comes_by::<SmallHmcsT<SpinOnly>>(3, SmallHmcsT::acquire_among_others) };
    }),
    quick("hmcs_t::two_let_go", SPIN_1, || {
        mutex::lets_go::<HmcsT1<SpinOnly>>(3, 1, 2);
    }),
    lighter("hmcs_t::leaves_its_own", SPIN, || {
        mutex::excludes::<SmallWithNodes<SpinOnly>>(3, 1, 0);
    }),
    quick("hmcs_t::all_let_go", SPIN_0, || {
        mutex::all_let_go::<HmcsT1<SpinOnly>>(3);
    }),
    quick("hmcs_t::dropped_while_held", SPIN, || {
        returned::gives_all_back::<HmcsT1<SpinOnly>>(2, 0, true);
    }),
    quick("hmcs_t::dropped_while_held_by_one_of_three", SPIN_0, || {
        returned::gives_all_back::<HmcsT1<SpinOnly>>(3, 0, true);
    }),
    quick("hmcs_t::two_levels_dropped_while_held", SPIN_0, || {
        returned::gives_all_back::<SmallHmcsT<SpinOnly>>(3, 2, true);
    }),
    quick("hmcs_t::two_levels_dropped", SPIN_0, || {
        returned::gives_all_back::<SmallHmcsT<SpinOnly>>(3, 2, false);
    }),
    quick("hmcs_t::lets_go", TICKING_3, || {
        mutex::lets_go::<HmcsT1<MayPark>>(2, 1, 1);
    }),
    lighter("hmcs_t::again", PARK, || {
        mutex::excludes::<HmcsT1<MayPark>>(2, 2, 0);
    }),
    lighter("hmcs_t::again_with_nodes", PARK, || {
        mutex::excludes::<WithNodes<MayPark>>(2, 2, 0);
    }),
    quick("hmcs_t::comes_back", PARK, || {
        mutex::comes_back::<HmcsT1<MayPark>>(2, 1, false);
    }),
    quick("hmcs_t::own_again", SPIN, || {
        guard::excludes::<HmcsT1<SpinOnly>>(2, 2);
    }),
    quick("hmcs_t::comes_back_with_nodes", PARK, || {
        mutex::comes_back::<WithNodes<MayPark>>(2, 1, false);
    }),
    lighter("hmcs_t::another_comes_with_nodes", SPIN_1, || {
        mutex::comes_back::<WithNodes<SpinOnly>>(3, 1, true);
    }),
    lighter("hmcs_t::another_comes", SPIN_1, || {
        mutex::comes_back::<HmcsT1<SpinOnly>>(3, 1, true);
    }),
    deep("hmcs_t::two_levels_come_back", SPIN_1, || {
        mutex::comes_back::<SmallHmcsT<SpinOnly>>(3, 1, false);
    }),
    lighter("hmcs_t::two_levels_two_let_go", SPIN_1, || {
        mutex::lets_go::<SmallHmcsT<SpinOnly>>(3, 1, 2);
    }),
    lighter("hmcs_t::one_peer", SPIN_1, || {
        mutex::lets_go::<OnePeer<SpinOnly>>(3, 1, 1);
    }),
    quick("hmcs_t::passes_over", SPIN_0, || {
        mutex::passes_over::<OnePeer<SpinOnly>>();
    }),
    quick("hmcs_t::pessimistic", SPIN_1, || {
        mutex::persists::<Pessimistic<SpinOnly>>(2);
    }),
    quick("hmcs_t::pessimistic_and_hurried", SPIN_1, || {
        mutex::comes_back_hurried::<Pessimistic<SpinOnly>>();
    }),
    quick("hmcs_t::naive", SPIN_0, || {
        mutex::lets_go::<Naive<SpinOnly>>(3, 1, 2);
    }),
    lighter("hmcs_t::lets_go_later", SPIN_LATER_1, || {
        mutex::lets_go::<HmcsT1<SpinOnly>>(3, 1, 1);
    }),
    quick("hmcs_t::one_lets_go_later", SPIN_LATER, || {
        mutex::all_let_go::<HmcsT1<SpinOnly>>(2);
    }),
    quick("hmcs_t::two_levels_one_lets_go_later", SPIN_LATER, || {
        mutex::all_let_go::<SmallHmcsT<SpinOnly>>(2);
    }),
    deep("hmcs_t::all_let_go_later", SPIN_LATER_0, || {
        mutex::all_let_go::<HmcsT1<SpinOnly>>(3);
    }),
    deep("hmcs_t::two_levels_all_let_go_later", SPIN_LATER_0, || {
        mutex::all_let_go::<SmallHmcsT<SpinOnly>>(3);
    }),
    quick("hmcs_t::two_let_go_later", SPIN_LATER_0, || {
        mutex::lets_go::<HmcsT1<SpinOnly>>(3, 1, 2);
    }),
    lighter("hmcs_t::two_levels_let_go_later", SPIN_LATER_1, || {
        mutex::lets_go::<SmallHmcsT<SpinOnly>>(3, 1, 1);
    }),
    quick("hmcs_t::learns", SPIN_1, || {
        mutex::lets_go::<SmallAhmcsT<SpinOnly>>(3, 1, 2);
    }),
    quick("hmcs_t::learns_and_comes_back", SPIN_0, || {
        mutex::comes_back::<SmallAhmcsT<SpinOnly>>(3, 2, false);
    }),
];

on_machine! {
    "hmcs-t.walk-again" => [keeps_to_its_steps];
    "hmcs-t.take-another" => [keeps_to_its_steps];
    _ => [
        few("hmcs_t_lets_go"),
        few("hmcs_t_comes_back"),
        few("hmcs_t_of_three_levels"),
        few("hmcs_t_lets_others_in"),
        few("hmcs_t_of_one_peer"),
        few("hmcs_t_pessimistic"),
        few("hmcs_t_naive"),
        few("hmcs_t_with_nodes"),
    ];
}
