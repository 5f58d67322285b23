//! Tasks at rwlocks: guards across an await, beside dropped futures and threads that read and write.

use crate::dice::Dice;
use crate::soak::Soak;
use crate::tasks::{block_on, poll_once, yields};
use cohort::rwlock::RawRwLock;
use cohort::{RwLock, Waking};
use std::pin::pin;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};
use std::thread;

const LOCKS: usize = 3;

#[derive(Default)]
struct Shared {
    data: RwLock<u64, Waking<RawRwLock>>,
    readers: AtomicI32,
    writers: AtomicI32,
    counted: AtomicU64,
}

impl Shared {
    fn begin_write(&self, soak: &Soak, count: &mut u64) {
        let is_alone = self.writers.fetch_add(1, SeqCst) == 0 && self.readers.load(SeqCst) == 0;
        soak.check(is_alone, "a writer is alone");
        *count += 1;
        self.counted.fetch_add(1, SeqCst);
    }

    fn end_write(&self) {
        self.writers.fetch_sub(1, SeqCst);
    }

    fn begin_read(&self, soak: &Soak, count: u64) {
        self.readers.fetch_add(1, SeqCst);
        soak.check(self.writers.load(SeqCst) == 0, "no writer beside a reader");
        soak.check(count == self.counted.load(SeqCst), "each write is seen");
    }

    fn end_read(&self) {
        self.readers.fetch_sub(1, SeqCst);
    }

    /// One write by a task.
    async fn write(&self, soak: &Soak, awaits: u32) {
        let mut guard = self.data.write_async().await;
        self.begin_write(soak, &mut guard);
        for _ in 0..awaits {
            yields().await;
        }
        self.end_write();
    }

    /// One read by a task.
    async fn read(&self, soak: &Soak, awaits: u32) {
        let guard = self.data.read_async().await;
        self.begin_read(soak, *guard);
        for _ in 0..awaits {
            yields().await;
        }
        self.end_read();
    }
}

/// Runs the family.
pub fn soak(soak: &Soak) {
    let all: [Shared; LOCKS] = Default::default();
    let round = |thread: usize, dice: &mut Dice| {
        let shared = &all[dice.roll(LOCKS as u32) as usize];
        let awaits = dice.roll(3);
        match dice.roll(10) {
            0 => {
                soak.note(thread, &"writing");
                shared.data.writing(|count| {
                    shared.begin_write(soak, count);
                    dice.linger();
                    shared.end_write();
                });
            }
            1 | 2 => {
                soak.note(thread, &"reading");
                shared.data.reading(|count| {
                    shared.begin_read(soak, *count);
                    dice.linger();
                    shared.end_read();
                });
            }
            3 => {
                soak.note(thread, &"a writing future that is dropped");
                let mut future = pin!(shared.data.write_async());
                let guard = poll_once(future.as_mut());
                if dice.one_in(2) {
                    thread::sleep(dice.micros(100));
                }
                if let Some(mut guard) = guard {
                    shared.begin_write(soak, &mut guard);
                    shared.end_write();
                }
            }
            4 => {
                soak.note(thread, &"a reading future that is dropped");
                let mut future = pin!(shared.data.read_async());
                let guard = poll_once(future.as_mut());
                if dice.one_in(2) {
                    thread::sleep(dice.micros(100));
                }
                if let Some(guard) = guard {
                    shared.begin_read(soak, *guard);
                    shared.end_read();
                }
            }
            5 | 6 => {
                soak.note(thread, &"write_async");
                block_on(pin!(shared.write(soak, awaits)));
            }
            _ => {
                soak.note(thread, &"read_async");
                block_on(pin!(shared.read(soak, awaits)));
            }
        }
    };
    soak.run(round, || {
        for shared in &all {
            for _ in 0..3 {
                let guard = poll_once(pin!(shared.data.write_async()));
                soak.check(
                    guard.map(|count| *count) == Some(shared.counted.load(SeqCst)),
                    "a lock is free at the end, and each write counts once",
                );
            }
        }
    });
}
