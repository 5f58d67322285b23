//! `radiosity`: a model of SPLASH-2's radiosity, in which threads take elements from one list and
//! put them back (Zhang et al. 2017 §4.3.4).
//!
//! Per table 6 of Zhang et al. 2017, one lock guards a linked list, and 56.5 % of the time is spent
//! at it with 40 threads under a POSIX mutex. The paper does not describe the critical section. The
//! model's list has the free elements. A thread takes the element put back last, or creates one,
//! fills it in, and puts it back later, both in a critical section. 50 cycles in each beside the
//! head's line and the element's are an estimate. The work in between is set so that the simulated
//! Xeon comes near that share; a test checks it.

use super::knobs::cycles;
use super::{Guarded, Knobs, Player, Setting, Span, Workload};
use crate::world::{Memory, World};

/// The line of the list's head; the elements' lines follow.
const HEAD: usize = 0;

/// The head's words: the line of the first free element, or [`HEAD`], and the number of elements.
const FIRST: usize = 0;
const MADE: usize = 1;

/// An element's words: the line of the next free one, and the thread's data.
const NEXT: usize = 0;
const FILLED: usize = 1;

/// The workload.
pub enum Radiosity {}

/// State shared by its threads.
pub struct Shared<W: World> {
    list: Guarded<W>,
    critical: u64,
    outside: u64,
}

impl Workload for Radiosity {
    const NAME: &'static str = "radiosity";
    const ABOUT: &'static str =
        "a model of SPLASH-2's radiosity: take list elements and return them";
    const SOURCE: &'static str = "Zhang et al. 2017 §4.3.4, Table 6; derived in bench/radiosity.rs";
    const OPERATION: &'static str = "element";
    const TAKES: &'static [&'static str] = &["critical", "outside"];
    const DEFAULTS: Knobs = Knobs {
        critical: Some(Span::Cycles(50)),
        outside: Some(Span::Cycles(28_000)),
        ..Knobs::NONE
    };

    type Shared<W: World> = Shared<W>;

    fn prepare<W: World>(world: &mut W, setting: &Setting) -> Shared<W> {
        let (knobs, hertz) = (&setting.knobs, world.hertz());
        Shared {
            // No thread has more than one element.
            list: Guarded::new(
                world,
                &setting.lock,
                0,
                setting.threads,
                setting.threads + 1,
            ),
            critical: cycles(knobs.critical, hertz),
            outside: cycles(knobs.outside, hertz),
        }
    }

    fn take_part<W: World>(shared: &Shared<W>, player: &mut Player<'_, W::Actor>) {
        let list = shared.list.data();
        while player.goes_on() {
            let element = player.section(&shared.list, |player| {
                let element = take(list);
                player.work(shared.critical);
                element
            });
            list.write(element, FILLED, 1);
            player.work_about(shared.outside);
            player.section(&shared.list, |player| {
                put_back(list, element);
                player.work(shared.critical);
            });
            player.done();
            player.work_about(shared.outside);
        }
    }
}

/// Takes an element; returns its line.
fn take(list: &impl Memory) -> usize {
    let first = list.read(HEAD, FIRST) as usize;
    if first == HEAD {
        let made = list.read(HEAD, MADE) + 1;
        list.write(HEAD, MADE, made);
        return HEAD + made as usize;
    }
    list.write(HEAD, FIRST, list.read(first, NEXT));
    first
}

/// Puts an element back.
fn put_back(list: &impl Memory, element: usize) {
    list.write(element, NEXT, list.read(HEAD, FIRST));
    list.write(HEAD, FIRST, element as u64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::native::Lines;

    #[test]
    fn the_last_element_that_was_put_back_is_taken_first() {
        let list = Lines::zeroed(1 + 3);
        assert_eq!([(); 3].map(|()| take(&list)), [1, 2, 3]);
        for element in [2, 1, 3] {
            put_back(&list, element);
        }
        assert_eq!([(); 3].map(|()| take(&list)), [3, 1, 2]);
    }
}
