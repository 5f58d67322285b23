//! memcached serves memcaslap.

use crate::check::{Check, Tier};
use crate::program::{Server, Under, free_port};
use crate::selection::Selection;
use assert_cmd::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

/// Under the default lock and a queueing one; all of them, and debugged, in the full tier.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let quick = selection.some_of(&["futex-hmcs", "mcs"]);
    let check = |(name, under)| Check {
        name: format!("memcached/{name}"),
        tier: if quick.contains(&name) {
            Tier::Quick
        } else {
            Tier::Full
        },
        needs: &[
            ("memcached", "memcached"),
            ("memcaslap", "libmemcached-tools"),
        ],
        run: Box::new(move || run(under)),
    };
    Ok(selection.ways().into_iter().map(check).collect())
}

fn run(under: Under) -> Result<(), String> {
    let port = free_port()?;
    let listen = port.to_string();
    let mut server = Server::start(
        under,
        [
            "memcached",
            "-u",
            "nobody",
            "-l",
            "127.0.0.1",
            "-p",
            &listen,
            "-U",
            "0",
            "-t",
            "8",
            "-m",
            "64",
        ],
    )?;
    server.await_port(port, LIMIT)?;
    let output = Command::new("memcaslap")
        .args(["-s", &format!("127.0.0.1:{port}")])
        .args(["-T", "2", "-c", "16", "-t", "3s"])
        .timeout(LIMIT)
        .output()
        .map_err(|error| format!("memcaslap: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = |what: &str| format!("memcaslap {what}:\n{said}");
    if !output.status.success() {
        return Err(wrong("failed"));
    }
    let count = |name: &str| {
        said.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
            .ok_or_else(|| wrong(&format!("does not say {name}")))
    };
    let (gets, sets, misses): (u64, u64, u64) =
        (count("cmd_get")?, count("cmd_set")?, count("get_misses")?);
    if gets == 0 || sets == 0 {
        return Err(wrong("got nothing served"));
    }
    // 64 MB hold all that is set in three seconds: a miss is a lost item.
    if misses > 0 {
        return Err(wrong("missed items it had set"));
    }
    server.stop(LIMIT)
}
