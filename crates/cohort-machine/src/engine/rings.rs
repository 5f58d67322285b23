//! The caches at each distance from each cache, as bits.

/// Bits by distance and cache. Only words with bits are kept: near rings, which each fetch reads, are
/// few words among many.
#[derive(Debug)]
pub(crate) struct Rings {
    words: Vec<u64>,
    spans: Vec<Span>,
    caches: usize,
}

/// The words of one ring.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Its first word's place among all words of a ring, and the number of its words.
    first: u16,
    count: u16,
    /// The place of its first word in `words`.
    start: u32,
}

impl Rings {
    /// The rings of so many caches, by the distances between each two.
    pub(crate) fn new(between: &[u8], caches: usize, distances: usize) -> Self {
        let mut rings = Self {
            words: Vec::new(),
            spans: Vec::new(),
            caches,
        };
        let mut ring = vec![0_u64; caches.div_ceil(64)];
        for distance in 0..distances {
            for one in 0..caches {
                ring.fill(0);
                let row = &between[one * caches..][..caches];
                for (other, away) in row.iter().enumerate() {
                    if usize::from(*away) == distance && other != one {
                        ring[other / 64] |= 1 << (other % 64);
                    }
                }
                let first = ring.iter().position(|word| *word != 0).unwrap_or(0);
                let end = ring
                    .iter()
                    .rposition(|word| *word != 0)
                    .map_or(0, |last| last + 1);
                let kept = ring.get(first..end).unwrap_or_default();
                rings.spans.push(Span {
                    first: first as u16,
                    count: kept.len() as u16,
                    start: rings.words.len() as u32,
                });
                rings.words.extend(kept);
            }
        }
        rings
    }

    /// A ring's words, and the place of the first.
    #[inline]
    pub(crate) fn of(&self, cache: usize, distance: usize) -> (usize, &[u64]) {
        let span = self.spans[distance * self.caches + cache];
        let words = &self.words[span.start as usize..][..span.count as usize];
        (span.first as usize, words)
    }
}
