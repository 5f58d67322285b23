//! The shipped machines.

use super::machine::Machine;

/// A shipped file.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// The machine's name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Embeds the files of these machines.
macro_rules! shipped {
    ($(#[$doc:meta])* $list:ident: $($name:literal),* $(,)?) => {
        $(#[$doc])*
        pub const $list: &[Shipped] = &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../machines/", $name, ".toml")),
        }),*];
    };
}

shipped! {
    /// The papers' machines in their order, then measured ones.
    MACHINES:
    "sparc-t5440",
    "sparc-t4-1",
    "sunfire-x4800",
    "xeon-e7-4850x4",
    "opteron-6274x8",
    "epyc-7352x2",
    "kunpeng-920x2",
    "superdome-x",
    "haswell-ep-2s",
    "ivy-bridge-2s",
    "epyc-9454p",
    "i5-12500",
}

shipped! {
    /// Today's servers, from published latencies. A list of its own keeps the grids over
    /// [`MACHINES`] small: two of these have more CPUs than most of those together.
    SERVERS:
    "epyc-9965x2",
    "xeon-6980px2",
    "graviton4x2",
    "ampereone-192",
    "grace-2s",
}

/// Every shipped file.
pub fn all() -> impl Iterator<Item = &'static Shipped> {
    MACHINES.iter().chain(SERVERS)
}

/// The shipped machine called `name`.
///
/// # Panics
/// Never: each shipped file is read by a test.
#[must_use]
pub fn find(name: &str) -> Option<Machine> {
    let file = all().find(|file| file.name == name)?;
    Some(Machine::parse(file.text).expect("a shipped file is sound"))
}

#[cfg(test)]
mod tests {
    use super::super::Transfer;
    use super::*;

    #[test]
    fn every_shipped_file_is_sound_and_named_after_its_machine() {
        for file in all() {
            match Machine::parse(file.text) {
                Ok(machine) => assert_eq!(machine.name, file.name),
                Err(complaint) => panic!("{}.toml:{complaint}", file.name),
            }
        }
    }

    /// CPUs, and levels with their cohorts, as in the papers and measurements.
    #[test]
    fn each_has_the_shape_that_is_told_of_it() {
        for (name, cpus, levels) in [
            ("sparc-t5440", 256, "core 32, numa 4, package 4, system 1"),
            ("sparc-t4-1", 64, "core 8, system 1"),
            ("sunfire-x4800", 128, "core 64, numa 8, package 8, system 1"),
            ("xeon-e7-4850x4", 40, "core 40, numa 4, package 4, system 1"),
            ("opteron-6274x8", 64, "core 64, numa 8, system 1"),
            (
                "epyc-7352x2",
                96,
                "core 48, cache 16, numa 2, package 2, system 1",
            ),
            (
                "kunpeng-920x2",
                128,
                "core 128, cache 32, numa 4, package 2, system 1",
            ),
            (
                "superdome-x",
                576,
                "core 288, numa 16, package 16, blade 8, system 1",
            ),
            ("haswell-ep-2s", 48, "core 24, numa 2, package 2, system 1"),
            ("ivy-bridge-2s", 40, "core 20, numa 2, package 2, system 1"),
            ("epyc-9454p", 64, "core 64, cache 8, system 1"),
            ("i5-12500", 12, "core 6, system 1"),
            (
                "epyc-9965x2",
                768,
                "core 384, cache 24, numa 2, package 2, system 1",
            ),
            ("xeon-6980px2", 504, "core 252, numa 6, package 2, system 1"),
            ("graviton4x2", 192, "core 192, numa 2, package 2, system 1"),
            ("ampereone-192", 192, "core 192, system 1"),
            ("grace-2s", 144, "core 144, numa 2, package 2, system 1"),
        ] {
            let hierarchy = find(name).unwrap().hierarchy;
            assert_eq!(hierarchy.cpus(), cpus, "{name}");
            let found: Vec<String> = hierarchy
                .levels()
                .iter()
                .map(|level| format!("{} {}", level.name, level.cohorts))
                .collect();
            assert_eq!(found.join(", "), levels, "{name}");
        }
        assert_eq!((MACHINES.len(), SERVERS.len()), (12, 5));
    }

    #[test]
    fn every_file_is_as_it_was_frozen() {
        let frozen: Vec<(&str, &str)> = include_str!("../machines/FROZEN")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once("  "))
            .collect();
        let machines = all().map(|file| find(file.name).unwrap());
        let now: Vec<(String, String)> = machines
            .map(|machine| (machine.fingerprint, machine.name))
            .collect();
        let now: Vec<(&str, &str)> = now
            .iter()
            .map(|(fingerprint, name)| (&**fingerprint, &**name))
            .collect();
        assert_eq!(now, frozen, "the list tells what a change needs");
    }

    /// Chabbi et al. 2017 §6 quotes the factor for machines of this kind.
    #[test]
    fn atomics_of_the_superdome_take_at_most_1_15_times_as_long() {
        for transfer in find("superdome-x").unwrap().transfers {
            let least = transfer.load.value.min(transfer.store.value) as f64;
            assert!(transfer.rmw.value as f64 <= 1.15 * least, "{transfer:?}");
        }
    }

    #[test]
    fn farther_is_dearer() {
        for file in all() {
            let machine = find(file.name).unwrap();
            for pair in machine.transfers.windows(2) {
                let costs = |transfer: &Transfer| {
                    [
                        transfer.load.value,
                        transfer.store.value,
                        transfer.rmw.value,
                        transfer.invalidate.value,
                    ]
                };
                let dearer = costs(&pair[0])
                    .iter()
                    .zip(costs(&pair[1]))
                    .all(|(near, far)| *near < far);
                assert!(
                    dearer,
                    "{}: {} to {}",
                    file.name, pair[0].within, pair[1].within
                );
            }
            for transfer in &machine.transfers {
                assert!(
                    transfer.occupancy.value <= transfer.load.value,
                    "{}",
                    file.name
                );
            }
        }
    }

    #[test]
    fn half_of_the_sunfire_is_two_hops_away() {
        let machine = find("sunfire-x4800").unwrap();
        let chips: Vec<u64> = (0..8)
            .filter_map(|chip| machine.distance(0, chip * 16))
            .map(|distance| machine.transfers[distance].hops)
            .collect();
        assert_eq!(chips.iter().filter(|hops| **hops == 1).count(), 3);
        assert_eq!(chips.iter().filter(|hops| **hops == 2).count(), 4);
        let hops = machine.hops.unwrap();
        assert_eq!(hops.route(0, 4), [0, 4]);
        assert_eq!(hops.route(0, 3), [0, 4, 3]);
    }

    #[test]
    fn table_4_of_001_stands_in_its_files() {
        let costs = |name: &str| -> Vec<(u64, u64)> {
            let transfers = find(name).unwrap().transfers;
            let cost = |transfer: &Transfer| (transfer.load.value, transfer.store.value);
            transfers.iter().map(cost).collect()
        };
        assert_eq!(costs("xeon-e7-4850x4"), [(100, 105), (281, 302)]);
        assert_eq!(
            costs("opteron-6274x8"),
            [(228, 256), (419, 463), (498, 544)]
        );
    }

    #[test]
    fn hardware_threads_of_the_epyc_are_48_apart() {
        let machine = find("epyc-7352x2").unwrap();
        let core = machine.hierarchy.level("core").unwrap();
        for cpu in 0..48 {
            let cohort = |cpu| machine.hierarchy.cohort_of(cpu, core);
            assert_eq!(cohort(cpu), cohort(cpu + 48));
        }
        let name = |one, other| {
            let distance = machine.distance(one, other).unwrap();
            machine.transfers[distance].within.clone()
        };
        let names = [48, 1, 3, 24].map(|other| name(0, other));
        assert_eq!(names, ["core", "cache", "numa", "system"]);
    }
}
