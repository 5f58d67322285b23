//! Checks of a composition's bypass.

use crate::runner::prelude::*;

models![
    lighter("bypass::ticket_mcs", SPIN, || {
        mutex::takes_turns::<Bypass<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>, _>([2, 1, 1]);
    }),
    lighter("bypass::ticket_ticket", SPIN_1, || {
        mutex::takes_turns::<Bypass<Small<Ticket<SpinOnly>, Ticket<SpinOnly>>>, _>([2, 1, 1]);
    }),
    quick("bypass::adaptive", SPIN_1, || {
        mutex::takes_turns::<Adaptive<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>, _>([3, 1, 1]);
    }),
    quick("bypass::try", SPIN, || {
        mutex::excludes::<Bypass<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>>(3, 1, 2);
    }),
    lighter("bypass::fast", PARK_1, || {
        mutex::takes_turns::<Fast<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>, MayPark, 1>, _>([
            2, 1, 1,
        ]);
    }),
];

on_machine! {
    _ => [|| mutex::excludes::<Bypass<Clof<Ticket, Mcs>>>(4, 4, 0)];
}
