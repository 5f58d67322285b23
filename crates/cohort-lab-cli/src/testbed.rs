//! The machine that a command measures: this one, or a simulated one.

use cohort_cli::page::Origin;
use cohort_cli::problem::Problem;
use cohort_lab::world::Topology;
use cohort_lab::world::native::{HERE, Host};
use cohort_lab::world::simulated::Simulator;
use cohort_machine::description::Machine;
use std::sync::Arc;

/// Machine to measure.
pub enum Testbed {
    /// This one.
    Here(Host),
    /// A simulated one.
    There(Arc<Simulator>),
}

impl Testbed {
    /// The simulated machine of that name or file, or this one.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(on: Option<&str>) -> Result<Self, Problem> {
        let Some(named) = on else {
            return Ok(Self::Here(Host::look().map_err(Problem::refused)?));
        };
        let machine = Machine::open(named).map_err(Problem::usage)?;
        Ok(Self::There(Arc::new(Simulator::new(machine))))
    }

    /// The origin of its results.
    pub fn origin(&self) -> Origin {
        match self {
            Self::Here(_) => Origin::here(),
            Self::There(_) => Origin::simulated(self.name()),
        }
    }

    /// Its CPUs and their cohorts.
    pub fn topology(&self) -> &Topology {
        match self {
            Self::Here(host) => host.topology(),
            Self::There(simulator) => simulator.topology(),
        }
    }

    /// The number of its CPUs.
    pub fn cpus(&self) -> usize {
        self.topology().cpus().len()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Here(_) => HERE,
            Self::There(simulator) => &simulator.machine().name,
        }
    }

    /// The fingerprint of its file, if it has one.
    pub fn fingerprint(&self) -> Option<&str> {
        match self {
            Self::Here(_) => None,
            Self::There(simulator) => Some(&simulator.machine().fingerprint),
        }
    }
}
