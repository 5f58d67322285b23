//! This machine: CPUs, cohorts and caches, as the kernel reports them, and as a drawing.

use cohort_topology::{Topology, list};
use maud::{Markup, html};
use serde::Serialize;
use std::path::Path;

/// The machine of a report.
#[derive(Debug, Serialize)]
pub struct HostView {
    /// The usable CPUs.
    pub cpus: Vec<usize>,
    /// Cohorts by level, smallest first.
    pub levels: Vec<HostLevel>,
    /// The first CPU's caches.
    pub caches: Vec<Cache>,
    /// Bytes of memory.
    pub memory: Option<u64>,
}

/// A level of the hierarchy.
#[derive(Debug, Serialize)]
pub struct HostLevel {
    /// Its name.
    pub name: String,
    /// The CPUs of each cohort.
    pub cohorts: Vec<Vec<usize>>,
}

/// A cache.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// `L1 data`, `L3`, …
    pub name: String,
    /// Its size as the kernel prints it.
    pub size: String,
    /// The CPUs that share it.
    pub cpus: String,
}

impl HostView {
    /// This machine.
    ///
    /// # Errors
    /// The kernel does not report its CPUs.
    pub fn here() -> Result<Self, String> {
        let mut view = Self::of(&cohort_topology::here()?);
        let first = view.cpus.first().copied().unwrap_or(0);
        let folder = format!("/sys/devices/system/cpu/cpu{first}/cache");
        view.caches = caches(Path::new(&folder));
        view.memory = memory();
        Ok(view)
    }

    /// A machine's CPUs and cohorts.
    fn of(topology: &Topology) -> Self {
        let levels = topology.levels().iter().enumerate().map(|(number, level)| {
            let mut cohorts = vec![Vec::new(); topology.cohorts(number)];
            for cpu in topology.cpus() {
                if let Some(cohort) = topology.cohort_of(*cpu, number) {
                    cohorts[cohort].push(*cpu);
                }
            }
            HostLevel {
                name: level.name.clone(),
                cohorts,
            }
        });
        Self {
            cpus: topology.cpus().to_vec(),
            levels: levels.collect(),
            caches: Vec::new(),
            memory: None,
        }
    }

    /// Boxes within boxes, down to the CPUs.
    #[must_use]
    pub fn draw(&self) -> Markup {
        boxes(&self.levels, &self.cpus)
    }
}

/// The cohorts of the greatest level among these CPUs.
fn boxes(levels: &[HostLevel], cpus: &[usize]) -> Markup {
    let Some((level, below)) = levels.split_last() else {
        return html! { @for cpu in cpus { span.cpu { "CPU " (cpu) } } };
    };
    let is_single = level.cohorts.len() == 1;
    let cohorts = level.cohorts.iter().enumerate();
    let inside = cohorts.filter(|(_, of)| of.iter().all(|cpu| cpus.contains(cpu)));
    html! {
        @for (number, of) in inside {
            div.box {
                span.label {
                    (level.name) @if !is_single { " " (number) }
                    span.note { " CPUs " (list(of)) }
                }
                (boxes(below, of))
            }
        }
    }
}

/// The caches below that folder, in the kernel's order.
fn caches(folder: &Path) -> Vec<Cache> {
    let text = |index: usize, name: &str| {
        let file = folder.join(format!("index{index}")).join(name);
        let text = std::fs::read_to_string(file).ok()?;
        Some(text.trim().to_owned())
    };
    let cache = |index| {
        let level = text(index, "level")?;
        let kind = match text(index, "type")?.as_str() {
            "Data" => " data",
            "Instruction" => " instructions",
            _ => "",
        };
        Some(Cache {
            name: format!("L{level}{kind}"),
            size: text(index, "size")?,
            cpus: text(index, "shared_cpu_list").unwrap_or_default(),
        })
    };
    (0..).map_while(cache).collect()
}

/// Bytes of memory.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_is_drawn_once_within_its_cohorts() {
        let by = |of: fn(usize) -> usize| (0..8).map(of).collect();
        let topology = Topology::new(
            (0..8).collect(),
            vec![
                ("core".to_owned(), by(|cpu| cpu % 4)),
                ("numa".to_owned(), by(|cpu| cpu % 4 / 2)),
                ("system".to_owned(), by(|_| 0)),
            ],
        );
        let drawn = HostView::of(&topology).draw().into_string();
        assert_eq!(drawn.matches("class=\"box\"").count(), 1 + 2 + 4);
        for cpu in 0..8 {
            let one = format!("CPU {cpu}<");
            assert_eq!(drawn.matches(&one).count(), 1, "{one}");
        }
        let (numa, cpu) = (drawn.find("numa 1").unwrap(), drawn.find("CPU 6<").unwrap());
        assert!(numa < cpu, "{drawn}");
    }

    #[test]
    fn caches_are_read_in_order_up_to_the_last() {
        let folder = tempfile::tempdir().unwrap();
        for (index, level, kind) in [(0, "1", "Data"), (1, "3", "Unified")] {
            let place = folder.path().join(format!("index{index}"));
            std::fs::create_dir(&place).unwrap();
            let write = |name: &str, text: &str| std::fs::write(place.join(name), text).unwrap();
            write("level", level);
            write("type", kind);
            write("size", "32K\n");
            write("shared_cpu_list", "0-1\n");
        }
        let names: Vec<String> = caches(folder.path())
            .into_iter()
            .map(|cache| format!("{} {} {}", cache.name, cache.size, cache.cpus))
            .collect();
        assert_eq!(names, ["L1 data 32K 0-1", "L3 32K 0-1"]);
    }
}
