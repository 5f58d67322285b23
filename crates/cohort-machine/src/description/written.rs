//! The contents of a machine's file.

use super::costs::{
    Cache, CoreClass, Costs, Hit, Invalidation, Line, Memory, Scheduler, Smt, Transfer,
};
use super::figure::{Figure, Is, Megahertz};
use super::interconnect::{Hops, Link};
use super::machine::{Atomics, Protocol};
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// The possible entries of a file, in the order of writing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Written {
    pub name: Spanned<String>,
    pub about: String,
    pub described: String,
    pub hierarchy: Spanned<String>,
    pub numbering: Spanned<WrittenNumbering>,
    pub clock: Figure<Megahertz>,
    pub protocol: Figure<Is<Protocol>>,
    pub atomics: Figure<Is<Atomics>>,
    pub line: Spanned<Line>,
    pub costs: Spanned<Costs>,
    pub hit: Hit,
    #[serde(default)]
    pub transfer: Vec<Spanned<Transfer>>,
    pub invalidation: Invalidation,
    pub memory: Spanned<Memory>,
    pub cache: Spanned<Cache>,
    pub smt: Option<Spanned<Smt>>,
    #[serde(default)]
    pub class: Vec<Spanned<CoreClass>>,
    pub hops: Option<Spanned<Hops>>,
    #[serde(default)]
    pub link: Vec<Spanned<Link>>,
    pub scheduler: Scheduler,
}

/// A rule's name, or the CPUs by place.
#[derive(Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "expected `consecutive`, `threads-apart` or a list of the CPU numbers in topological \
                 order"
)]
pub enum WrittenNumbering {
    Rule(String),
    List(Vec<usize>),
}
