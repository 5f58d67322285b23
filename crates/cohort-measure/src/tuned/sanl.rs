//! Thresholds of `sanl` for `--config`, with their origin.

use super::origin::Origin;
use crate::Span;
use crate::plot::figure;
use cohort::{Idle, Thresholds, WHOLE};
use serde::Deserialize;
use std::ops::RangeInclusive;
use toml::Spanned;

/// Output of `cohort tune sanl` for a machine of that name.
static SHIPPED: &[(&str, &str)] = &[
    (
        "opteron-6274x8",
        include_str!("shipped-sanl/opteron-6274x8.toml"),
    ),
    (
        "xeon-e7-4850x4",
        include_str!("shipped-sanl/xeon-e7-4850x4.toml"),
    ),
];

/// The names of machines with shipped files.
pub fn machines() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(machine, _)| *machine)
}

/// The shipped text for that machine, if any.
#[must_use]
pub fn shipped(machine: &str) -> Option<&'static str> {
    let file = SHIPPED.iter().find(|(name, _)| *name == machine);
    file.map(|(_, text)| *text)
}

/// Table `[sanl]` of a configuration file; missing values keep their defaults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Table {
    theta_l: Option<Spanned<f64>>,
    theta_f: Option<Spanned<f64>>,
    l_s: Option<[Spanned<f64>; 3]>,
    l_s_most: Option<Spanned<i64>>,
    t_s: Option<Spanned<i64>>,
    t_w: Option<Spanned<String>>,
    boundary: Option<Spanned<i64>>,
    /// The origin of the values.
    pub tuned: Option<Origin>,
}

/// Mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Its byte offset.
    pub at: usize,
    /// What was found and expected there.
    pub why: String,
}

impl Table {
    /// The thresholds.
    ///
    /// # Errors
    /// The place of a value out of range.
    pub fn thresholds(&self) -> Result<Thresholds, Wrong> {
        let usual = Thresholds::USUAL;
        let share = |value: &Option<Spanned<f64>>, usual| {
            let Some(value) = value else { return Ok(usual) };
            let share = real(value, 0.0..=1.0)?;
            Ok((share * f64::from(WHOLE)).round() as u32)
        };
        let count = |value: &Option<Spanned<i64>>, least, usual| match value {
            Some(value) => whole(value, least..=Thresholds::MOST.into()),
            None => Ok(usual),
        };
        let largest = Idle::LARGEST as f64 / 1e6;
        let mut by = usual.idle.by;
        for (by, value) in by.iter_mut().zip(self.l_s.iter().flatten()) {
            *by = millionths(real(value, -largest..=largest)?);
        }
        Ok(Thresholds {
            serves: count(&self.t_s, 1, usual.serves)?,
            waits: self.t_w.as_ref().map_or(Ok(usual.waits), waits)?,
            brings: share(&self.theta_l, usual.brings)?,
            strict: share(&self.theta_f, usual.strict)?,
            boundary: count(&self.boundary, 0, usual.boundary)?,
            idle: Idle {
                by,
                most: count(&self.l_s_most, 0, usual.idle.most)?,
            },
        })
    }
}

/// The thresholds shipped for that machine, if any.
///
/// # Panics
/// Never: a test reads all shipped files.
#[must_use]
pub fn shipped_thresholds(machine: &str) -> Option<Thresholds> {
    let table = read(shipped(machine)?).expect("shipped files are sound");
    Some(table.thresholds().expect("shipped files are sound"))
}

fn read(text: &str) -> Result<Table, toml::de::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        sanl: Table,
    }
    toml::from_str(text).map(|written: Written| written.sanl)
}

/// The text of a file of thresholds profiled with that many threads, below the command that made it.
#[must_use]
pub fn text(command: &str, thresholds: &Thresholds, origin: &Origin) -> String {
    let share = |units: u32| figure(f64::from(units) / f64::from(WHOLE));
    let [constant, linear, square] = thresholds.idle.by.map(|by| by as f64 / 1e6);
    format!(
        "# {command}\n\n\
         [sanl]\n\
         # Contention, the share of a thread's time from acquire to release, from which on it votes\n\
         # for delegation, and for waiting for a server of its own NUMA node.\n\
         theta-l = {}\n\
         theta-f = {}\n\
         # Fruitless polls before a server leaves: a + b/C + c/C² at contention C, and their maximum.\n\
         l-s = [{constant:?}, {linear:?}, {square:?}]\n\
         l-s-most = {}\n\
         # Not profiled: rounds of a server, timeout of a client, mode changes.\n\
         t-s = {}\n\
         t-w = \"{}\"\n\
         boundary = {}\n\n\
         [sanl.tuned]\n\
         {origin}",
        share(thresholds.brings),
        share(thresholds.strict),
        thresholds.idle.most,
        thresholds.serves,
        Span::Nanoseconds(thresholds.waits),
        thresholds.boundary,
    )
}

/// A coefficient in millionths, limited to the range of thresholds.
#[must_use]
pub fn millionths(coefficient: f64) -> i64 {
    let largest = Idle::LARGEST as f64;
    (coefficient * 1e6).round().clamp(-largest, largest) as i64
}

fn real(value: &Spanned<f64>, range: RangeInclusive<f64>) -> Result<f64, Wrong> {
    let found = *value.get_ref();
    if range.contains(&found) {
        return Ok(found);
    }
    Err(Wrong {
        at: value.span().start,
        why: format!(
            "found {found}, expected {} to {}",
            range.start(),
            range.end()
        ),
    })
}

fn whole(value: &Spanned<i64>, range: RangeInclusive<i64>) -> Result<u32, Wrong> {
    let found = *value.get_ref();
    let number = u32::try_from(found).ok().filter(|_| range.contains(&found));
    number.ok_or_else(|| Wrong {
        at: value.span().start,
        why: format!(
            "found {found}, expected {} to {}",
            range.start(),
            range.end()
        ),
    })
}

/// A client's patience in nanoseconds.
fn waits(value: &Spanned<String>) -> Result<u64, Wrong> {
    match value.get_ref().parse() {
        Ok(Span::Nanoseconds(nanoseconds @ 1..)) => Ok(nanoseconds),
        _ => Err(Wrong {
            at: value.span().start,
            why: format!(
                "found `{}`, expected a time such as \"100us\"",
                value.get_ref()
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Shape;
    use super::*;
    use cohort_machine::description::shipped as machine;
    use cohort_world::simulated::Simulator;

    fn written() -> String {
        let thresholds = Thresholds {
            brings: 64,
            strict: WHOLE,
            idle: Idle {
                by: [2.0, -0.5, 0.125].map(millionths),
                most: 1_000,
            },
            ..Thresholds::USUAL
        };
        let origin = Origin {
            machine: "mine".to_owned(),
            fingerprint: Some("f00".to_owned()),
            shape: "numa:2 cpus:64".to_owned(),
            threads: Some(63),
            seed: 1,
        };
        text("cohort tune sanl", &thresholds, &origin)
    }

    #[test]
    fn a_file_is_read_as_it_is_written() {
        let text = written();
        assert!(text.starts_with("# cohort tune sanl\n"), "{text}");
        let read = read(&text).unwrap();
        let expected = Thresholds {
            brings: 64,
            strict: WHOLE,
            idle: Idle {
                by: [2_000_000, -500_000, 125_000],
                most: 1_000,
            },
            ..Thresholds::USUAL
        };
        assert_eq!(read.thresholds().unwrap(), expected);
        let tuned = read.tuned.unwrap();
        assert_eq!(tuned.machine, "mine");
        let shape: Shape = "numa:2 cpus:64".parse().unwrap();
        assert_eq!(tuned.stranger("mine", Some("f00"), &shape), None);
        assert!(tuned.stranger("mine", Some("f01"), &shape).is_some());
        assert!(tuned.stranger("mine", None, &shape).is_some());
    }

    #[test]
    fn missing_values_keep_their_defaults() {
        let usual = read("[sanl]\n").unwrap().thresholds();
        assert_eq!(usual, Ok(Thresholds::USUAL));
        let some = read("[sanl]\ntheta-l = 0.25\n").unwrap().thresholds();
        let expected = Thresholds {
            brings: WHOLE / 4,
            ..Thresholds::USUAL
        };
        assert_eq!(some, Ok(expected));
    }

    #[test]
    fn what_is_out_of_range_is_told_with_its_place() {
        for (from, to, why) in [
            (
                "theta-l = 0.0625",
                "theta-l = 6.25",
                "found 6.25, expected 0 to 1",
            ),
            ("t-s = 100", "t-s = 0", "found 0, expected 1 to 1000000"),
            (
                "t-w = \"100us\"",
                "t-w = \"100\"",
                "found `100`, expected a time",
            ),
            ("boundary = 4", "boundary = -1", "found -1, expected 0 to"),
            ("-0.5", "1e9", "found 1000000000, expected -8000 to 8000"),
        ] {
            let text = written();
            assert!(text.contains(from), "{from}: {text}");
            let table = read(&text.replacen(from, to, 1)).unwrap();
            let wrong = table.thresholds().unwrap_err();
            assert!(wrong.why.contains(why), "{wrong:?}");
            assert!(wrong.at > 0, "{wrong:?}");
        }
    }

    #[test]
    fn the_shipped_files_are_of_their_machines() {
        for name in machines() {
            let tuned = read(shipped(name).unwrap()).unwrap().tuned.unwrap();
            let simulator = Simulator::new(machine::find(name).unwrap());
            let shape = Shape::of(simulator.topology());
            let fingerprint = Some(&*simulator.machine().fingerprint);
            assert_eq!(tuned.stranger(name, fingerprint, &shape), None, "{name}");
            assert_eq!(tuned.threads, Some(simulator.topology().cpus().len() - 1));
            assert!(shipped_thresholds(name).unwrap().are_sound());
        }
    }
}
