//! Locks as programs use them: in 40 bytes, with the adapter's code, admission control and pools,
//! as `pthread_mutex_lock` runs them under `cohort run`.
//!
//! The [default](cohort::numa::FutexHmcs) and `futex` are the same either way, and so is the C
//! library's: they are measured raw. The writers of `c-rw-np` and `c-rw-wp` use the default, as in
//! a program without another choice.

use super::simulated::is_baseline;
use cohort::catalogue::{self, Storage};
use cohort::name::Servable;

/// Whether a program has the lock of that name exactly as it is raw.
#[must_use]
pub fn is_itself(name: &str) -> bool {
    match catalogue::find(name) {
        Some(info) => info.storage == Storage::Word,
        // A one-word lock in a program is the same here.
        None => is_baseline(name) || name.starts_with("posix-") || name == "rwlock",
    }
}

/// Why a lock cannot be measured as it serves programs; `None` if it can.
#[must_use]
pub fn refusal(name: &str) -> Option<String> {
    let why = match catalogue::find(name) {
        Some(info) if info.serves_programs() => return None,
        Some(_) => "it serves no program (see `cohort list`)",
        None if is_baseline(name) || name.starts_with("posix-") => return None,
        None if catalogue::find_shared(name).is_some() => return None,
        None => match catalogue::read(name).and_then(|name| name.servable()) {
            Ok(Servable::Stacked(_)) => return None,
            Ok(_) => "programs have it compiled, which is not measured",
            Err(why) => &why.to_string(),
        },
    };
    Some(format!("the lock `{name}` cannot be served: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_program_can_have_is_refused() {
        for name in ["futex-hmcs", "mcs", "hmcs-4", "clof:mcs-ticket", "posix"] {
            assert_eq!(refusal(name), None);
        }
        for name in ["c-tkt-tkt/7", "clof:mcs-nobody", "none"] {
            assert!(refusal(name).is_some(), "{name}");
        }
    }
}
