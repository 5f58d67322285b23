//! Runs a server once, with a measuring client.

use super::{
    Failure, Launch, Look, Run, Started, complaint, failed, looked_at, wait_for_end, watched,
};
use crate::interrupt;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::fmt;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The placeholder of a free port's number.
pub const PORT: &str = "{port}";

/// Time limit for a server to listen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time for a server to end on request.
const GRACE: Duration = Duration::from_secs(5);

/// Time limit of a connection.
const CONNECTING: Duration = Duration::from_secs(1);

/// Client that measures a server.
#[derive(Clone, Debug)]
pub struct Client {
    /// The program, which runs under the system's locks.
    pub launch: Launch,
    /// The server's address when ready.
    pub ready: Ready,
}

/// Address of a server; each text may contain [`PORT`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A host and a port.
    Tcp(String, String),
    /// A Unix socket.
    Socket(String),
}

impl Ready {
    /// `PORT`, `HOST:PORT`, or the path of a Unix socket.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_port = |port: &str| port == PORT || port.parse::<u16>().is_ok_and(|port| port > 0);
        if text.contains('/') {
            return Ok(Self::Socket(text.to_owned()));
        }
        let (host, port) = text.rsplit_once(':').unwrap_or(("127.0.0.1", text));
        if !host.is_empty() && is_port(port) {
            return Ok(Self::Tcp(host.to_owned(), port.to_owned()));
        }
        Err(format!(
            "expected {PORT}, a port, HOST:PORT or the path of a socket, found `{text}`"
        ))
    }

    fn at(&self, port: u16) -> Self {
        match self {
            Self::Tcp(host, text) => Self::Tcp(host.clone(), put(text, port)),
            Self::Socket(path) => Self::Socket(put(path, port)),
        }
    }

    /// Whether a server accepts connections there.
    fn is_listened_to(&self) -> bool {
        match self {
            Self::Tcp(host, port) => {
                let port = port.parse().unwrap_or(0);
                let addresses = (host.as_str(), port).to_socket_addrs();
                let mut addresses = addresses.into_iter().flatten();
                addresses.any(|address| TcpStream::connect_timeout(&address, CONNECTING).is_ok())
            }
            Self::Socket(path) => UnixStream::connect(path).is_ok(),
        }
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) => write!(formatter, "{host}:{port}"),
            Self::Socket(path) => formatter.write_str(path),
        }
    }
}

fn put(text: &str, port: u16) -> String {
    text.replace(PORT, &port.to_string())
}

/// A program with a port's number in its words.
fn with_port(launch: &Launch, port: u16) -> Launch {
    let words = launch.words.iter().map(|word| match word.to_str() {
        Some(text) => put(text, port).into(),
        None => word.clone(),
    });
    Launch {
        words: words.collect(),
        ..launch.clone()
    }
}

/// A port that no program listens on at the moment.
fn free_port() -> Result<u16, Failure> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.map_err(|error| failed(format!("no free port: {error}")))?;
    Ok(port.port())
}

/// Starts a server, waits until it listens, runs its client to the end, and ends the server. Time
/// and output are the client's; CPU time and switches are the server's. The time limit of `server`
/// applies to the client. Blocks.
///
/// # Errors
/// A signal that asks this process to end; a server that does not listen, ends before its client,
/// or cannot be started; a client that fails.
pub fn run_served(
    server: &Launch,
    client: &Client,
    seen: Option<&mut Look>,
) -> Result<Run, Failure> {
    interrupt::check()?;
    let port = free_port()?;
    let (server, ready) = (with_port(server, port), client.ready.at(port));
    if ready.is_listened_to() {
        return Err(failed(format!(
            "another program already listens on {ready}: end it, or write {PORT} instead of the \
             number for a free port"
        )));
    }
    let watch = watched(&server);
    let mut process = Started::new(&server)?;
    let client = Launch {
        limit: server.limit,
        ..with_port(&client.launch, port)
    };
    let ends_servers = false;
    let (outcome, found) = looked_at(process.pid, ends_servers, || {
        wait_until_ready(process.pid, &ready)?;
        ask(process.pid, &client)
    });
    if let Some(seen) = seen {
        *seen = found;
    }
    let has_ended = has_ended(process.pid);
    if !has_ended {
        // It may end meanwhile.
        let _ = kill_process(process.pid, Signal::TERM);
        wait_for_end(process.pid, Some(GRACE));
    }
    let (status, usage) = process.reap()?;
    interrupt::check()?;
    let said = process.output()?;
    // A successful end means that it has put itself into the background.
    let end = complaint(status, true, None)
        .unwrap_or_else(|| "it ended with exit status 0; run it in the foreground".to_owned());
    match outcome {
        Ok(_) if has_ended => Err(Failure::Program {
            why: format!("the server ended before its client: {end}"),
            output: said,
        }),
        Ok((wall, used, output)) => {
            let mut run = usage.run(wall, None, output);
            let all = Duration::from_secs_f64(run.cpu() + used);
            run.foreign = watch.and_then(|watch| watch.foreign(wall, all));
            Ok(run)
        }
        Err(Trouble::Interrupted(signal)) => Err(Failure::Interrupted(signal)),
        Err(Trouble::Unready) if has_ended => Err(Failure::Program {
            why: format!("the server did not listen on {ready}: {end}"),
            output: said,
        }),
        Err(Trouble::Unready) => Err(Failure::Program {
            why: format!(
                "the server does not listen on {ready} after {} s; set its address with --ready",
                PATIENCE.as_secs()
            ),
            output: said,
        }),
        Err(Trouble::Client { .. }) if has_ended => Err(Failure::Program {
            why: format!("the server ended before its client: {end}"),
            output: said,
        }),
        Err(Trouble::Client { why, output }) => Err(Failure::Program {
            why: format!("the client failed: {why}"),
            output: if output.trim().is_empty() {
                said
            } else {
                output
            },
        }),
    }
}

/// Reason for an unmeasured server.
enum Trouble {
    Interrupted(interrupt::Interrupted),
    Unready,
    Client { why: String, output: String },
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Interrupted(signal) => Self::Interrupted(signal),
            Failure::Program { why, output } => Self::Client { why, output },
        }
    }
}

fn wait_until_ready(server: Pid, ready: &Ready) -> Result<(), Trouble> {
    const PAUSE: Duration = Duration::from_millis(5);
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE {
        interrupt::check().map_err(Trouble::Interrupted)?;
        if has_ended(server) {
            return Err(Trouble::Unready);
        }
        if ready.is_listened_to() {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    Err(Trouble::Unready)
}

/// Runs the client to its end, or to the server's; returns its duration, its CPU seconds and its
/// output.
fn ask(server: Pid, client: &Launch) -> Result<(Duration, f64, String), Trouble> {
    let started = Instant::now();
    let mut process = Started::new(client)?;
    let pid = process.pid;
    let is_over = AtomicBool::new(false);
    let (in_time, wall) = std::thread::scope(|scope| {
        let guard = scope.spawn(|| {
            // A client may wait for the answer of a server that has ended.
            while !is_over.load(Ordering::Relaxed) {
                if has_ended(server) {
                    let _ = kill_process_group(pid, Signal::KILL);
                    break;
                }
                std::thread::park_timeout(Duration::from_millis(100));
            }
        });
        let in_time = wait_for_end(pid, client.limit);
        let wall = started.elapsed();
        is_over.store(true, Ordering::Relaxed);
        guard.thread().unpark();
        (in_time, wall)
    });
    let (status, usage) = process.reap()?;
    let output = process.output()?;
    match complaint(status, in_time, client.limit) {
        Some(why) => Err(Trouble::Client { why, output }),
        None => Ok((wall, usage.user + usage.system, output)),
    }
}

/// Whether a child of this process has ended, without reaping it.
fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Err(Errno::INTR) => {}
            news => return !matches!(news, Ok(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::path::Path;

    /// A minimal server.
    const SERVER: &str = "import os, socket, sys
listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))
print('mine', os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    word = connection.recv(1)
    if word == b'x':
        os._exit(7)
    connection.sendall(b'tps %d' % os.getpid())
    connection.close()
";

    const CLIENT: &str = "import socket, sys
connection = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
connection.sendall(sys.argv[2].encode())
print(connection.recv(100).decode())
";

    fn launch(words: &[&str]) -> Launch {
        Launch {
            words: words.iter().map(OsString::from).collect(),
            environment: Vec::new(),
            cpus: None,
            limit: Some(Duration::from_secs(20)),
        }
    }

    fn served(client: &[&str]) -> Result<Run, Failure> {
        let server = launch(&["python3", "-c", SERVER, PORT]);
        let client = Client {
            launch: launch(client),
            ready: Ready::parse(PORT).unwrap(),
        };
        run_served(&server, &client, None)
    }

    fn why(run: Result<Run, Failure>) -> String {
        match run {
            Err(Failure::Program { why, output }) => format!("{why}\n{output}"),
            other => panic!("{other:?}"),
        }
    }

    /// Whether an interpreter for the server is installed.
    fn is_there() -> bool {
        let is_there = which::which("python3").is_ok();
        if !is_there {
            eprintln!("skip: no `python3` here");
        }
        is_there
    }

    #[test]
    fn a_server_is_asked_and_ended() {
        if !is_there() {
            return;
        }
        let run = served(&["python3", "-c", CLIENT, PORT, "a"]).unwrap();
        let pid = run.output.trim().strip_prefix("tps ").expect("an answer");
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        assert!(run.cpu() > 0.0 && run.wall > 0.0);
    }

    #[test]
    fn a_client_that_fails_is_told_and_the_server_ended() {
        if !is_there() {
            return;
        }
        let why = why(served(&["sh", "-c", "exit 3"]));
        assert!(
            why.contains("the client failed") && why.contains("exit status 3"),
            "{why}"
        );
        let pid = why
            .split("mine ")
            .nth(1)
            .expect("the server's words")
            .trim();
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_server_that_ends_in_the_middle_ends_its_client() {
        if !is_there() {
            return;
        }
        let asked = Instant::now();
        let script = format!("python3 -c \"{CLIENT}\" {PORT} x; sleep 60");
        let why = why(served(&["sh", "-c", &script]));
        assert!(
            why.contains("ended before its client") && why.contains("status 7"),
            "{why}"
        );
        assert!(asked.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_taken_port_and_a_server_that_ends_are_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let ask = |server: &[&str], ready: &str| {
            let client = Client {
                launch: launch(&["true"]),
                ready: Ready::parse(ready).unwrap(),
            };
            why(run_served(&launch(server), &client, None))
        };
        let taken = ask(&["sleep", "60"], &port);
        assert!(taken.contains("already") && taken.contains(PORT), "{taken}");
        let ended = ask(&["sh", "-c", "echo no room; exit 4"], PORT);
        assert!(
            ended.contains("exit status 4") && ended.contains("no room"),
            "{ended}"
        );
    }

    #[test]
    fn where_a_server_listens_is_read() {
        for text in ["{port}", "80", "localhost:{port}", "/run/s", "::1:80"] {
            assert!(Ready::parse(text).is_ok(), "{text}");
        }
        for text in ["", "0", "x", ":80", "70000", "localhost:"] {
            assert!(Ready::parse(text).is_err(), "{text}");
        }
    }
}
