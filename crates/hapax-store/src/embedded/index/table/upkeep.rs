//! Work off the hot path: memory into runs, and runs into larger runs.
//!
//! What holds: a frozen table is read until its run is in its place, and the inputs of a merge until its result is. What
//! fails leaves everything as it was, to be tried again. A long merge writes what is frozen meanwhile in between, so
//! memory stays bounded.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::format::{Header, Writing};
use super::list::Piece;
use super::memory::Memory;
use super::merge::{self, Merge};
use super::record::Raw;
use super::run::Run;
use super::write::Writer;
use super::{Record, State, Table, TableError};
use crate::embedded::disk::Disk;
use crate::embedded::log::FrameNumber;

/// Where everything is durable.
const LAST: FrameNumber = FrameNumber(u64::MAX);

impl<D: Disk> Table<D> {
    /// One step: writes a full table as a run, or merges runs. False if there is nothing to do.
    pub fn upkeep(&self) -> Result<bool, TableError> {
        self.upkeep_to(LAST)
    }

    /// The same where what lies behind this frame is not durable yet: a table with any of it waits.
    pub fn upkeep_to(&self, durable: FrameNumber) -> Result<bool, TableError> {
        let mut room = self.work();
        if self.write_frozen(durable, &mut room)? {
            return Ok(true);
        }
        self.merge(durable, &mut room)
    }

    /// Makes some of the room that inserts will need soon, so that none of them has to wait for memory. False if there is enough.
    pub fn make_room(&self) -> bool {
        let (wants_room, wants_spare) = {
            let State { active, frozen, spare, .. } = &*self.state();
            let none_to_come = spare.is_none() && frozen.is_empty();
            (
                active.wants_room() || spare.as_ref().is_some_and(Memory::wants_room),
                none_to_come && active.is_half_full(),
            )
        };
        if !(wants_room || wants_spare) {
            return false;
        }
        // Made while nobody waits.
        let piece = wants_room.then(Piece::new);
        let empty = wants_spare.then(|| self.empty(FrameNumber::ORIGIN).touched());
        let State { active, spare, .. } = &mut *self.state_mut();
        *spare = empty.or(spare.take());
        if let Some(piece) = piece {
            let next = spare.as_mut().filter(|_| !active.wants_room());
            next.unwrap_or(active).add_room(piece);
        }
        true
    }

    /// One without records, for the frames after this one.
    fn empty(&self, from: FrameNumber) -> Memory {
        Memory::new(from, self.shared.options.memory_records_max, self.shared.options.ordered)
    }

    /// Writes everything that is in memory as a run: for a clean stop, or to bound what a start inserts again.
    pub fn flush(&self) -> Result<(), TableError> {
        self.flush_once(|_| Ok(()))
    }

    /// The same, once `durable` has waited until the log is that far.
    pub fn flush_once(&self, durable: impl Fn(FrameNumber) -> Result<(), TableError>) -> Result<(), TableError> {
        let mut room = self.work();
        let last = {
            let mut state = self.state_mut();
            if state.active.to > state.active.from {
                self.freeze(&mut state);
            }
            state.active.from
        };
        durable(last)?;
        while self.write_frozen(LAST, &mut room)? {}
        Ok(())
    }

    /// Inserts and does what is to be done at once: for building a table from a whole log, in one thread and in bounded
    /// memory.
    ///
    /// # Panics
    /// If a frame was left out.
    pub fn replay(&self, frame: FrameNumber, records: &[Record]) -> Result<(), TableError> {
        self.insert(frame, records);
        if !self.state().frozen.is_empty() {
            while self.upkeep()? {}
        }
        Ok(())
    }

    /// Puts an empty table in the place of the one that is being filled.
    pub(super) fn freeze(&self, state: &mut State<D::File>) {
        let next = match state.spare.take() {
            Some(spare) => spare.after(state.active.to),
            None => self.empty(state.active.to),
        };
        state.frozen.push(Arc::new(std::mem::replace(&mut state.active, next)));
    }

    /// Writes the oldest frozen table, if there is one.
    fn write_frozen(&self, durable: FrameNumber, room: &mut Vec<Raw>) -> Result<bool, TableError> {
        let oldest = self.state().frozen.first().cloned();
        let Some(memory) = oldest.filter(|memory| memory.to <= durable) else { return Ok(false) };
        memory.sort_into(room);
        let header = self.header(memory.from, memory.to, room.len() as u64);
        let mut writer = self.writer(header, Writing::Flush)?;
        for raw in &*room {
            writer.push(raw)?;
        }
        let run = Arc::new(writer.finish()?);
        {
            let mut state = self.state_mut();
            state.runs = Arc::new(state.runs.iter().cloned().chain([run]).collect());
            state.frozen.remove(0);
        }
        // Whoever still looks into it keeps it; then there is none to spare.
        if let Some(mut memory) = Arc::into_inner(memory) {
            memory.clear();
            self.state_mut().spare = Some(memory);
        }
        Ok(true)
    }

    /// Merges neighbours, if there are enough of a size.
    fn merge(&self, durable: FrameNumber, room: &mut Vec<Raw>) -> Result<bool, TableError> {
        let runs = Arc::clone(&self.state().runs);
        let records: Vec<u64> = runs.iter().map(|it| it.header.records).collect();
        let Some(chosen) = merge::choose(&records, self.shared.options.merge_width) else { return Ok(false) };
        let inputs = &runs[chosen.clone()];
        let (first, last) = (&inputs[0].header, &inputs[inputs.len() - 1].header);
        let header = self.header(first.from, last.to, records[chosen.clone()].iter().sum());
        let run = Arc::new(self.write_merged(header, inputs, durable, room)?);
        {
            let mut state = self.state_mut();
            // Others may have come since, but only behind: these are still where they were.
            let mut now: Vec<Arc<Run<D::File>>> = state.runs.iter().cloned().collect();
            now.splice(chosen, [run]);
            state.runs = Arc::new(now);
        }
        for input in inputs {
            // One that stays lies within the new run, and the next start removes it.
            let _ = self.shared.disk.remove(&input.path);
        }
        Ok(true)
    }

    fn write_merged(
        &self,
        header: Header,
        inputs: &[Arc<Run<D::File>>],
        durable: FrameNumber,
        room: &mut Vec<Raw>,
    ) -> Result<Run<D::File>, TableError> {
        let mut writer = self.writer(header, Writing::Merge)?;
        let mut merge = Merge::new(inputs.iter().map(|it| &**it))?;
        while let Some(raw) = merge.next()? {
            if writer.push(&raw)? {
                self.write_frozen(durable, room)?;
                while self.make_room() {}
            }
        }
        writer.finish()
    }

    fn header(&self, from: FrameNumber, to: FrameNumber, records: u64) -> Header {
        Header { log: self.shared.log, name: self.shared.name, from, to, records }
    }

    fn writer(&self, header: Header, writing: Writing) -> Result<Writer<'_, D>, TableError> {
        Writer::new(&self.shared.disk, &self.shared.options, &self.shared.hashing, header, writing)
    }

    fn work(&self) -> MutexGuard<'_, Vec<Raw>> {
        self.shared.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
