//! Every figure of a machine, in the order of its file.

use super::figure::Source;
use super::machine::Machine;
use super::write::is_figure;
use serde::Serialize;
use toml_edit::{InlineTable, Item, Table, Value};

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
        let document: toml_edit::DocumentMut = text.parse().expect("what is written is TOML");
        let mut entries = Vec::new();
        collect(document.as_table(), "", &mut entries);
        entries
    }
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
}
