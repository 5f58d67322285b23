//! Examines a running program: its threads, and whether it is an idle server.

use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The time between looks, initially and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(250)];

/// Idle time of a recognised server, which is thus recognised within 10 seconds.
const IDLE: Duration = Duration::from_secs(5);

/// Time for a program's preparation before its idleness counts.
const START: Duration = Duration::from_secs(2);

/// An idle server uses less than this share of one CPU: timers run in most of them.
const IDLE_SHARE: f64 = 0.05;

/// Observations of a running program.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The largest number of threads in one of its processes.
    pub threads: u64,
    /// The program's addresses, if it was ended as an idle server.
    pub listens: Vec<Address>,
}

/// Address on which a program listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// A port of TCP.
    Port(u16),
    /// A socket in the file system.
    Socket(String),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => write!(formatter, "port {port}"),
            Self::Socket(path) => formatter.write_str(path),
        }
    }
}

/// Examines a process and its descendants until `is_over` is closed. With `ends_servers`, ends the
/// process group of a program that listens and stays idle.
pub fn look(leader: Pid, is_over: &Receiver<()>, ends_servers: bool) -> Look {
    let mut seen = Look::default();
    let [mut pause, longest] = PAUSES;
    let started = Instant::now();
    let mut idle_since: Option<(Instant, f64)> = None;
    while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        pause = (pause * 2).min(longest);
        let processes = with_descendants(leader);
        let threads = processes.iter().filter_map(|process| threads(*process));
        seen.threads = threads.fold(seen.threads, u64::max);
        if !ends_servers || started.elapsed() < START {
            continue;
        }
        let used = processes.iter().filter_map(|process| cpu(*process)).sum();
        let (since, before) = *idle_since.get_or_insert_with(|| (Instant::now(), used));
        // The sum also falls, when a process with usage ends.
        if (used - before).abs() > IDLE_SHARE * IDLE.as_secs_f64() {
            idle_since = None;
        } else if since.elapsed() >= IDLE {
            let listens = listening(&processes);
            if !listens.is_empty() {
                seen.listens = listens;
                let _ = kill_process_group(leader, Signal::KILL);
                break;
            }
            idle_since = None;
        }
    }
    seen
}

/// A process and all its descendants.
fn with_descendants(leader: Pid) -> Vec<i32> {
    let mut all = vec![leader.as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(process) = all.get(next).copied() {
        next += 1;
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            let numbers = children
                .split_whitespace()
                .filter_map(|word| word.parse::<i32>().ok());
            all.extend(numbers);
        }
    }
    all
}

/// The number of a process's threads: its folder of threads has a link for each, and two more.
fn threads(process: i32) -> Option<u64> {
    let folder = fs::metadata(format!("/proc/{process}/task")).ok()?;
    folder.nlink().checked_sub(2)
}

/// CPU seconds of a process.
fn cpu(process: i32) -> Option<f64> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may contain anything, and is in brackets.
    let (_, rest) = line.rsplit_once(") ")?;
    let ticks: u64 = rest
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|word| word.parse::<u64>().ok())
        .sum();
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The addresses on which these processes listen.
fn listening(processes: &[i32]) -> Vec<Address> {
    let sockets: HashSet<String> = processes.iter().flat_map(|id| sockets(*id)).collect();
    let Some(leader) = processes.first() else {
        return Vec::new();
    };
    let read = |name: &str| fs::read_to_string(format!("/proc/{leader}/net/{name}"));
    let mut found = Vec::new();
    for name in ["tcp", "tcp6"] {
        let text = read(name).unwrap_or_default();
        found.extend(text.lines().filter_map(|line| tcp(line, &sockets)));
    }
    let text = read("unix").unwrap_or_default();
    found.extend(text.lines().filter_map(|line| unix(line, &sockets)));
    found.sort();
    found.dedup();
    found
}

/// The numbers of a process's sockets.
fn sockets(process: i32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{process}/fd"));
    let links = files.into_iter().flatten().flatten();
    let links = links.filter_map(|file| fs::read_link(file.path()).ok());
    let number = |link: PathBuf| {
        let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some(number.to_owned())
    };
    links.filter_map(number).collect()
}

/// The address of a line of `/proc/net/tcp`, if one of these sockets listens there.
fn tcp(line: &str, sockets: &HashSet<String>) -> Option<Address> {
    const LISTENS: &str = "0A";
    let words: Vec<&str> = line.split_whitespace().collect();
    if *words.get(3)? != LISTENS || !sockets.contains(*words.get(9)?) {
        return None;
    }
    let (_, port) = words.get(1)?.split_once(':')?;
    Some(Address::Port(u16::from_str_radix(port, 16).ok()?))
}

/// The path of a line of `/proc/net/unix`, if one of these sockets accepts connections there.
fn unix(line: &str, sockets: &HashSet<String>) -> Option<Address> {
    const ACCEPTS: &str = "00010000";
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_one = *words.get(3)? == ACCEPTS && sockets.contains(*words.get(6)?);
    let path = words.get(7).filter(|path| path.starts_with('/'))?;
    is_one.then(|| Address::Socket((*path).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_process_and_its_sockets_are_found() {
        let this = i32::try_from(std::process::id()).unwrap();
        let before = listening(&[this]);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _unix = UnixListener::bind(&path).unwrap();
        let found = listening(&[this]);
        let port = Address::Port(tcp.local_addr().unwrap().port());
        assert!(
            found.contains(&port) && !before.contains(&port),
            "{found:?}"
        );
        assert!(
            found.contains(&Address::Socket(path.display().to_string())),
            "{found:?}"
        );
        assert!(threads(this) >= Some(1) && cpu(this) >= Some(0.0));
    }
}
