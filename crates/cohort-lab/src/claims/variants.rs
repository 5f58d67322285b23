//! Machines with one change, for counterfactuals: the row's result with another estimate in a
//! machine's file or model.

use cohort_machine::description::{Machine, Protocol, shipped};

/// Shipped machine with one change.
struct Variant {
    name: &'static str,
    of: &'static str,
    change: fn(&mut Machine),
}

const VARIANTS: &[Variant] = &[
    Variant {
        name: "sparc-t5440, MESI",
        of: "sparc-t5440",
        change: |machine| machine.protocol.value = Protocol::Mesi,
    },
    Variant {
        name: "sunfire-x4800, sockets 1.5 times as far",
        of: "sunfire-x4800",
        change: |machine| farther(machine, 3, 2),
    },
    Variant {
        name: "sunfire-x4800, sockets 2 times as far",
        of: "sunfire-x4800",
        change: |machine| farther(machine, 2, 1),
    },
    Variant {
        name: "kunpeng-920x2, reads keep a line busy 3 times as long",
        of: "kunpeng-920x2",
        change: |machine| {
            for transfer in &mut machine.transfers {
                transfer.occupancy.value *= 3;
            }
        },
    },
    Variant {
        name: "haswell-ep-2s, invalidations at no cost",
        of: "haswell-ep-2s",
        change: free_invalidations,
    },
    Variant {
        name: "ivy-bridge-2s, invalidations at no cost",
        of: "ivy-bridge-2s",
        change: free_invalidations,
    },
    Variant {
        name: "sparc-t4-1, 10 times the instructions",
        of: "sparc-t4-1",
        change: |machine| machine.costs.instruction.value *= 10,
    },
];

fn free_invalidations(machine: &mut Machine) {
    for transfer in &mut machine.transfers {
        transfer.invalidate.value = 0;
    }
    machine.invalidation.each.value = 0;
}

/// Makes transfers between the largest cohorts slower by `times / over`.
fn farther(machine: &mut Machine, times: u64, over: u64) {
    let Some(system) = machine.transfers.last().map(|one| one.within.clone()) else {
        return;
    };
    let far = machine.transfers.iter_mut();
    for transfer in far.filter(|one| one.within == system) {
        let costs = [
            &mut transfer.load,
            &mut transfer.store,
            &mut transfer.rmw,
            &mut transfer.invalidate,
        ];
        for cost in costs.into_iter().chain(&mut transfer.clean) {
            cost.value = cost.value * times / over;
        }
    }
}

/// The name of the machine that a variant is of; of another machine, its own.
pub fn unchanged(name: &str) -> &str {
    let variant = VARIANTS.iter().find(|variant| variant.name == name);
    variant.map_or(name, |variant| variant.of)
}

/// The machine of that name, if it is a variant of a shipped one.
pub fn find(name: &str) -> Option<Machine> {
    let variant = VARIANTS.iter().find(|variant| variant.name == name)?;
    let mut machine = shipped::find(variant.of)?;
    (variant.change)(&mut machine);
    variant.name.clone_into(&mut machine.name);
    machine.fingerprint.push_str(", changed");
    Some(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_differs_from_its_machine() {
        for variant in VARIANTS {
            let of = shipped::find(variant.of).unwrap();
            let mut changed = find(variant.name).unwrap();
            assert_ne!(changed.fingerprint, of.fingerprint, "{}", variant.name);
            changed.name.clone_from(&of.name);
            changed.fingerprint.clone_from(&of.fingerprint);
            assert_ne!(
                format!("{changed:?}"),
                format!("{of:?}"),
                "{}",
                variant.name
            );
        }
    }
}
