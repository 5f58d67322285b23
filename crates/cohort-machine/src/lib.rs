//! The simulated NUMA machine.
//!
//! [`description`] reads and checks the file of a machine. A [`Run`] executes threads on one, as
//! fibers of one host thread. Their order follows a virtual clock, which every access advances by
//! its cost on that machine. The same seed gives the same figures on every host; independent runs
//! may execute on several host threads at once.
//!
//! Programs use the locks of `cohort-on-machine`; their platform layer calls [`door`]:
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
//! [`Outcome`] can be serialised; [`Failure`] reports a deadlock with each thread's wait.
//! [`Schedule::Random`] and [`Schedule::Pct`] explore schedules like a checker; caches and CPUs
//! play a part only under [`Schedule::Time`].

pub mod description;
mod engine;
mod random;

pub use engine::*;
