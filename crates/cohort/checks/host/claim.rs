//! Checks of claims past the queue.

use crate::runner::prelude::*;

/// A deadline after several looks at the clock, if a look takes as long as a claim needs to be due;
/// earlier if its waiter sleeps.
const NEAR: u64 = 1_600_000;

looked_for_in!["claim::", "fork::claim"];

models![
    quick("claim::mcs", DUE, || {
        host::is_claimed(host::in_place::<Mcs>(), 2, 2, [Some(host::NEVER)]);
    }),
    quick("claim::ticket", DUE, || {
        host::is_claimed(host::in_place_fast::<Ticket>(), 2, 2, [Some(host::NEVER)]);
    }),
    quick("claim::inflated", DUE, || {
        host::is_claimed(host::inflated::<Anderson<2>>(), 2, 2, [Some(host::NEVER)]);
    }),
    quick("claim::given_up", DUE, || {
        host::is_claimed(host::in_place::<Ticket>(), 2, 2, [Some(NEAR)]);
    }),
    quick("claim::past_the_queue", DUE_1, || {
        host::is_claimed(host::in_place::<Mcs>(), 3, 1, [Some(NEAR)]);
    }),
    quick("claim::past_the_counted", DUE_1, || {
        host::is_claimed(host::inflated::<Anderson<2>>(), 3, 1, [Some(NEAR)]);
    }),
    quick("claim::line", DUE_1, || {
        host::is_claimed(host::in_place::<Ticket>(), 3, 1, [None; 3]);
    }),
    quick("claim::line_of_three", DUE_1, || {
        host::is_claimed_by_many(host::in_place::<Ticket>(), [None; 3]);
    }),
    quick("claim::left_line", DUE_1, || {
        host::is_claimed_by_many(
            host::in_place::<Ticket>(),
            [None, Some(host::NEVER), Some(NEAR)],
        );
    }),
    quick("fork::claim", FORK_DUE, || {
        fork::holds_what_is_claimed(host::in_place::<Mcs>(), 2)
    }),
    quick("fork::claim_of_inflated", FORK_DUE, || {
        fork::holds_what_is_claimed(host::inflated::<Anderson<2>>(), 3)
    }),
    quick("fork::claim_granted", FORK_DUE_2, || {
        fork::hands_over(host::in_place::<Mcs>())
    }),
];

on_machine! {
    "claim.forget-wake" => [serves_claims_soon];
    "claim.forget-queue" => [serves_the_queue_between_claims];
    _ => [
        few("mcs_claimed"),
        few("ticket_claimed"),
        few("anderson_claimed"),
        few("claimed_by_many"),
    ];
}
