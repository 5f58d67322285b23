//! Rwlocks: reads, writes, upgradable reads that become writes, and writes that become reads.

use crate::dice::Dice;
use crate::soak::Soak;
use cohort::{RwLock, Token, UpgradableGuard, WriteGuard};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

const LOCKS: usize = 4;
const LONGEST_MICROS: u32 = 300;

#[derive(Default)]
struct Shared {
    lock: RwLock<u64>,
    readers: AtomicI32,
    writers: AtomicI32,
    counted: AtomicU64,
}

impl Shared {
    fn writes(&self, soak: &Soak, count: &mut u64, dice: &mut Dice) {
        let writers = self.writers.fetch_add(1, SeqCst);
        soak.check(
            writers == 0 && self.readers.load(SeqCst) == 0,
            "a writer is alone",
        );
        *count += 1;
        self.counted.fetch_add(1, SeqCst);
        dice.linger();
        soak.check(self.readers.load(SeqCst) == 0, "a writer stays alone");
        self.writers.fetch_sub(1, SeqCst);
    }

    fn reads(&self, soak: &Soak, count: &u64, dice: &mut Dice) {
        self.readers.fetch_add(1, SeqCst);
        let before = *count;
        soak.check(
            self.writers.load(SeqCst) == 0,
            "readers are without a writer",
        );
        dice.linger();
        soak.check(*count == before, "what is read stays");
        self.readers.fetch_sub(1, SeqCst);
    }

    fn read(&self, soak: &Soak, within: Duration, dice: &mut Dice) {
        let guard = match dice.roll(5) {
            0 => Some(self.lock.read()),
            1 => self.lock.try_read(),
            2 => self.lock.try_read_for(within),
            3 => self.lock.try_read_recursive_for(within),
            _ => unless(within, |token| self.lock.read_unless(token)),
        };
        if let Some(guard) = guard {
            self.reads(soak, &guard, dice);
        }
    }

    fn write(&self, soak: &Soak, within: Duration, dice: &mut Dice) {
        let guard = match dice.roll(4) {
            0 => Some(self.lock.write()),
            1 => self.lock.try_write(),
            2 => self.lock.try_write_for(within),
            _ => unless(within, |token| self.lock.write_unless(token)),
        };
        let Some(mut guard) = guard else { return };
        self.writes(soak, &mut guard, dice);
        match dice.roll(4) {
            0 => {
                let guard = WriteGuard::downgrade(guard);
                self.reads(soak, &guard, dice);
            }
            1 => {
                let guard = WriteGuard::downgrade_to_upgradable(guard);
                self.upgrade(soak, guard, within, dice);
            }
            _ => {}
        }
    }

    fn upgradable(&self, soak: &Soak, within: Duration, dice: &mut Dice) {
        let guard = match dice.roll(3) {
            0 => Some(self.lock.upgradable_read()),
            1 => self.lock.try_upgradable_read(),
            _ => self.lock.try_upgradable_read_for(within),
        };
        if let Some(guard) = guard {
            self.upgrade(soak, guard, within, dice);
        }
    }

    fn upgrade(
        &self,
        soak: &Soak,
        mut guard: UpgradableGuard<'_, u64>,
        within: Duration,
        dice: &mut Dice,
    ) {
        self.reads(soak, &guard, dice);
        let seen = *guard;
        let upgraded = match dice.roll(6) {
            0 => Some(UpgradableGuard::upgrade(guard)),
            1 => UpgradableGuard::try_upgrade(guard).ok(),
            2 => UpgradableGuard::try_upgrade_for(guard, within).ok(),
            3 => {
                let guard = UpgradableGuard::downgrade(guard);
                self.reads(soak, &guard, dice);
                None
            }
            4 => {
                UpgradableGuard::with_upgraded(&mut guard, |count| {
                    soak.check(*count == seen, "no writer comes in between");
                    self.writes(soak, count, dice);
                });
                self.reads(soak, &guard, dice);
                None
            }
            _ => {
                let _ = UpgradableGuard::try_with_upgraded_for(&mut guard, within, |count| {
                    soak.check(*count == seen, "no writer comes in between");
                    self.writes(soak, count, dice);
                });
                None
            }
        };
        if let Some(mut guard) = upgraded {
            soak.check(*guard == seen, "no writer comes in between");
            self.writes(soak, &mut guard, dice);
        }
    }
}

/// The result of a wait that another thread cancels after that time.
fn unless<R>(within: Duration, wait: impl FnOnce(&Token) -> R) -> R {
    let token = Token::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(within);
            token.cancel();
        });
        wait(&token)
    })
}

/// Runs the family.
pub fn soak(soak: &Soak) {
    let locks: [Shared; LOCKS] = std::array::from_fn(|_| Shared::default());
    let round = |thread: usize, dice: &mut Dice| {
        let lock = &locks[dice.roll(LOCKS as u32) as usize];
        let within = dice.micros(LONGEST_MICROS);
        match dice.roll(3) {
            0 => {
                soak.note(thread, &"read");
                lock.read(soak, within, dice);
            }
            1 => {
                soak.note(thread, &"write");
                lock.write(soak, within, dice);
            }
            _ => {
                soak.note(thread, &"upgradable read");
                lock.upgradable(soak, within, dice);
            }
        }
    };
    soak.run(round, || {
        for lock in &locks {
            soak.check(
                lock.lock.try_read().map(|count| *count) == Some(lock.counted.load(SeqCst)),
                "each write counts once",
            );
            for _ in 0..3 {
                soak.check(lock.lock.try_write().is_some(), "a free lock is written");
                soak.check(
                    lock.lock.try_upgradable_read().is_some(),
                    "a free lock is read by an upgradable reader",
                );
            }
            soak.check(!lock.lock.is_locked(), "a lock is free at the end");
        }
    });
}
