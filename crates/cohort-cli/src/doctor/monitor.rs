//! Whether the CPU supports monitored waits.

use super::{Finding, sysfs};
use crate::environment;
use cohort::door::{Monitor, offered_monitor};

/// The kernel's limit for a single monitored wait, in ticks of the TSC.
const LIMIT: &str = "/sys/devices/system/cpu/umwait_control/max_time";

/// The CPU's feature, and whether it is used.
pub fn monitor() -> Finding {
    const TOPIC: &str = "monitored waits";
    let offered = match offered_monitor() {
        Monitor::Missing => {
            return Finding::unused(
                TOPIC,
                "none: the CPU watches no word for a program",
                "waiting threads pause between looks",
            );
        }
        Monitor::Umwait => match sysfs::text(LIMIT).as_deref() {
            None | Some("0") => "UMWAIT".to_owned(),
            Some(ticks) => format!("UMWAIT, {ticks} ticks at once at most"),
        },
        Monitor::Wfet => "WFET".to_owned(),
        Monitor::Wfe => "WFE, ended by the kernel every 100 µs".to_owned(),
    };
    if environment::forbids_monitor() {
        return Finding::unused(TOPIC, offered, "COHORT_MONITOR=off: waiting threads pause");
    }
    let used = match offered_monitor() {
        Monitor::Wfe => {
            "under --wait spin, where one thread alone waits for a word; --wait park keeps to a \
             shorter bound, and pauses"
        }
        _ => {
            "where one thread alone waits for a word the CPU watches it, within the bound for \
             spinning; COHORT_MONITOR=off turns it off"
        }
    };
    Finding::good(TOPIC, offered, used)
}
