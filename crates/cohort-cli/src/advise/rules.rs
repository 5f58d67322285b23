//! The one table of rules by which a lock is advised.
//!
//! They are rules of thumb.  What stands behind them: with more threads than CPUs a strict queue
//! hands the lock to threads that do not run, which costs it most of its throughput, and at
//! `kyoto` with 8 threads, a queue at sections of microseconds, the default has 0.29 of what `mcs`
//! has (both simulated on epyc-9454p).  At most points of the envelope (docs/performance.md) the
//! default is as good or better: hence all the rules that advise nothing.

use crate::choice;
use crate::profile::Lock;
use crate::profile::text::{seconds, time};
use cohort::Capability;
use cohort::catalogue;

/// What the rules look at.
pub struct Facts<'a> {
    /// The lock.
    pub lock: &'a Lock,
    /// How long the program ran.
    pub seconds: f64,
    /// Its threads, at most.
    pub threads: usize,
    /// The CPUs that it had.
    pub cpus: usize,
    /// The lock that served all its mutexes.
    pub own: &'a str,
    /// Whether a line can name the lock.
    pub can_be_named: bool,
}

/// What is advised.
#[derive(Debug, PartialEq, Eq)]
pub struct Advice {
    /// The lock, if another pays.
    pub lock: Option<&'static str>,
    /// Why, or why not.
    pub because: String,
}

/// A rule: whether it applies, what it advises, and why.
struct Rule {
    applies: fn(&Facts<'_>) -> bool,
    lock: Option<&'static str>,
    because: fn(&Facts<'_>) -> String,
}

/// The share of one thread's time that has to be lost at a lock before anything can be gained.
const WORTH: f64 = 0.02;

/// Nanoseconds of holding from which on waiters sleep, whichever lock it is.
const LONG: f64 = 20_000.0;

/// Nanoseconds of holding from which on a turn in order costs little beside the section.
const MIDDLE: f64 = 1_000.0;

/// Threads that wait at once, in the mean, from which on a queue forms; and from which on it pays.
const QUEUE: [f64; 2] = [2.0, 3.0];

/// The rules; the first that applies decides.
static RULES: [Rule; 10] = [
    Rule {
        applies: |facts| facts.lock.lost.high < WORTH * facts.seconds,
        lock: None,
        because: |facts| {
            let lost = seconds(facts.lock.lost.value);
            format!("{lost} s lost of {:.2} s: nothing to gain", facts.seconds)
        },
    },
    Rule {
        applies: |facts| facts.lock.kind != "mutex",
        lock: None,
        because: |_| "rwlock: --rwlock applies to all rwlocks of a program".to_owned(),
    },
    Rule {
        applies: |facts| !facts.can_be_named,
        lock: None,
        because: |_| "no variable name and no call site to identify it by".to_owned(),
    },
    Rule {
        applies: |facts| facts.lock.hold.is_none(),
        lock: None,
        because: |_| "no hold time sampled: profile a longer run".to_owned(),
    },
    Rule {
        applies: |facts| held(facts) > LONG,
        lock: None,
        because: |facts| {
            let held = time(held(facts));
            format!("held {held}: waiters sleep under every lock; shorten the critical section")
        },
    },
    Rule {
        applies: |facts| is_crowded(facts) && is_strict(facts.own),
        lock: Some(choice::DEFAULT),
        because: |facts| {
            format!(
                "{}; {} is FIFO and hands off to preempted waiters",
                crowd(facts),
                facts.own
            )
        },
    },
    Rule {
        applies: is_crowded,
        lock: None,
        because: |facts| {
            let own = facts.own;
            format!("{}: {own} admits any running thread", crowd(facts))
        },
    },
    Rule {
        applies: |facts| facts.lock.queue.mean < QUEUE[0],
        lock: None,
        because: |facts| {
            let queue = facts.lock.queue.mean;
            format!("queue {queue:.1}: with one waiter at a time all locks perform alike")
        },
    },
    Rule {
        applies: |facts| facts.lock.queue.mean >= QUEUE[1] && held(facts) >= MIDDLE,
        lock: Some("mcs"),
        because: figures,
    },
    Rule {
        applies: |_| true,
        lock: None,
        because: |facts| {
            let figures = figures(facts);
            format!("{figures}: FIFO hand-offs would cost more than the critical section")
        },
    },
];

/// What the first rule that applies advises.
pub fn first(facts: &Facts<'_>) -> Advice {
    let rule = RULES.iter().find(|rule| (rule.applies)(facts));
    let rule = rule.expect("the last one applies to all");
    // What serves it already is no change.
    let lock = rule.lock.filter(|lock| *lock != facts.own);
    let mut because = (rule.because)(facts);
    if lock != rule.lock {
        because = format!("{because}: already under {}", facts.own);
    }
    Advice { lock, because }
}

fn held(facts: &Facts<'_>) -> f64 {
    facts.lock.hold.map_or(0.0, |hold| hold.mean.value)
}

fn figures(facts: &Facts<'_>) -> String {
    let queue = facts.lock.queue.mean;
    format!("queue {queue:.1}, held {}", time(held(facts)))
}

fn is_crowded(facts: &Facts<'_>) -> bool {
    facts.threads > facts.cpus
}

fn crowd(facts: &Facts<'_>) -> String {
    let (threads, cpus) = (facts.threads, facts.cpus);
    let s = if cpus == 1 { "" } else { "s" };
    format!("{threads} threads on {cpus} CPU{s}")
}

/// Whether a lock serves in the order of arrival.
fn is_strict(name: &str) -> bool {
    catalogue::find(name).is_some_and(|lock| lock.capabilities.contains(&Capability::Fair))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::profile::figures::{Mean, Range, Spread};
    use crate::profile::{NamedBy, Queue};

    /// A lock of that name, with a queue of four and sections of 3 µs.
    pub fn lock(name: &str, named_by: NamedBy) -> Lock {
        let spread = |mean: f64| Spread {
            samples: 100,
            mean: Mean {
                value: mean,
                low: Some(mean),
                high: Some(mean),
            },
            p50: 0,
            p99: 0,
            p999: 0,
            floor: 30.0,
        };
        Lock {
            kind: "mutex".to_owned(),
            name: name.to_owned(),
            named_by,
            objects: 1,
            busiest: 1.0,
            acquired: 1000,
            contended: 900,
            lost: Range::around(2.0, 0.0),
            queue: Queue {
                mean: 4.0,
                greatest: 5,
            },
            wait: Some(spread(9000.0)),
            hold: Some(spread(3000.0)),
            handed: None,
            nested: 0.0,
            sites: Vec::new(),
        }
    }

    type Change = fn(&mut Lock);

    /// What is changed of the lock, for how many threads, under which lock it was measured, whether it
    /// has a name, which lock is advised, and a part of the reason.
    type Case = (
        Change,
        usize,
        &'static str,
        bool,
        Option<&'static str>,
        &'static str,
    );

    #[test]
    fn each_rule_decides_where_it_is_the_first() {
        let rows: [Case; 11] = [
            (
                |_| (),
                8,
                "futex-hmcs",
                true,
                Some("mcs"),
                "queue 4.0, held 3.0 µs",
            ),
            (
                |lock| lock.lost = Range::around(0.01, 0.0),
                8,
                "futex-hmcs",
                true,
                None,
                "nothing to",
            ),
            (
                |lock| lock.kind = "rwlock".to_owned(),
                8,
                "futex-hmcs",
                true,
                None,
                "--rwlock",
            ),
            (|_| (), 8, "futex-hmcs", false, None, "no variable name"),
            (
                |lock| lock.hold = None,
                8,
                "futex-hmcs",
                true,
                None,
                "longer run",
            ),
            (
                |lock| lock.hold.as_mut().unwrap().mean.value = 5e4,
                8,
                "mcs",
                true,
                None,
                "shorten",
            ),
            (
                |_| (),
                9,
                "ticket",
                true,
                Some("futex-hmcs"),
                "9 threads on 8 CPUs",
            ),
            (|_| (), 9, "futex-hmcs", true, None, "any running thread"),
            (
                |lock| lock.queue.mean = 1.2,
                8,
                "futex-hmcs",
                true,
                None,
                "queue 1.2",
            ),
            (|_| (), 8, "mcs", true, None, "already under mcs"),
            (
                |lock| lock.hold.as_mut().unwrap().mean.value = 100.0,
                8,
                "futex-hmcs",
                true,
                None,
                "FIFO hand-offs",
            ),
        ];
        for (change, threads, own, can_be_named, wanted, said) in rows {
            let mut lock = lock("m", NamedBy::Symbol);
            change(&mut lock);
            let advice = first(&Facts {
                lock: &lock,
                seconds: 1.0,
                threads,
                cpus: 8,
                own,
                can_be_named,
            });
            assert_eq!(advice.lock, wanted, "{advice:?}");
            assert!(advice.because.contains(said), "{advice:?}");
        }
    }

    #[test]
    fn what_is_advised_can_be_had() {
        for rule in &RULES {
            assert!(
                rule.lock
                    .is_none_or(|lock| choice::Choice::for_programs(lock).is_ok())
            );
        }
    }
}
