//! Misuse of locks by a thread.

use super::own::{Caller, Own};
use cohort::records::{Finding, Hold, Thread, Wrong};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Records a misuse, once for each lock and site.
#[cold]
pub fn found(own: &Own, kind: Wrong, object: usize, caller: &Caller, other: Option<(u32, u64)>) {
    let records = own.records();
    let known = (records.found.load(Acquire) as usize).min(records.findings.len());
    let is_same = |finding: &Finding| {
        finding.kind.load(Acquire) == kind as u32
            && finding.object.load(Relaxed) == object as u64
            && finding.place.returns_to.load(Relaxed) == caller.returns_to as u64
    };
    if records.findings[..known].iter().any(is_same) {
        return;
    }
    let number = records.found.fetch_add(1, Relaxed) as usize;
    let Some(finding) = records.findings.get(number) else {
        return;
    };
    let (other, site) = other.unwrap_or_default();
    finding.thread.store(own.thread.id.load(Relaxed), Relaxed);
    finding.other.store(other, Relaxed);
    finding.other_site.store(site, Relaxed);
    finding.object.store(object as u64, Relaxed);
    own.note(&finding.place, caller);
    finding.stack.store(own.keep_stack(caller), Relaxed);
    finding.kind.store(kind as u32, Release);
}

/// The thread ID of a lock's other holder, and its site; removes the hold if `strike`. The ID is 0
/// for a thread of this process's parent.
#[cold]
pub fn holder(own: &Own, object: usize, strike: bool) -> Option<(u32, u64)> {
    let used = (own.records().used.load(Acquire) as usize).min(own.records().threads.len());
    own.records().threads[..used]
        .iter()
        .find_map(|thread: &Thread| {
            let held = thread.held.load(Acquire) as usize;
            let mut holds = own.records().holds(thread, held);
            let hold = holds.rfind(|hold| hold.object.load(Acquire) == object as u64)?;
            if strike {
                // The holder may be releasing it concurrently.
                let _ = hold
                    .object
                    .compare_exchange(object as u64, 0, Relaxed, Relaxed);
            }
            let (site, _) = Hold::unpack(hold.site.load(Relaxed));
            Some((thread.id.load(Relaxed), site))
        })
}

/// Whether all holds of all threads are listed.
#[cold]
pub fn all_are_certain(own: &Own) -> bool {
    let records = own.records();
    let used = (records.used.load(Acquire) as usize).min(records.threads.len());
    records.lost_threads.load(Relaxed) == 0
        && records.threads[..used]
            .iter()
            .all(|thread| thread.beyond.load(Relaxed) == 0 && thread.uncertain.load(Relaxed) == 0)
}
