//! The memory that delegation locks keep for short-lived threads.

use cohort::Delegated;
use cohort::delegation::pool_bytes;
use std::mem::ManuallyDrop;
use std::sync::Barrier;
use std::thread::scope;

/// Threads at one time, and repetitions: 10,048 threads in total.
const AT_ONCE: usize = 64;
const TIMES: usize = 157;

/// The maximal memory of a lock afterwards.
const MOST: usize = 64 << 10;

macro_rules! each {
    ($($name:ident, $delegate:ty, $about:literal, $source:literal, $can:tt;)+) => {
        /// A single test, since all locks share pools.
        #[test]
        fn ten_thousand_threads_leave_little_behind() {
            $({
                let before = pool_bytes();
                // Leaked: the next lock would reuse its memory and seem smaller.
                let total = ManuallyDrop::new(Delegated::<usize, $delegate>::from(0));
                for _ in 0..TIMES {
                    let all_here = Barrier::new(AT_ONCE);
                    scope(|scope| {
                        for _ in 0..AT_ONCE {
                            scope.spawn(|| {
                                all_here.wait();
                                total.run(|total| *total += 1);
                                all_here.wait();
                            });
                        }
                    });
                }
                assert_eq!(total.run(|total| *total), AT_ONCE * TIMES);
                let taken = size_of_val(&*total) + pool_bytes() - before;
                println!("{}: {taken} bytes", stringify!($name));
                assert!(taken < MOST, "{} takes {taken} bytes", stringify!($name));
            })+
        }
    };
}
cohort::for_each_delegate!(each);
