//! Locks of a process outside Cohort, by the C library's data in them.

use super::find::{Lock, Member, ObjectKind};
use crate::outside::Process;
use crate::outside::glibc::FutexUse;
use crate::outside::looker::Looker;
use std::path::Path;

/// The process with that ID, if it can be read and does not run under Cohort.
pub fn open(named: &Path) -> Option<Process> {
    let id: u32 = named.to_str()?.parse().ok()?;
    Process::open(id).ok()
}

/// The locks that its threads wait for at present.
pub fn locks(process: Process) -> Vec<Lock> {
    let mut looker = Looker::new(process);
    let moments = looker.moment();
    let process = &looker.process;
    let member = |thread: u32| Member {
        thread,
        name: process.name(thread),
    };
    let lock = |moment: crate::outside::looker::Moment| {
        let kind = match moment.kind {
            FutexUse::Mutex | FutexUse::LibcMutex => ObjectKind::Mutex,
            FutexUse::RwLock => ObjectKind::RwLock,
            FutexUse::Condition => ObjectKind::Condition,
            kind => ObjectKind::Other(kind.name()),
        };
        Lock {
            kind,
            address: moment.address,
            held: match (kind, moment.holder) {
                (ObjectKind::RwLock, Some(_)) => "a writer".to_owned(),
                (ObjectKind::RwLock, None) | (_, Some(_)) => "a thread".to_owned(),
                _ => String::new(),
            },
            variable: moment.variable,
            place: moment.place,
            holders: moment.holder.into_iter().map(member).collect(),
            waiters: moment.waiters.into_iter().map(member).collect(),
        }
    };
    let mut locks: Vec<Lock> = moments.into_iter().map(lock).collect();
    locks.sort_by_key(|lock| (lock.kind, lock.address));
    locks
}
