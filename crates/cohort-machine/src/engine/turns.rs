//! The engine: the next thread to run, and the effect of an access.
//!
//! A thread's step waits for its turn ([`Engine::arrive`]), and then takes effect at once
//! ([`Engine::access`]). So all steps happen in the order of their times, and values are sequentially
//! consistent. The `horizon` is the earliest time at which another thread could act. Up to it, the
//! current thread runs without a switch of fibers.

use super::access::{Access, Change};
use super::clock::{CYCLE, NEVER, Ticks};
use super::coherence::Caches;
use super::lines::LineId;
use super::state::Engine;
use super::thread::{State, Thread};

/// The next event of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The fiber of this thread runs.
    Run(usize),
    /// All threads have returned.
    Finished,
    /// All threads wait, and none can end that.
    Deadlock,
    /// The bound of steps is exceeded.
    Livelock,
}

impl Engine<'_> {
    /// Starts every thread.
    pub(crate) fn begin(&mut self) {
        let stagger = self.hardware.rate.ticks(self.options.stagger);
        for index in 0..self.threads.len() {
            let thread = &mut self.threads[index];
            if self.explorer.is_some() {
                thread.state = State::Running;
                continue;
            }
            let late = thread.random.below(stagger.saturating_add(1));
            self.make_ready(index, late);
        }
    }

    /// The current thread is about to take a step; returns whether others precede it, so that its
    /// fiber must be suspended first.
    #[inline]
    pub(crate) fn arrive(&mut self) -> bool {
        if self.explorer.is_some() {
            return self.arrive_exploring();
        }
        if std::mem::take(&mut self.me().has_arrived) {
            return false;
        }
        self.begin_step(false);
        self.is_early()
    }

    /// [`arrive`](Self::arrive) for a step that waits for all earlier stores.
    #[inline]
    pub(crate) fn arrive_drained(&mut self) -> bool {
        if self.explorer.is_some() {
            return self.arrive_exploring();
        }
        if std::mem::take(&mut self.me().has_arrived) {
            return false;
        }
        self.begin_step(true);
        self.is_early()
    }

    /// Passes the time before a step of the current thread.
    #[inline]
    pub(crate) fn begin_step(&mut self, drains: bool) {
        self.steps += 1;
        self.compute(self.threads[self.current].instructions);
        if drains {
            let me = self.me();
            me.clock = me.clock.max(me.drained());
            me.stores.clear();
        }
    }

    /// Whether other threads precede the current one, which is then put on the agenda.
    #[inline]
    pub(crate) fn is_early(&mut self) -> bool {
        if self.threads[self.current].clock <= self.horizon {
            return false;
        }
        self.schedule(self.current);
        true
    }

    /// Puts a thread's next event on the agenda.
    pub(crate) fn schedule(&mut self, index: usize) {
        let thread = &self.threads[index];
        let at = match thread.state {
            State::Running => thread.clock.min(self.cpus.slice_end(thread.cpu)),
            State::Polling => thread.poll.until.min(self.cpus.slice_end(thread.cpu)),
            State::Asleep => thread.poll.until,
            State::Ready | State::Done => NEVER,
        };
        self.agenda.set(index, at);
        self.horizon = self.horizon.min(at);
    }

    /// The next event; called while no fiber runs.
    pub(crate) fn next(&mut self) -> Next {
        self.fiber_runs = false;
        let next = self.find_next();
        self.fiber_runs = matches!(next, Next::Run(_));
        next
    }

    fn find_next(&mut self) -> Next {
        if self.live == 0 {
            return Next::Finished;
        }
        if self.steps >= self.options.steps {
            return Next::Livelock;
        }
        if self.explorer.is_some() {
            return self.next_exploring();
        }
        loop {
            if self.stuck == self.live {
                return Next::Deadlock;
            }
            let Some((at, index)) = self.agenda.first() else {
                return Next::Deadlock;
            };
            if self.record.reach(at, &self.traffic) {
                return Next::Finished;
            }
            if self.begin_look(index, at) {
                if self.steps >= self.options.steps {
                    return Next::Livelock;
                }
                continue;
            }
            self.agenda.set(index, NEVER);
            if self.is_preempted(index, at) {
                continue;
            }
            match self.threads[index].state {
                State::Asleep => {
                    self.time_out(index, at);
                    continue;
                }
                State::Polling => self.end_poll(index, at),
                _ => {}
            }
            if self.run(index) {
                return Next::Run(index);
            }
            if self.steps >= self.options.steps {
                return Next::Livelock;
            }
        }
    }

    /// Runs a thread; returns whether its fiber has to.
    fn run(&mut self, index: usize) -> bool {
        self.current = index;
        let slice_end = self.cpus.slice_end(self.threads[index].cpu);
        self.horizon = self.agenda.earliest().min(slice_end).min(self.record.due());
        if self.threads[index].suspended.is_none() {
            return true;
        }
        self.fiber_runs = true;
        let resumes = self.look();
        self.fiber_runs = false;
        resumes
    }

    /// The line of an address.
    #[inline]
    pub(crate) fn line(&mut self, address: usize) -> LineId {
        let (line, first) = self.lines.find(self.memory, address);
        if let Some(whose) = first {
            let cache = self.hardware.cache_of[self.threads[self.current].cpu];
            self.caches.add(self.hardware, cache as usize, whose);
        }
        line
    }

    /// Performs an access by the current thread, at its turn.
    pub(crate) fn access(&mut self, address: usize, access: Access) {
        let line = self.line(address);
        if self.explorer.is_some() {
            self.access_exploring(line, access);
            return;
        }
        let hardware = self.hardware;
        let thread = &mut self.threads[self.current];
        let cache = hardware.cache_of[thread.cpu] as usize;
        let at = thread.clock;
        let served = self
            .caches
            .access(hardware, &mut self.traffic, cache, line, access, at);
        let version = self.caches.version(line);
        match access {
            Access::Load | Access::LoadLinked => {
                thread.clock = served.done;
                thread.look.load(line, version);
            }
            Access::Store => {
                thread.clock = at + hardware.hit.store;
                thread.look.act();
                let full = buffer(thread, served.done, hardware.costs.store_buffer);
                self.traffic.wait(full, self.caches.whose(line));
            }
            Access::ReadModifyWrite(change) => {
                thread.clock = served.done;
                if change == Change::Other || !served.hit {
                    thread.look.act();
                } else {
                    thread.look.owns = true;
                    thread.look.load(line, version);
                }
            }
        }
        if served.disturbs {
            self.alert(line, cache, served.began);
            self.reassure();
        }
    }

    /// Performs independent loads by the current thread, at its turn: each begins after the
    /// instructions before it, and the thread goes on when all are complete.
    pub(crate) fn load_together(&mut self, addresses: &[usize]) {
        let mut complete = self.me().clock;
        for (place, address) in addresses.iter().enumerate() {
            if place > 0 {
                self.begin_step(false);
            }
            let began = self.me().clock;
            self.access(*address, Access::Load);
            complete = complete.max(self.me().clock);
            self.me().clock = began;
        }
        self.me().clock = complete;
    }

    /// The current thread is about to load-link a line; returns whether it must wait until its
    /// advanced clock, which becomes its `turn`.
    pub(crate) fn queue_linked(&mut self, line: LineId, turn: &mut Option<Ticks>) -> bool {
        let thread = &mut self.threads[self.current];
        let cache = self.hardware.cache_of[thread.cpu] as usize;
        let at = thread.clock;
        let (hardware, traffic) = (self.hardware, &mut self.traffic);
        thread.clock = self.caches.turn(hardware, traffic, cache, line, at, *turn);
        *turn = Some(thread.clock);
        thread.clock > at
    }

    /// After a change, a stuck thread without watched lines may be able to proceed.
    fn reassure(&mut self) {
        while let Some(index) = self.doubtful.pop() {
            self.set_stuck(index, false);
        }
    }

    /// Records that the current thread has looked at a line and will not act on it.
    pub(crate) fn looked(&mut self, line: LineId) {
        let version = self.caches.version(line);
        self.me().look.load(line, version);
    }

    /// Notifies the watchers of a line of a write, each after its delay.
    fn alert(&mut self, line: LineId, from: usize, at: Ticks) {
        let mut woken = std::mem::take(&mut self.woken);
        self.caches.watchers(line, &mut woken);
        for index in woken.drain(..) {
            let cache = self.hardware.cache_of[self.threads[index as usize].cpu] as usize;
            let reach = Caches::reach(self.hardware, from, cache).unwrap_or(CYCLE);
            self.end_watch(index as usize, line);
            self.notice(index as usize, at + reach);
        }
        self.woken = woken;
    }

    /// Performs a full fence of the current thread, at its turn.
    pub(crate) fn fence(&mut self) {
        let drained = self.me().drained();
        let me = self.me();
        me.clock = me.clock.max(drained);
        me.stores.clear();
        self.compute(self.hardware.costs.fence);
    }

    /// Records that the current thread has returned.
    pub(crate) fn finish(&mut self) {
        let index = self.current;
        self.set_stuck(index, false);
        self.live -= usize::from(!self.threads[index].background);
        self.threads[index].state = State::Done;
        if self.explorer.is_some() {
            self.finish_exploring();
        } else {
            let at = self.threads[index].clock;
            self.vacate(self.threads[index].cpu, at);
        }
    }

    /// Sets whether only another thread can let this one proceed.
    pub(crate) fn set_stuck(&mut self, index: usize, stuck: bool) {
        let thread = &mut self.threads[index];
        if thread.stuck == stuck || thread.background {
            return;
        }
        thread.stuck = stuck;
        if stuck {
            self.stuck += 1;
        } else {
            self.stuck -= 1;
        }
    }
}

/// Puts a store into the buffer; if that is full, the thread waits for the oldest. Returns the
/// waiting time.
fn buffer(thread: &mut Thread, done: Ticks, depth: usize) -> Ticks {
    let before = thread.clock;
    let done = done.max(thread.drained());
    while thread
        .stores
        .front()
        .is_some_and(|oldest| *oldest <= thread.clock)
    {
        thread.stores.pop_front();
    }
    thread.stores.push_back(done);
    if thread.stores.len() > depth
        && let Some(oldest) = thread.stores.pop_front()
    {
        thread.clock = thread.clock.max(oldest);
    }
    thread.clock - before
}
