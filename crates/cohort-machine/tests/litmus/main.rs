//! Small programs on a machine with round figures, where a cycle is a nanosecond. Each program's
//! cost is computed by hand.

mod code;
mod coherence;
mod cpus;
mod kernel;
mod tally;
mod waiting;

use cohort_machine::description::Machine;
use cohort_machine::{
    Failure, Hardware, Memory, Options, Outcome, Placement, Run, Thread, Waiting,
};

/// The cost of the instructions before each access.
const INSTRUCTION: u64 = 2;

/// The machine's text.
const SMALL: &str = include_str!("../machines/small.toml");

/// The machine, with some of its text replaced.
///
/// # Panics
/// If a text to replace is missing, or the machine is invalid.
fn machine(changes: &[(&str, &str)]) -> Hardware {
    let mut text = SMALL.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from} is not in small.toml");
        text = text.replacen(from, to, 1);
    }
    let machine = Machine::parse(&text).unwrap_or_else(|complaint| panic!("{complaint}"));
    Hardware::new(&machine)
}

type Program<'a> = Box<dyn FnOnce(&Thread) + 'a>;

fn program<'a>(body: impl FnOnce(&Thread) + 'a) -> Program<'a> {
    Box::new(body)
}

/// Runs one program on each CPU from the first; all start at once.
fn try_run<'a>(
    hardware: &'a Hardware,
    memory: &'a Memory,
    placement: Placement,
    programs: Vec<Program<'a>>,
) -> Result<Outcome, Failure> {
    let options = Options {
        placement,
        waiting: Waiting::Spin,
        spin: u64::MAX,
        stagger: 0,
        ..Options::default()
    };
    let mut run = Run::new(hardware, memory, options);
    for program in programs {
        run.spawn(program);
    }
    run.go()
}

/// [`try_run`] with compact placement, for programs that succeed.
fn run<'a>(hardware: &'a Hardware, memory: &'a Memory, programs: Vec<Program<'a>>) -> Outcome {
    try_run(hardware, memory, Placement::Compact, programs)
        .unwrap_or_else(|failure| panic!("{failure}"))
}

/// The cycles of an operation.
fn time(thread: &Thread, act: impl FnOnce()) -> u64 {
    let before = thread.cycles();
    act();
    thread.cycles() - before
}
