//! Checks of how arrivals at a fat lock are counted.

use crate::runner::prelude::*;

looked_for_in!["comers::", "inflated::"];

models![
    // The object is left while others come, in sessions of one fat lock and in such of another.
    deep("comers::two", PARK_1, || {
        host::excludes(host::inflated::<Ticket>(), 2, 3, 0);
    }),
    // A signal handler comes in the middle of an arrival, at the lock itself.
    quick("comers::interrupted", PARK_1, || {
        arrivals::is_arrived_at(host::inflated::<Tas>, |moment, handler, it| {
            door::interrupted_at_step(moment, handler, it)
        });
    }),
    // The holder leaves the object while a thread arrives, and locks it again; or takes a fat lock for
    // another one.
    quick("comers::held_again", PARK, || {
        arrivals::is_left_and_held_again(host::inflated::<Ticket>(), 1);
    }),
    lighter("comers::held_again_twice", PARK, || {
        arrivals::is_left_and_held_again(host::inflated::<Ticket>(), 2);
    }),
    quick("comers::for_another", PARK, || {
        arrivals::is_left_for_another::<Ticket>();
    }),
    // Threads count themselves out when they release the lock.
    quick("comers::in_scarcity", PARK_1, || {
        Gate::expect_scarcity();
        arrivals::is_left_and_held_again(host::inflated::<Ticket>(), 1);
    }),
    quick("comers::three", SPIN_1, || {
        host::excludes(host::inflated::<Ticket>(), 3, 1, 0);
    }),
    deep("comers::again", SPIN_1, || {
        host::excludes(host::inflated::<Ticket>(), 3, 2, 0);
    }),
];

on_machine! {
    _ => [few("anderson_inflated")];
}
