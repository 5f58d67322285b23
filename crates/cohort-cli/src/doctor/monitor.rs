//! Whether the CPU supports monitored waits.

use super::Finding;
use crate::environment;
use crate::sysfs;
use cohort::door::{Monitor, offered_monitor};

/// The kernel's limit for a single monitored wait, in ticks of the TSC.
const LIMIT: &str = "/sys/devices/system/cpu/umwait_control/max_time";

/// The CPU's feature, and whether it is used.
pub fn monitor() -> Finding {
    const TOPIC: &str = "monitored waits";
    let offered = match offered_monitor() {
        Monitor::Missing => {
            return Finding::unused(TOPIC, "none", "waiting threads pause between polls");
        }
        Monitor::Umwait => match sysfs::text(LIMIT).as_deref() {
            None | Some("0") => "UMWAIT".to_owned(),
            Some(ticks) => format!("UMWAIT, at most {ticks} ticks at a time"),
        },
        Monitor::Wfet => "WFET".to_owned(),
        Monitor::Wfe => "WFE, with kernel events every 100 µs".to_owned(),
    };
    if environment::forbids_monitor() {
        return Finding::unused(TOPIC, offered, "COHORT_MONITOR=off: waiting threads pause");
    }
    let used = match offered_monitor() {
        Monitor::Wfe => {
            "used by a lone spinner under --wait spin; --wait park has a shorter bound and pauses"
        }
        _ => "used by a lone spinner, within the spin bound; COHORT_MONITOR=off disables it",
    };
    Finding::good(TOPIC, offered, used)
}
