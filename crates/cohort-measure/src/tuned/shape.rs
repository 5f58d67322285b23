//! The shape of a machine's hierarchy, independent of the machine's name.

use cohort::recipe::Level;
use cohort_topology::Topology;
use std::fmt;
use std::str::FromStr;

/// Numbers of cohorts of each level below the whole system, largest cohorts first, and of CPUs:
/// `numa:2 core:20 cpus:40`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    levels: Vec<(String, usize)>,
    cpus: usize,
}

/// The word for CPUs in a shape's text.
const CPUS: &str = "cpus";

impl Shape {
    /// The shape of a topology.
    #[must_use]
    pub fn of(topology: &Topology) -> Self {
        let levels = topology.levels().iter().enumerate().rev();
        let levels = levels.map(|(number, level)| (level.name.clone(), topology.cohorts(number)));
        Self {
            levels: levels.filter(|(_, cohorts)| *cohorts > 1).collect(),
            cpus: topology.cpus().len(),
        }
    }

    /// Whether there are several NUMA nodes.
    #[must_use]
    pub fn has_nodes(&self) -> bool {
        let is_node = |(name, _): &(String, usize)| name == "numa" || name == "package";
        self.levels.iter().any(is_node)
    }

    /// The distance from another shape with the same levels known to locks: 0 for the same.
    #[must_use]
    pub fn unlike(&self, other: &Self) -> Option<f64> {
        let is_alike = self.names().eq(other.names());
        let factor = |(one, other): (usize, usize)| (one as f64 / other as f64).ln().abs();
        is_alike.then(|| self.counts().zip(other.counts()).map(factor).sum())
    }

    /// Whether it has all of these levels.
    #[must_use]
    pub fn has(&self, levels: &[Level]) -> bool {
        let mut levels = levels.iter();
        levels.all(|level| self.names().any(|name| name == level.name()))
    }

    fn known(&self) -> impl Iterator<Item = &(String, usize)> {
        let levels = self.levels.iter();
        levels.filter(|(name, _)| Level::named(name).is_some_and(Level::is_reported))
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.known().map(|(name, _)| name)
    }

    fn counts(&self) -> impl Iterator<Item = usize> {
        let levels = self.known().map(|(_, count)| *count);
        levels.chain([self.cpus])
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in &self.levels {
            write!(f, "{name}:{count} ")?;
        }
        write!(f, "{CPUS}:{}", self.cpus)
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("found `{text}`, expected a shape such as `numa:2 core:20 cpus:40`");
        let part = |part: &str| {
            let (name, count) = part.split_once(':')?;
            let count: usize = count.parse().ok()?;
            (count > 0).then(|| (name.to_owned(), count))
        };
        let mut levels: Vec<(String, usize)> = text
            .split(' ')
            .map(part)
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        match levels.pop() {
            Some((name, cpus)) if name == CPUS => Ok(Self { levels, cpus }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    #[test]
    fn a_shape_is_read_as_it_is_written() {
        for text in ["numa:2 core:20 cpus:40", "cpus:2"] {
            assert_eq!(shape(text).to_string(), text);
        }
        for text in ["", "numa:2", "cpus:0", "numa:x cpus:2", "cpus:2 numa:2"] {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
    }

    #[test]
    fn shapes_are_alike_by_their_levels_and_then_by_their_numbers() {
        let unlike = |one: &str, other: &str| shape(one).unlike(&shape(other));
        assert_eq!(unlike("numa:2 cpus:8", "numa:2 cpus:8"), Some(0.0));
        assert_eq!(unlike("numa:2 cpus:8", "core:4 cpus:8"), None);
        assert_eq!(unlike("blade:2 numa:2 cpus:8", "numa:2 cpus:8"), Some(0.0));
        let near = unlike("numa:4 cpus:16", "numa:4 cpus:40").unwrap();
        assert!(near < unlike("numa:4 cpus:16", "numa:8 cpus:64").unwrap());
        assert!(shape("numa:2 cpus:8").has_nodes() && !shape("core:4 cpus:8").has_nodes());
    }
}
