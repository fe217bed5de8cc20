//! What the judge really leads to: in-order telemetry, as it comes most of the time.

use std::sync::Arc;

use hapax_core::contract::{Contract, Version};
use hapax_core::entry::Caller;
use hapax_core::event::{Door, Given, read};
use hapax_core::facts::{Facts, Head};
use hapax_core::judge::{Silent, judge};
use hapax_core::lane::{Gaps, Lane};
use hapax_core::time::Time;

use crate::seam::{StreamKey, StreamWrite, Write};

const NOW: i64 = 1_767_225_600_123_456_789;

/// A turn with so many events, spread over so many lanes that are well under way.
pub(crate) fn write(events: u64, lanes: u64) -> Write {
    let checked = Contract::from_toml("preset = \"telemetry-tolerant\"").expect("the preset is a contract");
    let version = Version::first(checked.contract);
    let before = Head {
        offset: 8_000_000,
        hash: [7; 32],
        at: Some(Time::from_nanos(NOW)),
        events: 8_000_000,
        attempts: 8_100_000,
    };
    let mut facts = Facts::new(Arc::from("telemetry"), version.clone(), before);
    for lane in 0..lanes {
        let known = Lane {
            highest: Some(50_000),
            events: 50_000,
            last_time: Some(Time::from_nanos(NOW - 1_000_000_000)),
            last_arrival: Some(Time::from_nanos(NOW - 999_000_000)),
            last_offset: 7_990_000 + lane,
            ..Lane::default()
        };
        facts.load_lane(format!("component-{lane:05}").into(), known, Gaps::default());
    }
    let now = Time::from_nanos(NOW);
    let door = Door { salt: &[0; 32], now, spare: 0, event_bytes_max: 1 << 20, covers: &|_| true };
    for index in 0..events {
        let (lane, seq) = (index % lanes, 50_001 + index / lanes);
        let id = format!("0198c0de-7000-7000-8000-{index:012}");
        let second = format!("2026-01-01T00:00:00.{:09}Z", 83_000_000 + index * 1_000);
        let document = format!(
            r#"{{"event_id":"{id}","component_instance_id":"component-{lane:05}","sequence":{seq},"observed_at":"{second}","kind":"process_start","payload":{{"pid":4711,"path":"/usr/bin/env","args":["a","b"]}}}}"#
        );
        let event = read(document.into_bytes().into(), &version, &door);
        let judgement = judge(&facts, &event, now, false, &mut Silent);
        facts.record(Given::Lent(&event), judgement, now, &Caller::default());
    }
    let (after, changes) = facts.into_changes();
    let key = StreamKey { tenant: "default".into(), stream: "telemetry".into() };
    Write { streams: vec![StreamWrite { key, before, after, version: None, changes }], ..Write::default() }
}
