//! Which caches hold each line, and the cost of an access to it.
//!
//! Values are the host's, and change in the order of events. An access is served as soon as the
//! line is not busy with an earlier one and the links on its way are free. Its effect on the line's
//! state is immediate, so requests for a line are served in the order of their events.
//!
//! | state | holders | what supplies it |
//! |---|---|---|
//! | `Absent` | none | a last-level cache or the home node's memory |
//! | `Exclusive` | `owner` | `owner`, unmodified |
//! | `Modified` | `owner` | `owner` |
//! | `Owned` (MOESI) | `owner` and others | `owner`, modified |
//! | `Shared` | any | the nearest holder; under MESIF beyond a last-level cache `owner`, the forwarder |
//!
//! A last-level cache is an agent of its own. If a line is `Shared` or `Owned` and a private cache
//! behind that last-level cache holds a copy, it serves loads of its other private caches. Such
//! loads behind different last-level caches do not wait for each other.

use super::access::{Access, Change};
use super::capacity::Capacity;
use super::clock::Ticks;
use super::groups::{Group, Groups};
use super::hardware::Hardware;
use super::lines::LineId;
use super::memory::Owner;
use super::tally::Traffic;
use crate::description::Protocol;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    Exclusive,
    Modified,
    Owned,
    Shared,
}

/// No cache.
const NONE: u16 = u16::MAX;

#[derive(Debug)]
struct Line {
    state: State,
    /// As in the table; `NONE` if the table names no cache.
    owner: u16,
    /// The node of its memory, that of the first access.
    home: u16,
    /// The last-level cache that kept it after a private one evicted it.
    kept: u16,
    whose: Owner,
    /// The end of earlier requests.
    busy: Ticks,
    /// The end of the slots promised to waiting load-linkeds.
    promised: Ticks,
    /// The completion of the last write.
    written: Ticks,
    /// The completion of the last fill, and its cache; its other CPUs must wait for it.
    filled: Ticks,
    filled_by: u16,
    /// Incremented by writes and changes of ownership.
    version: u32,
    /// The last-level caches that serve loads from copies behind them.
    groups: Groups,
    /// Threads that sleep until it is written.
    watchers: Vec<u32>,
    /// Whether a watcher needs it exclusively.
    owned: bool,
}

/// How an access was served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// The begin of service.
    pub(crate) began: Ticks,
    /// The completion.
    pub(crate) done: Ticks,
    /// Whether the cache could serve it alone.
    pub(crate) hit: bool,
    /// Whether the line's watchers must look again.
    pub(crate) disturbs: bool,
}

/// The state of all caches.
#[derive(Debug)]
pub(crate) struct Caches {
    lines: Vec<Line>,
    /// The caches that hold each line, `words` words for each.
    holders: Vec<u64>,
    words: usize,
    /// Until when each link is busy.
    links: Vec<Ticks>,
    capacity: Vec<Capacity>,
    /// Lines that fell out of private caches, by the last-level cache that keeps
    /// them.
    kept: Vec<Capacity>,
    /// The last tidying of a cache that saw each line, and how many there were.
    seen: Vec<u32>,
    tidied: u32,
}

/// An access to a line that the cache holds.
const fn hit(cost: Ticks, began: Ticks) -> Served {
    Served {
        began,
        done: began + cost,
        hit: true,
        disturbs: false,
    }
}

impl Caches {
    pub(crate) fn new(hardware: &Hardware) -> Self {
        let words = hardware.caches.div_ceil(64);
        Self {
            lines: Vec::new(),
            holders: Vec::new(),
            words,
            links: vec![0; hardware.links.occupancy.len()],
            kept: (0..hardware.last_levels)
                .map(|_| Capacity::default())
                .collect(),
            seen: Vec::new(),
            tidied: 0,
            capacity: (0..hardware.caches).map(|_| Capacity::default()).collect(),
        }
    }

    /// Adds a line at its first access; its home is the accessing node.
    pub(crate) fn add(&mut self, hardware: &Hardware, cache: usize, whose: Owner) {
        self.lines.push(Line {
            state: State::Absent,
            owner: NONE,
            home: hardware.node_of[cache],
            kept: NONE,
            whose,
            busy: 0,
            promised: 0,
            written: 0,
            filled: 0,
            filled_by: NONE,
            version: 0,
            groups: Groups::default(),
            watchers: Vec::new(),
            owned: false,
        });
        self.holders.resize(self.holders.len() + self.words, 0);
        self.seen.push(0);
    }

    /// The number of a line's writes and changes of ownership.
    pub(crate) fn version(&self, line: LineId) -> u32 {
        self.lines[line as usize].version
    }

    /// Whether a cache holds a line.
    pub(crate) fn holds(&self, line: LineId, cache: usize) -> bool {
        let word = self.holders[line as usize * self.words + cache / 64];
        word >> (cache % 64) & 1 != 0
    }

    /// Adds a thread to a line's watchers, to sleep until a write. With `owns` it needs the line
    /// exclusively, and must look again when another cache loads it.
    pub(crate) fn watch(&mut self, line: LineId, thread: u32, owns: bool) {
        let line = &mut self.lines[line as usize];
        line.watchers.push(thread);
        line.owned |= owns;
    }

    /// Takes a thread off a line's watchers.
    pub(crate) fn unwatch(&mut self, line: LineId, thread: u32) {
        let watchers = &mut self.lines[line as usize].watchers;
        if let Some(index) = watchers.iter().position(|watcher| *watcher == thread) {
            watchers.remove(index);
        }
    }

    /// Takes and returns the watchers of a line that has just been written.
    pub(crate) fn watchers(&mut self, line: LineId, watchers: &mut Vec<u32>) {
        let line = &mut self.lines[line as usize];
        watchers.append(&mut line.watchers);
        line.owned = false;
    }

    /// Writes without delay, for schedules in which only the order of events matters.
    pub(crate) fn write_undelayed(&mut self, line: LineId) {
        let line = &mut self.lines[line as usize];
        line.version = line.version.wrapping_add(1);
    }

    /// The time at which a load-linked requested at `at` may be served; `at` if at once.
    ///
    /// It queues like other requests, but is not served early: until then the CPU that has the line may
    /// still store to it. If such a store is pending at the slot given before, `turn`, the load-linked
    /// queues again.
    pub(crate) fn turn(
        &mut self,
        hardware: &Hardware,
        traffic: &mut Traffic,
        cache: usize,
        id: LineId,
        at: Ticks,
        turn: Option<Ticks>,
    ) -> Ticks {
        let line = &self.lines[id as usize];
        let queue = line.busy.max(line.promised);
        let taken = if turn == Some(at) {
            line.written
        } else {
            queue
        };
        if taken <= at || self.holds(id, cache) {
            return at;
        }
        let occupancy = match line.state {
            State::Absent => hardware.memory(cache, line.home as usize),
            _ => hardware.transfers[self.supplier(hardware, cache, id).1].occupancy,
        };
        let line = &mut self.lines[id as usize];
        line.promised = queue + occupancy;
        traffic.wait(queue - at, line.whose);
        queue
    }

    /// Performs an access by a CPU of `cache`, requested at `at`.
    pub(crate) fn access(
        &mut self,
        hardware: &Hardware,
        traffic: &mut Traffic,
        cache: usize,
        id: LineId,
        access: Access,
        at: Ticks,
    ) -> Served {
        let served = match access {
            Access::Load if self.holds(id, cache) => {
                let since = self.since(cache, id, false);
                hit(hardware.hit.load, at.max(since))
            }
            Access::LoadLinked if self.holds(id, cache) => {
                let since = self.since(cache, id, true);
                hit(hardware.hit.load, at.max(since))
            }
            Access::Load => match self.beside(hardware, cache, id) {
                Some(copy) => self.fetch_beside(hardware, traffic, cache, id, copy, at),
                None => {
                    let start = at.max(self.queue(id));
                    self.fetch(hardware, traffic, cache, id, start)
                }
            },
            Access::LoadLinked => self.fetch(hardware, traffic, cache, id, at),
            Access::Store | Access::ReadModifyWrite(_) => {
                let cost = match access {
                    Access::Store => hardware.hit.store,
                    _ => hardware.hit.rmw,
                };
                let since = self.since(cache, id, true);
                let line = &mut self.lines[id as usize];
                let alone = matches!(line.state, State::Exclusive | State::Modified);
                if alone && line.owner as usize == cache {
                    line.state = State::Modified;
                    let idle = matches!(access, Access::ReadModifyWrite(change) if change != Change::Other);
                    let mut served = hit(cost, at.max(since));
                    if !idle {
                        served.disturbs = true;
                        self.write_undelayed(id);
                    }
                    served
                } else {
                    self.write_undelayed(id);
                    self.own(hardware, traffic, cache, id, access, at)
                }
            }
        };
        // A store completes from the buffer.
        let stalls = match access {
            Access::Store => hardware.hit.store,
            _ => served.done - at,
        };
        traffic.access(stalls, self.lines[id as usize].whose);
        served
    }

    /// The time from which a line in the cache can be read there, or with `to_write`, written. A
    /// copy stays readable while its cache asks the other holders to invalidate theirs.
    fn since(&self, cache: usize, id: LineId, to_write: bool) -> Ticks {
        let line = &self.lines[id as usize];
        let filled = if line.filled_by as usize == cache {
            line.filled
        } else {
            0
        };
        let written = if to_write && line.owner as usize == cache {
            line.written
        } else {
            0
        };
        filled.max(written)
    }

    /// The owner of a line.
    pub(crate) fn whose(&self, id: LineId) -> Owner {
        self.lines[id as usize].whose
    }

    /// The earliest service of a request made now.
    fn queue(&self, id: LineId) -> Ticks {
        let line = &self.lines[id as usize];
        line.busy.max(line.promised)
    }

    /// The nearest copy behind the cache's own last-level cache, with its distance, if loads are
    /// served there.
    fn beside(&self, hardware: &Hardware, cache: usize, id: LineId) -> Option<(usize, usize)> {
        if !matches!(self.lines[id as usize].state, State::Owned | State::Shared) {
            return None;
        }
        let levels = &hardware.last_level_of;
        self.nearest(hardware, cache, id)
            .filter(|(nearest, _)| levels[*nearest] == levels[cache])
    }

    /// Loads a line from a copy behind the same last-level cache; other loads there wait for it.
    fn fetch_beside(
        &mut self,
        hardware: &Hardware,
        traffic: &mut Traffic,
        cache: usize,
        id: LineId,
        (copy, distance): (usize, usize),
        at: Ticks,
    ) -> Served {
        let level = hardware.last_level_of[cache];
        let line = &mut self.lines[id as usize];
        let known = line.groups.place(level);
        let start = known.map_or(at, |known| {
            let group = line.groups.at(known);
            at.max(group.arrived).max(group.busy)
        });
        let began = self.cross(hardware, traffic, copy, cache, start);
        let transfer = &hardware.transfers[distance];
        let line = &mut self.lines[id as usize];
        traffic.transfer(distance, line.whose, false);
        let busy = began + transfer.occupancy;
        let done = began + transfer.clean;
        match known {
            Some(known) => line.groups.at(known).busy = busy,
            None => line.groups.add(Group {
                level,
                arrived: 0,
                busy,
            }),
        }
        if hardware.protocol == Protocol::Mesif && line.state == State::Shared {
            line.owner = cache as u16;
        }
        line.filled = done;
        line.filled_by = cache as u16;
        let disturbs = line.owned;
        self.insert(hardware, id, cache);
        Served {
            began,
            done,
            hit: false,
            disturbs,
        }
    }

    /// Loads a line that the cache does not hold, from `start` on.
    fn fetch(
        &mut self,
        hardware: &Hardware,
        traffic: &mut Traffic,
        cache: usize,
        id: LineId,
        start: Ticks,
    ) -> Served {
        let line = &self.lines[id as usize];
        let (state, owner, whose) = (line.state, line.owner, line.whose);
        let (began, done, free) = match state {
            State::Absent => {
                let (began, done) = self.fetch_from_memory(hardware, traffic, cache, id, start);
                (began, done, done)
            }
            _ => {
                let distance = self.supplier(hardware, cache, id);
                let transfer = &hardware.transfers[distance.1];
                let dirty = self.is_dirty(id);
                let cost = if dirty { transfer.load } else { transfer.clean };
                let began = self.cross(hardware, traffic, distance.0, cache, start);
                traffic.transfer(distance.1, whose, dirty);
                (began, began + cost, began + transfer.occupancy)
            }
        };
        let is_beside = self.beside(hardware, cache, id).is_some();
        let line = &mut self.lines[id as usize];
        line.busy = line.busy.max(free);
        line.filled = done;
        line.filled_by = cache as u16;
        // A supplier behind the same last-level cache means that the line is already there.
        let level = hardware.last_level_of[cache];
        let supplied = owner != NONE && hardware.last_level_of[owner as usize] == level;
        let arrived = if supplied { free } else { done };
        match line.groups.place(level) {
            Some(_) if is_beside => {}
            Some(known) => line.groups.at(known).arrived = arrived,
            None => line.groups.add(Group {
                level,
                arrived,
                busy: 0,
            }),
        }
        (line.state, line.owner) = match (state, hardware.protocol) {
            (State::Absent, _) => (State::Exclusive, cache as u16),
            (State::Modified, Protocol::Moesi) => (State::Owned, owner),
            (State::Owned, _) => (State::Owned, owner),
            (_, Protocol::Mesif) => (State::Shared, cache as u16),
            _ => (State::Shared, NONE),
        };
        let disturbs = line.owned;
        self.insert(hardware, id, cache);
        Served {
            began,
            done,
            hit: false,
            disturbs,
        }
    }

    /// Makes the cache a line's only holder.
    fn own(
        &mut self,
        hardware: &Hardware,
        traffic: &mut Traffic,
        cache: usize,
        id: LineId,
        access: Access,
        at: Ticks,
    ) -> Served {
        let held = self.holds(id, cache);
        // A store-conditional at this point precedes waiting load-linkeds.
        let conditional = hardware.load_linked && access != Access::Store;
        let served = self.lines[id as usize].groups.busy();
        let queue = if held && conditional {
            self.lines[id as usize].busy
        } else {
            self.queue(id)
        };
        let start = at.max(queue).max(served);
        let whose = self.lines[id as usize].whose;
        let others = self.others(cache, id);
        let farthest = self.farthest(hardware, cache, id);
        let invalidation = farthest.map_or(0, |distance| hardware.transfers[distance].invalidate);
        let further = hardware.invalidate_each * u64::from(others.saturating_sub(1));
        let (began, done) = if held {
            let cost = match access {
                Access::Store => hardware.hit.store,
                _ => hardware.hit.rmw,
            };
            (start, start + cost + invalidation + further)
        } else if self.lines[id as usize].state == State::Absent {
            self.fetch_from_memory(hardware, traffic, cache, id, start)
        } else {
            let (supplier, distance) = self.supplier(hardware, cache, id);
            let transfer = &hardware.transfers[distance];
            let cost = match access {
                Access::Store => transfer.store,
                _ => transfer.rmw,
            };
            let began = self.cross(hardware, traffic, supplier, cache, start);
            traffic.transfer(distance, whose, self.is_dirty(id));
            (began, began + cost.max(invalidation) + further)
        };
        traffic.invalidate(others);
        self.clear(id);
        let line = &mut self.lines[id as usize];
        line.groups.clear();
        line.busy = done;
        line.written = done;
        if !held {
            line.filled = done;
            line.filled_by = cache as u16;
        }
        line.state = State::Modified;
        line.owner = cache as u16;
        self.insert(hardware, id, cache);
        Served {
            began,
            done,
            hit: false,
            disturbs: true,
        }
    }

    /// Fetches a line that no private cache holds.
    fn fetch_from_memory(
        &mut self,
        hardware: &Hardware,
        traffic: &mut Traffic,
        cache: usize,
        id: LineId,
        start: Ticks,
    ) -> (Ticks, Ticks) {
        let line = &self.lines[id as usize];
        let (home, kept, whose) = (line.home as usize, line.kept, line.whose);
        if kept != NONE {
            self.lines[id as usize].kept = NONE;
            self.kept[kept as usize].remove();
        }
        if kept == hardware.last_level_of[cache] {
            traffic.refill(whose);
            return (start, start + hardware.refill);
        }
        let began = self.cross(hardware, traffic, hardware.cache_at(home), cache, start);
        traffic.memory(whose);
        (began, began + hardware.memory(cache, home))
    }

    /// The supplier of a line that some cache holds, and its distance.
    fn supplier(&self, hardware: &Hardware, cache: usize, id: LineId) -> (usize, usize) {
        let line = &self.lines[id as usize];
        let owner = line.owner as usize;
        if matches!(
            line.state,
            State::Exclusive | State::Modified | State::Owned
        ) {
            return (owner, hardware.distance(cache, owner));
        }
        let (nearest, distance) = self
            .nearest(hardware, cache, id)
            .expect("a line that is not absent has a holder");
        let levels = &hardware.last_level_of;
        if hardware.protocol == Protocol::Mesif
            && line.owner != NONE
            && owner != cache
            && levels[nearest] != levels[cache]
        {
            return (owner, hardware.distance(cache, owner));
        }
        (nearest, distance)
    }

    /// Occupies the links between two caches; returns the begin of the transfer.
    fn cross(
        &mut self,
        hardware: &Hardware,
        traffic: &mut Traffic,
        from: usize,
        to: usize,
        start: Ticks,
    ) -> Ticks {
        let way = hardware.links.way(hardware.caches, from, to);
        let busy = way.iter().map(|link| self.links[*link as usize]).max();
        let began = start.max(busy.unwrap_or(0));
        for link in way {
            let occupancy = hardware.links.occupancy[*link as usize];
            self.links[*link as usize] = began + occupancy;
            traffic.link(*link as usize, occupancy);
        }
        began
    }

    /// Whether a cache must supply the line because it is modified.
    fn is_dirty(&self, id: LineId) -> bool {
        matches!(
            self.lines[id as usize].state,
            State::Modified | State::Owned
        )
    }

    fn held(&self, id: LineId) -> &[u64] {
        &self.holders[id as usize * self.words..][..self.words]
    }

    /// The only holder of a line, if its state says so.
    fn only(&self, id: LineId) -> Option<usize> {
        let line = &self.lines[id as usize];
        let alone = matches!(line.state, State::Exclusive | State::Modified);
        alone.then_some(line.owner as usize)
    }

    /// The number of other caches that hold a line.
    fn others(&self, cache: usize, id: LineId) -> u32 {
        if let Some(only) = self.only(id) {
            return u32::from(only != cache);
        }
        let all: u32 = self.held(id).iter().map(|word| word.count_ones()).sum();
        all - u32::from(self.holds(id, cache))
    }

    /// The holders of a line at one distance, a word at a time, each with its place.
    fn ring<'a>(
        &'a self,
        hardware: &'a Hardware,
        cache: usize,
        distance: usize,
        id: LineId,
    ) -> impl Iterator<Item = (usize, u64)> + 'a {
        let (first, ring) = hardware.rings.of(cache, distance);
        let held = &self.held(id)[first..first + ring.len()];
        let words = held.iter().zip(ring).map(|(held, ring)| held & ring);
        (first..).zip(words)
    }

    fn nearest(&self, hardware: &Hardware, cache: usize, id: LineId) -> Option<(usize, usize)> {
        (0..hardware.transfers.len()).find_map(|distance| {
            self.ring(hardware, cache, distance, id)
                .find(|(_, word)| *word != 0)
                .map(|(index, word)| (index * 64 + word.trailing_zeros() as usize, distance))
        })
    }

    fn farthest(&self, hardware: &Hardware, cache: usize, id: LineId) -> Option<usize> {
        if let Some(only) = self.only(id) {
            return (only != cache).then(|| hardware.distance(cache, only));
        }
        (0..hardware.transfers.len()).rev().find(|distance| {
            self.ring(hardware, cache, *distance, id)
                .any(|(_, word)| word != 0)
        })
    }

    /// The delay until a watcher's cache sees a write; `None` within one cache.
    pub(crate) fn reach(hardware: &Hardware, from: usize, to: usize) -> Option<Ticks> {
        (from != to).then(|| hardware.transfers[hardware.distance(from, to)].invalidate / 2)
    }

    /// Removes a line from all its holders.
    fn clear(&mut self, id: LineId) {
        if let Some(only) = self.only(id) {
            self.holders[id as usize * self.words + only / 64] &= !(1 << (only % 64));
            self.capacity[only].remove();
            return;
        }
        for word in 0..self.words {
            let held = &mut self.holders[id as usize * self.words + word];
            let mut held = std::mem::take(held);
            while held != 0 {
                self.capacity[word * 64 + held.trailing_zeros() as usize].remove();
                held &= held - 1;
            }
        }
    }

    /// Inserts a line into a cache, which may evict another.
    fn insert(&mut self, hardware: &Hardware, id: LineId, cache: usize) {
        self.holders[id as usize * self.words + cache / 64] |= 1 << (cache % 64);
        self.capacity[cache].insert(id);
        while let Some(victim) = self.capacity[cache].overflow(hardware.cache_lines) {
            if victim != id && self.holds(victim, cache) {
                self.evict(hardware, victim, cache);
            }
        }
        self.tidied = self.tidied.wrapping_add(1);
        let (words, holders, seen) = (self.words, &self.holders, &mut self.seen);
        self.capacity[cache].tidy(|line| {
            let held = holders[line as usize * words + cache / 64] >> (cache % 64) & 1 != 0;
            held && std::mem::replace(&mut seen[line as usize], self.tidied) != self.tidied
        });
    }

    /// Evicts a line from a cache into the last-level cache behind it.
    fn evict(&mut self, hardware: &Hardware, id: LineId, cache: usize) {
        self.holders[id as usize * self.words + cache / 64] &= !(1 << (cache % 64));
        self.capacity[cache].remove();
        let empty = self.held(id).iter().all(|word| *word == 0);
        let line = &mut self.lines[id as usize];
        if empty {
            line.state = State::Absent;
            line.owner = NONE;
            self.keep(hardware, id, hardware.last_level_of[cache]);
        } else if line.owner as usize == cache {
            // A modified line is written back; the other holders' copies are clean.
            line.state = State::Shared;
            line.owner = NONE;
        }
    }

    /// Inserts a line into a last-level cache, which may evict another.
    fn keep(&mut self, hardware: &Hardware, id: LineId, level: u16) {
        self.lines[id as usize].kept = level;
        self.tidied = self.tidied.wrapping_add(1);
        let (lines, seen) = (&self.lines, &mut self.seen);
        let kept = &mut self.kept[level as usize];
        kept.insert(id);
        kept.tidy(|line| {
            let held = lines[line as usize].kept == level;
            held && std::mem::replace(&mut seen[line as usize], self.tidied) != self.tidied
        });
        while let Some(victim) = kept.overflow(hardware.last_level_lines) {
            if victim != id && self.lines[victim as usize].kept == level {
                self.lines[victim as usize].kept = NONE;
                kept.remove();
            }
        }
    }
}
