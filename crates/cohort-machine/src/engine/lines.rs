//! Lines, numbered in order of first touch.

use super::memory::{Memory, Owner};
use std::collections::HashMap;

/// A line's number.
pub(crate) type LineId = u32;

const UNTOUCHED: LineId = u32::MAX;

/// The numbers of the lines accessed so far.
#[derive(Debug)]
pub(crate) struct Lines {
    /// log₂ of a line's bytes.
    shift: u32,
    /// Numbers of lines in the arena, by their place there.
    inside: Vec<LineId>,
    /// Numbers of all other lines, by address. Never iterated, so its order has no effect.
    outside: HashMap<usize, LineId>,
    count: u32,
    /// The last line and its number, since consecutive accesses often share a line.
    last: (usize, LineId),
}

impl Lines {
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            shift: bytes.trailing_zeros(),
            inside: Vec::new(),
            outside: HashMap::new(),
            count: 0,
            last: (usize::MAX, UNTOUCHED),
        }
    }

    /// The line of an address, and at its first access its owner.
    #[inline]
    pub(crate) fn find(&mut self, memory: &Memory, address: usize) -> (LineId, Option<Owner>) {
        let Some(offset) = memory.offset(address) else {
            return self.find_outside(address >> self.shift);
        };
        let place = offset >> self.shift;
        match self.inside.get(place) {
            Some(&line) if line != UNTOUCHED => (line, None),
            _ => self.touch(memory, place, offset),
        }
    }

    #[cold]
    fn touch(&mut self, memory: &Memory, place: usize, offset: usize) -> (LineId, Option<Owner>) {
        if place >= self.inside.len() {
            let room = (place + 1).next_power_of_two().max(4096);
            self.inside.resize(room, UNTOUCHED);
        }
        let line = self.next();
        self.inside[place] = line;
        (line, Some(memory.owner(offset)))
    }

    fn find_outside(&mut self, place: usize) -> (LineId, Option<Owner>) {
        if self.last.0 == place {
            return (self.last.1, None);
        }
        let count = self.count;
        let line = *self.outside.entry(place).or_insert(count);
        self.last = (place, line);
        if line == count {
            self.next();
            return (line, Some(Owner::Other));
        }
        (line, None)
    }

    fn next(&mut self) -> LineId {
        let line = self.count;
        self.count += 1;
        line
    }
}
