//! The order in which a holder runs the sections delegated meanwhile.

use crate::clients::{read, write};
use crate::delegate_clients::Brought;
use crate::locks::Delegate;
use crate::locks::door::{AtomicU32, Cell, Order, Spinner};
use crate::world::{Kept, together};
use std::sync::Arc;

/// The other threads delegate while the first runs its own section; theirs run in the order of
/// arrival, or in the opposite order. For schedules that switch threads only at waits: a thread
/// with a number delegates before the next one gets its number.
pub fn keeps_order<D: Delegate + 'static>(threads: usize, in_order: bool) {
    type Shared<D> = (D, AtomicU32, AtomicU32, Cell<u64>);
    let shared: Arc<Shared<D>> = Arc::default();
    let theirs = Arc::clone(&shared);
    let others = threads as u32 - 1;
    let ended = together(threads, move |thread| {
        let (delegate, has_begun, come, order) = &*theirs;
        let mut context = Kept::new(D::Context::default());
        let mut spinner = Spinner::new();
        if thread == 0 {
            let first = Brought::new(|| {
                has_begun.store(1, Order::RELAXED);
                let mut spinner = Spinner::new();
                while come.load(Order::RELAXED) < others {
                    spinner.turn();
                }
            });
            delegate.run_here(&mut context, first.section());
            return;
        }
        while has_begun.load(Order::RELAXED) == 0 {
            spinner.turn();
        }
        drop(spinner);
        let number = 1 + u64::from(come.fetch_add(1, Order::RELAXED));
        let section = Brought::new(|| write(order, read(order) * 10 + number));
        delegate.run(&mut context, section.section());
    });
    if ended.is_some() {
        let digits = |numbers: &mut dyn Iterator<Item = u64>| {
            numbers.fold(0, |before, number| before * 10 + number)
        };
        let others = u64::from(others);
        let expected = if in_order {
            digits(&mut (1..=others))
        } else {
            digits(&mut (1..=others).rev())
        };
        assert_eq!(read(&shared.3), expected, "sections are run in their order");
    }
}

/// A holder runs a second thread's section, and after another acquisition a third's; only the
/// delegate orders the two.
pub fn opens_again<D: Delegate + 'static>() {
    type Shared<D> = (D, AtomicU32, AtomicU32, Cell<u64>);
    let shared: Arc<Shared<D>> = Arc::default();
    let theirs = Arc::clone(&shared);
    let ended = together(3, move |thread| {
        let (delegate, begun, come, count) = &*theirs;
        if thread > 0 {
            let mut spinner = Spinner::new();
            while begun.load(Order::RELAXED) < thread as u32 {
                spinner.turn();
            }
            drop(spinner);
            come.fetch_add(1, Order::RELAXED);
            let mut context = Kept::new(D::Context::default());
            let section = Brought::new(|| write(count, read(count) + 1));
            delegate.run(&mut context, section.section());
            return;
        }
        for turn in 1..3 {
            let mut context = Kept::new(D::Context::default());
            let section = Brought::new(|| {
                begun.store(turn, Order::RELAXED);
                let mut spinner = Spinner::new();
                while come.load(Order::RELAXED) < turn {
                    spinner.turn();
                }
            });
            delegate.run_here(&mut context, section.section());
        }
    });
    if ended.is_some() {
        assert_eq!(read(&shared.3), 2, "each section is run once");
    }
}
