//! Studies as text for users.

use crate::survey;
use cohort_cli::page;
use cohort_lab::compare::{Answer, Row as Compared};
use cohort_lab::study::list::ABSENT;
use cohort_lab::study::page::{in_words, interval};
use cohort_lab::study::{Conclusion, Found, ONE_CPU, Studied, StudiedCase};
use cohort_lab::survey::judge::in_digits;
use cohort_lab::survey::list::Row;

/// Every program and what it does, or which package is missing for it; and programs that are absent.
pub fn list(rows: &[Row]) -> String {
    let absent: Vec<String> = ABSENT
        .iter()
        .map(|(name, why)| format!("No study: {name}: {why}."))
        .collect();
    format!(
        "{}\n\n{}",
        survey::show::list(rows),
        page::prose(&absent.join("\n"))
    )
}

/// The matrix of gains, each program's conclusion, and the losses.
pub fn text(found: &[Studied], rounds: usize) -> String {
    let mut parts = Vec::new();
    let locks = locks(found);
    if let Some(matrix) = matrix(found, &locks) {
        parts.push(format!("{matrix}\n\n{}", legend(rounds)));
    }
    let conclusions: Vec<String> = found.iter().map(conclusion).collect();
    parts.push(page::prose(&conclusions.join("\n")));
    let losses: Vec<String> = found
        .iter()
        .flat_map(|program| {
            program.losses().map(|(lock, threads, gain)| {
                let threads = page::counted(threads as usize, "thread", "threads");
                format!("  {}, {lock}, {threads}: {}", program.name, interval(gain))
            })
        })
        .collect();
    if !losses.is_empty() {
        parts.push(page::prose(&format!(
            "Slower than the C library's locks:\n{}",
            losses.join("\n")
        )));
    }
    if found.iter().any(was_disturbed) {
        parts.push(page::prose(
            "Other processes used the CPUs: repeat on an idle machine.",
        ));
    }
    parts.join("\n\n")
}

/// All contestants but the system's locks, in their order.
fn locks(found: &[Studied]) -> Vec<String> {
    let mut locks: Vec<String> = Vec::new();
    for case in found.iter().flat_map(Studied::cases) {
        for row in case.rows().skip(1) {
            if !locks.contains(&row.lock) {
                locks.push(row.lock.clone());
            }
        }
    }
    locks
}

fn matrix(found: &[Studied], locks: &[String]) -> Option<String> {
    let short = locks.iter().map(|lock| match lock.as_str() {
        ONE_CPU => "one CPU",
        lock => lock.split(" (").next().unwrap_or(lock),
    });
    let titles = ["program", "threads", "seconds"].into_iter().chain(short);
    let titles: Vec<&str> = titles.collect();
    let mut table = page::titled(&titles);
    for program in found {
        for (place, case) in program.cases().iter().enumerate() {
            let name = if place == 0 {
                program.name.as_str()
            } else {
                ""
            };
            let system = case.rows().next().and_then(|row| row.figure);
            let seconds = system.map_or_else(|| "-".to_owned(), |one| format!("{:.3}", one.median));
            let gains = locks
                .iter()
                .map(|lock| gain(case.rows().skip(1).find(|row| row.lock == *lock)));
            let cells = [name.to_owned(), case.threads.to_string(), seconds];
            table.add_row(cells.into_iter().chain(gains));
        }
    }
    let figures = 1..titles.len();
    (!table.is_empty()).then(|| page::lines(table, figures))
}

/// A gain with the mark of its answer.
fn gain(row: Option<&Compared>) -> String {
    let Some(row) = row else {
        return "-".to_owned();
    };
    if row.failure.is_some() {
        return "FAILED".to_owned();
    }
    let Some(gain) = row.gain else {
        return "-".to_owned();
    };
    let mark = match row.answer {
        Some(Answer::Better) => "+",
        Some(Answer::Worse) => "-",
        Some(Answer::Unsure) => "?",
        _ => " ",
    };
    format!("{}{mark}", in_digits(gain.median))
}

fn legend(rounds: usize) -> String {
    let medians = match rounds {
        1 => "a single round".to_owned(),
        rounds => format!("medians of {rounds} rounds"),
    };
    page::prose(&format!(
        "Seconds under the C library's locks, and gains over them: {medians}, above 1 is faster. `+` \
         and `-` mark gains and losses beyond the interval, `?` too few rounds."
    ))
}

fn conclusion(program: &Studied) -> String {
    let said = match (&program.found, &program.conclusion) {
        (Found::NotHere(what), _) => format!("missing: {what}"),
        (_, Conclusion::Failed { why }) => format!("FAILED: {why}"),
        (_, conclusion) => in_words(conclusion),
    };
    format!("{}: {said}", program.name)
}

fn was_disturbed(program: &Studied) -> bool {
    program
        .cases()
        .iter()
        .flat_map(StudiedCase::rows)
        .any(|row| row.disturbed > 0)
}
