//! A time limit for tests that could hang.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Far above any lock's need, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs `test`, one at a time, and fails instead of hanging; `stuck` describes a hang.
pub fn within_limit(stuck: &str, test: impl FnOnce() + Send + 'static) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (done, wait) = channel();
    let runner = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match wait.recv_timeout(LIMIT) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => panic!("not done after {LIMIT:?}: {stuck}"),
        Err(RecvTimeoutError::Disconnected) => {
            let reason = runner.join().expect_err("it ended without a word");
            std::panic::resume_unwind(reason);
        }
    }
}
