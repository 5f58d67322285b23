//! `cohort tune --explain`: the worth of each part of a tuned composition.

use super::{Arguments, Stop, cohorts_of, here};
use crate::testbed::Testbed;
use cohort::recipe::Basic;
use cohort_cli::cohorts::Table;
use cohort_cli::page;
use cohort_cli::problem::Problem;
use cohort_cli::toml_file;
use cohort_lab::bench::Info;
use cohort_lab::bench::Setting;
use cohort_lab::bench::report::Point;
use cohort_lab::bench::simulated::{self, Course};
use cohort_lab::plot::figure;
use cohort_lab::progress::Progress;
use cohort_lab::tune::explain::{self, CONTROL, ExplainPlan, Explained, Gain, Where};
use cohort_lab::tune::field;
use cohort_lab::tune::file::File;
use cohort_lab::tune::shape::Shape;
use cohort_lab::tune::{Effort, Policy};
use cohort_lab::world::Placement;
use cohort_lab::world::native::HERE;
use cohort_lab::world::simulated::Simulator;
use cohort_machine::description::shipped;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Executes `cohort tune --explain`.
pub fn run(arguments: &Arguments, file: &Path) -> Result<ExitCode, Problem> {
    let text = toml_file::text(file)?;
    let read = File::parse(&text).map_err(|error| toml_file::misread(&error, &text, file))?;
    let named = |what: String| Problem::usage(format!("{}: {what}", file.display()));
    let tuned = &read.tuned;
    let on = match &arguments.on {
        Some(named) => Some(named.as_str()),
        None if tuned.machine == HERE => None,
        None => Some(tuned.machine.as_str()),
    };
    let place = Testbed::of(on).map_err(|problem| {
        named(format!(
            "it was tuned on {}, which is unavailable; choose a machine with --on: {problem}",
            tuned.machine
        ))
    })?;
    let cohorts = read.cohorts.as_ref().map(|cohorts| {
        let folder = file.parent().unwrap_or(Path::new(""));
        folder.join(cohorts)
    });
    let (told, topology) = cohorts_of(cohorts.as_deref(), &place)?;
    let shape = Shape::of(&topology).to_string();
    if shape != tuned.shape {
        cohort_cli::problem::tell(format!(
            "warning: {} was tuned on {} ({}), not on {} ({shape})",
            file.display(),
            tuned.machine,
            tuned.shape,
            place.name()
        ));
    }
    let policy = tuned.policies.first().and_then(|name| Policy::named(name));
    let policy =
        policy.ok_or_else(|| named("`policies` is empty, expected a policy".to_owned()))?;
    let cpus = topology.cpus().len();
    let mut threads = tuned.threads.clone();
    threads.retain(|count| (1..=cpus).contains(count));
    if threads.is_empty() {
        return Err(named(format!(
            "none of its thread counts is within 1 to {cpus}, the CPUs of {}",
            place.name()
        )));
    }
    let plan = ExplainPlan {
        lock: tuned.composition.clone(),
        machine: place.name().to_owned(),
        policy,
        threads,
        info: super::workload(&tuned.workload)?,
        seed: tuned.seed,
    };
    super::arm()?;
    let mut progress = Progress::new(explain::expected(&plan), false);
    let explained = explain::explain(&plan, &mut |at, info, settings| match at {
        Where::Home => home(&place, &told, info, settings, &mut progress),
        Where::On(machine) => {
            let machine =
                shipped::find(machine).ok_or_else(|| format!("{machine} is unavailable"))?;
            let simulator = Arc::new(Simulator::new(machine));
            there(&simulator, Vec::new(), info, settings, &mut progress)
        }
    });
    drop(progress);
    let explained = match explained {
        Ok(explained) => explained,
        Err(Stop::Signal(status)) => return Ok(ExitCode::from(status)),
        Err(Stop::Failed(why)) => return Err(Problem::refused(why)),
    };
    if arguments.program.json {
        page::print_json(place.origin(), &explained)?;
    } else {
        page::print(&words(&explained, &plan, &read))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn home(
    place: &Testbed,
    told: &Table,
    info: &'static Info,
    settings: &[Setting],
    progress: &mut Progress,
) -> Result<Vec<Point>, Stop> {
    match place {
        Testbed::Here(host) => here(info, host, settings, Effort::Steady, progress),
        Testbed::There(simulator) => there(simulator, told.clone(), info, settings, progress),
    }
}

fn there(
    simulator: &Arc<Simulator>,
    told: Table,
    info: &'static Info,
    settings: &[Setting],
    progress: &mut Progress,
) -> Result<Vec<Point>, Stop> {
    let course = Course::tuning(Effort::Steady, Placement::Cores, told);
    simulated::measure(info, simulator, &course, settings, progress).map_err(Stop::from)
}

fn percent(gain: &Gain) -> String {
    format!("{:+.1} ±{:.1}", 100.0 * gain.gain, 100.0 * gain.unsure)
}

fn words(explained: &Explained, plan: &ExplainPlan, read: &File) -> String {
    let mut head = format!(
        "{} on {}: {}, {} to {} threads, under {}",
        explained.lock,
        plan.machine,
        plan.info.name,
        plan.threads.first().unwrap_or(&1),
        plan.threads.last().unwrap_or(&1),
        plan.policy.name()
    );
    if read.lock != explained.lock {
        head += &format!(
            ". The file's lock is {}, not a composition, and faster by {:.1} %; the best composition \
             is explained instead",
            read.lock,
            100.0 * read.tuned.behind
        );
    }
    let sections = [
        page::prose(&head),
        choices(explained),
        bounds(explained, plan),
        control(explained),
        elsewhere(explained, plan),
    ];
    sections.join("\n\n")
}

fn under(about: &str, table: String) -> String {
    format!("{}\n\n{table}", page::prose(about))
}

fn choices(explained: &Explained) -> String {
    let all = Basic::ALL.map(Basic::name);
    let titles = ["level"].into_iter().chain(all).chain(["left out"]);
    let titles: Vec<&str> = titles.collect();
    let mut table = page::titled(&titles);
    for choice in &explained.choices {
        let mut row = vec![choice.level.to_owned()];
        row.extend(all.map(|lock| {
            let swapped = choice.swapped.iter().find(|(other, _)| *other == lock);
            swapped.map_or_else(|| "is it".to_owned(), |(_, gain)| percent(gain))
        }));
        row.push(choice.left_out.as_ref().map_or_else(String::new, percent));
        table.add_row(row);
    }
    under(
        "Gain by another lock at one level, or without the level, in percent, with the half width \
         of the 95 % interval:",
        page::lines(table, 1..titles.len()),
    )
}

fn bounds(explained: &Explained, plan: &ExplainPlan) -> String {
    let mut table = page::titled(&[
        "bound",
        "a second",
        "percent",
        "Jain's index",
        "least served",
    ]);
    for bound in &explained.bounds {
        table.add_row([
            bound.hand_offs.to_string(),
            figure(bound.per_second),
            percent(&bound.gain),
            format!("{:.3}", bound.jain),
            format!("{:.2}", bound.least),
        ]);
    }
    let most = plan.threads.last().unwrap_or(&1);
    under(
        &format!(
            "Throughput and fairness by hand-off bound, with {most} threads (least served: work of \
             that thread over the mean):"
        ),
        page::lines(table, 0..5),
    )
}

fn control(explained: &Explained) -> String {
    let rivals = explained.control.first().map_or(&[][..], |row| &row.gains);
    let titles = ["threads", "a second"].into_iter();
    let titles: Vec<&str> = titles.chain(rivals.iter().map(|(name, _)| *name)).collect();
    let mut table = page::titled(&titles);
    for row in &explained.control {
        let mut cells = vec![row.threads.to_string(), figure(row.per_second)];
        cells.extend(row.gains.iter().map(|(_, gain)| percent(gain)));
        table.add_row(cells);
    }
    under(
        &format!("Under {CONTROL}, another workload, with the gain of other locks in percent:"),
        page::lines(table, 0..titles.len()),
    )
}

fn elsewhere(explained: &Explained, plan: &ExplainPlan) -> String {
    let mut table = page::titled(&["machine", "threads", "percent", "own composition", "levels"]);
    for row in &explained.elsewhere {
        let [locks, levels] = field::short(&row.own);
        let threads = row.threads.to_string();
        table.add_row([row.machine, &threads, &percent(&row.gain), &locks, &levels]);
    }
    under(
        &format!(
            "On other machines under {}, against their own best:",
            plan.info.name
        ),
        page::lines(table, 1..3),
    )
}
