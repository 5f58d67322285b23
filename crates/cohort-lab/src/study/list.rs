//! The programs of the studies: rows of the papers' evaluations, and rows of the survey.

use crate::survey::list::{self, Row};

const ROWS: &str = include_str!("rows.toml");

/// Rows of the survey that are studies too.
const SURVEYED: [&str; 6] = [
    "berkeleydb",
    "mpich",
    "redis",
    "python-queue",
    "python-thread",
    "java-queue",
];

/// Files of the rows of a study.
const FILES: [(&str, &str, &str); 9] = [
    ("memcached", "serve", include_str!("programs/serve.sh")),
    ("malloc", "mmicro.c", include_str!("programs/mmicro.c")),
    ("sqlite", "tpcc.c", include_str!("programs/tpcc.c")),
    ("mariadb", "start", include_str!("programs/start.sh")),
    ("mariadb", "make", include_str!("programs/make.sh")),
    ("mariadb", "ask", include_str!("programs/ask.sh")),
    ("hamster", "store.c", include_str!("programs/store.c")),
    ("phoenix", "kernels.c", include_str!("programs/kernels.c")),
    ("splash", "scene.c", include_str!("programs/scene.c")),
];

/// Programs of the papers that no row runs, and why.
pub const ABSENT: [(&str, &str); 3] = [
    (
        "leveldb",
        "its bench is in no package; `rocksdb` continues it",
    ),
    (
        "mpi-bfs",
        "`mpich` exchanges messages as it does; `cohort reproduce` has a model of the search",
    ),
    (
        "java monitors",
        "the virtual machine's own locks, which Cohort cannot serve; `java` runs its queues",
    ),
];

/// The study of a row: its name up to the first hyphen.
#[must_use]
pub fn study(row: &Row) -> &str {
    row.name.split('-').next().unwrap_or(&row.name)
}

/// All rows, by study.
///
/// # Panics
/// If a row is wrong, which a test excludes.
#[must_use]
pub fn rows() -> Vec<Row> {
    let mut rows = list::read(ROWS).expect("sound rows");
    for row in &mut rows {
        let of_study = FILES.iter().filter(|(name, ..)| *name == study(row));
        let files: Vec<(String, String)> = of_study
            .map(|(_, file, text)| ((*file).to_owned(), (*text).to_owned()))
            .collect();
        row.files.extend(files);
    }
    let is_study = |row: &Row| SURVEYED.contains(&row.name.as_str());
    rows.extend(list::own().into_iter().filter(is_study));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_sound_and_differ() {
        let rows = rows();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
        for row in &rows {
            assert!(row.name.len() <= 16, "{}", row.name);
            assert!(
                !row.about.is_empty() && row.about.chars().count() <= 60,
                "{}: {}",
                row.name,
                row.about.chars().count()
            );
            assert!(!row.needs.is_empty(), "{}", row.name);
        }
        for name in SURVEYED {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn every_file_serves_a_row() {
        for (name, file, _) in FILES {
            let rows = rows();
            let mut of_study = rows.iter().filter(|row| study(row) == name);
            assert!(of_study.all(|row| row.files.contains_key(file)), "{name}");
            assert!(rows.iter().any(|row| study(row) == name), "{name}");
        }
    }
}
