//! A threaded Python program: queues, conditions and events of the interpreter
//! itself, and a pool of processes forked from it.

use crate::check::{Check, Tier};
use crate::program::complete;
use crate::selection::Selection;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// Prints the sum that the threads and processes worked out together.
const SCRIPT: &str = r"
import concurrent.futures, multiprocessing, queue, threading

def square(number):
    return number * number

def work(todo, done):
    while (number := todo.get()) is not None:
        done.put(square(number))

todo, done = queue.Queue(10), queue.Queue()
workers = [threading.Thread(target=work, args=(todo, done)) for _ in range(8)]
for worker in workers:
    worker.start()
for number in range(5000):
    todo.put(number)
for _ in workers:
    todo.put(None)
for worker in workers:
    worker.join(60)
    assert not worker.is_alive()
by_threads = sum(done.get_nowait() for _ in range(5000))

barrier = threading.Barrier(8)
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for round in range(100):
        list(pool.map(lambda _: barrier.wait(60), range(8)))

with multiprocessing.get_context('fork').Pool(4) as pool:
    by_processes = sum(pool.map(square, range(5000)))
print(by_threads, by_processes)
";

/// The sum of the squares below 5000, twice.
const EXPECTED: &str = "41654167500 41654167500";

/// Under each lock.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let check = |lock: &'static str| Check {
        name: format!("python3/{lock}"),
        tier: Tier::Full,
        needs: &[("python3", "python3")],
        run: Box::new(move || run(lock)),
    };
    Ok(selection.locks().into_iter().map(check).collect())
}

fn run(lock: &str) -> Result<(), String> {
    let said = complete(lock, ["python3", "-c", SCRIPT], LIMIT)?;
    if said.trim() == EXPECTED {
        Ok(())
    } else {
        Err(format!("expected {EXPECTED}, got {said}"))
    }
}
