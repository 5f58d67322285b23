//! A small generator, so that a run gives the same bytes with every version of every library.

/// Steele, Lea and Flood's SplitMix.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A separate stream for each `number` under one seed.
    pub(crate) const fn new(seed: u64, number: u64) -> Self {
        let mut random = Self(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`, which is above zero; uniform except for one part in 2⁶⁴ / `bound`.
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }
}
