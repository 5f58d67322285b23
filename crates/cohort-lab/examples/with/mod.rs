//! LBench on a simulated machine under a lock that is in no catalogue.

use cohort_lab::bench::simulated::{Course, Until};
use cohort_lab::bench::{self, Knobs, Outcome, Setting};
use cohort_lab::world::raw::{Polling, Pool, Testable, tested};
use cohort_lab::world::simulated::{Fiber, Lines, Simulated, Simulator};
use cohort_lab::world::{Block, Gate, Placement, Played, Room, Tested, Topology, Tunings, World};
use std::alloc::Layout;
use std::sync::Arc;

/// Makes a lock.
pub type Make = fn(&mut dyn Room, usize) -> Arc<dyn Tested>;

/// Makes one of that type.
pub fn make<L: Testable + Default>(room: &mut dyn Room, threads: usize) -> Arc<dyn Tested> {
    tested(room, L::default(), threads)
}

/// A simulated machine with one lock, which is in no catalogue.
struct With {
    world: Simulated,
    make: Make,
}

impl Room for With {
    fn block(&mut self, layout: Layout) -> Block {
        self.world.block(layout)
    }

    fn polling(&self) -> Polling {
        self.world.polling()
    }

    fn pool(&mut self) -> &mut Option<Pool> {
        self.world.pool()
    }
}

impl World for With {
    type Memory = Lines;
    type Actor = Fiber;

    fn hertz(&self) -> f64 {
        self.world.hertz()
    }

    fn topology(&self) -> &Topology {
        self.world.topology()
    }

    fn memory(&mut self, lines: usize) -> Arc<Lines> {
        self.world.memory(lines)
    }

    fn gate(&mut self) -> Arc<dyn Gate> {
        self.world.gate()
    }

    fn margin(&mut self) -> Option<Arc<Lines>> {
        self.world.margin()
    }

    fn lock(&mut self, _name: &str, threads: usize) -> Option<Arc<dyn Tested>> {
        Some((self.make)(&mut self.world, threads))
    }

    fn play<R: Default + Send + 'static>(
        self,
        threads: usize,
        body: impl Fn(usize, Fiber, &mut R) + Send + Sync + 'static,
    ) -> Result<Played<R>, String> {
        self.world.play(threads, body)
    }
}

/// LBench with its threads scattered, for that many virtual seconds, or until it is steady.
pub fn lbench(
    simulator: &Arc<Simulator>,
    make: Make,
    threads: usize,
    seconds: Option<f64>,
) -> Outcome {
    let info = bench::find("lbench").expect("a workload");
    let setting = Setting {
        lock: "mcs".to_owned(),
        threads,
        knobs: Knobs::NONE.over(info).expect("nothing is turned"),
        seed: 1,
    };
    let course = Course {
        until: seconds.map_or(Until::Steady, Until::Seconds),
        placement: Placement::Scattered,
        wait: None,
        background: 0,
        served: false,
        tunings: Tunings::USUAL,
        cohorts: Vec::new(),
    };
    let world = simulator.world(course.settings(info, simulator, &setting));
    let outcome = bench::run(info, With { world, make }, &setting);
    outcome.expect("it comes to an end")
}
