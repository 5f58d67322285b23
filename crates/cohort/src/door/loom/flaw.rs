//! The one injected fault of this process's locks, for the mutation suite.
//!
//! `COHORT_MUTANT` names it: `NAME:strength` weakens the order of that name; any other text
//! switches on the fault of that name in the locks' code.

use super::super::{Order, Strength};
use super::std;
use core::sync::atomic::Ordering;
use std::string::String;
use std::sync::OnceLock;

enum Flaw {
    None,
    Weak(String, Strength),
    Named(String),
}

fn chosen() -> &'static Flaw {
    static FLAW: OnceLock<Flaw> = OnceLock::new();
    FLAW.get_or_init(|| match std::env::var("COHORT_MUTANT") {
        Err(_) => Flaw::None,
        Ok(text) => match text.split_once(':') {
            None => Flaw::Named(text),
            Some((name, strength)) => match Strength::parse(strength) {
                Some(strength) => Flaw::Weak(name.into(), strength),
                None => panic!(
                    "COHORT_MUTANT={text}: `{strength}` is no order; write relaxed, acquire, \
                     release, acqrel or seqcst"
                ),
            },
        },
    })
}

/// Whether a fault is injected.
#[must_use]
pub fn mutant(flaw: super::super::Flaw) -> bool {
    matches!(chosen(), Flaw::Named(name) if name == flaw.0)
}

/// The order to use where the code says `order`.
pub(super) fn ordering(order: Order) -> Ordering {
    match (chosen(), order.name) {
        (Flaw::Weak(flaw, strength), Some(name)) if flaw == name => strength.ordering(),
        _ => order.strength.ordering(),
    }
}
