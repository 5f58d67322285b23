//! `linear-regression`, `string-match` and `matrix-multiply`: models of Phoenix 2 programs, whose
//! threads take their tasks from one queue (Zhang et al. 2017 §4.3.3).
//!
//! Per table 6 of Zhang et al. 2017, one lock guards the queue, and 88.7 %, 69.6 % and 65.9 % of
//! the time is spent at it with 40 threads under a POSIX mutex. The paper does not describe the
//! critical section. The model's takes the first task out of a doubly linked list: it changes the
//! list's head, reads the task, and changes its successor, the new first task. 100 cycles beside
//! these three lines are an estimate. The programs differ only by the work on a task. It is set so
//! that the simulated Xeon comes near their shares; a test checks it.
//!
//! A program ends with its last task, but a run does not end: the tasks form a ring, so that the
//! queue lasts as long as the run.

use super::knobs::{cycles, size};
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Memory, World};

/// The line of the list's head; the tasks' lines follow.
const HEAD: usize = 0;

/// The head's word with the first task.
const FIRST: usize = 0;

/// A task's words: the links to its predecessor and successor, and its work.
const BEFORE: usize = 0;
const BEHIND: usize = 1;
const WHAT: usize = 2;

/// Properties of a program.
struct Program {
    name: &'static str,
    about: &'static str,
    /// The work on a task, in cycles.
    task: u64,
}

const PROGRAMS: [Program; 3] = [
    Program {
        name: "linear-regression",
        about: "a model of Phoenix's linear regression: a queue of short tasks",
        task: 6_500,
    },
    Program {
        name: "string-match",
        about: "a model of Phoenix's string match: a queue of longer tasks",
        task: 20_000,
    },
    Program {
        name: "matrix-multiply",
        about: "a model of Phoenix's matrix multiply: a queue of the longest tasks",
        task: 22_500,
    },
];

/// The workload of a program.
pub enum Phoenix<const PROGRAM: usize> {}

/// Linear regression.
pub type LinearRegression = Phoenix<0>;

/// String match.
pub type StringMatch = Phoenix<1>;

/// Matrix multiply.
pub type MatrixMultiply = Phoenix<2>;

/// State shared by its threads.
pub struct Shared<W: World> {
    queue: Guarded<W>,
    tasks: u64,
    critical: u64,
    outside: u64,
}

impl<const PROGRAM: usize> Workload for Phoenix<PROGRAM> {
    const NAME: &'static str = PROGRAMS[PROGRAM].name;
    const ABOUT: &'static str = PROGRAMS[PROGRAM].about;
    const SOURCE: &'static str = "Zhang et al. 2017 §4.3.3, Table 6; derived in bench/phoenix.rs";
    const OPERATION: &'static str = "task";
    const TAKES: &'static [&'static str] = &["critical", "outside", "nodes"];
    const DEFAULTS: Knobs = Knobs {
        critical: Some(Span::Cycles(100)),
        outside: Some(Span::Cycles(PROGRAMS[PROGRAM].task)),
        nodes: Some(4_096),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        let tasks = size(knobs.nodes).max(1);
        Shared {
            queue: Guarded::new(world, &setting.lock, 0, setting.threads, tasks + 1),
            tasks: tasks as u64,
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        while player.goes_on() {
            player.section(&shared.queue, |player| {
                take(shared.queue.data(), shared.tasks);
                player.work(shared.critical);
            });
            player.done();
            player.work_about(shared.outside);
        }
    }
}

/// Takes the first task out of a list of `tasks`; returns its number, and its work.
fn take(list: &impl Memory, tasks: u64) -> (u64, u64) {
    let first = list.read(HEAD, FIRST);
    let behind = (first + 1) % tasks;
    let [this, next] = [first, behind].map(|task| HEAD + 1 + task as usize);
    let what = list.read(this, WHAT);
    // A program reads the successor here.
    list.read(this, BEHIND);
    list.write(next, BEFORE, HEAD as u64);
    list.write(HEAD, FIRST, behind);
    (first, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::native::Lines;

    #[test]
    fn tasks_are_taken_in_their_order_and_come_again() {
        let list = Lines::zeroed(1 + 3);
        for task in 0..3 {
            list.write(1 + task, WHAT, 10 + task as u64);
        }
        let taken: Vec<(u64, u64)> = (0..4).map(|_| take(&list, 3)).collect();
        assert_eq!(taken, [(0, 10), (1, 11), (2, 12), (0, 10)]);
        let alone = Lines::zeroed(2);
        assert_eq!([(); 2].map(|()| take(&alone, 1).0), [0, 0]);
    }
}
