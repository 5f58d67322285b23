//! `cohort bench --envelope`: the best lock at each point of a grid, and the shares of others.

use super::{Arguments, printed_there, workload};
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::Problem;
use cohort_lab::bench::Knobs;
use cohort_lab::envelope::grid::WORKLOADS;
use cohort_lab::envelope::{
    CANDIDATES, Envelope, EnvelopePlan, Extent, Grid, JUDGED, Point, REFERENCE, heat, mean, measure,
};
use cohort_lab::interrupt;
use cohort_lab::progress::Progress;
use cohort_lab::world::Placement;
use cohort_lab::world::names::rejoined;
use cohort_lab::world::served::refusal;
use cohort_machine::description::Machine;
use cohort_machine::description::shipped::MACHINES;
use std::fmt::Write;
use std::process::ExitCode;

/// Executes `cohort bench --envelope`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let turned = arguments.knobs != Knobs::NONE || !arguments.outside.is_empty();
    if arguments.placement != Placement::Compact || turned {
        return Err(Problem::usage(
            "the envelope fixes placement and workload options; leave out --placement and the \
             workload's options",
        ));
    }
    let extent = if arguments.quick {
        Extent::Quick
    } else {
        Extent::Full
    };
    let workloads: Vec<&str> = match &arguments.workload {
        None => WORKLOADS.to_vec(),
        Some(name) => vec![workload(name)?.name],
    };
    let plan = EnvelopePlan {
        grid: Grid::of(machines(arguments)?, &workloads, extent),
        candidates: CANDIDATES,
        judged: judged(arguments)?,
        served: arguments.served,
        seconds: arguments.seconds,
        seed: arguments.seed,
    };
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let mut progress = Progress::new(plan.runs(), false);
    let measured = measure(&plan, &mut progress);
    drop(progress);
    let (envelope, signal) = measured.map_err(Problem::refused)?;
    if let Some(file) = &arguments.plot {
        heat::save(&envelope, file).map_err(Problem::refused)?;
    }
    if arguments.json {
        page::print_json(Origin::simulated("each point names its own"), &envelope)?;
    } else {
        page::print(&text(&envelope))?;
    }
    Ok(signal.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.status())))
}

fn machines(arguments: &Arguments) -> Result<Vec<Machine>, Problem> {
    let names: Vec<&str> = match &arguments.on {
        None => MACHINES.iter().map(|file| file.name).collect(),
        Some(named) => vec![named],
    };
    let open = |name: &&str| Machine::open(name).map_err(Problem::usage);
    names.iter().map(open).collect()
}

/// The judged locks by their printed names, including the reference.
fn judged(arguments: &Arguments) -> Result<Vec<String>, Problem> {
    let mut judged: Vec<String> = Vec::new();
    if arguments.locks.is_empty() {
        judged.extend(JUDGED.iter().map(|name| (*name).to_owned()));
    }
    for name in rejoined(&arguments.locks) {
        let name = printed_there(&name)?;
        if arguments.served
            && let Some(why) = refusal(&name)
        {
            return Err(Problem::usage(why));
        }
        if !judged.contains(&name) {
            judged.push(name);
        }
    }
    if judged.iter().all(|name| name != REFERENCE) {
        judged.push(REFERENCE.to_owned());
    }
    Ok(judged)
}

fn text(envelope: &Envelope) -> String {
    if envelope.points.is_empty() {
        return page::prose("No complete point.");
    }
    let mut text = String::new();
    let mut points = envelope.points.as_slice();
    while let Some(first) = points.first() {
        let count = points
            .iter()
            .take_while(|point| point.machine == first.machine)
            .count();
        let (of_machine, rest) = points.split_at(count);
        let _ = write!(
            text,
            "{} ({} CPUs, file {})\n{}\n\n",
            first.machine,
            first.cpus,
            first.hash,
            table(envelope, of_machine)
        );
        points = rest;
    }
    let _ = write!(text, "{}\n\n{}", summary(envelope), closing(envelope));
    text
}

/// One machine's points.
fn table(envelope: &Envelope, points: &[Point]) -> String {
    let mut titles = vec!["workload", "thr.", "how", "best raw"];
    titles.extend(envelope.judged.iter().map(String::as_str));
    let titles: Vec<String> = titles.into_iter().map(narrow).collect();
    let mut table = page::titled(&titles);
    for point in points {
        let best = point.best().map(|best| best.lock.clone());
        let mut row = vec![
            point.workload.to_owned(),
            point.threads.to_string(),
            how(point).to_owned(),
            best.unwrap_or_default(),
        ];
        let shares = envelope.judged.iter().map(|lock| share(point.share(lock)));
        row.extend(shares);
        table.add_row(row);
    }
    page::lines(table, 4..4 + envelope.judged.len())
}

/// A point's special condition, in a word.
const fn how(point: &Point) -> &'static str {
    match (point.placement, point.critical_ns) {
        (Placement::Free, None) => "free",
        (Placement::Free, Some(_)) => "both",
        (_, Some(_)) => "long",
        (_, None) => "",
    }
}

/// A title in narrow lines, broken at the name's hyphens.
fn narrow(title: &str) -> String {
    title.replace('-', "-\n")
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}"))
}

/// Each judged lock over all points.
fn summary(envelope: &Envelope) -> String {
    let mut table = page::titled(&[
        "lock",
        "mean ratio",
        "0.90 and more",
        "least",
        "over posix",
        "least",
        "lowest over posix at",
    ]);
    for lock in &envelope.judged {
        let shares: Vec<f64> = envelope
            .points
            .iter()
            .filter_map(|p| p.share(lock))
            .collect();
        let speed = |point: &Point| point.against(lock, |run| Some(run.per_second));
        let speeds: Vec<f64> = envelope.points.iter().filter_map(speed).collect();
        let high = shares.iter().filter(|share| **share >= 0.9).count();
        let lowest = |values: &[f64]| values.iter().copied().reduce(f64::min);
        let worst = envelope.points.iter().filter_map(|point| {
            let speed = speed(point)?;
            (speed < 1.0).then_some((speed, point))
        });
        let worst = worst.min_by(|(one, _), (other, _)| one.total_cmp(other));
        table.add_row([
            lock.clone(),
            share(mean(&shares)),
            format!("{high} of {}", shares.len()),
            share(lowest(&shares)),
            share(mean(&speeds)),
            share(lowest(&speeds)),
            worst.map_or_else(String::new, |(_, point)| point.name()),
        ]);
    }
    page::lines(table, 1..6)
}

fn closing(envelope: &Envelope) -> String {
    let mut text = String::from(
        "Ratio: throughput relative to the best raw lock at the same point. Means are \
         geometric. ",
    );
    text.push_str(if envelope.served {
        "Locks are embedded in pthread_mutex_t, as in programs. "
    } else {
        "Locks are raw; --served measures them as in programs. "
    });
    text.push_str(
        "`free`: threads placed by the scheduler; `long`: critical sections of 20 µs; `both`: \
         both. Simulated in virtual time.",
    );
    if envelope.quick {
        text.push_str(" Part of the grid: a rough estimate.");
    }
    if envelope.points.len() < envelope.wanted {
        let _ = write!(
            text,
            " Interrupted after {} of {} points.",
            envelope.points.len(),
            envelope.wanted
        );
    }
    page::prose(&text)
}
