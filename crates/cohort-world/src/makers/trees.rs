//! Trees of queues outside the catalogue, with levels in their names.

use super::locks::numa::{
    AnyAhmcs, AnyAhmcsT, AnyHmcs, AnyHmcsFast, AnyHmcsT, AnyHmcsTPublished, ChosenShape,
};
use super::locks::wait::{MayPark, SpinOnly};
use crate::raw::{abortable, tried};
use crate::{Room, Tested};
use cohort::name::{Lock, Name};
use cohort::tree::TreeKind;
use std::sync::Arc;

/// Creates the tree of that name; `None` if the name is no tree's.
pub fn make(
    room: &mut dyn Room,
    name: &Name<'_>,
    threads: usize,
    spins: bool,
) -> Option<Arc<dyn Tested>> {
    let Lock::Tree(tree) = name.lock else {
        return None;
    };
    let in_a_row = name.bound.map(|bound| bound.hand_offs);
    let shape = ChosenShape::of(&tree, name.levels, in_a_row);
    Some(match (tree.kind, spins) {
        (TreeKind::Hmcs, true) => tried(room, AnyHmcs::<SpinOnly>::shaped(shape), threads),
        (TreeKind::Hmcs, false) => tried(room, AnyHmcs::<MayPark>::shaped(shape), threads),
        (TreeKind::HmcsFast, true) => tried(room, AnyHmcsFast::<SpinOnly>::shaped(shape), threads),
        (TreeKind::HmcsFast, false) => tried(room, AnyHmcsFast::<MayPark>::shaped(shape), threads),
        (TreeKind::Ahmcs, true) => tried(room, AnyAhmcs::<SpinOnly>::shaped(shape), threads),
        (TreeKind::Ahmcs, false) => tried(room, AnyAhmcs::<MayPark>::shaped(shape), threads),
        (TreeKind::HmcsT, true) => abortable(room, AnyHmcsT::<SpinOnly>::shaped(shape), threads),
        (TreeKind::HmcsT, false) => abortable(room, AnyHmcsT::<MayPark>::shaped(shape), threads),
        (TreeKind::HmcsTPublished, true) => {
            abortable(room, AnyHmcsTPublished::<SpinOnly>::shaped(shape), threads)
        }
        (TreeKind::HmcsTPublished, false) => {
            abortable(room, AnyHmcsTPublished::<MayPark>::shaped(shape), threads)
        }
        (TreeKind::AhmcsT, true) => abortable(room, AnyAhmcsT::<SpinOnly>::shaped(shape), threads),
        (TreeKind::AhmcsT, false) => abortable(room, AnyAhmcsT::<MayPark>::shaped(shape), threads),
    })
}
