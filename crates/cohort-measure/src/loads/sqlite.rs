//! Threads query a bundled SQLite in its serialised mode, which uses pthread mutexes.

mod database;

use super::Outcome;
use super::crowd::{Crowd, Member};
use crate::progress::tell;
use database::{Database, Query};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::path::Path;

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    crowd: Crowd,
    /// Objects shared by the threads
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 10_000,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rows: u32,
    /// Percentage of queries that update a row; the others read one
    #[arg(long, value_name = "PERCENT", default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(0..=100))]
    writes: u8,
}

/// Objects shared by the threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// One connection to a database in memory
    #[default]
    SharedConnection,
    /// A connection and a database in memory for each thread
    Private,
    /// A database in memory and its cache, with a connection each
    SharedCache,
    /// A database on disk with a write-ahead log, with a connection each
    Wal,
}

/// Runs the load; an operation is one query.
///
/// # Errors
/// SQLite's error.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let folder = tempfile::tempdir()
        .map_err(|error| format!("cannot create a folder for the database: {error}"))?;
    let file = folder.path().join("load.db");
    let first = open(options.mode, &file)?;
    first.fill(options.rows)?;
    options.crowd.run(false, |index| {
        let own = match options.mode {
            Mode::SharedConnection => None,
            Mode::Private => {
                let own = open(options.mode, &file)?;
                own.fill(options.rows)?;
                Some(own)
            }
            Mode::SharedCache | Mode::Wal => Some(open(options.mode, &file)?),
        };
        let (first, random) = (&first, SmallRng::seed_from_u64(index as u64));
        Ok(move |member: &mut Member| {
            let database = own.as_ref().unwrap_or(first);
            query(database, options, random.clone(), member);
        })
    })
}

fn open(mode: Mode, file: &Path) -> Result<Database, String> {
    match mode {
        Mode::SharedConnection | Mode::Private => Database::open(":memory:"),
        Mode::SharedCache => Database::open("file:load?mode=memory&cache=shared"),
        Mode::Wal => {
            let database = Database::open(&file.to_string_lossy())?;
            database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF")?;
            Ok(database)
        }
    }
}

fn query(database: &Database, options: &Options, mut random: SmallRng, member: &mut Member) {
    let (read, write) = match (Query::read(database), Query::write(database)) {
        (Ok(read), Ok(write)) => (read, write),
        (Err(why), _) | (_, Err(why)) => give_up(&why),
    };
    loop {
        let key = random.random_range(0..options.rows);
        let query = if random.random_range(0..100) < options.writes {
            &write
        } else {
            &read
        };
        if let Err(why) = query.run(key) {
            give_up(&why);
        }
        if !member.goes_on() {
            break;
        }
    }
}

/// Ends the process: a load that cannot continue measures nothing.
fn give_up(why: &str) -> ! {
    tell(format_args!("cohort: {why}"));
    std::process::exit(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_reads_and_writes() {
        for mode in [
            Mode::SharedConnection,
            Mode::Private,
            Mode::SharedCache,
            Mode::Wal,
        ] {
            let options = Options {
                crowd: Crowd {
                    threads: 3,
                    seconds: 0.05,
                },
                mode,
                rows: 100,
                writes: 20,
            };
            assert!(run(&options).unwrap().operations > 0, "{mode:?}");
        }
    }
}
