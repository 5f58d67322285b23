//! The tests that every lock takes: alone, handed over, by keys, in crowds, and with readers.

use crate::peers::PeerKind;
use serde::Serialize;

/// Kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// Nanoseconds per pair or hand-over: less is better.
    Nanoseconds,
    /// Critical sections per second: more is better.
    Throughput,
}

/// The locks that take a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// Locks of a single owner.
    Single,
    /// Rwlocks.
    Shared,
    /// Locks found by keys.
    Keyed,
}

impl Locks {
    /// Whether locks of a kind are among them.
    pub fn has(self, kind: PeerKind) -> bool {
        self == match kind {
            PeerKind::Keyed => Self::Keyed,
            PeerKind::Shared => Self::Shared,
            _ => Self::Single,
        }
    }
}

/// Test applied to every lock.
pub struct Point {
    /// Its name on the command line and in file names.
    pub name: String,
    /// Its description.
    pub about: String,
    /// Its figure.
    pub figure: Figure,
    /// The locks that take it.
    pub locks: Locks,
    /// Its load's name and options, but for its duration.
    pub words: Vec<String>,
    /// The number of threads in a crowd.
    pub threads: Option<u16>,
    /// The duration of a run in seconds.
    pub seconds: f64,
    /// Whether it is confined to the first CPU.
    pub on_one_cpu: bool,
    /// Busy processes beside it.
    pub neighbours: u16,
}

/// The crowds to measure: every combination, except that neighbours come with the second gap only,
/// or with a single one.
#[derive(Clone, Debug, clap::Args)]
pub struct Grid {
    /// Threads of the crowds
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [2, 8, 64],
        value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: Vec<u16>,
    /// Critical sections, in nanoseconds
    #[arg(long, value_name = "NS", value_delimiter = ',', default_values_t = [200, 2000])]
    sections: Vec<u32>,
    /// Time between two acquisitions of a thread, in nanoseconds
    #[arg(long, value_name = "NS", value_delimiter = ',', default_values_t = [100, 1000, 10_000])]
    gaps: Vec<u32>,
    /// Busy processes beside the crowd
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [0, 2],
        value_parser = clap::value_parser!(u16).range(..=64))]
    neighbours: Vec<u16>,
    /// Percentages of reads under rwlocks
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_values_t = [50, 90, 99, 100],
        value_parser = clap::value_parser!(u8).range(..=100))]
    reads: Vec<u8>,
}

/// Durations of runs: a thread that has lost its CPU must get it back several times.
const SECONDS: [(u16, f64); 6] = [
    (2, 0.05),
    (4, 0.06),
    (8, 0.08),
    (16, 0.1),
    (32, 0.15),
    (64, 0.2),
];

/// Numbers of keys with locks: one as in `cohort bar`, enough for locks that fit the caches, and
/// more.
const KEYS: [&str; 3] = ["1", "512", "65536"];

/// Sections and gaps of readers and writers, in nanoseconds.
const SHARED: (u32, u32) = (200, 1000);

/// Every point of the grid.
pub fn points(grid: &Grid) -> Vec<Point> {
    let mut all = vec![alone(), visit()];
    all.extend([200, 2000].map(hand_over));
    all.extend(KEYS.map(keys));
    for section in &grid.sections {
        for gap in &grid.gaps {
            for neighbours in &grid.neighbours {
                let usual = grid.gaps.get(1).or(grid.gaps.first());
                if *neighbours == 0 || Some(gap) == usual {
                    let threads = grid.threads.iter();
                    all.extend(threads.map(|threads| crowd(*threads, *section, *gap, *neighbours)));
                }
            }
        }
    }
    for reads in &grid.reads {
        all.extend(grid.threads.iter().map(|threads| shared(*threads, *reads)));
    }
    all
}

/// A load's words.
fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A time in its unit.
fn duration(nanoseconds: u32) -> String {
    match nanoseconds {
        short if short < 1000 => format!("{short} ns"),
        long if long.is_multiple_of(1000) => format!("{} µs", long / 1000),
        long => format!("{} µs", f64::from(long) / 1e3),
    }
}

/// A text as a part of a file's name.
fn plain(text: &str) -> String {
    text.replace(' ', "").replace('µ', "u")
}

fn alone() -> Point {
    Point {
        name: "alone".to_owned(),
        about: "acquire and release, on one CPU, while two other threads sleep".to_owned(),
        figure: Figure::Nanoseconds,
        locks: Locks::Single,
        words: words(&["alone"]),
        threads: None,
        seconds: 0.04,
        on_one_cpu: true,
        neighbours: 0,
    }
}

fn visit() -> Point {
    Point {
        name: "visit".to_owned(),
        about: "acquire and release a free lock that another CPU had last".to_owned(),
        words: words(&["hand-over", "--visit"]),
        on_one_cpu: false,
        ..alone()
    }
}

fn hand_over(hold: u32) -> Point {
    let time = duration(hold);
    Point {
        name: format!("hand-over-{}", plain(&time)),
        about: format!("from release until the waiter, who came {time} before, is inside"),
        words: words(&["hand-over", "--hold", &hold.to_string()]),
        on_one_cpu: false,
        ..alone()
    }
}

fn keys(keys: &str) -> Point {
    let turns = match keys {
        "1" => "the lock of one key".to_owned(),
        _ => format!("the locks of {keys} keys in turn"),
    };
    Point {
        name: format!("keys-{keys}"),
        about: format!("acquire and release {turns}, one thread on one CPU"),
        locks: Locks::Keyed,
        words: words(&["keys", "--keys", keys]),
        seconds: 0.1,
        ..alone()
    }
}

/// `words` for a crowd.
fn crowded(load: &str, threads: u16, (section, gap): (u32, u32)) -> Vec<String> {
    let numbers = [u32::from(threads), section, gap].map(|number| number.to_string());
    let [threads, section, gap] = &numbers;
    let options = ["--threads", threads, "--section", section, "--gap", gap];
    words(&[&[load, "--latency"], &options[..]].concat())
}

fn crowd(threads: u16, section: u32, gap: u32, neighbours: u16) -> Point {
    let (of, apart) = (duration(section), duration(gap));
    let beside = match neighbours {
        0 => String::new(),
        number => format!("-beside{number}"),
    };
    let known = SECONDS.iter().find(|(size, _)| *size == threads);
    Point {
        name: format!("crowd-{}-{}-{threads}{beside}", plain(&of), plain(&apart)),
        about: format!("{threads} threads, sections of {of}, {apart} apart")
            + &match neighbours {
                0 => String::new(),
                number => format!(", beside {number} busy processes"),
            },
        figure: Figure::Throughput,
        words: crowded("crowd", threads, (section, gap)),
        threads: Some(threads),
        seconds: known.map_or(0.2, |(_, seconds)| *seconds) * f64::from(1 + neighbours),
        on_one_cpu: false,
        neighbours,
        ..alone()
    }
}

fn shared(threads: u16, reads: u8) -> Point {
    let mut words = crowded("share", threads, SHARED);
    words.extend(["--readers".to_owned(), reads.to_string()]);
    Point {
        name: format!("reads-{reads}-{threads}"),
        about: format!("{threads} threads under a rwlock, {reads} % reads"),
        locks: Locks::Shared,
        words,
        ..crowd(threads, SHARED.0, SHARED.1, 0)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        grid: Grid,
    }

    /// The points of some options.
    pub fn of(options: &str) -> Vec<Point> {
        let words = std::iter::once("points").chain(options.split_whitespace());
        points(&Words::parse_from(words).grid)
    }

    #[test]
    fn names_are_unique_and_good_for_files() {
        let points = of("--gaps 100,1500 --threads 3");
        for (place, point) in points.iter().enumerate() {
            let first = points.iter().position(|other| other.name == point.name);
            assert_eq!(first, Some(place), "{}", point.name);
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
            assert!(point.name.chars().all(is_plain), "{}", point.name);
        }
        assert!(
            points
                .iter()
                .any(|point| point.name == "crowd-200ns-1.5us-3-beside2")
        );
    }

    #[test]
    fn neighbours_come_with_one_gap() {
        let count = |options: &str| {
            let points = of(options);
            points.iter().filter(|point| point.neighbours > 0).count()
        };
        assert_eq!(count("--threads 2 --sections 200"), 1);
        assert_eq!(count("--threads 2 --sections 200 --gaps 5"), 1);
        assert_eq!(count("--neighbours 0"), 0);
    }
}
