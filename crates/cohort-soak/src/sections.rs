//! Delegates: sections that run, time out by a deadline or a token, wait for conditions, or are
//! posted by tasks that may drop them, while threads start and end.

use crate::dice::Dice;
use crate::soak::Soak;
use crate::tasks::{block_on, poll_once};
use cohort::delegation::sanl_plus::{InPlace, RIDES};
use cohort::delegation::{Rcl, SanlPlus, rcl};
use cohort::numa::FutexHmcs;
use cohort::{AbortableDelegate, Delegate, Delegated, MayPark, Patience, Posting, Token};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

const LOCKS: usize = 3;
const LONGEST_MICROS: u32 = 300;

/// A `sanl+` that queues on any number of CPUs.
#[derive(Debug)]
pub enum Eager {}

// SAFETY: only constants, and the usual word.
unsafe impl InPlace for Eager {
    type Word = FutexHmcs;
    const FEW: u32 = 0;
    const OFTEN: u32 = 96;
    const QUIET: u32 = 1 << 10;
    const PASSING_NANOSECONDS: u64 = 10_000;
}

/// An [`Eager`] lock that starts with shared batches.
pub type Queueing = SanlPlus<MayPark, 256, 0, RIDES, 16, 14, Eager>;

/// The guarded data, and the number of sections that have run.
struct Shared<L> {
    data: Delegated<Data, L>,
    counted: AtomicU64,
}

#[derive(Default)]
struct Data {
    inside: bool,
    count: u64,
}

impl<L: Delegate> Default for Shared<L> {
    fn default() -> Self {
        Self {
            data: Delegated::from(Data::default()),
            counted: AtomicU64::new(0),
        }
    }
}

/// A section that checks exclusion and completes before its caller proceeds.
fn enter(data: &mut Data, turns: u32, done: &mut u32) -> bool {
    let alone = !data.inside;
    data.inside = true;
    data.count += 1;
    for _ in 0..turns {
        *done = std::hint::black_box(*done + 1);
    }
    data.inside = false;
    alone
}

impl<L: Delegate> Shared<L> {
    /// Delegates a section with data in the caller's frame.
    fn run(&self, soak: &Soak, dice: &mut Dice, here: bool) {
        let (turns, mut done) = (dice.roll(2000), 0);
        let alone = if here {
            self.data.locking(|data| enter(data, turns, &mut done))
        } else {
            self.data.run(|data| enter(data, turns, &mut done))
        };
        soak.check(alone, "a section is alone");
        soak.check(done == turns, "a section has run when its caller goes on");
        self.counted.fetch_add(1, SeqCst);
    }

    fn end(&self, soak: &Soak) {
        let count = self.data.run(|data| data.count);
        soak.check(
            count == self.counted.load(SeqCst),
            "each section has run once",
        );
    }
}

/// Waits until other threads' sections reach a number, or until a deadline.
fn run_when<L: AbortableDelegate>(lock: &Shared<L>, soak: &Soak, dice: &mut Dice) {
    let end = lock.counted.load(SeqCst) + u64::from(dice.roll(4));
    let within = dice.micros(LONGEST_MICROS);
    let (turns, mut done) = (dice.roll(500), 0);
    let ran = lock.data.try_run_when_for(
        within,
        |data| data.count >= end,
        |data| enter(data, turns, &mut done),
    );
    if let Some(alone) = ran {
        soak.check(
            alone && done == turns,
            "a condition's section has run alone",
        );
        lock.counted.fetch_add(1, SeqCst);
    }
}

/// Times out by a deadline, or by another thread's cancellation of a token.
fn run_within<L: AbortableDelegate>(lock: &Shared<L>, soak: &Soak, dice: &mut Dice) {
    let (turns, mut done) = (dice.roll(2000), 0);
    let section = |data: &mut Data| enter(data, turns, &mut done);
    let within = dice.micros(LONGEST_MICROS);
    let ran = if dice.one_in(4) {
        let token = Token::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(within);
                token.cancel();
            });
            let patience = Patience::ENDLESS.unless(&token);
            lock.data.run_within(&patience, section)
        })
    } else {
        lock.data.try_run_for(within, section)
    };
    soak.check(
        ran.is_none_or(|alone| alone) && done == if ran.is_some() { turns } else { 0 },
        "a section has run whole, or not at all",
    );
    lock.counted.fetch_add(ran.is_some().into(), SeqCst);
}

/// Short-lived threads with a few sections each, which reuse ended threads' slots and numbers.
fn churn<L: Delegate + Sync>(lock: &Shared<L>, soak: &Soak, thread: usize, dice: &mut Dice) {
    let numbers = [dice.roll(u32::MAX), dice.roll(u32::MAX)];
    thread::scope(|scope| {
        for number in numbers {
            scope.spawn(move || {
                let mut dice = Dice::new(number.into(), thread);
                for _ in 0..4 {
                    lock.run(soak, &mut dice, false);
                }
            });
        }
    });
}

/// Rounds of `Delegate`'s own operations; one in four is `more`.
fn soak_with<L: Delegate + Sync>(
    soak: &Soak,
    locks: &[Shared<L>],
    more: impl Fn(&Shared<L>, usize, &mut Dice) + Sync,
) {
    let round = |thread: usize, dice: &mut Dice| {
        let lock = &locks[dice.roll(locks.len() as u32) as usize];
        match dice.roll(16) {
            0 => {
                soak.note(thread, &"locking");
                lock.run(soak, dice, true);
            }
            1 if dice.one_in(8) => {
                soak.note(thread, &"short-lived threads");
                churn(lock, soak, thread, dice);
            }
            2..=5 => more(lock, thread, dice),
            _ => {
                soak.note(thread, &"run");
                lock.run(soak, dice, false);
            }
        }
    };
    soak.run(round, || locks.iter().for_each(|lock| lock.end(soak)));
}

fn locks<L: Delegate>() -> [Shared<L>; LOCKS] {
    std::array::from_fn(|_| Shared::default())
}

/// Soaks a delegate without timeouts.
pub fn soak_unbounded<L: Delegate + Sync>(soak: &Soak) {
    soak_with(soak, &locks::<L>(), |lock, _, dice| {
        lock.run(soak, dice, false)
    });
}

/// Soaks a delegate with timeouts.
pub fn soak<L: AbortableDelegate + Sync>(soak: &Soak) {
    soak_with(soak, &locks::<L>(), |lock, thread, dice| {
        leave_in_time(lock, soak, thread, dice);
    });
}

/// Operations that may time out.
fn leave_in_time<L: AbortableDelegate>(
    lock: &Shared<L>,
    soak: &Soak,
    thread: usize,
    dice: &mut Dice,
) {
    if dice.one_in(4) {
        soak.note(thread, &"try_run_when_for");
        run_when(lock, soak, dice);
    } else {
        soak.note(thread, &"run_within");
        run_within(lock, soak, dice);
    }
}

/// Soaks `rcl`, beside two servers that start and stop.
pub fn soak_served(soak: &Soak) {
    let locks = locks::<Rcl>();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for server in 0..2 {
            let (locks, over) = (&locks, &over);
            scope.spawn(move || {
                let mut dice = Dice::new(7, server);
                while !over.load(SeqCst) {
                    let raw = locks.each_ref().map(|lock| lock.data.raw());
                    let mut looks = dice.roll(2000);
                    rcl::serve(&raw, || {
                        looks = looks.saturating_sub(1);
                        looks == 0
                    });
                    thread::sleep(dice.micros(500));
                }
            });
        }
        soak_with(soak, &locks, |lock, thread, dice| {
            leave_in_time(lock, soak, thread, dice);
        });
        over.store(true, SeqCst);
    });
}

/// The target of posts, and the number of posts that have run.
type Posts<L> = Arc<Delegated<Data, Posting<L>>>;

/// A task's section: awaited, or dropped, in which case it may have run or never runs.
fn post<L>(posts: &Posts<L>, counted: &AtomicU64, soak: &Soak, dice: &mut Dice)
where
    L: Delegate + Send + Sync + 'static,
{
    let turns = dice.roll(500);
    let ran = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&ran);
    let mut future = Box::pin(posts.run_async(move |data| {
        let mut done = 0;
        told.fetch_add(1, SeqCst);
        enter(data, turns, &mut done) && done == turns
    }));
    if dice.one_in(3) {
        let ready = poll_once(future.as_mut());
        soak.check(ready != Some(false), "a posted section has run alone");
        if dice.one_in(2) {
            thread::sleep(dice.micros(100));
        }
    } else {
        soak.check(block_on(future.as_mut()), "a posted section has run alone");
        soak.check(ran.load(SeqCst) == 1, "an awaited section has run once");
    }
    drop(future);
    counted.fetch_add(ran.load(SeqCst), SeqCst);
}

/// Soaks posts, beside threads that delegate with and without deadlines.
pub fn soak_posts<L>(soak: &Soak)
where
    L: AbortableDelegate + Send + Sync + 'static,
{
    let posts: [Posts<L>; LOCKS] = std::array::from_fn(|_| Arc::default());
    let counted: [AtomicU64; LOCKS] = Default::default();
    let round = |thread: usize, dice: &mut Dice| {
        let place = dice.roll(LOCKS as u32) as usize;
        let (posts, counted) = (&posts[place], &counted[place]);
        let (turns, mut done) = (dice.roll(500), 0);
        let ran = match dice.roll(4) {
            0 => {
                soak.note(thread, &"run");
                Some(posts.run(|data| enter(data, turns, &mut done)))
            }
            1 => {
                soak.note(thread, &"try_run_for");
                let within = dice.micros(LONGEST_MICROS);
                posts.try_run_for(within, |data| enter(data, turns, &mut done))
            }
            _ => {
                soak.note(thread, &"run_async");
                return post(posts, counted, soak, dice);
            }
        };
        soak.check(ran != Some(false), "a section is alone");
        counted.fetch_add(ran.is_some().into(), SeqCst);
    };
    soak.run(round, || {
        for (posts, counted) in posts.iter().zip(&counted) {
            let count = posts.run(|data| data.count);
            soak.check(count == counted.load(SeqCst), "each section has run once");
        }
    });
}
