//! A machine as a tree of cohorts, with equal ones drawn once.

use cohort_machine::description::{Hierarchy, Level};
use termtree::Tree;

/// The tree, from the system down to the smallest cohorts.
pub fn draw(hierarchy: &Hierarchy) -> String {
    let levels = tiers(hierarchy.levels());
    let (system, below) = levels.split_last().expect("a machine is a system");
    let mut tree = Tree::new(label(hierarchy, system, 0));
    tree.extend(branches(hierarchy, below));
    tree.to_string().trim_end().to_owned()
}

/// Levels with the same cohorts, grouped; smallest first.
fn tiers(levels: &[Level]) -> Vec<Vec<&Level>> {
    let mut tiers: Vec<Vec<&Level>> = Vec::new();
    for level in levels {
        match tiers.last_mut() {
            Some(tier) if tier[0].cohorts == level.cohorts => tier.push(level),
            _ => tiers.push(vec![level]),
        }
    }
    tiers
}

/// The first cohort of the largest tier in full, and the rest in one line.
fn branches(hierarchy: &Hierarchy, tiers: &[Vec<&Level>]) -> Vec<Tree<String>> {
    let Some((tier, below)) = tiers.split_last() else {
        return Vec::new();
    };
    let mut first = Tree::new(label(hierarchy, tier, 0));
    first.extend(branches(hierarchy, below));
    let mut branches = vec![first];
    // The first cohorts of all tiers start at the same CPU.
    let parent = hierarchy
        .levels()
        .iter()
        .find(|level| level.cpus > tier[0].cpus)
        .map_or(tier[0].cpus, |level| level.cpus);
    match parent / tier[0].cpus {
        0 | 1 => {}
        2 => branches.push(Tree::new(label(hierarchy, tier, 1))),
        more => branches.push(Tree::new(format!(
            "… {} more, to {}",
            more - 2,
            label(hierarchy, tier, more - 1)
        ))),
    }
    branches
}

/// `package 0, numa 0: 48 CPUs, 0-23 48-71`.
fn label(hierarchy: &Hierarchy, tier: &[&Level], cohort: usize) -> String {
    let names: Vec<String> = tier
        .iter()
        .rev()
        .map(|level| match level.cohorts {
            1 => level.name.clone(),
            _ => format!("{} {cohort}", level.name),
        })
        .collect();
    let size = tier[0].cpus;
    let places = cohort * size..(cohort + 1) * size;
    let mut cpus: Vec<usize> = (0..hierarchy.cpus())
        .filter(|cpu| places.contains(&hierarchy.place_of(*cpu)))
        .collect();
    cpus.sort_unstable();
    let count = match size {
        1 => String::new(),
        _ => format!("{size} CPUs, "),
    };
    format!("{}: {count}{}", names.join(", "), ranges(&cpus))
}

/// The first few ascending numbers, with runs as ranges: `0-2 48-50`.
fn ranges(numbers: &[usize]) -> String {
    const SHOWN: usize = 6;
    let mut runs: Vec<[usize; 2]> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some([_, last]) if *last + 1 == number => *last = number,
            _ => runs.push([number, number]),
        }
    }
    let mut words: Vec<String> = runs
        .iter()
        .take(SHOWN)
        .map(|[first, last]| match last - first {
            0 => first.to_string(),
            _ => format!("{first}-{last}"),
        })
        .collect();
    if runs.len() > SHOWN {
        words.push("…".to_owned());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_machine::description::shipped;

    #[test]
    fn what_repeats_is_drawn_once() {
        let machine = shipped::find("epyc-7352x2").unwrap();
        assert_eq!(
            draw(&machine.hierarchy),
            "\
system: 96 CPUs, 0-95
├── package 0, numa 0: 48 CPUs, 0-23 48-71
│   ├── cache 0: 6 CPUs, 0-2 48-50
│   │   ├── core 0: 2 CPUs, 0 48
│   │   └── … 1 more, to core 2: 2 CPUs, 2 50
│   └── … 6 more, to cache 7: 6 CPUs, 21-23 69-71
└── package 1, numa 1: 48 CPUs, 24-47 72-95"
        );
    }

    #[test]
    fn many_runs_are_cut() {
        assert_eq!(ranges(&[0, 2, 4, 6, 8, 10, 12]), "0 2 4 6 8 10 …");
        assert_eq!(ranges(&[3]), "3");
    }
}
