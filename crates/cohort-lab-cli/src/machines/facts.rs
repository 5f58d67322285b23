//! What the kernel reports about this machine's caches and processor.

use cohort_cli::sysfs;
use cohort_lab::measured::Facts;
use cohort_lab::measured::facts::Cache;
use cohort_machine::description::{Atomics, Protocol};
use std::path::Path;

/// Facts of this machine; a container may hide some.
pub fn here(cpu: usize) -> Facts {
    look(
        Path::new("/sys/devices/system"),
        Path::new("/proc/cpuinfo"),
        cpu,
    )
}

/// Names of the makers of Arm processors, by the number that they have in the kernel.
const MAKERS: [(&str, &str); 4] = [
    ("0x41", "Neoverse"),
    ("0x48", "Kunpeng"),
    ("0x4e", "NVIDIA Grace"),
    ("0xc0", "AmpereOne"),
];

/// Reads the folder `cpu` below `root`, and the list of processors.
fn look(root: &Path, cpuinfo: &Path, cpu: usize) -> Facts {
    let field = |name: &str| sysfs::field(cpuinfo, name);
    let vendor = field("vendor_id");
    let maker = field("CPU implementer").and_then(|number| {
        let known = MAKERS.iter().find(|(known, _)| *known == number);
        known.map(|(_, name)| (*name).to_owned())
    });
    let protocol = match vendor.as_deref() {
        Some("AuthenticAMD" | "HygonGenuine") => Some(Protocol::Moesi),
        Some("GenuineIntel") => Some(Protocol::Mesif),
        _ => maker.is_some().then_some(Protocol::Moesi),
    };
    let atomics = if vendor.is_some() {
        Some(Atomics::Native)
    } else {
        field("Features").map(|features| {
            if features.split(' ').any(|feature| feature == "atomics") {
                Atomics::Native
            } else {
                Atomics::LoadLinked
            }
        })
    };
    let folder = root.join(format!("cpu/cpu{cpu}"));
    let core = sysfs::text(folder.join("topology/thread_siblings_list"));
    let core = core
        .and_then(|list| sysfs::numbers(&list))
        .unwrap_or_else(|| vec![cpu]);
    let caches: Vec<Cache> = (0..8)
        .filter_map(|index| cache(&folder.join(format!("cache/index{index}"))))
        .collect();
    let line = sysfs::text(folder.join("cache/index0/coherency_line_size"));
    let is_private = |cache: &&Cache| cache.cpus.iter().all(|cpu| core.contains(cpu));
    let largest = |cache: &&Cache| cache.bytes;
    Facts {
        model: field("model name")
            .or(maker)
            .unwrap_or_else(|| "unknown CPU".to_owned()),
        line: line
            .and_then(|line| line.parse().ok())
            .filter(|line: &u64| line.is_power_of_two()),
        private: caches
            .iter()
            .filter(is_private)
            .max_by_key(largest)
            .cloned(),
        shared: caches
            .iter()
            .filter(|cache| !is_private(cache))
            .max_by_key(largest)
            .cloned(),
        protocol,
        atomics,
    }
}

/// A cache that holds data.
fn cache(folder: &Path) -> Option<Cache> {
    let text = |file: &str| sysfs::text(folder.join(file));
    if text("type")? == "Instruction" {
        return None;
    }
    let size = text("size")?;
    let (number, unit) = size.split_at(
        size.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(size.len()),
    );
    let unit = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "" => 1,
        _ => return None,
    };
    Some(Cache {
        bytes: number.parse::<u64>().ok()?.checked_mul(unit)?,
        cpus: sysfs::numbers(&text("shared_cpu_list")?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts of a tree of small files.
    fn tree(files: &[(&str, &str)], cpuinfo: &str) -> Facts {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        let list = root.path().join("cpuinfo");
        std::fs::write(&list, cpuinfo).unwrap();
        look(root.path(), &list, 0)
    }

    const EPYC: &str = "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9454P\n";

    #[test]
    fn a_core_s_largest_cache_is_private_and_the_next_is_shared() {
        let mut files = vec![(
            "cpu/cpu0/topology/thread_siblings_list".to_owned(),
            "0,48".to_owned(),
        )];
        let caches = [
            ("0", "Data", "32K", "0,48"),
            ("1", "Instruction", "64K", "0,48"),
            ("2", "Unified", "1024K", "0,48"),
            ("3", "Unified", "32M", "0-7,48-55"),
        ];
        for (index, kind, size, cpus) in caches {
            for (file, text) in [
                ("type", kind),
                ("size", size),
                ("shared_cpu_list", cpus),
                ("coherency_line_size", "64"),
            ] {
                files.push((
                    format!("cpu/cpu0/cache/index{index}/{file}"),
                    text.to_owned(),
                ));
            }
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (&**a, &**b)).collect();
        let facts = tree(&files, EPYC);
        assert_eq!(facts.line, Some(64));
        let cache = |cache: Option<Cache>| cache.map(|cache| (cache.bytes, cache.cpus.len()));
        assert_eq!(cache(facts.private), Some((1 << 20, 2)));
        assert_eq!(cache(facts.shared), Some((32 << 20, 16)));
        assert_eq!(facts.protocol, Some(Protocol::Moesi));
        assert_eq!(facts.atomics, Some(Atomics::Native));
    }

    /// As in a container that hides the folder.
    #[test]
    fn nothing_reported_is_nothing_known() {
        let facts = tree(&[], "");
        let unknown = Facts {
            model: "unknown CPU".to_owned(),
            ..Facts::default()
        };
        assert_eq!(facts, unknown);
        assert_eq!(facts.lines_behind(), None);
    }

    #[test]
    fn processors_without_a_model_go_by_their_maker() {
        let facts = tree(
            &[],
            "CPU implementer\t: 0xc0\nFeatures\t: fp asimd atomics\n",
        );
        assert_eq!(
            (&*facts.model, facts.atomics),
            ("AmpereOne", Some(Atomics::Native))
        );
        let facts = tree(&[], "CPU implementer\t: 0x48\nFeatures\t: fp asimd\n");
        assert_eq!(
            (&*facts.model, facts.atomics),
            ("Kunpeng", Some(Atomics::LoadLinked))
        );
    }

    #[test]
    fn nonsense_is_no_cache() {
        let facts = tree(
            &[
                ("cpu/cpu0/cache/index0/type", "Data"),
                ("cpu/cpu0/cache/index0/size", "99999999999999999999K"),
                ("cpu/cpu0/cache/index0/shared_cpu_list", "0"),
                ("cpu/cpu0/cache/index0/coherency_line_size", "-1"),
            ],
            EPYC,
        );
        assert_eq!((facts.line, facts.private), (None, None));
    }
}
