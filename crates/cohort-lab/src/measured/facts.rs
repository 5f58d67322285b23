//! What the kernel and the processor report about a machine, beside its levels.

use crate::discover::shape::Shape;
use cohort_machine::description::{Atomics, Figure, Machine, Protocol, Source};

/// A cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    /// Its size in bytes.
    pub bytes: u64,
    /// The CPUs that share it.
    pub cpus: Vec<usize>,
}

/// Reported facts; what is unreported is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The processor's model.
    pub model: String,
    /// Bytes of a line.
    pub line: Option<u64>,
    /// The largest cache of one core.
    pub private: Option<Cache>,
    /// The last-level cache, if several cores share it.
    pub shared: Option<Cache>,
    /// The coherence protocol, by the processor's vendor.
    pub protocol: Option<Protocol>,
    /// The read-modify-writes.
    pub atomics: Option<Atomics>,
}

/// Bytes of a line of unknown size.
const LINE: u64 = 64;

impl Facts {
    /// Numbers of lines of the private cache and of the one behind it.
    #[must_use]
    pub fn lines_behind(&self) -> Option<Vec<usize>> {
        let lines = |cache: &Cache| usize::try_from(cache.bytes / self.line.unwrap_or(LINE)).ok();
        Some(vec![
            lines(self.private.as_ref()?)?,
            lines(self.shared.as_ref()?)?,
        ])
    }

    /// The level of the last-level cache: the smallest with all its CPUs in one cohort.
    pub(super) fn shared_by<'a>(&self, shape: &'a Shape) -> Option<&'a str> {
        let shared = self.shared.as_ref()?;
        let place = |cpu: &usize| shape.cpus.iter().position(|other| other == cpu);
        let places: Vec<usize> = shared.cpus.iter().filter_map(place).collect();
        let holds = |cohorts: &Vec<Vec<usize>>| {
            let all = |cohort: &Vec<usize>| places.iter().all(|place| cohort.contains(place));
            cohorts.iter().any(all)
        };
        let level = shape.levels.iter().position(|(_, cohorts)| holds(cohorts));
        Some(shape.name(level.unwrap_or(shape.levels.len())))
    }

    /// Replaces a machine's facts.
    pub(super) fn apply(&self, machine: &mut Machine, shape: &Shape) {
        const REPORTED: &str = "as the kernel reports it";
        let line = self.line.unwrap_or(LINE);
        if let Some(bytes) = self.line {
            machine.line.bytes = figure(bytes, Source::Measured, REPORTED);
        }
        if let Some(private) = &self.private {
            let sharers = private.cpus.len().max(1) as u64;
            let note = match sharers {
                1 => format!("{REPORTED}: {} KB", private.bytes / 1024),
                _ => format!("{REPORTED}: {} KB, by {sharers} CPUs", private.bytes / 1024),
            };
            let lines = private.bytes / line / sharers;
            machine.cache.private = figure(lines, Source::Measured, &note);
        }
        if let (Some(shared), Some(level)) = (&self.shared, self.shared_by(shape)) {
            let note = format!("{REPORTED}: {} KB", shared.bytes / 1024);
            machine.cache.shared = figure(shared.bytes / line, Source::Measured, &note);
            level.clone_into(&mut machine.cache.shared_by);
        }
        if let Some(protocol) = self.protocol {
            machine.protocol = figure(protocol, Source::Vendor, "by the processor's vendor");
        }
        if let Some(atomics) = self.atomics {
            machine.atomics = figure(atomics, Source::Measured, "by the processor's features");
            match atomics {
                Atomics::Native => machine.costs.failed_conditional = None,
                Atomics::LoadLinked => {
                    machine.costs.failed_conditional.get_or_insert_with(|| {
                        figure(20, Source::Estimate, "a branch and a load that hits")
                    });
                }
            }
        }
    }
}

fn figure<U: cohort_machine::description::Unit>(
    value: U::Value,
    source: Source,
    note: &str,
) -> Figure<U> {
    Figure {
        value,
        range: None,
        source,
        note: note.to_owned(),
    }
}
