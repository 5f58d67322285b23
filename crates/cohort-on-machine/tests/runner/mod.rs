//! Every client and every injected fault, on simulated machines.

mod bounds;
mod clients;
mod crowds;
pub mod flaws;
mod loads;
mod locks;
mod policies;
pub mod prelude;
pub mod properties;
mod recorded;
mod trial;
mod votes;
pub mod world;

use libtest_mimic::Trial;

/// All tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = locks::tests();
    tests.extend(clients::tests());
    tests.extend(bounds::tests());
    tests.extend(flaws::tests());
    tests.extend(properties::tests());
    tests.extend(recorded::tests());
    tests.extend(loads::tests());
    tests.extend(crowds::tests());
    tests.extend(policies::tests());
    tests.extend(votes::tests());
    tests
}
