//! A report as JSON shows it.

use super::counts::{Counts, uncounted};
use crate::choice::SYSTEM;
use crate::program::shown;
use crate::settings::Settings;
use crate::supervise::Usage;
use cohort::door::Mode;
use cohort::report::{Report, ServedKind};
use serde::Serialize;
use std::ffi::OsStr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The behaviour of a program under a lock.
#[derive(Serialize)]
pub struct Summary {
    program: String,
    lock: String,
    rwlocks: &'static str,
    wait: Option<&'static str>,
    seconds: f64,
    used: Usage,
    /// None if nothing could be counted.
    counted: Option<Counted>,
    /// All locks together, and what the total says about a gain.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judgement: Option<String>,
}

/// The counts of the processes that were served.
#[derive(Serialize)]
struct Counted {
    processes: u64,
    /// The processes that still run; their later acquisitions are not included.
    going_on: Vec<u32>,
    kinds: Vec<OfKind>,
    waiters: u64,
    waiters_at_conditions: u64,
    node_bytes: u64,
    inflated: u64,
    /// The modes that an adaptive lock was in.
    modes: Vec<OfMode>,
    /// Groups of CPUs that share a last-level cache; none if no thread had to find out.
    cache_groups: Option<u32>,
}

/// The counts of one kind of lock.
#[derive(Serialize)]
struct OfKind {
    kind: &'static str,
    acquired: u64,
    /// None if it is unknown or has no meaning.
    contended: Option<u64>,
}

/// The activity of locks in one mode.
#[derive(Serialize)]
struct OfMode {
    mode: &'static str,
    /// Acquisitions that waited for a lock of that mode.
    waited: u64,
    /// The number of changes of a lock to this mode.
    changes: u64,
}

impl Summary {
    /// The summary of a run under the C library's own locks.
    pub fn baseline(program: &OsStr, ran: Duration, used: Usage) -> Self {
        Self {
            program: shown(program).to_string(),
            lock: SYSTEM[0].to_owned(),
            rwlocks: SYSTEM[0],
            wait: None,
            seconds: ran.as_secs_f64(),
            used,
            counted: None,
            counts: None,
            judgement: None,
        }
    }

    /// What ran under ours.
    pub fn new(
        report: &Report,
        settings: &Settings,
        program: &OsStr,
        ran: Duration,
        used: Usage,
        going_on: Vec<u32>,
    ) -> Self {
        Self {
            lock: settings.lock.name().to_owned(),
            rwlocks: settings.rwlocks.name(),
            wait: Some(settings.wait.name()),
            counted: Some(Counted::of(report, going_on)),
            counts: Some(Counts::of(report)),
            judgement: Counts::of(report).judgement(),
            ..Self::baseline(program, ran, used)
        }
    }
}

impl Counted {
    fn of(report: &Report, going_on: Vec<u32>) -> Self {
        let memory = &report.memory;
        let of_mode = |mode: Mode| {
            let waited = report.waited(mode);
            let changes = report.changes_to(mode);
            (waited > 0 || changes > 0).then(|| OfMode {
                mode: mode.name(),
                waited,
                changes,
            })
        };
        let of_kind = |kind: ServedKind| {
            let (acquired, contended) = report.total(kind);
            (acquired > 0 || contended > 0).then(|| OfKind {
                kind: kind.name(),
                acquired,
                contended: (!uncounted(kind, contended)).then_some(contended),
            })
        };
        Self {
            processes: report.processes.load(Relaxed).into(),
            going_on,
            kinds: ServedKind::ALL.into_iter().filter_map(of_kind).collect(),
            waiters: memory.waiters.load(Relaxed).into(),
            waiters_at_conditions: memory.at_conditions.load(Relaxed).into(),
            node_bytes: memory.bytes.load(Relaxed),
            inflated: memory.inflated.load(Relaxed).into(),
            modes: Mode::ALL.into_iter().filter_map(of_mode).collect(),
            cache_groups: Some(memory.cache_groups.load(Relaxed)).filter(|groups| *groups > 0),
        }
    }
}
