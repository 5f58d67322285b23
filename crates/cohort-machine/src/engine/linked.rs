//! A read-modify-write by a load-linked and a store-conditional, which fails if another CPU has
//! written the line in between.
//!
//! After some failures in a row, in this exchange or earlier ones, the load-linked fetches the line for
//! writing and holds it until the store: one access, which queues as others do.

use super::access::{Access, Change};
use super::state::Engine;
use super::suspended::Linked;

/// Why an exchange goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Others precede its next step.
    Early,
    /// It would change the value, and `changes` nothing itself.
    Changes,
    /// It is done.
    Done,
}

impl Engine<'_> {
    /// Goes on with the current thread's exchange at `address`. `change` is its effect, none if it
    /// is to be left to the caller.
    pub(crate) fn exchange_linked(
        &mut self,
        linked: &mut Linked,
        address: usize,
        change: impl Fn() -> Option<Change>,
    ) -> Pause {
        loop {
            match *linked {
                Linked::Before => {
                    let early = if self.me().failed_conditionals < self.hardware.costs.failures {
                        *linked = Linked::Waits(None);
                        self.arrive()
                    } else {
                        *linked = Linked::Holds;
                        self.arrive_drained()
                    };
                    if early {
                        return Pause::Early;
                    }
                }
                Linked::Waits(mut turn) => {
                    let line = self.line(address);
                    let waits = self.queue_linked(line, &mut turn);
                    *linked = Linked::Waits(turn);
                    if !waits {
                        let looked = self.me().look;
                        self.access(address, Access::LoadLinked);
                        self.me().look = looked;
                        *linked = Linked::Reserved(line, self.caches.version(line));
                    } else if self.is_early() {
                        return Pause::Early;
                    }
                }
                Linked::Reserved(line, version) => {
                    match change() {
                        None => return Pause::Changes,
                        Some(Change::None) => {
                            self.looked(line);
                            return Pause::Done;
                        }
                        Some(_) => {}
                    }
                    *linked = Linked::Stores(line, version);
                    if self.arrive_drained() {
                        return Pause::Early;
                    }
                }
                Linked::Stores(line, version) => {
                    if self.caches.version(line) == version {
                        let Some(change) = change() else {
                            return Pause::Changes;
                        };
                        self.me().failed_conditionals = 0;
                        self.access(address, Access::ReadModifyWrite(change));
                        return Pause::Done;
                    }
                    self.me().failed_conditionals += 1;
                    self.compute(self.hardware.costs.failed_conditional);
                    self.record.failed_conditional();
                    *linked = Linked::Before;
                }
                Linked::Holds => {
                    let Some(change) = change() else {
                        return Pause::Changes;
                    };
                    if change != Change::None {
                        self.me().failed_conditionals = 0;
                    }
                    self.access(address, Access::ReadModifyWrite(change));
                    return Pause::Done;
                }
            }
        }
    }
}
