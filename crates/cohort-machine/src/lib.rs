//! The simulated NUMA machine.
//!
//! [`description`] is what a machine is: its file, read and checked.  A [`Run`] puts
//! threads on one: fibers of one host thread, in the order of a virtual clock that
//! every access moves by what it would cost there.  The same seed gives the same
//! figures on every host; independent runs may go on on several host threads at once.
//!
//! Programs use the locks of `cohort-on-machine`, whose door calls [`door`]:
//!
//! ```
//! use cohort_machine::description::shipped;
//! use cohort_machine::{Hardware, Length, Memory, Options, Placement, Run};
//!
//! let machine = shipped::find("kunpeng-920x2").expect("it is shipped");
//! let hardware = Hardware::new(&machine);      // once for any number of runs
//! let memory = Memory::new();                  // outlives the run
//! let lines = memory.bytes(2 * 64);            // data, on lines of its own
//! // let lock: &Mcs = memory.lock(Mcs::default());
//! let mut run = Run::new(&hardware, &memory, Options {
//!     placement: Placement::Scattered,
//!     length: Length { warm_up: 10_000, least: 50_000, most: 10_000_000, ..Length::default() },
//!     ..Options::default()
//! });
//! for _ in 0..16 {
//!     run.spawn(|thread| {
//!         // let context: &McsNode = memory.lock(McsNode::default());
//!         while !thread.is_over() {
//!             thread.begin();                  // latency is counted from here
//!             // lock.acquire(context);
//!             thread.acquired(0);              // lock 0 is held: hand-overs are counted
//!             thread.read(lines);              // each call is one access
//!             thread.write(lines + 64);
//!             thread.begin();
//!             // unsafe { lock.release(context) };
//!             thread.released();
//!             thread.work(4000 + thread.random_below(1000));
//!             thread.round();                  // what throughput and fairness count
//!         }
//!     });
//! }
//! let outcome = run.go().expect("no deadlock");
//! assert!(outcome.throughput() > 0.0);
//! println!("{:?}: {} rounds", outcome.rule, outcome.work());
//! ```
//!
//! [`Outcome`] can be serialised; [`Failure`] reports a deadlock with each thread's
//! wait.  [`Schedule::Random`] and [`Schedule::Pct`] run the same threads as a checker
//! would; outside of [`Schedule::Time`] caches and CPUs play no part.

pub mod description;
mod engine;
mod random;

pub use engine::*;
