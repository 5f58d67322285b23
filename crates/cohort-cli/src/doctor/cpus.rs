//! CPUs, their siblings and the memory nodes.

use super::Finding;
use crate::sysfs;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// CPUs that this process may use, of those online, of those present.
pub fn cpus() -> Finding {
    let model = sysfs::cpu_model();
    let counted = |file: &str| {
        sysfs::text(format!("{CPUS}/{file}"))
            .and_then(|list| sysfs::count(&list))
            .map_or_else(|| "?".to_owned(), |count| count.to_string())
    };
    let Ok(allowed) = rustix::thread::sched_getaffinity(None).map(|set| set.count()) else {
        return Finding::good("CPUs", model, "waiting threads do not spin")
            .costs("the kernel does not report the usable CPUs; every contended wait sleeps");
    };
    let offered = format!(
        "{allowed} allowed of {} online of {} present: {model}",
        counted("online"),
        counted("present")
    );
    if allowed == 1 {
        Finding::good(
            "CPUs",
            offered,
            "waiting threads yield, then sleep: spinning would only delay the holder",
        )
    } else {
        Finding::good(
            "CPUs",
            offered,
            "waiting threads spin for a bounded time before they yield and sleep",
        )
    }
}

/// Whether CPUs share cores.
pub fn siblings() -> Finding {
    const USED: &str = "waiting threads pause between polls in both cases";
    match sysfs::text(format!("{CPUS}/smt/active")).as_deref() {
        Some("1") => Finding::unused("SMT", "on: some CPUs share a core", USED),
        Some("0") => Finding::unused("SMT", "off: every CPU is a core", USED),
        _ => Finding::unused("SMT", "not reported by the kernel", USED),
    }
}

/// The number of memory nodes.
pub fn nodes() -> Finding {
    let counted =
        |file: &str| sysfs::text(format!("{NODES}/{file}")).and_then(|list| sysfs::count(&list));
    match counted("online") {
        None => Finding::unused(
            "memory nodes",
            "one (the kernel shows no nodes)",
            "memory is uniform",
        ),
        Some(1) => Finding::unused("memory nodes", "one", "memory is uniform"),
        Some(nodes) => {
            let offered = match counted("has_cpu") {
                Some(with) => format!("{nodes} online, {with} with CPUs"),
                None => format!("{nodes} online"),
            };
            Finding::good(
                "memory nodes",
                offered,
                "NUMA-aware locks prefer hand-offs within a node (`cohort list`)",
            )
            .costs(
                "the default lock is not NUMA-aware; measure others with `cohort compare --locks \
                 futex,cna,hmcs-2,c-tkt-mcs`",
            )
        }
    }
}
