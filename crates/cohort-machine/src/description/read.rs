//! From the text of a file to a machine.

use super::check;
use super::complaint::Complaint;
use super::hierarchy::{Hierarchy, Numbering};
use super::machine::Machine;
use super::written::{Written, WrittenNumbering};
use sha2::{Digest, Sha256};
use std::ops::Range;
use toml::Spanned;

impl Machine {
    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// States the position of the error, the text found and the text expected.
    pub fn parse(text: &str) -> Result<Self, Complaint> {
        let written: Written =
            toml::from_str(text).map_err(|error| Complaint::of_syntax(text, &error))?;
        let machine = Reader { text }.machine(written)?;
        Ok(Self {
            fingerprint: fingerprint(text),
            ..machine
        })
    }
}

/// The first twelve hexadecimal digits of the SHA-256 of `text` without the estimates' ranges, which
/// change no run.
fn fingerprint(text: &str) -> String {
    let digest = Sha256::digest(without_ranges(text).as_bytes());
    digest[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A text without its ranges, each up to the comma behind it.
fn without_ranges(text: &str) -> String {
    const BEGIN: &str = "range = [";
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once(BEGIN) {
        kept.push_str(before);
        let mut open = 1_usize;
        let close = after.find(|letter| {
            match letter {
                '[' => open += 1,
                ']' => open -= 1,
                _ => {}
            }
            open == 0
        });
        let Some(after) = close.and_then(|close| after.get(close + 1..)) else {
            kept.push_str(BEGIN);
            rest = after;
            continue;
        };
        rest = after.trim_start_matches([',', ' ']);
    }
    kept + rest
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    /// Turns a failed check into an error at `span`.
    fn at<T>(&self, span: Range<usize>, checked: Result<T, String>) -> Result<T, Complaint> {
        checked.map_err(|message| Complaint::at(self.text, span.start, message))
    }

    fn machine(&self, written: Written) -> Result<Machine, Complaint> {
        let name = written.name.get_ref();
        self.at(written.name.span(), check::name(name))?;
        let hierarchy = self.hierarchy(&written)?;
        self.at(
            written.line.span(),
            check::line(&written.line.get_ref().bytes),
        )?;
        self.at(
            written.costs.span(),
            check::failed_conditional(
                written.atomics.value,
                written.costs.get_ref().failed_conditional.is_some(),
            ),
        )?;
        self.at(
            written.costs.span(),
            check::time_passes(written.costs.get_ref(), &written.hit),
        )?;
        self.at(written.costs.span(), check::code(written.costs.get_ref()))?;
        if let Some(hops) = &written.hops {
            self.at(hops.span(), check::hops(&hierarchy, hops.get_ref()))?;
        }
        let memory = self.at(
            written.memory.span(),
            check::memory(&hierarchy, written.memory.get_ref()),
        )?;
        let private = self.at(
            written.cache.span(),
            check::cache(&hierarchy, written.cache.get_ref()),
        )?;
        let smt = written.smt.as_ref();
        self.at(
            smt.map_or_else(|| written.hierarchy.span(), Spanned::span),
            check::smt(&hierarchy, smt.map(Spanned::get_ref)),
        )?;
        self.each(&written.class, |class, before| {
            check::class(&hierarchy, class, before)
        })?;
        self.each(&written.link, |link, before| {
            check::link(&hierarchy, link, before)
        })?;
        let hops = written.hops.map(Spanned::into_inner);
        let distances = check::distances(&hierarchy, private, hops.as_ref());
        let mut transfers = Vec::new();
        for transfer in written.transfer {
            let distance = self.at(
                transfer.span(),
                check::transfer(&hierarchy, &distances, memory, transfer.get_ref()),
            )?;
            transfers.push((distance, transfer.into_inner()));
        }
        transfers.sort_by_key(|(distance, _)| *distance);
        let given: Vec<(usize, u64)> = transfers.iter().map(|(distance, _)| *distance).collect();
        self.at(
            written.hierarchy.span(),
            check::complete(&hierarchy, &distances, &given),
        )?;
        let mut machine = Machine {
            name: written.name.into_inner(),
            about: written.about,
            described: written.described,
            clock: written.clock,
            hierarchy,
            protocol: written.protocol,
            atomics: written.atomics,
            line: written.line.into_inner(),
            costs: written.costs.into_inner(),
            hit: written.hit,
            transfers: transfers
                .into_iter()
                .map(|(_, transfer)| transfer)
                .collect(),
            invalidation: written.invalidation,
            memory: written.memory.into_inner(),
            cache: written.cache.into_inner(),
            smt: written.smt.map(Spanned::into_inner),
            classes: inner(written.class),
            hops,
            links: inner(written.link),
            scheduler: written.scheduler,
            fingerprint: String::new(),
        };
        machine.print_levels();
        Ok(machine)
    }

    fn hierarchy(&self, written: &Written) -> Result<Hierarchy, Complaint> {
        let span = written.numbering.span();
        let numbering = self.at(span.clone(), numbering(written.numbering.get_ref()))?;
        let hierarchy = self.at(
            written.hierarchy.span(),
            Hierarchy::parse(written.hierarchy.get_ref()),
        )?;
        self.at(span, hierarchy.numbered(numbering))
    }

    /// Checks each entry of a list against the preceding ones.
    fn each<T>(
        &self,
        list: &[Spanned<T>],
        check: impl Fn(&T, &[&T]) -> Result<(), String>,
    ) -> Result<(), Complaint> {
        let mut before = Vec::new();
        for item in list {
            self.at(item.span(), check(item.get_ref(), &before))?;
            before.push(item.get_ref());
        }
        Ok(())
    }
}

fn inner<T>(list: Vec<Spanned<T>>) -> Vec<T> {
    list.into_iter().map(Spanned::into_inner).collect()
}

fn numbering(written: &WrittenNumbering) -> Result<Numbering, String> {
    match written {
        WrittenNumbering::List(list) => Ok(Numbering::Listed(list.clone())),
        WrittenNumbering::Rule(rule) if rule == CONSECUTIVE => Ok(Numbering::Consecutive),
        WrittenNumbering::Rule(rule) if rule == THREADS_APART => Ok(Numbering::ThreadsApart),
        WrittenNumbering::Rule(rule) => Err(format!(
            "found `{rule}`, expected `{CONSECUTIVE}`, `{THREADS_APART}` or a list of the CPU numbers \
             in topological order"
        )),
    }
}

pub const CONSECUTIVE: &str = "consecutive";
pub const THREADS_APART: &str = "threads-apart";

impl Machine {
    /// Replaces each level's name by the printed one: of equal levels, the smallest for a transfer,
    /// the largest for a link.
    fn print_levels(&mut self) {
        let levels = &self.hierarchy;
        let print_as = |name: &mut String, alike: fn(&Hierarchy, usize) -> usize| {
            if let Some(level) = levels.level(name) {
                name.clone_from(&levels.levels()[alike(levels, level)].name);
            }
        };
        let print = |name: &mut String| print_as(name, |_, level| level);
        for transfer in &mut self.transfers {
            print_as(&mut transfer.within, Hierarchy::smallest_alike);
        }
        for link in &mut self.links {
            print_as(&mut link.between, Hierarchy::largest_alike);
        }
        self.hops
            .iter_mut()
            .for_each(|hops| print(&mut hops.between));
        print(&mut self.memory.of);
        print(&mut self.cache.private_to);
        print(&mut self.cache.shared_by);
    }
}

#[cfg(test)]
mod tests;
