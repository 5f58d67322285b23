//! What locks keep for threads that come and go.

use cohort::Delegated;
use cohort::delegation::pool_bytes;
use std::mem::ManuallyDrop;
use std::sync::Barrier;
use std::thread::scope;

/// So many threads at once, and so often: 10,048 in all.
const AT_ONCE: usize = 64;
const TIMES: usize = 157;

/// What a lock may take after that.
const MOST: usize = 64 << 10;

macro_rules! each {
    ($($name:ident, $delegate:ty, $about:literal, $source:literal, $can:tt;)+) => {
        /// One test, since all locks take from the same pools.
        #[test]
        fn ten_thousand_threads_leave_little_behind() {
            $({
                let before = pool_bytes();
                // What it gave back the next one would take, and seem smaller.
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
