//! The portable backend: sleepers by address, ended threads, and the tests that it has not.

use std::fs;
use std::path::Path;

/// The tests that need Linux's own means say so in their first lines.
#[test]
fn the_other_backend_s_tests_are_named() {
    const MARK: &str = "// Not on the portable backend: ";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut skipped = 0;
    for entry in fs::read_dir(folder).expect("the tests are here") {
        let path = entry.expect("the folder can be read").path();
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let is_skipped =
            text.contains("not(feature = \"portable\")") && !path.ends_with("portable.rs");
        let why = text.lines().find_map(|line| line.strip_prefix(MARK));
        assert_eq!(is_skipped, why.is_some(), "{}", path.display());
        if let Some(why) = why {
            println!("skip: {}: {why}", path.display());
            skipped += 1;
        }
    }
    assert!(skipped > 5, "{skipped} tests say so");
}

#[cfg(feature = "portable")]
mod sleepers {
    use cohort::basic::Mcs;
    use cohort::catalogue::own_pool_bytes;
    use cohort::door::{
        AtomicU32, Order, Slept, Strength, cache_groups, fence, has_barrier, is_gone, move_sleeper,
        now, sleep_on, thread_id, wake,
    };
    use cohort::{Clock, Condvar, Deadline, FairMutex, Mutex, RwLock};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread::{scope, yield_now};
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    const ALL: u32 = u32::MAX;
    /// Fewer under Miri, which takes a thousand times as long.
    const ROUNDS: u32 = if cfg!(miri) { 20 } else { 20_000 };
    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn this_is_the_portable_backend() {
        assert!(!has_barrier());
        assert_eq!(cache_groups(), 1);
    }

    /// Wakes sleepers until one was there.
    fn wake_one(word: *const AtomicU32, bits: u32) {
        while wake(word, 1, bits) == 0 {
            yield_now();
        }
    }

    #[test]
    fn another_value_ends_a_sleep_at_once() {
        let word = AtomicU32::new(1);
        assert_eq!(sleep_on(&word, 0, ALL, None), Slept::Again);
        assert_eq!(wake(&word, ALL, ALL), 0);
    }

    #[test]
    fn a_deadline_ends_a_sleep_on_either_clock() {
        const LONG: Duration = Duration::from_millis(250);
        let word = AtomicU32::new(0);
        let unix = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            since.expect("it is later than 1970").as_nanos() as u64
        };
        let clocks: [(Clock, &dyn Fn() -> u64); 2] =
            [(Clock::Monotonic, &now), (Clock::Realtime, &unix)];
        for (clock, now) in clocks {
            let at = Deadline::monotonic(now() + LONG.as_nanos() as u64);
            let began = Instant::now();
            let slept = sleep_on(&word, 0, ALL, Some(&Deadline { clock, ..at }));
            assert_eq!(slept, Slept::TimedOut, "{clock:?}");
            // The deadline's clock was read a little earlier.
            assert!(began.elapsed() > LONG / 2, "{clock:?}");
        }
        let past = Deadline {
            seconds: -1,
            ..Deadline::monotonic(0)
        };
        assert_eq!(sleep_on(&word, 0, ALL, Some(&past)), Slept::TimedOut);
        assert_eq!(
            wake(&word, ALL, ALL),
            0,
            "one that timed out is still there"
        );
    }

    #[test]
    fn the_oldest_sleeper_of_the_bits_is_woken_first() {
        let word = AtomicU32::new(0);
        let order = &AtomicUsize::new(0);
        scope(|scope| {
            let sleeper = |bits: u32| {
                let word = &word;
                let before = wake_none(word);
                let thread = scope.spawn(move || {
                    assert_eq!(sleep_on(word, 0, bits, None), Slept::Woken);
                    order.fetch_add(1, SeqCst)
                });
                // Asleep before the next one.
                std::thread::sleep(Duration::from_millis(30));
                assert_eq!(before, 0);
                thread
            };
            let [first, second, third] = [1, 2, 2].map(sleeper);
            wake_one(&word, 2);
            assert_eq!(second.join().unwrap(), 0);
            wake_one(&word, ALL);
            assert_eq!(first.join().unwrap(), 1);
            wake_one(&word, 3);
            assert_eq!(third.join().unwrap(), 2);
        });
    }

    /// Bits of no sleeper.
    fn wake_none(word: &AtomicU32) -> usize {
        wake(word, ALL, 4)
    }

    #[test]
    fn a_moved_sleeper_keeps_its_bits_and_its_deadline() {
        let words = [const { AtomicU32::new(0) }; 64];
        // In one bucket or in several.
        for to in &words[1..] {
            let from = &words[0];
            scope(|scope| {
                let woken = scope.spawn(|| sleep_on(from, 0, 2, None));
                assert!(!move_sleeper(from, 1, to), "the word holds something else");
                while !move_sleeper(from, 0, to) {
                    yield_now();
                }
                assert_eq!(wake(from, ALL, ALL) + wake(to, ALL, 1), 0);
                wake_one(to, 2);
                assert_eq!(woken.join().unwrap(), Slept::Woken);
            });
        }
        let late = scope(|scope| {
            let soon = Deadline::monotonic(now() + SECOND / 5);
            let (from, to) = (&words[0], &words[1]);
            let late = scope.spawn(move || sleep_on(from, 0, ALL, Some(&soon)));
            while !move_sleeper(from, 0, to) && !late.is_finished() {
                yield_now();
            }
            late.join().unwrap()
        });
        assert_eq!(late, Slept::TimedOut);
        assert_eq!(wake(&words[1], ALL, ALL), 0);
    }

    /// Sleeps that end about when they are moved and woken: each wake-up that found a sleeper ends
    /// a sleep, and no sleeper stays.
    #[test]
    fn no_wake_up_is_lost_or_spent_twice() {
        const SLEEPERS: usize = 4;
        let words = [const { AtomicU32::new(0) }; 2];
        let (woken, ended, wakes) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        scope(|scope| {
            for _ in 0..SLEEPERS {
                scope.spawn(|| {
                    for round in 0..ROUNDS {
                        let at = Deadline::monotonic(now() + u64::from(round % 7) * 3_000);
                        if sleep_on(&words[0], 0, ALL, Some(&at)) == Slept::Woken {
                            woken.fetch_add(1, SeqCst);
                        }
                    }
                    ended.fetch_add(1, SeqCst);
                });
            }
            for from in 0..2 {
                let (words, ended, wakes) = (&words, &ended, &wakes);
                scope.spawn(move || {
                    while ended.load(SeqCst) < SLEEPERS {
                        let _ = move_sleeper(&words[from], 0, &words[1 - from]);
                        wakes.fetch_add(wake(&words[1 - from], 1, ALL), SeqCst);
                        yield_now();
                    }
                });
            }
        });
        assert_eq!(woken.load(SeqCst), wakes.load(SeqCst));
        assert_eq!(wake(&words[0], ALL, ALL) + wake(&words[1], ALL, ALL), 0);
    }

    /// A waiter that sets its mark, and a waker that wakes only where it sees the mark.
    #[test]
    fn a_sleeper_sees_a_store_whose_waker_saw_no_mark() {
        const AGREE: Order = Order::named("test", Strength::SeqCst);
        let (word, mark) = (AtomicU32::new(0), AtomicU32::new(0));
        scope(|scope| {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    while word.load(Order::RELAXED) == round {
                        mark.store(1, Order::RELAXED);
                        let bound = Deadline::monotonic(now() + 60 * SECOND);
                        let slept = sleep_on(&word, round, ALL, Some(&bound));
                        mark.store(0, Order::RELAXED);
                        assert_ne!(slept, Slept::TimedOut, "round {round}: a lost wake-up");
                    }
                }
            });
            for round in 1..=ROUNDS {
                word.store(round, Order::RELAXED);
                fence(AGREE);
                if mark.load(Order::RELAXED) != 0 {
                    wake(&word, ALL, ALL);
                }
                if round.is_multiple_of(8) {
                    yield_now();
                }
            }
        });
    }

    /// Uses locks and a condition as a program does; their waiters sleep.
    #[test]
    fn threads_count_by_locks_and_take_turns_by_a_condition() {
        const THREADS: u32 = 3;
        const TURNS: u32 = ROUNDS / 20;
        let (counted, fair, shared) = (Mutex::new(0), FairMutex::new(0), RwLock::new(0));
        let (turn, changed) = (Mutex::new(0), Condvar::new());
        scope(|scope| {
            for thread in 0..THREADS {
                let (counted, fair, shared) = (&counted, &fair, &shared);
                let (turn, changed) = (&turn, &changed);
                scope.spawn(move || {
                    for round in 0..TURNS {
                        *counted.lock() += 1;
                        *fair.lock() += 1;
                        assert!(*shared.read() >= round);
                        *shared.write() += 1;
                        let mut turn = turn.lock();
                        changed.wait_while(&mut turn, |turn| *turn % THREADS != thread);
                        *turn += 1;
                        changed.notify_all();
                    }
                });
            }
        });
        let all = [*counted.lock(), *fair.lock(), *shared.read(), *turn.lock()];
        assert_eq!(all, [THREADS * TURNS; 4]);
    }

    /// A thread's number, and the nodes in its caches, are others' after its end.
    #[test]
    fn ended_threads_leave_nothing_behind() {
        const THREADS: u32 = if cfg!(miri) { 4 } else { 2_000 };
        let mutex = Mutex::<u32, Mcs>::from(0);
        let mut bytes = 0;
        for count in 0..THREADS {
            let id = spawn_and_join(&mutex);
            assert!(is_gone(id), "{id}");
            if count == THREADS / 2 {
                bytes = own_pool_bytes();
            }
        }
        assert_eq!(own_pool_bytes(), bytes, "the pools have grown");
        assert_eq!(mutex.locking(|count| *count), THREADS);
    }

    fn spawn_and_join(mutex: &Mutex<u32, Mcs>) -> u32 {
        scope(|scope| {
            let thread = scope.spawn(|| {
                *mutex.lock() += 1;
                thread_id()
            });
            thread.join().unwrap()
        })
    }
}
