//! Redis with I/O threads, which it parks by holding their mutexes for seconds.

use crate::check::{Check, Tier};
use crate::program::{Server, Under, free_port};
use crate::selection::Selection;
use assert_cmd::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// Under each lock, and debugged.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let check = |(name, under)| Check {
        name: format!("redis/{name}"),
        tier: Tier::Full,
        needs: &[
            ("redis-server", "redis-server"),
            ("redis-benchmark", "redis-tools"),
            ("redis-cli", "redis-tools"),
        ],
        run: Box::new(move || run(under)),
    };
    Ok(selection.ways().into_iter().map(check).collect())
}

fn run(under: Under) -> Result<(), String> {
    let port = free_port()?.to_string();
    let mut server = Server::start(
        under,
        [
            "redis-server",
            "--bind",
            "127.0.0.1",
            "--port",
            &port,
            "--save",
            "",
            "--appendonly",
            "no",
            "--io-threads",
            "4",
            "--io-threads-do-reads",
            "yes",
        ],
    )?;
    server.await_that(
        || client(&port, &["PING"]).is_ok_and(|said| said == "PONG"),
        LIMIT,
    )?;
    let output = Command::new("redis-benchmark")
        .args(["-h", "127.0.0.1", "-p", &port, "--csv"])
        .args([
            "-t",
            "set,get,incr,lpush",
            "-n",
            "20000",
            "-c",
            "50",
            "-P",
            "8",
        ])
        .args(["--threads", "2"])
        .timeout(LIMIT)
        .output()
        .map_err(|error| format!("redis-benchmark: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || said.contains("rror") || said.lines().count() != 5 {
        return Err(format!(
            "redis-benchmark: {}\n{said}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    for (question, answer) in [
        (["GET", "counter:__rand_int__"], "20000"),
        (["LLEN", "mylist"], "20000"),
    ] {
        let got = client(&port, &question)?;
        if got != answer {
            return Err(format!("{question:?}: expected {answer}, got {got}"));
        }
    }
    server.stop(LIMIT)
}

fn client(port: &str, question: &[&str]) -> Result<String, String> {
    let output = Command::new("redis-cli")
        .args(["-h", "127.0.0.1", "-p", port])
        .args(question)
        .timeout(LIMIT)
        .output()
        .map_err(|error| format!("redis-cli: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
