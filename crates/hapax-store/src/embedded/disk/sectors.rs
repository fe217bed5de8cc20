//! Bytes that begin at a sector in memory, as a disk wants them that is written past the system's cache.
//!
//! Not here: whether a disk is. Bytes that lie elsewhere are written as well, only not as quickly.

/// Where they begin: a page of memory, which is a multiple of every sector there is.
const PAGE: usize = 4096;

/// Bytes to write. What was there before is kept as room for what comes next.
#[derive(Debug, Default)]
pub struct Sectors {
    memory: Vec<u8>,
    /// Where they begin in the memory.
    start: usize,
}

impl Sectors {
    /// So many zeros.
    pub fn zeros(count: usize) -> Self {
        let mut sectors = Self::default();
        sectors.begin(count);
        sectors.fill_up(count);
        sectors
    }

    /// Begins anew, with room for so many bytes.
    pub fn begin(&mut self, room: usize) {
        self.memory.clear();
        if self.memory.capacity() < room + PAGE {
            self.memory = Vec::with_capacity((room + PAGE).next_power_of_two());
        }
        // Not known for certain of memory in general; where it is not, the bytes begin where they do.
        self.start = Some(self.memory.as_ptr().align_offset(PAGE)).filter(|start| *start < PAGE).unwrap_or(0);
        self.memory.resize(self.start, 0);
    }

    /// Puts these behind what is there.
    pub fn put(&mut self, bytes: &[u8]) {
        self.memory.extend_from_slice(bytes);
    }

    /// Puts zeros behind what is there, until there is a multiple of so many bytes.
    pub fn fill_up(&mut self, multiple: usize) {
        let length = self.bytes().len().max(1).next_multiple_of(multiple);
        self.memory.resize(self.start + length, 0);
    }

    /// All of them.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

#[cfg(test)]
mod tests;
