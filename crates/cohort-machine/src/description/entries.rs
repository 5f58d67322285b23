//! Every figure of a machine, in the order of its file.

use super::figure::{RANGE, Source};
use super::machine::Machine;
use super::write::is_figure;
use serde::Serialize;
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

/// A figure as written in a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Its table and key: `hit load`, `transfer within numa load`.
    pub figure: String,
    /// Its value, as written.
    pub value: String,
    /// The key of its value: `cycles`, `ns`, `mhz`, `count`, `ratio`, `ratios` or
    /// `is`.
    pub unit: String,
    /// The least and the greatest plausible value of an estimate, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[String; 2]>,
    /// The source.
    pub source: Source,
    /// The origin.
    pub note: String,
}

impl Machine {
    /// Every figure, in the order of the file.
    ///
    /// # Panics
    /// Never: what was read can be written.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let text = self.to_toml().expect("what was read can be written");
        let document: DocumentMut = text.parse().expect("what is written is TOML");
        let mut entries = Vec::new();
        collect(document.as_table(), "", &mut entries);
        entries
    }
}

/// An end of the range of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The least plausible value.
    Least,
    /// The greatest plausible value.
    Most,
}

impl End {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Least, Self::Most];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Least => "least",
            Self::Most => "most",
        }
    }
}

impl Machine {
    /// The machine with estimates at one end of their ranges: the entry of that name, or every
    /// entry with that last word, such as `occupancy`. Nothing else changes.
    ///
    /// # Errors
    /// No entry of that name has a range, or the machine at that end is unsound.
    pub fn at_end(&self, which: &str, end: End) -> Result<Self, String> {
        let text = self.to_toml().map_err(|error| error.to_string())?;
        let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
        if move_to(document.as_table_mut(), "", which, end) == 0 {
            return Err(format!(
                "found no estimate `{which}` with a range in {}, expected one: `cohort machines \
                 show` lists them",
                self.name
            ));
        }
        let moved = Self::parse(&document.to_string());
        let moved = moved.map_err(|complaint| {
            let end = end.name();
            format!(
                "{} with the {end} `{which}`: {}",
                self.name, complaint.message
            )
        })?;
        Ok(Self {
            name: format!("{}, {} {which}", self.name, end.name()),
            fingerprint: format!("{}, {} {which}", self.fingerprint, end.name()),
            ..moved
        })
    }
}

/// Sets these figures of a table to that end; returns their number.
fn move_to(table: &mut Table, place: &str, which: &str, end: End) -> usize {
    let mut moved = 0;
    for (key, item) in table.iter_mut() {
        let figure = format!("{place} {}", key.get()).trim_start().to_owned();
        match item {
            Item::Value(Value::InlineTable(written)) if is_figure(written) => {
                let named = figure == which || figure.rsplit(' ').next() == Some(which);
                let ends = range(written).map(|ends| ends.map(Value::clone));
                if let Some([least, most]) = ends.filter(|_| named) {
                    let value = match end {
                        End::Least => least,
                        End::Most => most,
                    };
                    written.remove(RANGE);
                    if let Some((_, old)) = written.iter_mut().next() {
                        *old = value;
                        moved += 1;
                    }
                }
            }
            Item::Table(table) => moved += move_to(table, &figure, which, end),
            Item::ArrayOfTables(tables) => {
                for table in tables.iter_mut() {
                    let place = format!("{figure} {}", self::which(table));
                    moved += move_to(table, &place, which, end);
                }
            }
            _ => {}
        }
    }
    moved
}

/// The ends of a figure's range.
fn range(written: &InlineTable) -> Option<[&Value; 2]> {
    let ends = written.get(RANGE)?.as_array()?;
    Some([ends.get(0)?, ends.get(1)?])
}

fn collect(table: &Table, place: &str, entries: &mut Vec<Entry>) {
    for (key, item) in table {
        let figure = format!("{place} {key}").trim_start().to_owned();
        match item {
            Item::Value(Value::InlineTable(written)) if is_figure(written) => {
                entries.extend(entry(figure, written));
            }
            Item::Table(table) => match cited(&figure, table) {
                Some(entry) => entries.push(entry),
                None => collect(table, &figure, entries),
            },
            Item::ArrayOfTables(tables) => {
                for table in tables {
                    collect(table, &format!("{figure} {}", which(table)), entries);
                }
            }
            _ => {}
        }
    }
}

fn entry(figure: String, written: &InlineTable) -> Option<Entry> {
    let (unit, value) = written.iter().next()?;
    Some(Entry {
        figure,
        value: plain(value),
        unit: unit.to_owned(),
        range: range(written).map(|ends| ends.map(plain)),
        source: source(written.get("source")?)?,
        note: plain(written.get("note")?),
    })
}

/// The entry of a table that is one figure, the matrix of hops.
fn cited(figure: &str, table: &Table) -> Option<Entry> {
    let value = |key| table.get(key).and_then(Item::as_value);
    let nodes = table.get("matrix")?.as_array()?.len();
    Some(Entry {
        figure: format!("{figure} between {}", plain(value("between")?)),
        value: format!("{nodes} × {nodes}"),
        unit: "matrix".to_owned(),
        range: None,
        source: source(value("source")?)?,
        note: plain(value("note")?),
    })
}

/// Distinguishes several tables of one kind.
fn which(table: &Table) -> String {
    let value = |key| table.get(key).and_then(Item::as_value).map(plain);
    let hops = match value("hops").as_deref() {
        None => String::new(),
        Some("1") => ", 1 hop".to_owned(),
        Some(hops) => format!(", {hops} hops"),
    };
    match (value("within"), value("between"), value("name")) {
        (Some(within), ..) => format!("within {within}{hops}:"),
        (None, Some(between), _) => format!("between {between}:"),
        (None, None, name) => format!("{}:", name.unwrap_or_default()),
    }
}

/// A value in plain notation.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.value().clone(),
        other => other.to_string().trim().to_owned(),
    }
}

fn source(value: &Value) -> Option<Source> {
    let named = |source: &Source| value.as_str() == Some(source.name());
    Source::ALL.into_iter().find(named)
}

#[cfg(test)]
mod tests {
    use super::super::shipped;
    use super::*;

    #[test]
    fn no_figure_is_left_out() {
        for file in shipped::all() {
            let entries = Machine::parse(file.text).unwrap().entries();
            let written = file.text.matches("source = ").count();
            assert_eq!(entries.len(), written, "{}", file.name);
        }
    }

    #[test]
    fn an_entry_tells_which_figure_it_is() {
        let entries = shipped::find("sunfire-x4800").unwrap().entries();
        let find = |figure: &str| {
            let found = entries.iter().find(|entry| entry.figure == figure);
            found.unwrap_or_else(|| panic!("{figure} is not among {entries:#?}"))
        };
        let load = find("transfer within system, 2 hops: load");
        assert_eq!((&*load.value, &*load.unit), ("430", "cycles"));
        assert_eq!(find("protocol").value, "MESIF");
        assert_eq!(find("hops between package").value, "8 × 8");
        assert_eq!(find("smt slowdown").value, "[1.0, 1.6]");
        assert_eq!(
            find("link between package: occupancy").source,
            Source::Vendor
        );
    }

    #[test]
    fn every_estimate_has_a_range_and_nothing_else_has() {
        for file in shipped::all() {
            for entry in shipped::find(file.name).unwrap().entries() {
                let ranged = entry.source == Source::Estimate && entry.unit != "is";
                assert_eq!(entry.range.is_some(), ranged, "{}: {entry:?}", file.name);
            }
        }
    }

    #[test]
    fn estimates_move_to_either_end_and_nothing_else_moves() {
        let machine = shipped::find("superdome-x").unwrap();
        for (which, count) in [("occupancy", 5), ("transfer within system: load", 1)] {
            let ends = End::BOTH.map(|end| machine.at_end(which, end).unwrap());
            let [least, most] = ends.map(|machine| machine.entries());
            let mut moved = 0;
            for ((entry, least), most) in machine.entries().iter().zip(least).zip(most) {
                match &entry.range {
                    Some(range) if least != *entry => {
                        assert_eq!([least.value, most.value], *range);
                        moved += 1;
                    }
                    _ => assert_eq!([&least, &most], [entry; 2]),
                }
            }
            assert_eq!(moved, count, "{which}");
        }
    }

    /// Every group of estimates that a file has can be moved to either end.
    #[test]
    fn a_machine_stays_sound_at_the_ends() {
        for file in shipped::all() {
            let machine = shipped::find(file.name).unwrap();
            let mut moved = 0;
            for entry in machine
                .entries()
                .iter()
                .filter(|entry| entry.range.is_some())
            {
                let which = entry.figure.rsplit(' ').next().unwrap();
                for end in End::BOTH {
                    let at = machine.at_end(which, end).unwrap();
                    assert_ne!(at.fingerprint, machine.fingerprint);
                    moved += 1;
                }
            }
            assert!(moved > 0, "{}", file.name);
        }
    }

    #[test]
    fn what_has_no_range_cannot_be_moved() {
        let machine = shipped::find("superdome-x").unwrap();
        for which in ["clock", "ocupancy", "transfer within numa: load"] {
            let message = machine.at_end(which, End::Most).unwrap_err();
            assert!(
                message.contains(&format!("no estimate `{which}`")),
                "{message}"
            );
        }
    }
}
