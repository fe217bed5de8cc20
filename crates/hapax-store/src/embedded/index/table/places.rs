//! Where in a list a key's newest record is: four bytes a place, so that half a million ids fit the cache of a processor, and
//! asking for a new one touches one line of it.
//!
//! A place holds the number of a record and, in the bits that this leaves, some of its hash. Nearly always those alone say
//! that it is another key's; only if they agree the record itself is looked at.

/// A hash table whose keys are elsewhere. Open addressing, at most half full.
pub(super) struct Places {
    /// Zero, or the hash's bits above the record's number plus one.
    places: Vec<u32>,
    /// So many low bits are the number.
    number_bits: u32,
    held: usize,
}

/// What is looked at first.
const LEAST: usize = 16;

impl Places {
    /// For so many records. It grows if there are more.
    pub(super) fn for_records(records: usize) -> Self {
        let size = (records.max(LEAST) * 2).next_power_of_two();
        // Asked for and not written: whoever has time for that clears it, and a turn that has to make one in a hurry has none.
        let places = std::hint::black_box(vec![0; size]);
        Self { places, number_bits: size.trailing_zeros(), held: 0 }
    }

    /// The record of a key, if it has one. `same` says whether a record is the key's.
    pub(super) fn get(&self, hash: u64, same: impl Fn(u32) -> bool) -> Option<u32> {
        self.find(hash, same).ok().map(|at| self.number_at(at))
    }

    /// Looks at the places of these, so that all of them are fetched together and not one after the other.
    pub(super) fn touch(&self, hashes: &[u64]) {
        let mask = self.places.len() - 1;
        let seen = hashes.iter().fold(0, |seen, hash| seen ^ self.places[(hash >> 32) as usize & mask]);
        std::hint::black_box(seen);
    }

    /// Puts a record in the place of its key. Answers with the one that was there. `hash_of` is asked if the table grows.
    pub(super) fn put(
        &mut self,
        hash: u64,
        number: u32,
        same: impl Fn(u32) -> bool,
        hash_of: impl Fn(u32) -> u64,
    ) -> Option<u32> {
        // Records of one key share a place, so their numbers may run ahead of the places that are held.
        if (self.held + 1) * 2 > self.places.len() || number as usize + 1 >= self.places.len() {
            self.grow(hash_of);
        }
        match self.find(hash, same) {
            Ok(at) => {
                let before = self.number_at(at);
                self.places[at] = self.place(hash, number);
                Some(before)
            }
            Err(at) => {
                self.held += 1;
                self.places[at] = self.place(hash, number);
                None
            }
        }
    }

    /// Where a key is, or where it would be.
    fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Result<usize, usize> {
        let mask = self.places.len() - 1;
        let wanted = self.place(hash, 0) >> self.number_bits;
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let place = self.places[at];
            if place == 0 {
                return Err(at);
            }
            if place >> self.number_bits == wanted && same(self.number_at(at)) {
                return Ok(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn place(&self, hash: u64, number: u32) -> u32 {
        // The low half; the high half says where it is.
        ((hash as u32) >> self.number_bits << self.number_bits) | (number + 1)
    }

    fn number_at(&self, at: usize) -> u32 {
        (self.places[at] & ((1 << self.number_bits) - 1)) - 1
    }

    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        let larger = Self::for_records(self.places.len());
        let smaller = std::mem::replace(self, larger);
        for at in (0..smaller.places.len()).filter(|at| smaller.places[*at] != 0) {
            let number = smaller.number_at(at);
            let hash = hash_of(number);
            if let Err(free) = self.find(hash, |_| false) {
                self.places[free] = self.place(hash, number);
                self.held += 1;
            }
        }
    }

    /// Forgets everything, and keeps the room.
    pub(super) fn clear(&mut self) {
        self.places.fill(0);
        self.held = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        self.places.len() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Beside a map of the standard library, with few keys and with hashes that agree in many bits.
        #[test]
        fn it_answers_as_a_map_does(keys in prop::collection::vec(0_u64..30, 0..400), spread in prop::sample::select(vec![0_u32, 8, 32, 61])) {
            let hash = |key: u64| key << spread;
            let mut places = Places::for_records(1);
            let mut model: HashMap<u64, u32> = HashMap::new();
            for (number, key) in keys.iter().enumerate() {
                let number = u32::try_from(number).expect("few");
                let before = places.put(hash(*key), number, |at| keys[at as usize] == *key, |at| hash(keys[at as usize]));
                prop_assert_eq!(before, model.insert(*key, number));
            }
            for key in 0..200 {
                let found = places.get(hash(key), |at| keys[at as usize] == key);
                prop_assert_eq!(found, model.get(&key).copied());
            }
        }
    }
}
