//! Checks of `futex-hmcs`, the default.

use crate::runner::prelude::*;

impl Checked for FutexHmcs {
    type Smallest = Self;
    // The full tier allows one preemption more.
    const STANDARD: Standard = Standard {
        preemptions: 1,
        ..ALL
    };
}

looked_for_in!["fork::futex_hmcs", "futex_hmcs::"];

models![
    deep("futex_hmcs::park_deeper", PARK_3, || {
        mutex::excludes::<FutexHmcs>(2, 2, 0)
    }),
    lighter("futex_hmcs::queues", PARK_1, || {
        mutex::queues::<FutexHmcs, 3>([1, 1, 1])
    }),
    deep("futex_hmcs::spin_queues", SPIN_1, || {
        mutex::queues::<FutexHmcs, 3>([1, 1, 1])
    }),
    lighter("futex_hmcs::absent", SPIN_ABSENT, || {
        mutex::queues_behind::<FutexHmcs, 3>(1, [1, 1, 1])
    }),
    lighter("futex_hmcs::one_group", ONE_GROUP, || {
        mutex::excludes::<FutexHmcs>(3, 1, 0)
    }),
    lighter("futex_hmcs::one_group_queues", ONE_GROUP, || {
        mutex::queues::<FutexHmcs, 3>([1, 1, 1])
    }),
    lighter("futex_hmcs::one_group_absent", ONE_GROUP_ABSENT, || {
        mutex::queues::<FutexHmcs, 3>([1, 1, 1])
    }),
    lighter("futex_hmcs::fair", PARK_1, || {
        mutex::queues::<mutex::Fairly<FutexHmcs>, 3>([1, 1, 1])
    }),
    lighter("futex_hmcs::fair_timed", PARK_1, || {
        mutex::lets_go::<mutex::Fairly<FutexHmcs>>(3, 1, 1)
    }),
    quick("futex_hmcs::owed", IMPATIENT_1, || {
        mutex::lets_go::<FutexHmcs>(3, 1, 1)
    }),
    lighter("futex_hmcs::quick", QUIET_1, || {
        mutex::excludes::<FutexHmcs>(3, 1, 0)
    }),
    lighter("futex_hmcs::quick_timed", QUIET, || {
        mutex::lets_go::<FutexHmcs>(3, 1, 1)
    }),
    lighter("futex_hmcs::queue_endless_handed_over", PAIR_1, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Often, Limit::Endless, Free::HandedOver);
    }),
    lighter("futex_hmcs::queue_endless_quick", PAIR_QUIET_1, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Often, Limit::Endless, Free::Usual);
    }),
    quick("futex_hmcs::queue_endless_revoked", PAIR_QUIET_0, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Often, Limit::Endless, Free::Twice);
    }),
    quick("futex_hmcs::queue_timed_handed_over", PAIR_1, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Often, Limit::Deadline, Free::HandedOver);
    }),
    quick("futex_hmcs::queue_timed_quick", PAIR_QUIET_1, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Often, Limit::Deadline, Free::Usual);
    }),
    quick("futex_hmcs::queue_timed_revoked", PAIR_QUIET_0, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Often, Limit::Deadline, Free::Twice);
    }),
    quick("futex_hmcs::queue_cancelled_handed_over", PAIR_1, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Often, Limit::Cancelled, Free::HandedOver);
    }),
    quick("futex_hmcs::queue_cancelled_quick", PAIR_QUIET_1, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Often, Limit::Cancelled, Free::Usual);
    }),
    quick("futex_hmcs::queue_cancelled_revoked", PAIR_QUIET_0, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Often, Limit::Cancelled, Free::Twice);
    }),
    quick(
        "futex_hmcs::visit_queue_endless_handed_over",
        PAIR_1,
        || {
            pairs::meet::<FutexHmcs>(AcquireBy::Visit, Limit::Endless, Free::HandedOver);
        }
    ),
    quick(
        "futex_hmcs::visit_queue_endless_quick",
        PAIR_QUIET_1,
        || {
            pairs::meet::<FutexHmcs>(AcquireBy::Visit, Limit::Endless, Free::Usual);
        }
    ),
    quick(
        "futex_hmcs::visit_queue_endless_revoked",
        PAIR_QUIET_0,
        || {
            pairs::meet::<FutexHmcs>(AcquireBy::Visit, Limit::Endless, Free::Twice);
        }
    ),
    lighter("futex_hmcs::visit_queue_timed_handed_over", PAIR_1, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Visit, Limit::Deadline, Free::HandedOver);
    }),
    lighter("futex_hmcs::visit_queue_timed_quick", PAIR_QUIET_1, || {
        pairs::meet::<FutexHmcs>(AcquireBy::Visit, Limit::Deadline, Free::Usual);
    }),
    quick(
        "futex_hmcs::visit_queue_timed_revoked",
        PAIR_QUIET_0,
        || {
            pairs::meet::<FutexHmcs>(AcquireBy::Visit, Limit::Deadline, Free::Twice);
        }
    ),
    quick(
        "futex_hmcs::visit_queue_cancelled_handed_over",
        PAIR_1,
        || {
            pairs::meet::<FutexHmcs>(AcquireBy::Visit, Limit::Cancelled, Free::HandedOver);
        }
    ),
    quick(
        "futex_hmcs::visit_queue_cancelled_quick",
        PAIR_QUIET_1,
        || {
            pairs::meet::<FutexHmcs>(AcquireBy::Visit, Limit::Cancelled, Free::Usual);
        }
    ),
    quick(
        "futex_hmcs::visit_queue_cancelled_revoked",
        PAIR_QUIET_0,
        || {
            pairs::meet::<FutexHmcs>(AcquireBy::Visit, Limit::Cancelled, Free::Twice);
        }
    ),
    quick("futex_hmcs::begins_again", PARK_1, || {
        mutex::begins_where_another_was_held()
    }),
    lighter(
        "futex_hmcs::keeps_apart",
        TURNS,
        mutex::keeps_apart::<FutexHmcs>,
    ),
    lighter(
        "futex_hmcs::keeps_apart_spin",
        SPIN_TRIES,
        mutex::keeps_apart::<FutexHmcs>,
    ),
    quick("fork::futex_hmcs_waited", FORK_0, || {
        fork::holds_what_it_waited_for(fork::bare::<FutexHmcs>())
    }),
    quick("fork::futex_hmcs_multiplies", FORK, || {
        fork::multiplies(fork::bare::<FutexHmcs>(), 2)
    }),
    lighter("fork::futex_hmcs_beside", FORK_2, || {
        fork::looks_on(fork::bare::<FutexHmcs>(), 3)
    }),
];

on_machine! {
    _ => [few("futex_hmcs_lets_go"), || mutex::excludes::<FutexHmcs>(6, 4, 0)];
}
