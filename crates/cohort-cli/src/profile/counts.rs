//! A process's counts of acquisitions, by lock and site.

use crate::observe::process::Process;
use std::collections::HashMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// A process's count of a lock and a site.
pub struct Counted {
    pub lock: u64,
    pub site: u64,
    pub acquired: u64,
    /// Contended acquisitions.
    pub contended: u64,
}

/// Acquisitions and contended acquisitions, by lock and site.
pub type Sums = HashMap<(u64, u64), (u64, u64)>;

/// A process's counts, by lock and site.
pub fn sums(process: &Process) -> Sums {
    let raw = process.records();
    let used = (raw.used.load(Acquire) as usize).min(raw.threads.len());
    let mut all = Sums::new();
    let tallies = raw.threads[..used]
        .iter()
        .flat_map(|thread| &thread.tallies);
    let tallies = tallies.map(|tally| {
        let known = (tally.lock.load(Acquire), tally.site.load(Acquire));
        let acquired = tally.acquired.load(Relaxed);
        let contended = tally.contended.load(Relaxed);
        (known, (acquired.into(), contended.into()))
    });
    let counts = process.counts().into_iter();
    let counts = counts.map(|count| {
        let known = (count.lock.load(Acquire), count.site.load(Acquire));
        let acquired = count.acquired.load(Relaxed);
        (known, (acquired, count.contended.load(Relaxed)))
    });
    for (known @ (lock, site), (acquired, contended)) in tallies.chain(counts) {
        if lock != 0 && site != 0 {
            let sum = all.entry(known).or_default();
            sum.0 += acquired;
            sum.1 += contended;
        }
    }
    all
}

/// A process's counts since `before`, sorted by locks.
pub fn counted(process: &Process, before: &Sums) -> Vec<Counted> {
    since(&sums(process), before)
}

/// The difference of two counts.
pub fn since(sums: &Sums, before: &Sums) -> Vec<Counted> {
    let counted = sums.iter().map(|((lock, site), (acquired, contended))| {
        let (already, held) = before.get(&(*lock, *site)).copied().unwrap_or_default();
        // A thread that moves its counts concurrently may be counted once too little.
        Counted {
            lock: *lock,
            site: *site,
            acquired: acquired.saturating_sub(already),
            contended: contended.saturating_sub(held),
        }
    });
    let mut counted: Vec<Counted> = counted.filter(|count| count.acquired > 0).collect();
    counted.sort_unstable_by_key(|count| (count.lock, count.site));
    counted
}

/// The sites of each lock among the [`counted`] ones.
pub fn by_locks(counted: &[Counted]) -> impl Iterator<Item = &[Counted]> {
    counted.chunk_by(|one, other| one.lock == other.lock)
}
