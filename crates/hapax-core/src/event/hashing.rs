//! SHA-256 of what is all here: compressed where it lies, without the buffer of a hasher.

use sha2::block_api::compress256;

/// A SHA-256.
pub type Digest = [u8; 32];

/// The SHA-256 of some bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    let mut state = FIRST_STATE;
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    compress256(&mut state, blocks);
    let mut last = [[0; BLOCK]; 2];
    last.as_flattened_mut()[..rest.len()].copy_from_slice(rest);
    let count = end(&mut last, rest.len(), bytes.len());
    compress256(&mut state, &last[..count]);
    written(state)
}

/// Parts that are hashed as one. They are put together where they will be compressed, on the stack as long as they are short, and nearly
/// all are: an id, a lane, a few numbers and other hashes.
pub(crate) struct Input {
    blocks: [[u8; BLOCK]; BLOCKS],
    length: usize,
    /// All of it, once it is long.
    long: Vec<u8>,
}

/// Bytes that SHA-256 takes at a time.
const BLOCK: usize = 64;
const BLOCKS: usize = 3;
/// So much fits, with what stands behind it.
const SHORT: usize = BLOCKS * BLOCK - 9;

impl Input {
    pub(crate) fn new() -> Self {
        Self { blocks: [[0; BLOCK]; BLOCKS], length: 0, long: Vec::new() }
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let after = self.length + bytes.len();
        match self.blocks.as_flattened_mut()[..SHORT].get_mut(self.length..after) {
            Some(place) => place.copy_from_slice(bytes),
            None => self.put_beyond(bytes),
        }
        self.length = after;
    }

    #[cold]
    #[inline(never)]
    fn put_beyond(&mut self, bytes: &[u8]) {
        if self.long.is_empty() {
            self.long.extend_from_slice(&self.blocks.as_flattened()[..self.length]);
        }
        self.long.extend_from_slice(bytes);
    }

    #[inline(always)]
    pub(crate) fn digest(mut self) -> Digest {
        if self.length > SHORT {
            return digest(&self.long);
        }
        let count = end(&mut self.blocks, self.length, self.length);
        let mut state = FIRST_STATE;
        compress256(&mut state, &self.blocks[..count]);
        written(state)
    }
}

/// Puts the end behind so many bytes, with zeros behind them: a one, and the length of all of it in bits at the end of the block, or of one
/// more (FIPS 180-4, 5.1.1). Answers how many blocks there are.
#[inline(always)]
fn end(blocks: &mut [[u8; BLOCK]], filled: usize, length: usize) -> usize {
    let count = (filled + 9).div_ceil(BLOCK);
    let bytes = blocks[..count].as_flattened_mut();
    bytes[filled] = 0x80;
    if let Some(place) = bytes.last_chunk_mut() {
        *place = (length as u64 * 8).to_be_bytes();
    }
    count
}

fn written(state: [u32; 8]) -> Digest {
    let mut digest = [0; 32];
    for (place, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
        *place = word.to_be_bytes();
    }
    digest
}

/// FIPS 180-4, 5.3.3.
const FIRST_STATE: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_hash_of_long_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
            let expected: Digest = Sha256::digest(&bytes).into();
            prop_assert_eq!(digest(&bytes), expected);
        }

        /// Beside the library's own hasher, in whatever parts it comes.
        #[test]
        fn it_is_the_hash_of_all_parts(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..90), 0..7)) {
            let whole = parts.concat();
            let mut input = Input::new();
            parts.iter().for_each(|part| input.put(part));
            let expected: Digest = Sha256::digest(&whole).into();
            prop_assert_eq!(input.digest(), expected);
            prop_assert_eq!(digest(&whole), expected);
        }
    }

    /// Around the ends of blocks, and of what is short.
    #[test]
    fn every_length_has_its_hash() {
        for length in 0..300 {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + 3) as u8).collect();
            let mut input = Input::new();
            input.put(&bytes);
            let expected: Digest = Sha256::digest(&bytes).into();
            assert_eq!((input.digest(), digest(&bytes)), (expected, expected), "{length} bytes");
        }
    }
}
