//! Other shapes of an input: a few blind changes, and pieces of other inputs. The same seed draws the same ones.

/// Beyond this an input is slow, and says nothing that a shorter one does not.
const BYTES_MAX: usize = 8 << 10;

/// What bytes are often wrong by, and what formats are made of.
const TELLING: [&[u8]; 16] = [
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\n",
    b"\"",
    b"\\u0000",
    b"{",
    b"}",
    b"[",
    b",",
    b"9223372036854775808",
    b"1e400",
    b"\n---\n",
];

/// Draws shapes.
pub(crate) struct Shapes {
    state: u64,
    others: Vec<Vec<u8>>,
}

impl Shapes {
    pub(crate) fn new(seed: u64, others: Vec<Vec<u8>>) -> Self {
        Self { state: seed, others }
    }

    /// Another shape of an input.
    pub(crate) fn of(&mut self, input: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes);
        }
        bytes.truncate(BYTES_MAX);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let to = at + self.below((bytes.len() - at).min(32) + 1);
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            2 => drop(bytes.drain(at..to)),
            3 => {
                let again = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, again));
            }
            4 => {
                let telling = TELLING[self.below(TELLING.len())];
                drop(bytes.splice(at..at, telling.iter().copied()));
            }
            5 => {
                let telling = TELLING[self.below(TELLING.len())];
                let over = bytes.len().min(at + telling.len());
                drop(bytes.splice(at..over, telling.iter().copied()));
            }
            6 => {
                let which = self.below(self.others.len());
                let (from, long) = (self.below(self.others[which].len() + 1), self.below(64));
                let piece: Vec<u8> = self.others[which][from..].iter().take(long).copied().collect();
                drop(bytes.splice(at..to, piece));
            }
            _ => bytes.truncate(at),
        }
    }

    /// A number below this one, which must not be 0 (SplitMix64).
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}
