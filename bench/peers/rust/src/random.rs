//! splitmix64, as in bench/workloads/quick_random.hpp.

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The upper half of a draw as a number below `bound`.
pub fn upper_below(draw: u64, bound: u64) -> usize {
    (((draw >> 32) * bound) >> 32) as usize
}

/// The lower half of a draw, likewise.
pub fn lower_below(draw: u64, bound: u64) -> u64 {
    ((u128::from(draw & 0xffff_ffff) * u128::from(bound)) >> 32) as u64
}
