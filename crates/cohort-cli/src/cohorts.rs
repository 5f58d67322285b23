//! Files of cohorts: what locks are told instead of the machine's.

use crate::problem::Problem;
use cohort::door::cohorts::read;
use cohort::door::{Level, set_cohorts};
use std::path::Path;

/// A file's text, without what only people read, in one line.
pub fn text(file: &Path) -> Result<String, Problem> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Problem::usage(format!("cannot read {}: {error}", file.display())))?;
    read(&text, &mut |_, _, _| ())
        .map_err(|mistake| Problem::usage(format!("{}, {mistake}", file.display())))?;
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.collect::<Vec<_>>().join("; "))
}

/// Tells them to the locks of this process.
pub fn tell(text: &str) -> Result<(), Problem> {
    set_cohorts(text).map_err(|mistake| Problem::usage(mistake.to_string()))
}

/// The cohort of each of that many CPUs, by level; CPUs that a level leaves out are in
/// one more cohort together.
pub fn table(text: &str, cpus: usize) -> Result<Vec<(String, Vec<usize>)>, Problem> {
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
            "there is no CPU {cpu}: the machine has {cpus}"
        )));
    }
    let filled = |(level, cohorts): (Level, Vec<Option<usize>>)| {
        let rest = cohorts.iter().flatten().max().map_or(0, |last| last + 1);
        let cohorts = cohorts.into_iter().map(|cohort| cohort.unwrap_or(rest));
        (level.name().to_owned(), cohorts.collect())
    };
    Ok(levels.into_iter().map(filled).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_left_out_is_in_one_more_cohort() {
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
