//! MariaDB, with data of its own in a temporary folder, under sysbench.

use crate::check::{Check, Tier};
use crate::program::{Server, Under, ended, free_port};
use crate::selection::Selection;
use assert_cmd::Command;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(120);
const TABLES: &str = "2";
const ROWS: &str = "2000";

/// Under each lock, and debugged.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let check = |(name, under)| Check {
        name: format!("mariadb/{name}"),
        tier: Tier::Full,
        needs: &[
            ("mariadbd", "mariadb-server"),
            ("mariadb-install-db", "mariadb-server"),
            ("mariadb", "mariadb-client"),
            ("sysbench", "sysbench"),
        ],
        run: Box::new(move || run(under)),
    };
    Ok(selection.ways().into_iter().map(check).collect())
}

fn run(under: Under) -> Result<(), String> {
    let folder = TempDir::with_prefix("cohort-mariadb-")
        .map_err(|error| format!("no temporary folder: {error}"))?;
    let data = format!("--datadir={}", folder.path().join("data").display());
    let socket = folder.path().join("socket");
    let user = rustix::process::geteuid()
        .is_root()
        .then_some("--user=root");
    install(&data, user)?;

    let port = format!("--port={}", free_port()?);
    let listen = format!("--socket={}", socket.display());
    let mut program = vec!["mariadbd", "--no-defaults", &data, &listen, &port];
    program.extend(user);
    program.extend([
        "--bind-address=127.0.0.1",
        "--innodb-buffer-pool-size=64M",
        "--innodb-log-file-size=16M",
        "--skip-grant-tables",
    ]);
    let mut server = Server::start(under, program)?;
    let ready = || client(&socket, "SELECT 1").is_ok_and(|said| said == "1");
    server.await_that(ready, LIMIT)?;
    client(&socket, "CREATE DATABASE sbtest")?;
    sysbench(&socket, "prepare")?;
    let said = sysbench(&socket, "run")?;
    let transactions = said
        .lines()
        .find_map(|line| {
            line.trim()
                .strip_prefix("transactions:")?
                .split_whitespace()
                .next()
        })
        .and_then(|count| count.parse::<u64>().ok());
    let clean = said.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("reconnects:") && words.next() == Some("0")
    });
    if !matches!(transactions, Some(1..)) || !clean {
        return Err(format!("sysbench:\n{said}"));
    }
    check_tables(&socket)?;
    server.stop(LIMIT)
}

fn install(data: &str, user: Option<&str>) -> Result<(), String> {
    let mut install = Command::new("mariadb-install-db");
    install
        .args(["--no-defaults", data, "--skip-test-db"])
        .arg("--auth-root-authentication-method=normal")
        .args(user);
    succeed(&mut install)?;
    Ok(())
}

/// Every row that the transactions replaced is there once, and the pages are
/// sound.
fn check_tables(socket: &Path) -> Result<(), String> {
    for table in ["sbtest1", "sbtest2"] {
        let rows = client(socket, &format!("SELECT COUNT(*) FROM sbtest.{table}"))?;
        if rows != ROWS {
            return Err(format!("{table}: expected {ROWS} rows, found {rows}"));
        }
        let state = client(socket, &format!("CHECK TABLE sbtest.{table}"))?;
        if !state.ends_with("OK") {
            return Err(format!("{table} is damaged: {state}"));
        }
    }
    Ok(())
}

fn sysbench(socket: &Path, step: &str) -> Result<String, String> {
    let mut sysbench = Command::new("sysbench");
    sysbench
        .arg("oltp_read_write")
        .arg(format!("--mysql-socket={}", socket.display()))
        .args(["--mysql-user=root", "--mysql-db=sbtest", "--threads=8"])
        .args([
            &format!("--tables={TABLES}"),
            &format!("--table-size={ROWS}"),
        ])
        .args(["--time=5", "--db-ps-mode=disable", step]);
    succeed(&mut sysbench)
}

fn client(socket: &Path, question: &str) -> Result<String, String> {
    let mut client = Command::new("mariadb");
    client
        .arg("--no-defaults")
        .arg(format!("--socket={}", socket.display()))
        .args(["--user=root", "--batch", "--skip-column-names"])
        .args(["--execute", question]);
    Ok(succeed(&mut client)?.trim().to_owned())
}

fn succeed(command: &mut Command) -> Result<String, String> {
    let output = command
        .timeout(LIMIT)
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{command:?}: {}", ended(&output, LIMIT)))
    }
}
