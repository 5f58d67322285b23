//! Counts kept during a run.

use super::clock::Ticks;
use super::hardware::Hardware;
use super::memory::Owner;

/// The caches' traffic.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    /// Accesses by owner of the line.
    pub(crate) accesses: [u64; Owner::COUNT],
    /// CPU time spent on accesses.
    pub(crate) stalled: [Ticks; Owner::COUNT],
    /// Transfers between caches, by distance and by the owner of the line.
    pub(crate) transfers: Vec<[u64; Owner::COUNT]>,
    /// Transfers of modified lines.
    pub(crate) modified: u64,
    /// Fetches from memory.
    pub(crate) memory: [u64; Owner::COUNT],
    /// Fetches from the last-level cache of lines that a private cache had evicted.
    pub(crate) refills: [u64; Owner::COUNT],
    /// Copies invalidated.
    pub(crate) invalidations: u64,
    /// The busy time of each link.
    pub(crate) links: Vec<Ticks>,
    /// CPUs with a thread.
    pub(crate) busy: Presence,
    /// CPUs with a thread that only polled.
    pub(crate) polling: Presence,
}

/// Summed presence times: an arrival subtracts its time, a departure adds it, and present items
/// count up to the present time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Presence {
    sum: i128,
    there: i128,
}

impl Presence {
    pub(crate) const fn come(&mut self, at: Ticks) {
        self.sum -= at as i128;
        self.there += 1;
    }

    pub(crate) const fn leave(&mut self, at: Ticks) {
        self.sum += at as i128;
        self.there -= 1;
    }

    const fn until(&self, at: Ticks) -> i128 {
        self.sum + self.there * at as i128
    }

    /// The summed presence time between two moments.
    pub(crate) fn between(&self, ended: Ticks, before: &Self, began: Ticks) -> Ticks {
        Ticks::try_from(self.until(ended) - before.until(began)).unwrap_or(0)
    }
}

impl Traffic {
    pub(crate) fn new(hardware: &Hardware) -> Self {
        Self {
            accesses: [0; _],
            stalled: [0; _],
            transfers: vec![[0; _]; hardware.transfers.len()],
            modified: 0,
            memory: [0; _],
            refills: [0; _],
            invalidations: 0,
            links: vec![0; hardware.links.occupancy.len()],
            busy: Presence::default(),
            polling: Presence::default(),
        }
    }

    #[inline]
    pub(crate) const fn access(&mut self, took: Ticks, whose: Owner) {
        self.accesses[whose as usize] += 1;
        self.stalled[whose as usize] += took;
    }

    /// Records a CPU's wait before an access.
    #[inline]
    pub(crate) const fn wait(&mut self, took: Ticks, whose: Owner) {
        self.stalled[whose as usize] += took;
    }

    pub(crate) fn transfer(&mut self, distance: usize, whose: Owner, modified: bool) {
        self.transfers[distance][whose as usize] += 1;
        self.modified += u64::from(modified);
    }

    pub(crate) const fn memory(&mut self, whose: Owner) {
        self.memory[whose as usize] += 1;
    }

    pub(crate) const fn refill(&mut self, whose: Owner) {
        self.refills[whose as usize] += 1;
    }

    pub(crate) fn invalidate(&mut self, copies: u32) {
        self.invalidations += u64::from(copies);
    }

    pub(crate) fn link(&mut self, link: usize, busy: Ticks) {
        self.links[link] += busy;
    }

    /// Transferred lines.
    pub(crate) fn moved(&self) -> u64 {
        let sum = |counts: &[u64; Owner::COUNT]| counts.iter().sum::<u64>();
        sum(&self.memory) + sum(&self.refills) + self.transfers.iter().map(sum).sum::<u64>()
    }

    /// The difference from an earlier state.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let less = |now: &[u64; Owner::COUNT], before: &[u64; Owner::COUNT]| {
            std::array::from_fn(|whose| now[whose] - before[whose])
        };
        let pairs = self.transfers.iter().zip(&before.transfers);
        let links = self.links.iter().zip(&before.links);
        Self {
            accesses: less(&self.accesses, &before.accesses),
            stalled: less(&self.stalled, &before.stalled),
            transfers: pairs.map(|(now, before)| less(now, before)).collect(),
            modified: self.modified - before.modified,
            memory: less(&self.memory, &before.memory),
            refills: less(&self.refills, &before.refills),
            invalidations: self.invalidations - before.invalidations,
            links: links.map(|(now, before)| now - before).collect(),
            busy: self.busy,
            polling: self.polling,
        }
    }
}
