//! Comparison of Cohort's locks with others on this machine.

mod foreign;
mod keyed;
mod load;
mod measure;
mod page;
mod peers;
mod points;
mod rust;
mod show;

use clap::{Parser, Subcommand};
use cohort_lab::interrupt;
use cohort_lab::options::seconds;
use cohort_lab::progress::Progress;
use cohort_lab::workloads::Burners;
use load::Load;
use measure::Setup;
use peers::{PEERS, PeerKind};
use points::{Grid, Point};
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure Cohort's locks beside those of others
#[derive(Debug, Parser)]
#[command(max_term_width = 100, args_conflicts_with_subcommands = true, after_long_help = NOTES)]
struct Arguments {
    #[command(subcommand)]
    subcommand: Option<One>,
    /// Points to measure, or the beginnings of their names, as in `hand-over` [default: all]
    #[arg(value_name = "POINT")]
    points: Vec<String>,
    /// Show points and locks, and which libraries are missing; run nothing
    #[arg(long)]
    list: bool,
    /// The preload library, for our locks under the C library's names
    #[arg(long, value_name = "FILE")]
    interposer: Option<PathBuf>,
    /// Rounds that count
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    #[command(flatten)]
    grid: Grid,
    /// Kinds of locks to measure [default: all]
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<PeerKind>,
    /// Let each run take so many times as long as usual
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = seconds)]
    stretch: f64,
    /// Print one page: sleeping mutexes and rwlocks over glibc's, a row for each point
    #[arg(long, conflicts_with_all = ["json", "kinds"])]
    page: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a picture of each point into this folder
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum One {
    /// Run one load once under one lock, in this process
    #[command(hide = true)]
    One {
        /// Busy processes beside the load
        #[arg(long, default_value_t = 0)]
        beside: u16,
        /// The lock
        lock: String,
        #[command(subcommand)]
        load: Load,
    },
}

const NOTES: &str = "\
Every lock runs in its own process, in interleaved rounds in rotating order; a \
figure is the median of its rounds, a ratio the median of the rounds' ratios. A run during which \
others used more than a tenth of its CPUs' time is repeated, at most twice.";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match carry_out(&arguments) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("cohort-peers: {why}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(arguments: &Arguments) -> Result<ExitCode, String> {
    if let Some(One::One { beside, lock, load }) = &arguments.subcommand {
        let peer = peers::find(lock).ok_or_else(|| format!("no lock is called `{lock}`"))?;
        let neighbours = Burners::start(*beside)?;
        let outcome = peer.run(load)?;
        drop(neighbours);
        println!("{}", json(&outcome)?);
        return Ok(ExitCode::SUCCESS);
    }
    let points = chosen(arguments)?;
    let setup = Setup {
        program: std::env::current_exe().map_err(|error| format!("where is this? {error}"))?,
        interposer: arguments.interposer.clone().map(absolute).transpose()?,
        rounds: usize::from(arguments.rounds),
        stretch: arguments.stretch,
        kinds: match (arguments.page, arguments.kinds.is_empty()) {
            (true, _) => page::KINDS.to_vec(),
            (false, true) => PeerKind::ALL.to_vec(),
            (false, false) => arguments.kinds.clone(),
        },
    };
    for (peer, why) in PEERS
        .iter()
        .filter_map(|peer| Some((peer, measure::missing(peer, &setup)?)))
    {
        eprintln!("skip: {}: {why}", peer.name);
    }
    if arguments.list {
        list(&points, &setup);
        return Ok(ExitCode::SUCCESS);
    }
    interrupt::arm().map_err(|error| format!("cannot watch for signals: {error}"))?;
    let mut progress = Progress::new(measure::planned(&points, &setup), false);
    let mut tables = Vec::new();
    for point in &points {
        match measure::measure(point, &setup, &mut progress) {
            Ok(table) => tables.push(table),
            Err(signal) => return Ok(ExitCode::from(signal.status())),
        }
    }
    drop(progress);
    if arguments.page {
        println!("{}", page::page(&tables, setup.rounds));
    } else if arguments.json {
        println!("{}", json(&tables)?);
    } else {
        for table in &tables {
            println!("{}", show::table(table));
        }
        println!("{}", show::behind(&tables));
    }
    if let Some(folder) = &arguments.plots {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        for table in &tables {
            let file = folder.join(format!("{}.svg", table.name));
            show::picture(table, setup.rounds).save(&file)?;
        }
    }
    let failed = tables
        .iter()
        .flat_map(|table| &table.rows)
        .any(|row| row.failure.is_some());
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The requested points.
fn chosen(arguments: &Arguments) -> Result<Vec<Point>, String> {
    let mut all = points::points(&arguments.grid);
    let known: Vec<&str> = all.iter().map(|point| point.name.as_str()).collect();
    for wanted in &arguments.points {
        if !known.iter().any(|name| name.starts_with(wanted.as_str())) {
            return Err(format!(
                "no point is called `{wanted}`; there are {}",
                known.join(", ")
            ));
        }
    }
    if !arguments.points.is_empty() {
        all.retain(|point| {
            let wanted = &mut arguments.points.iter();
            wanted.any(|wanted| point.name.starts_with(wanted.as_str()))
        });
    }
    Ok(all)
}

fn list(points: &[Point], setup: &Setup) {
    for point in points {
        println!("{:26} {}", point.name, point.about);
    }
    println!();
    for peer in PEERS {
        let whose = if peer.is_ours() { "ours" } else { "theirs" };
        let missing =
            measure::missing(peer, setup).map_or(String::new(), |why| format!(" ({why})"));
        println!(
            "{:16} {whose:7} {:24} {}{missing}",
            peer.name,
            peer.kind.title(),
            peer.called
        );
    }
}

/// Preloaded files are found by absolute paths only.
fn absolute(file: PathBuf) -> Result<PathBuf, String> {
    file.canonicalize()
        .map_err(|error| format!("{}: {error}", file.display()))
}

fn json(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| format!("cannot write JSON: {error}"))
}
