//! The shipped machine most like this one.

use super::Facts;
use crate::discover::shape::Shape;
use cohort_machine::description::{Machine, shipped};

/// Words of most models.
const COMMON: [&str; 5] = ["core", "cpu", "part", "processor", "with"];

/// The shipped machine with the most words of the processor's model in its description; of several
/// such, the one with the same protocol, the most similar levels, and the most similar number of CPUs.
///
/// # Panics
/// Never: machines are shipped.
#[must_use]
pub fn nearest(facts: &Facts, shape: &Shape) -> Machine {
    let machines = shipped::all().filter_map(|file| shipped::find(file.name));
    machines
        .min_by(|one, other| {
            let one = unlike(one, facts, shape);
            one.partial_cmp(&unlike(other, facts, shape))
                .unwrap_or(std::cmp::Ordering::Equal)
        })
        .expect("machines are shipped")
}

/// The difference, the weightiest part first.
fn unlike(machine: &Machine, facts: &Facts, shape: &Shape) -> (usize, bool, bool, usize, f64) {
    let known = words(&machine.about);
    let missed = words(&facts.model)
        .iter()
        .filter(|word| !known.contains(word))
        .count();
    let differs = |same: Option<bool>| same == Some(false);
    let protocol = facts.protocol.map(|own| own == machine.protocol.value);
    let atomics = facts.atomics.map(|own| own == machine.atomics.value);
    let levels = machine.hierarchy.distinct();
    let levels: Vec<&str> = levels
        .map(|level| &*machine.hierarchy.levels()[level].name)
        .collect();
    let mine: Vec<&str> = (0..=shape.levels.len()).map(|at| shape.name(at)).collect();
    let other = levels.iter().filter(|name| !mine.contains(name)).count()
        + mine.iter().filter(|name| !levels.contains(name)).count();
    let cpus = shape.cpus.len() as f64 / machine.hierarchy.cpus() as f64;
    (
        missed,
        differs(protocol),
        differs(atomics),
        other,
        cpus.ln().abs(),
    )
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words = words.map(str::to_lowercase);
    words
        .filter(|word| word.len() > 1 && !COMMON.contains(&&**word))
        .collect()
}
