//! Is something in a set? "No" is certain, "perhaps" is wrong about once in a thousand times.
//!
//! A blocked Bloom filter: the bits of a hash all lie in one line of 64 bytes, so that asking costs one cache line.

/// Bytes of a line.
pub(crate) const LINE: usize = 64;

/// Sixteen bits for each and seven of them set: one "perhaps" in a thousand is wrong. Each that is costs a read, and every
/// filter is asked about every new id: with ten bits it was one in a hundred, and thirty reads in a turn of a thousand events.
const BITS_A_KEY: u64 = 16;
const BITS_SET: u32 = 7;

/// So many lines are fetched together: more than a processor fetches at a time, and few beside what its nearest cache holds.
pub(crate) const TOGETHER: usize = 64;

/// One cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Line([u64; 8]);

/// A filter of hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    seed: u64,
    lines: Vec<Line>,
}

impl Filter {
    /// How many lines the filter of so many keys has.
    pub(crate) fn lines(keys: u64) -> u64 {
        (keys * BITS_A_KEY).div_ceil(8 * LINE as u64).max(1)
    }

    /// An empty filter for so many keys.
    pub(crate) fn new(keys: u64, seed: u64) -> Self {
        Self { seed, lines: vec![Line([0; 8]); Self::lines(keys) as usize] }
    }

    pub(crate) fn add(&mut self, hash: u64) {
        let (line, mut bits) = self.spread(hash);
        for _ in 0..BITS_SET {
            self.lines[line].0[(bits >> 6 & 7) as usize] |= 1 << (bits & 63);
            bits >>= 9;
        }
    }

    /// Adds these.
    pub(crate) fn add_all(&mut self, hashes: &[u64]) {
        for together in hashes.chunks(TOGETHER) {
            self.touch(together);
            together.iter().for_each(|hash| self.add(*hash));
        }
    }

    /// Looks at the lines of these, so that all of them are fetched together. Asking and adding fetch as well, but so much is done for
    /// each that a processor gets to a few at a time.
    pub(crate) fn touch(&self, hashes: &[u64]) {
        let seen = hashes.iter().fold(0, |seen, hash| seen ^ self.lines[self.line(self.mixed(*hash))].0[0]);
        std::hint::black_box(seen);
    }

    pub(crate) fn perhaps(&self, hash: u64) -> bool {
        let (line, mut bits) = self.spread(hash);
        let line = &self.lines[line].0;
        // Without a branch: what is asked of one key must not wait for what is asked of the one before.
        let mut set = 1;
        for _ in 0..BITS_SET {
            set &= line[(bits >> 6 & 7) as usize] >> (bits & 63);
            bits >>= 9;
        }
        set & 1 == 1
    }

    /// The line of a key, and nine bits for each bit of it in that line.
    fn spread(&self, hash: u64) -> (usize, u64) {
        let mixed = self.mixed(hash);
        (self.line(mixed), fold(mixed, 0xd6e8_feb8_6659_fd93))
    }

    fn mixed(&self, hash: u64) -> u64 {
        fold(hash ^ self.seed, 0x9e37_79b9_7f4a_7c15)
    }

    fn line(&self, mixed: u64) -> usize {
        ((u128::from(mixed) * self.lines.len() as u128) >> 64) as usize
    }

    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        self.lines.iter().flat_map(|it| it.0).for_each(|it| into.extend_from_slice(&it.to_le_bytes()));
    }

    /// The filter in these bytes, which are whole lines.
    pub(crate) fn decode(bytes: &[u8], seed: u64) -> Self {
        let line = |it: &[u8; LINE]| {
            let mut words = [0; 8];
            words.iter_mut().zip(it.as_chunks::<8>().0).for_each(|(word, it)| *word = u64::from_le_bytes(*it));
            Line(words)
        };
        Self { seed, lines: bytes.as_chunks::<LINE>().0.iter().map(line).collect() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.lines.len() * LINE) as u64
    }
}

/// Both halves of a product: every bit of it depends on every bit of the number.
pub(crate) fn fold(number: u64, by: u64) -> u64 {
    let product = u128::from(number) * u128::from(by);
    (product >> 64) as u64 ^ product as u64
}
