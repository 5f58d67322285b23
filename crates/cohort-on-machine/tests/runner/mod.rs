//! Which clients run, on which machines and by which schedules.

pub mod world;

use crate::clients::{arena, condvar, destroy, host, mutex, rwlock};
use crate::locks::basic::{Anderson, Clh, Futex, Mcs, Ticket};
use cohort_machine::description::shipped;
use cohort_machine::{Hardware, Options, Schedule};
use libtest_mimic::{Failed, Trial};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

static KUNPENG: LazyLock<Arc<Hardware>> = LazyLock::new(|| {
    let machine = shipped::find("kunpeng-920x2").expect("it is shipped");
    Arc::new(Hardware::new(&machine))
});

fn trial(name: String, options: Options, client: fn()) -> Trial {
    Trial::test(name, move || {
        let result = catch_unwind(AssertUnwindSafe(|| world::on(&KUNPENG, options, client)));
        match result {
            Ok(_) => Ok(()),
            Err(reason) => Err(Failed::from(
                reason
                    .downcast_ref::<String>()
                    .cloned()
                    .unwrap_or_else(|| "it panicked".into()),
            )),
        }
    })
}

macro_rules! clients {
    ($($name:literal: $client:expr;)+) => {
        &[$(($name, || $client)),+]
    };
}

static CLIENTS: &[(&str, fn())] = clients! {
    "futex_excludes": mutex::excludes::<Futex>(16, 200, 1);
    "futex_lets_go": mutex::lets_go::<Futex>(8, 50, 3);
    "ticket_excludes": mutex::excludes::<Ticket>(16, 50, 1);
    "mcs_excludes": mutex::excludes::<Mcs>(16, 50, 1);
    "clh_excludes": mutex::excludes::<Clh>(16, 50, 1);
    "anderson_excludes": mutex::excludes::<Anderson<2>>(16, 50, 1);
    "futex_is_destroyed": destroy::is_destroyed::<Futex>(3);
    "readers_share": rwlock::shares(8, 2, 50, 0);
    "readers_and_writers_let_go": rwlock::shares(8, 3, 50, 2);
    "rwlock_is_tried": rwlock::is_tried(8, 50);
    "rwlock_is_read_again": rwlock::is_read_again(50);
    "condvar_signals": condvar::tells(6, 50, false);
    "condvar_broadcasts": condvar::tells(6, 50, true);
    "condvar_spends_no_signal": condvar::spends_no_signal_on_who_gave_up(6);
    "arena_hands_out_once": arena::hands_out_once(6, 50, 20);
    "mcs_in_place": host::excludes(host::in_place::<Mcs>(), 8, 50, 1);
    "anderson_inflated": host::excludes(host::inflated::<Anderson>(), 8, 50, 1);
};

/// All of them.
pub fn tests() -> Vec<Trial> {
    let mut tests = Vec::new();
    for (name, client) in CLIENTS {
        tests.push(trial(format!("time::{name}"), Options::default(), *client));
        let random = Options {
            schedule: Schedule::Random,
            ..Options::default()
        };
        tests.push(trial(format!("random::{name}"), random, *client));
        let pct = Options {
            schedule: Schedule::Pct {
                depth: 3,
                steps: 2000,
            },
            ..Options::default()
        };
        tests.push(trial(format!("pct::{name}"), pct, *client));
    }
    tests
}
