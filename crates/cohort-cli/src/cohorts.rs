//! Cohorts files, which replace the machine's cohorts for locks.

use crate::problem::Problem;
use cohort::door::cohorts::{What, read};
use cohort::door::{Level, set_cohorts};
use cohort_measure::tuned::shape::Shape;
use cohort_topology::Topology;
use std::collections::BTreeMap;
use std::path::Path;

/// Cohorts for locks, by level.
pub type Table = Vec<(String, Vec<usize>)>;

/// A file's text in one line, without comments.
///
/// # Errors
/// The mistake, with the file and the line: no list of cohorts, a CPU in two cohorts of a level, or
/// levels that do not nest.
pub fn text(file: &Path) -> Result<String, Problem> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Problem::usage(format!("cannot read {}: {error}", file.display())))?;
    read(&text, &mut |_, _, _| ()).map_err(|mistake| {
        let line = text.lines().nth(mistake.line - 1).unwrap_or_default();
        let word = line.split_whitespace().next().unwrap_or_default();
        let hint = match mistake.what {
            What::NoLevel => cohort_nearest::hint(word, Level::REPORTED.map(Level::name)),
            _ => String::new(),
        };
        Problem::usage(format!("{}, {mistake}{hint}", file.display()))
    })?;
    check_shape(file, &text, None)?;
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.collect::<Vec<_>>().join("; "))
}

/// Sets the cohorts for the locks of this process.
pub fn tell(text: &str) -> Result<(), Problem> {
    set_cohorts(text).map_err(|mistake| Problem::usage(mistake.to_string()))
}

/// The cohort of each of `cpus` CPUs, by level; CPUs missing in a level form one more cohort.
pub fn table(text: &str, cpus: usize) -> Result<Table, Problem> {
    let mut levels: Vec<(Level, Vec<Option<usize>>)> = Vec::new();
    let mut beyond = None;
    read(text, &mut |level, cohort, cpu| {
        let known = levels.iter().position(|(known, _)| *known == level);
        let at = known.unwrap_or_else(|| {
            levels.push((level, vec![None; cpus]));
            levels.len() - 1
        });
        match levels[at].1.get_mut(cpu) {
            Some(place) => *place = Some(cohort),
            None => beyond = beyond.or(Some(cpu)),
        }
    })
    .map_err(|mistake| Problem::usage(mistake.to_string()))?;
    if let Some(cpu) = beyond {
        return Err(Problem::usage(format!(
            "no CPU {cpu}: the machine has {cpus}"
        )));
    }
    let filled = |(level, cohorts): (Level, Vec<Option<usize>>)| {
        let rest = cohorts.iter().flatten().max().map_or(0, |last| last + 1);
        let cohorts = cohorts.into_iter().map(|cohort| cohort.unwrap_or(rest));
        (level.name().to_owned(), cohorts.collect())
    };
    Ok(levels.into_iter().map(filled).collect())
}

/// The topology of these CPUs by a table of cohorts.
pub fn topology(table: &Table, cpus: &[usize]) -> Topology {
    let mut levels = table.clone();
    levels.sort_by_key(|(name, _)| Level::named(name).map(|level| level as usize));
    for (_, cohorts) in &mut levels {
        *cohorts = cpus.iter().map(|cpu| cohorts[*cpu]).collect();
    }
    levels.push(("system".to_owned(), vec![0; cpus.len()]));
    Topology::new(cpus.to_vec(), levels)
}

/// The shape of this machine, by the cohorts for locks; none if those are another machine's.
pub fn shape_here(cohorts: Option<&Path>) -> Result<Option<String>, Problem> {
    let own = cohort_topology::here().map_err(Problem::refused)?;
    let Some(file) = cohorts else {
        return Ok(Some(Shape::of(&own).to_string()));
    };
    let text = text(file)?;
    let count = own.cpus().last().map_or(0, |last| last + 1);
    let table = table(&text, count).ok();
    Ok(table.map(|table| Shape::of(&topology(&table, own.cpus())).to_string()))
}

/// Checks that a file's cohorts consist of these CPUs, each in one cohort of a level, and nest.
///
/// # Errors
/// The mistake, with the file and the line.
pub fn check(file: &Path, cpus: &[usize]) -> Result<(), Problem> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Problem::usage(format!("cannot read {}: {error}", file.display())))?;
    check_shape(file, &text, Some(cpus))
}

/// [`check`] for a file's text; for any CPUs if none are given.
fn check_shape(file: &Path, text: &str, cpus: Option<&[usize]>) -> Result<(), Problem> {
    let at = |line: usize, what: &str| {
        let line = line + 1;
        Problem::usage(format!("{}, line {line}: {what}", file.display()))
    };
    // By level and CPU, the line, and the index of its cohort.
    let mut told: BTreeMap<usize, BTreeMap<usize, (usize, usize)>> = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let (mut missing, mut twice) = (None, None);
        read(line, &mut |level, cohort, cpu| {
            if cpus.is_some_and(|cpus| !cpus.contains(&cpu)) {
                missing = missing.or(Some(cpu));
            }
            let place = (number, cohort);
            let before = told.entry(level as usize).or_default().insert(cpu, place);
            if let Some(before) = before.filter(|before| *before != place) {
                twice = twice.or(Some((level, cpu, before.0 + 1)));
            }
        })
        .map_err(|mistake| at(number, &mistake.what.to_string()))?;
        if let Some(cpu) = missing
            && let Some(cpus) = cpus
        {
            let known = cohort_topology::list(cpus);
            let what = format!("no CPU {cpu}; the machine has {known}");
            return Err(at(number, &what));
        }
        if let Some((level, cpu, before)) = twice {
            let what = format!(
                "CPU {cpu} is in two cohorts of the level `{}`; the other is in line {before}",
                level.name()
            );
            return Err(at(number, &what));
        }
    }
    let levels: Vec<_> = told.iter().collect();
    for pair in levels.windows(2) {
        let [(small, inner), (large, outer)] = pair else {
            continue;
        };
        let mut of = BTreeMap::new();
        for (cpu, place) in *inner {
            let around = outer.get(cpu);
            if *of.entry(*place).or_insert(around) != around {
                let name = |level: usize| Level::ALL[level].name();
                return Err(at(
                    place.0,
                    &format!(
                        "the level `{}` does not nest in `{}`: these CPUs span several of its cohorts",
                        name(**small),
                        name(**large)
                    ),
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.cohorts");
        for (text, what) in [
            (
                "numa 0-1\nnuma 2-9\n",
                "line 2: no CPU 4; the machine has 0-3",
            ),
            (
                "# x\ncore 0,2\nnuma 0-1\nnuma 2-3\n",
                "line 2: the level `core` does not nest",
            ),
            (
                "numa 0-1\n\nnuma 1-3\n",
                "line 3: CPU 1 is in two cohorts of the level `numa`; the other is in line 1",
            ),
        ] {
            std::fs::write(&file, text).unwrap();
            let problem = check(&file, &[0, 1, 2, 3]).unwrap_err().to_string();
            assert!(problem.contains(what), "{problem}");
        }
        std::fs::write(&file, "numa 0-1\nnuma 2-3\ncore 0-1\n").unwrap();
        assert!(check(&file, &[0, 1, 2, 3]).is_ok());
        std::fs::write(&file, "cache 0-8\nnuma 0-3\nnuma 4-9\n").unwrap();
        let problem = text(&file).unwrap_err().to_string();
        assert!(problem.contains("line 1: the level `cache`"), "{problem}");
        std::fs::write(&file, "nuna 0-1\n").unwrap();
        let problem = text(&file).unwrap_err().to_string();
        assert!(
            problem.contains("line 1") && problem.contains("`numa`"),
            "{problem}"
        );
    }

    #[test]
    fn cpus_left_out_are_in_one_more_cohort() {
        let table = table("numa 0-1; core 3; numa 2", 5).unwrap();
        let find = |level: &str| table.iter().find(|(name, _)| name == level).unwrap();
        assert_eq!(find("numa").1, [0, 0, 1, 2, 2]);
        assert_eq!(find("core").1, [1, 1, 1, 0, 1]);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_a_mistake() {
        assert!(
            table("numa 0-7", 4)
                .unwrap_err()
                .to_string()
                .contains("CPU 4")
        );
    }
}
