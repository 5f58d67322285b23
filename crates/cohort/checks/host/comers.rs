//! Checks of counted arrivals at an inflated lock.

use crate::runner::prelude::*;

looked_for_in!["comers::", "inflated::"];

models![
    // The object is released while threads arrive, with arrivals at one inflated lock and then
    // another.
    deep("comers::two", PARK_1, || {
        host::excludes(host::inflated::<Ticket>(), 2, 3, 0);
    }),
    // A signal handler runs in the middle of an arrival, at the lock itself.
    quick("comers::interrupted", PARK_1, || {
        arrivals::is_arrived_at(host::inflated::<Tas>, |moment, handler, it| {
            door::interrupted_at_step(moment, handler, it)
        });
    }),
    // During an arrival the holder releases the object, and locks it again or takes an inflated
    // lock for another object.
    quick("comers::held_again", PARK, || {
        arrivals::is_left_and_held_again(host::inflated::<Ticket>(), 1);
    }),
    lighter("comers::held_again_twice", PARK, || {
        arrivals::is_left_and_held_again(host::inflated::<Ticket>(), 2);
    }),
    quick("comers::for_another", PARK, || {
        arrivals::is_left_for_another::<Ticket>();
    }),
    // Threads deregister when they release the lock.
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
