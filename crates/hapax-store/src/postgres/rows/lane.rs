//! Lanes: a row of `lanes` each.

use std::sync::Arc;

use hapax_core::lane::{GapCounts, Lane};
use hapax_core::time::Time;
use tokio_postgres::Row;

use super::cells::Cells;
use super::{Text, Whole, batch, own};
use crate::seam::{StoreError, StreamKey};

/// What [`read`] expects.
pub(in crate::postgres) const COLUMNS: &str = "t.lane, t.baseline, t.generation, t.epoch, t.highest, t.floor, t.last_time, t.last_arrival, t.last_offset, t.events, t.out_of_order, t.open, t.acknowledged, t.abandoned, t.unlisted";

/// How many columns that are.
pub(in crate::postgres) const WIDTH: usize = 15;

/// Reads a row.
pub(in crate::postgres) fn read(row: &Row) -> Result<(Arc<str>, Lane), StoreError> {
    let mut cells = Cells::new(row, "lanes");
    let name = cells.text()?;
    let lane = Lane {
        baseline: cells.short()?,
        generation: cells.short()?,
        epoch: cells.whole()?,
        highest: cells.maybe_whole()?,
        floor: cells.maybe_whole()?,
        last_time: cells.maybe_time()?,
        last_arrival: cells.maybe_time()?,
        last_offset: cells.own()?,
        events: cells.own()?,
        out_of_order: cells.next()?,
        counts: GapCounts {
            open: cells.own()?,
            acknowledged: cells.own()?,
            abandoned: cells.own()?,
            unlisted: cells.own()?,
        },
    };
    Ok((name, lane))
}

batch! {
    /// Lanes as they are now.
    LaneRows {
        tenant: Text,
        stream: Text,
        lane: Text,
        baseline: i32,
        generation: i32,
        epoch: Whole,
        highest: Option<Whole>,
        floor: Option<Whole>,
        last_time: Option<i64>,
        last_arrival: Option<i64>,
        last_offset: i64,
        events: i64,
        out_of_order: bool,
        open: i64,
        acknowledged: i64,
        abandoned: i64,
        unlisted: i64,
    }
    "INSERT INTO lanes (tenant, stream, lane, baseline, generation, epoch, highest, floor, last_time, last_arrival, last_offset,
       events, out_of_order, open, acknowledged, abandoned, unlisted)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::int4[], $6::numeric[], $7::numeric[], $8::numeric[],
       $9::int8[], $10::int8[], $11::int8[], $12::int8[], $13::bool[], $14::int8[], $15::int8[], $16::int8[], $17::int8[])
     ON CONFLICT (tenant, stream, partition, lane) DO UPDATE SET baseline = excluded.baseline, generation = excluded.generation,
       epoch = excluded.epoch, highest = excluded.highest, floor = excluded.floor, last_time = excluded.last_time,
       last_arrival = excluded.last_arrival, last_offset = excluded.last_offset, events = excluded.events,
       out_of_order = excluded.out_of_order, open = excluded.open, acknowledged = excluded.acknowledged,
       abandoned = excluded.abandoned, unlisted = excluded.unlisted"
}

/// The same for lanes that are there already: half the work, because nothing is tried to be inserted first.
pub(in crate::postgres) const UPDATE: &str = "UPDATE lanes t SET baseline = n.baseline, generation = n.generation, \
       epoch = n.epoch, highest = n.highest, floor = n.floor, last_time = n.last_time, last_arrival = n.last_arrival, \
       last_offset = n.last_offset, events = n.events, out_of_order = n.out_of_order, open = n.open, \
       acknowledged = n.acknowledged, abandoned = n.abandoned, unlisted = n.unlisted \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::int4[], $6::numeric[], $7::numeric[], $8::numeric[], \
       $9::int8[], $10::int8[], $11::int8[], $12::int8[], $13::bool[], $14::int8[], $15::int8[], $16::int8[], $17::int8[]) \
       n(tenant, stream, lane, baseline, generation, epoch, highest, floor, last_time, last_arrival, last_offset, events, \
         out_of_order, open, acknowledged, abandoned, unlisted) \
     WHERE t.tenant = n.tenant AND t.stream = n.stream AND t.partition = 0 AND t.lane = n.lane";

impl LaneRows {
    /// How many there are.
    pub(in crate::postgres) fn len(&self) -> usize {
        self.lane.len()
    }

    pub(in crate::postgres) fn push(&mut self, key: &StreamKey, name: &Arc<str>, lane: &Lane) {
        let GapCounts { open, acknowledged, abandoned, unlisted } = lane.counts;
        self.tenant.push((&key.tenant).into());
        self.stream.push((&key.stream).into());
        self.lane.push(name.into());
        self.baseline.push(lane.baseline.cast_signed());
        self.generation.push(lane.generation.cast_signed());
        self.epoch.push(Whole(lane.epoch));
        self.highest.push(lane.highest.map(Whole));
        self.floor.push(lane.floor.map(Whole));
        self.last_time.push(lane.last_time.map(Time::nanos));
        self.last_arrival.push(lane.last_arrival.map(Time::nanos));
        self.last_offset.push(own(lane.last_offset));
        self.events.push(own(lane.events));
        self.out_of_order.push(lane.out_of_order);
        self.open.push(own(open));
        self.acknowledged.push(own(acknowledged));
        self.abandoned.push(own(abandoned));
        self.unlisted.push(own(unlisted));
    }
}
