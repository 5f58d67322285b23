//! The clients' backend: threads of a simulated machine.

pub use crate::kept::Kept;
use crate::locks::host::{Arena, Census};
use crate::locks::{Clock, Deadline};
use cohort_machine::{Hardware, Memory, Options, Outcome, Run};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A small program that checks a guarantee.
pub type Client = fn();

/// The machine for the client on this host thread.
pub struct ClientRun {
    /// The hardware.
    pub hardware: Arc<Hardware>,
    /// The options of its runs.
    pub options: Options,
    memory: Memory,
    outcomes: RefCell<Vec<Outcome>>,
}

std::thread_local! {
    static PLACE: RefCell<Option<Rc<ClientRun>>> = const { RefCell::new(None) };
}

/// Runs a client on a machine; returns the outcomes of its runs.
pub fn on(hardware: &Arc<Hardware>, options: Options, client: Client) -> Vec<Outcome> {
    let place = Rc::new(ClientRun {
        hardware: Arc::clone(hardware),
        options,
        memory: Memory::new(),
        outcomes: RefCell::default(),
    });
    PLACE.set(Some(Rc::clone(&place)));
    client();
    PLACE.set(None);
    place.outcomes.take()
}

/// Runs `body` on so many threads, each with its number.
///
/// # Panics
/// If the run fails.
pub fn together<R: 'static>(threads: usize, body: impl Fn(usize) -> R + 'static) -> Option<Vec<R>> {
    let results: RefCell<Vec<Option<R>>> = RefCell::new((0..threads).map(|_| None).collect());
    run_together(threads, &|number| {
        let result = body(number);
        results.borrow_mut()[number] = Some(result);
    });
    results.into_inner().into_iter().collect()
}

/// Like [`together`] without results; compiled once for all clients and locks.
fn run_together(threads: usize, body: &dyn Fn(usize)) {
    let place = PLACE.with_borrow(|place| place.clone().expect("clients run on a machine"));
    let mut run = Run::new(&place.hardware, &place.memory, place.options.clone());
    for number in 0..threads {
        run.spawn(move |_| body(number));
    }
    match run.go() {
        Ok(outcome) => place.outcomes.borrow_mut().push(outcome),
        Err(failure) => panic!("{failure}"),
    }
}

/// A pool of nodes.
pub fn nodes<T: Default + Send + Sync + 'static>(
    cache: usize,
) -> Arc<impl Census<T> + Send + 'static> {
    Arc::new(Arena::<T>::new(cache))
}

/// Does nothing: a race is reported as such.
pub const fn linger() {}

/// A deadline that many acquisitions miss.
pub fn soon() -> Deadline {
    Deadline {
        clock: Clock::Monotonic,
        ..Deadline::monotonic(crate::locks::door::now() + 20_000)
    }
}
