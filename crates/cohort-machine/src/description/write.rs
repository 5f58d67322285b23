//! The text of a machine's file.

use super::costs::{
    Cache, CoreClass, Costs, Hit, Invalidation, Line, Memory, Scheduler, Smt, Transfer,
};
use super::figure::{Figure, Is, Megahertz, RANGE};
use super::hierarchy::Numbering;
use super::interconnect::{Hops, Link};
use super::machine::{Atomics, Machine, Protocol};
use super::read::{CONSECUTIVE, THREADS_APART};
use super::written::WrittenNumbering;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use toml_edit::{Array, Item, Value};

/// A machine in the order and under the keys of its file.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct File<'a> {
    name: &'a str,
    about: &'a str,
    described: &'a str,
    hierarchy: String,
    numbering: WrittenNumbering,
    clock: &'a Figure<Megahertz>,
    protocol: &'a Figure<Is<Protocol>>,
    atomics: &'a Figure<Is<Atomics>>,
    line: &'a Line,
    costs: &'a Costs,
    hit: &'a Hit,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    transfer: &'a [Transfer],
    invalidation: &'a Invalidation,
    memory: &'a Memory,
    cache: &'a Cache,
    #[serde(skip_serializing_if = "Option::is_none")]
    smt: Option<&'a Smt>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    class: &'a [CoreClass],
    #[serde(skip_serializing_if = "Option::is_none")]
    hops: Option<&'a Hops>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    link: &'a [Link],
    scheduler: &'a Scheduler,
}

/// As in its file, without the fingerprint.
impl Serialize for Machine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        File {
            name: &self.name,
            about: &self.about,
            described: &self.described,
            hierarchy: self.hierarchy.notation(),
            numbering: match self.hierarchy.numbering() {
                Numbering::Consecutive => WrittenNumbering::Rule(CONSECUTIVE.to_owned()),
                Numbering::ThreadsApart => WrittenNumbering::Rule(THREADS_APART.to_owned()),
                Numbering::Listed(list) => WrittenNumbering::List(list.clone()),
            },
            clock: &self.clock,
            protocol: &self.protocol,
            atomics: &self.atomics,
            line: &self.line,
            costs: &self.costs,
            hit: &self.hit,
            transfer: &self.transfers,
            invalidation: &self.invalidation,
            memory: &self.memory,
            cache: &self.cache,
            smt: self.smt.as_ref(),
            class: &self.classes,
            hops: self.hops.as_ref(),
            link: &self.links,
            scheduler: &self.scheduler,
        }
        .serialize(serializer)
    }
}

impl Machine {
    /// The text of a file that describes this machine.
    ///
    /// # Errors
    /// If TOML cannot represent a figure, such as a count beyond 2⁶³.
    pub fn to_toml(&self) -> Result<String, toml_edit::ser::Error> {
        let mut document = toml_edit::ser::to_document(self)?;
        for (key, item) in document.iter_mut() {
            spread(key.get(), item).map_err(toml_edit::ser::Error::custom)?;
        }
        Ok(document.to_string())
    }
}

/// Formats tables on several lines, and figures on one line each.
fn spread(key: &str, item: &mut Item) -> Result<(), String> {
    let owned = std::mem::take(item);
    *item = match owned {
        Item::Value(Value::InlineTable(table)) if !is_figure(&table) => {
            Item::Table(table.into_table())
        }
        Item::Value(Value::Array(array)) if array.get(0).is_some_and(Value::is_inline_table) => {
            Item::Value(Value::Array(array))
                .into_array_of_tables()
                .map(Item::ArrayOfTables)
                .map_err(|_| format!("`{key}` mixes tables and values"))?
        }
        other => other,
    };
    if let Item::Table(table) = item
        && let Some(matrix) = table.get_mut("matrix").and_then(Item::as_array_mut)
    {
        break_lines(matrix);
    }
    Ok(())
}

/// Whether a table consists of a value, perhaps its range, a source and a note.
pub fn is_figure(table: &toml_edit::InlineTable) -> bool {
    let ranged = usize::from(table.contains_key(RANGE));
    table.len() == 3 + ranged && table.contains_key("source") && table.contains_key("note")
}

/// Puts each row of a matrix on a line.
fn break_lines(matrix: &mut Array) {
    for row in matrix.iter_mut() {
        row.decor_mut().set_prefix("\n    ");
    }
    matrix.set_trailing("\n");
    matrix.set_trailing_comma(true);
}

#[cfg(test)]
mod tests {
    use super::super::shipped;
    use super::*;

    #[test]
    fn what_is_written_is_read_again_as_the_same_machine() {
        for file in shipped::all() {
            let machine = Machine::parse(file.text).unwrap();
            let text = machine.to_toml().unwrap();
            let again = Machine::parse(&text)
                .unwrap_or_else(|complaint| panic!("{}: {complaint}\n{text}", file.name));
            let fingerprint = machine.fingerprint.clone();
            assert_eq!(
                machine,
                Machine {
                    fingerprint,
                    ..again
                },
                "{}",
                file.name
            );
        }
    }

    #[test]
    fn shipped_files_have_the_form_in_which_files_are_written() {
        for file in shipped::all() {
            let text = Machine::parse(file.text).unwrap().to_toml().unwrap();
            assert_eq!(text, file.text, "{}", file.name);
        }
    }
}
