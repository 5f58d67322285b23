//! The last-level caches behind which a line is held.

use super::clock::Ticks;

/// A last-level cache behind which a line is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) level: u16,
    /// The arrival of the first copy.
    pub(crate) arrived: Ticks,
    /// The end of loads that occupy its copies.
    pub(crate) busy: Ticks,
}

/// Such caches of one line.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    list: Vec<Group>,
    /// The place of each cache in the list, from 1; empty while the list is short.
    places: Vec<u16>,
}

/// So many are searched one by one.
const FEW: usize = 8;

impl Groups {
    /// The place of that last-level cache.
    pub(crate) fn place(&self, level: u16) -> Option<usize> {
        if self.list.len() <= FEW {
            return self.list.iter().position(|group| group.level == level);
        }
        let place = self.places.get(level as usize).copied().unwrap_or(0);
        (place as usize).checked_sub(1)
    }

    pub(crate) fn at(&mut self, place: usize) -> &mut Group {
        &mut self.list[place]
    }

    /// Adds a cache that is not there.
    pub(crate) fn add(&mut self, group: Group) {
        self.list.push(group);
        match self.list.len() {
            ..=FEW => {}
            count if count == FEW + 1 => {
                for place in 0..count {
                    self.note(place);
                }
            }
            count => self.note(count - 1),
        }
    }

    fn note(&mut self, place: usize) {
        let level = self.list[place].level as usize;
        if level >= self.places.len() {
            self.places.resize(level + 1, 0);
        }
        self.places[level] = place as u16 + 1;
    }

    /// The end of all loads that occupy copies; 0 without any.
    pub(crate) fn busy(&self) -> Ticks {
        self.list.iter().map(|group| group.busy).max().unwrap_or(0)
    }

    pub(crate) fn clear(&mut self) {
        if self.list.len() > FEW {
            for group in &self.list {
                self.places[group.level as usize] = 0;
            }
        }
        self.list.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_found_and_forgotten() {
        let mut groups = Groups::default();
        for round in 0..3 {
            for count in 0..3 * FEW as u16 {
                let level = (count * 37 + round) % 100;
                assert_eq!(groups.place(level), None);
                groups.add(Group {
                    level,
                    arrived: 0,
                    busy: u64::from(count),
                });
                for earlier in 0..=count {
                    let level = (earlier * 37 + round) % 100;
                    assert_eq!(groups.place(level), Some(earlier as usize));
                }
                assert_eq!(groups.busy(), u64::from(count));
            }
            groups.clear();
            assert_eq!((groups.place(0), groups.busy()), (None, 0));
        }
    }
}
