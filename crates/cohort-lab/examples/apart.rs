//! What it costs `ticket` that both its words are on one line: LBench under it and under one
//! that is the same but for a line for each word.  Dice et al. 2015 §5 pads its locks' fields;
//! ours has eight bytes, so that a mutex has room for it.  Rows K7 and K14 of
//! docs/claims.md depend on it.
//!
//! ```sh
//! cargo run --release -p cohort-lab --example apart sparc-t5440 64 128 256
//! ```
//!
//! The machine may be a file, as for `cohort bench --on`.

mod with;

use cohort_lab::workloads::CachePadded;
use cohort_lab::world::simulated::Simulator;
use cohort_machine::description::Machine;
use cohort_on_machine::basic::{Mcs, Ptl, Ticket};
use cohort_on_machine::compose::{Clof, Numa};
use cohort_on_machine::door::{AtomicU32, Order, Strength};
use cohort_on_machine::wait::{SpinOnly, WaitCell};
use cohort_on_machine::{DetectsWaiters, LowLock, RawLock, ThreadOblivious, standalone};
use std::error::Error;
use std::sync::Arc;
use with::{Make, lbench, make};

/// `ticket`, its words apart.
#[derive(Debug, Default)]
struct Apart {
    next: CachePadded<AtomicU32>,
    serving: CachePadded<WaitCell<SpinOnly>>,
}

/// From one number to the next; below it is the count that is passed on, as much as in `ticket`.
const ONE: u32 = 1 << 8;

const ACQUIRE: Order = Order {
    name: None,
    strength: Strength::Acquire,
};

const RELEASE: Order = Order {
    name: None,
    strength: Strength::Release,
};

// SAFETY: each number is drawn once and served for one holder's time only, and the holder
// alone moves on to the next, by a release that the next one's acquire reads.  No run here
// draws so many that they wrap.
unsafe impl RawLock for Apart {
    type Context = ();

    unsafe fn acquire(&self, (): &()) {
        let mine = self.next.0.fetch_add(ONE, Order::RELAXED);
        self.serving
            .0
            .wait_for(ACQUIRE, 1, |serving| serving / ONE == mine / ONE);
    }

    unsafe fn release(&self, (): &()) {
        self.serve(0);
    }

    fn is_locked(&self) -> bool {
        self.drawn() > 0
    }
}

impl Apart {
    /// How many have drawn a number and not yet released.
    fn drawn(&self) -> u32 {
        let next = self.next.0.load(Order::RELAXED);
        (next / ONE).saturating_sub(self.serving.0.value(Order::RELAXED) / ONE)
    }

    /// Serves the next number, to which something is carried.
    fn serve(&self, carried: u32) {
        let served = self.serving.0.value(Order::RELAXED);
        self.serving
            .0
            .put((served / ONE + 1) * ONE + carried, RELEASE);
    }
}

// SAFETY: release reads and writes the lock alone.
unsafe impl ThreadOblivious for Apart {}

// SAFETY: as `ticket`.
unsafe impl DetectsWaiters for Apart {
    unsafe fn has_waiters(&self, (): &()) -> bool {
        self.drawn() > 1
    }
}

standalone!([] Apart: HighLock);

// SAFETY: as `ticket`.
unsafe impl LowLock for Apart {
    fn hand_off_limit(&self) -> u32 {
        ONE - 1
    }

    unsafe fn hand_offs(&self, (): &()) -> u32 {
        self.serving.0.value(Order::RELAXED) % ONE
    }

    unsafe fn acquire_counted(&self, (): &()) -> u32 {
        // SAFETY: the caller's.
        unsafe { self.acquire(&()) };
        // SAFETY: acquired just now.
        unsafe { self.hand_offs(&()) }
    }

    unsafe fn release_counted(&self, (): &(), number: u32) {
        self.serve(number);
    }
}

/// `c-tkt-tkt/0`: a cohort hands nothing on.
type Batches<Tkt> = Clof<Tkt, Tkt, Numa, 0>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let machine = arguments
        .next()
        .ok_or("which machine, and how many threads?")?;
    let simulator = Arc::new(Simulator::new(Machine::open(&machine)?));
    let locks: [(&str, Make); 6] = [
        ("ticket", make::<Ticket<SpinOnly>>),
        ("ticket, words apart", make::<Apart>),
        ("ptl", make::<Ptl<8, SpinOnly>>),
        ("mcs", make::<Mcs<SpinOnly>>),
        ("c-tkt-tkt/0", make::<Batches<Ticket<SpinOnly>>>),
        ("c-tkt-tkt/0, words apart", make::<Batches<Apart>>),
    ];
    let threads: Vec<usize> = arguments
        .map(|count| count.parse())
        .collect::<Result<_, _>>()?;
    println!("{machine}: LBench, scattered, sections a millisecond with {threads:?} threads");
    for (name, make) in locks {
        let run = |threads: &usize| {
            let outcome = lbench(&simulator, make, *threads, None);
            format!("{:8.0}", outcome.per_second / 1e3)
        };
        let values: String = threads.iter().map(run).collect();
        println!("{name:26}{values}");
    }
    Ok(())
}
