//! Looks of waiters without their fibers.
//!
//! A waiter that [foresees](super::door::Wait::foresee) its next look tells which word it will access,
//! how, and when its wait is over. While the wait is not over, the engine takes the thread's steps in
//! its place: the same ones, at the same times. The fiber resumes for the look that ends the wait, or
//! when it has to yield or sleep. So a release that many threads watch costs no switches of fibers.

use super::access::{Access, Change};
use super::clock::Ticks;
use super::course;
use super::course::Decision;
use super::linked::Pause;
use super::options::Waiting;
use super::state::Engine;
use super::suspended::Suspended;
use super::thread::State;

impl Engine<'_> {
    /// Whether it can take steps of the current thread in place of its fiber. A waiter that may sleep
    /// needs the value of its last look.
    pub(crate) const fn foresees(&self) -> bool {
        self.explorer.is_none() && !matches!(self.options.waiting, Waiting::Park)
    }

    /// Whether such an access is a load-linked and a store-conditional.
    const fn is_linked(&self, access: Access) -> bool {
        matches!(access, Access::ReadModifyWrite(_)) && self.hardware.load_linked
    }

    /// Begins a suspended waiter's look at its event; returns whether other events come first.
    /// Its event then moves to the look's turn at once: the most frequent step of all.
    pub(crate) fn begin_look(&mut self, index: usize, at: Ticks) -> bool {
        let thread = &self.threads[index];
        let slice_end = self.cpus.slice_end(thread.cpu);
        let begins = thread.state == State::Running && at < slice_end;
        let Some(suspended) = thread.suspended.filter(|one| begins && !one.has_arrived) else {
            return false;
        };
        if self.is_linked(suspended.look.access) {
            return false;
        }
        self.current = index;
        self.begin_step(suspended.look.access != Access::Load);
        self.set_arrived(true);
        let clock = self.threads[index].clock;
        self.agenda.set(index, clock.min(slice_end));
        self.agenda.earliest().min(self.record.due()) < clock
    }

    /// Looks in place of the current thread, at its event; returns whether its fiber must run.
    pub(crate) fn look(&mut self) -> bool {
        let index = self.current;
        while let Some(suspended) = self.threads[index].suspended {
            let look = suspended.look;
            let went = match look.access {
                Access::ReadModifyWrite(change) if self.hardware.load_linked => {
                    self.look_linked(suspended, change)
                }
                _ => self.look_once(suspended),
            };
            match went {
                Pause::Early => return false,
                Pause::Changes => {
                    self.threads[index].suspended = None;
                    return true;
                }
                Pause::Done => {}
            }
            let mut wait = self.threads[index].wait;
            let decision = wait.decide(self);
            self.threads[index].wait = wait;
            let Decision::Poll(course::Pause::Spin, until) = decision else {
                let thread = &mut self.threads[index];
                thread.suspended = None;
                thread.decided = Some(decision);
                return true;
            };
            self.threads[index].suspended = Some(Suspended::new(look));
            if self.poll(course::Pause::Spin, until) {
                return false;
            }
        }
        true
    }

    /// Looks by one access of the current thread, if in vain.
    fn look_once(&mut self, suspended: Suspended) -> Pause {
        let look = suspended.look;
        if !suspended.has_arrived {
            let early = match look.access {
                Access::Load => self.arrive(),
                _ => self.arrive_drained(),
            };
            self.set_arrived(true);
            if early {
                return Pause::Early;
            }
        }
        if look.is_over() {
            self.me().has_arrived = true;
            return Pause::Changes;
        }
        self.access(look.word as usize, look.access);
        Pause::Done
    }

    /// Looks by a pair of accesses, as long as in vain.
    fn look_linked(&mut self, suspended: Suspended, change: Change) -> Pause {
        let (look, mut linked) = (suspended.look, suspended.linked);
        let vain = || (!look.is_over()).then_some(change);
        let went = self.exchange_linked(&mut linked, look.word as usize, vain);
        let me = self.me();
        match went {
            Pause::Early => {
                me.suspended = Some(Suspended {
                    linked,
                    ..suspended
                })
            }
            Pause::Changes => me.linked = Some(linked),
            Pause::Done => {}
        }
        went
    }

    fn set_arrived(&mut self, arrived: bool) {
        if let Some(suspended) = &mut self.me().suspended {
            suspended.has_arrived = arrived;
        }
    }
}
