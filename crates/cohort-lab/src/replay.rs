//! Replays a trace of a program's locking, under any lock, in any world.
//!
//! A [`Plan`] is the trace as it is replayed: each thread's steps. [`run`] executes it once.
//!
//! Time between lock operations is open: a thread computes for as long as it did. What it waits for
//! is closed: it acquires the same locks in the same nesting; a wait at a condition ends with the
//! signal that ended it in the trace; a thread begins with its creation; a join ends with the joined
//! thread's last step. Critical sections with a wait inside keep their place among the lock's others.

mod plan;
mod run;

pub use plan::{Left, Limits, Plan, Recorded};
pub use run::{Measured, Setting, run};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::simulated::{Course, Until, measure};
    use crate::bench::{self, Knobs, Span, find};
    use crate::rounds::Silent;
    use crate::world::simulated::{Settings, Simulator};
    use crate::world::{Placement, Tunings, Wait};
    use cohort_machine::Length;
    use cohort_machine::description::shipped;
    use cohort_trace::{By, Event, How, Kind, Lock, Sequence, Thread, Trace, What};
    use std::sync::Arc;

    /// Threads that lock for 2 µs in every 10 µs.
    fn pattern(threads: usize, rounds: usize) -> Trace {
        let acquire = What::Acquire {
            lock: 0,
            site: 0,
            how: How::Exclusive,
            by: By::Lock,
            got: true,
            contended: false,
            waited: 0,
        };
        let round = [(8_000, acquire), (2_000, What::Release { lock: 0 })];
        let event = |(gap, what): &(u64, What)| Event {
            gap: *gap,
            what: *what,
            ..Event::default()
        };
        let events: Vec<Event> = round.iter().cycle().take(2 * rounds).map(event).collect();
        Trace {
            locks: vec![Lock {
                kind: Kind::Mutex,
                ..Lock::default()
            }],
            threads: vec![Thread::default(); threads],
            sequences: vec![vec![Sequence { begin: 0, events }]; threads],
            ..Trace::default()
        }
    }

    fn replayed(simulator: &Arc<Simulator>, trace: &Trace, lock: &str, copies: usize) -> Measured {
        let limits = Limits {
            acquisitions: 1_000_000,
            locks: 8,
            lines: Some(1),
        };
        let plan = Arc::new(Plan::new(trace, &limits).unwrap());
        let setting = Setting {
            lock: lock.to_owned(),
            rwlock: "rwlock".to_owned(),
            copies,
            seed: 1,
        };
        let settings = Settings {
            length: Length::default(),
            placement: Placement::Compact,
            cpus: None,
            wait: Wait::natural(lock, true),
            background: 0,
            served: true,
            tunings: Tunings::USUAL,
            seed: 1,
            cohorts: Vec::new(),
        };
        run(simulator.world(settings), &plan, &setting).unwrap()
    }

    /// The replay of a pattern has the throughput of its workload, within 5 %.
    #[test]
    fn a_pattern_is_replayed_as_it_is_simulated_directly() {
        let info = find("loop").unwrap();
        let knobs = Knobs {
            critical: Some(Span::Nanoseconds(2_000)),
            outside: Some(Span::Nanoseconds(8_000)),
            lines: Some(1),
            ..Knobs::NONE
        };
        let course = Course {
            until: Until::Steady,
            placement: Placement::Compact,
            wait: None,
            background: 0,
            served: true,
            tunings: Tunings::USUAL,
            cohorts: Vec::new(),
        };
        for (machine, threads) in [("i5-12500", 2), ("i5-12500", 4), ("haswell-ep-2s", 8)] {
            let simulator = Arc::new(Simulator::new(shipped::find(machine).unwrap()));
            for lock in ["mcs", "ticket"] {
                let setting = bench::Setting {
                    lock: lock.to_owned(),
                    threads,
                    knobs: knobs.over(info).unwrap(),
                    seed: 1,
                };
                let points = measure(info, &simulator, &course, &[setting], &mut Silent).unwrap();
                let direct = points[0].middle.per_second;
                let whole = replayed(&simulator, &pattern(threads, 1_000), lock, 1);
                // Copies of half the threads are the same load.
                let half = replayed(&simulator, &pattern(threads / 2, 1_000), lock, 2);
                for replayed in [whole, half] {
                    assert_eq!(replayed.acquisitions, 1_000 * threads as u64);
                    let ratio = replayed.per_second / direct;
                    assert!(
                        (0.95..1.05).contains(&ratio),
                        "{machine}, {threads}, {lock}: {ratio}"
                    );
                }
            }
        }
    }

    /// The locks of a composition share a pool, as in a program.
    #[test]
    fn many_locks_of_a_composition_are_replayed() {
        let simulator = Arc::new(Simulator::new(shipped::find("haswell-ep-2s").unwrap()));
        let mut trace = pattern(12, 200);
        trace.locks = vec![Lock::default(); 6];
        for (thread, sequences) in trace.sequences.iter_mut().enumerate() {
            let events = sequences[0].events.iter_mut().enumerate();
            for (number, event) in events {
                let which = ((number / 2 + thread) % 6) as u32;
                match &mut event.what {
                    What::Acquire { lock, .. } | What::Release { lock } => *lock = which,
                    _ => {}
                }
            }
        }
        for lock in ["clof:mcs-mcs", "hmcs-2", "glk", "futex-hmcs", "posix"] {
            let replayed = replayed(&simulator, &trace, lock, 2);
            assert_eq!(replayed.acquisitions, 2 * 12 * 200, "{lock}");
        }
    }

    /// A wait for an event that never comes is an error, not a hang.
    #[test]
    fn a_deadlock_is_reported() {
        let mut trace = pattern(2, 2);
        trace.locks.push(Lock::default());
        let take = |lock| What::Acquire {
            lock,
            site: 0,
            how: How::Exclusive,
            by: By::Lock,
            got: true,
            contended: false,
            waited: 0,
        };
        for (thread, order) in [[0, 1], [1, 0]].into_iter().enumerate() {
            let events = order.map(|lock| Event {
                gap: 100_000,
                what: take(lock),
                ..Event::default()
            });
            trace.sequences[thread] = vec![Sequence {
                begin: 0,
                events: events.to_vec(),
            }];
        }
        let limits = Limits {
            acquisitions: 100,
            locks: 8,
            lines: None,
        };
        let plan = Arc::new(Plan::new(&trace, &limits).unwrap());
        let simulator = Arc::new(Simulator::new(shipped::find("i5-12500").unwrap()));
        let setting = Setting {
            lock: "mcs".to_owned(),
            rwlock: "rwlock".to_owned(),
            copies: 1,
            seed: 1,
        };
        let settings = Settings {
            length: Length::default(),
            placement: Placement::Compact,
            cpus: None,
            wait: Wait::Park,
            background: 0,
            served: true,
            tunings: Tunings::USUAL,
            seed: 1,
            cohorts: Vec::new(),
        };
        let why = run(simulator.world(settings), &plan, &setting).unwrap_err();
        assert!(!why.is_empty());
    }
}
