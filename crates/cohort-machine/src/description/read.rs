//! From the text of a file to a machine.

use super::costs::{
    Cache, CoreClass, Costs, Hit, Invalidation, Line, Memory, Scheduler, Smt, Transfer,
};
use super::figure::{Figure, Is, Megahertz};
use super::hierarchy::{Hierarchy, Numbering};
use super::interconnect::{Hops, Link};
use super::machine::{Atomics, Machine, Protocol};
use serde::Deserialize;
use std::fmt;
use toml::Spanned;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What stands there and what was expected.
    pub message: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Complaint {}

/// A file as it stands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    name: String,
    about: String,
    described: String,
    clock: Figure<Megahertz>,
    hierarchy: Spanned<String>,
    numbering: Spanned<WrittenNumbering>,
    protocol: Figure<Is<Protocol>>,
    atomics: Figure<Is<Atomics>>,
    line: Line,
    costs: Costs,
    hit: Hit,
    transfer: Vec<Spanned<Transfer>>,
    invalidation: Invalidation,
    memory: Spanned<Memory>,
    cache: Spanned<Cache>,
    smt: Option<Smt>,
    #[serde(default)]
    class: Vec<Spanned<CoreClass>>,
    hops: Option<Spanned<Hops>>,
    #[serde(default)]
    link: Vec<Spanned<Link>>,
    scheduler: Scheduler,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenNumbering {
    Rule(String),
    List(Vec<usize>),
}

impl Machine {
    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// Says where the trouble is, what stands there and what may.
    pub fn parse(text: &str) -> Result<Self, Complaint> {
        let at = |offset: usize, message: String| {
            let (line, column) = position(text, offset);
            Complaint {
                line,
                column,
                message,
            }
        };
        let written: Written = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(text.len(), |span| span.start);
            at(offset, error.message().to_owned())
        })?;
        let numbering = match written.numbering.get_ref() {
            WrittenNumbering::Rule(rule) if rule == "consecutive" => Numbering::Consecutive,
            WrittenNumbering::Rule(rule) if rule == "threads-apart" => Numbering::ThreadsApart,
            WrittenNumbering::Rule(rule) => {
                return Err(at(
                    written.numbering.span().start,
                    format!("found `{rule}`, expected `consecutive`, `threads-apart` or a list"),
                ));
            }
            WrittenNumbering::List(list) => Numbering::Listed(list.clone()),
        };
        let hierarchy = Hierarchy::parse(written.hierarchy.get_ref())
            .map_err(|message| at(written.hierarchy.span().start, message))?
            .numbered(numbering)
            .map_err(|message| at(written.numbering.span().start, message))?;
        Ok(Self {
            name: written.name,
            about: written.about,
            described: written.described,
            clock: written.clock,
            hierarchy,
            protocol: written.protocol,
            atomics: written.atomics,
            line: written.line,
            costs: written.costs,
            hit: written.hit,
            transfers: written
                .transfer
                .into_iter()
                .map(Spanned::into_inner)
                .collect(),
            invalidation: written.invalidation,
            memory: written.memory.into_inner(),
            cache: written.cache.into_inner(),
            smt: written.smt,
            classes: written.class.into_iter().map(Spanned::into_inner).collect(),
            hops: written.hops.map(Spanned::into_inner),
            links: written.link.into_iter().map(Spanned::into_inner).collect(),
            scheduler: written.scheduler,
        })
    }
}

/// Line and column, both from one, columns in characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}
