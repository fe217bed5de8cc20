//! Bytes that were written once are read for ever. A fixture is never written again; another format has another one.
//!
//! A fixture is the length of what lasts as `u64` (little endian), what lasts, what expires. As long as no version of the
//! program that writes a format has been given to anyone, `HAPAX_NEW_FIXTURES=1 cargo test golden -- --test-threads 1` makes it
//! anew.

use std::sync::Arc;

use hapax_core::access::{Access, Patterns, Rates, Role};
use hapax_core::contract::{Contract, Version};
use hapax_core::counter::Class;
use hapax_core::entry::EntryKind;
use hapax_core::lane::GapKind;
use hapax_core::time::Time;
use hapax_core::words::{Code, Mark, State, Verdict};

use super::{assert_same, encoded, whole};
use crate::codec::{Sections, decode, entry_at};
use crate::seam::{Key, StreamKey, StreamWrite, Write};

/// Every kind of thing but a contract.
fn whole_fixture() -> Sections {
    fixture("format-1", whole::write)
}

/// A contract that was put.
fn contract_fixture() -> Sections {
    fixture("format-1-contract", put_contract)
}

/// Keys as they were written before they had limits.
fn keys_fixture() -> Sections {
    fixture("format-1-keys", put_keys)
}

/// Keys with limits.
fn rates_fixture() -> Sections {
    fixture("format-1-rates", put_rates)
}

fn fixture(name: &str, write: fn() -> Write) -> Sections {
    let path = format!("{}/tests/fixtures/{name}.bin", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("HAPAX_NEW_FIXTURES").is_some() {
        let Sections { lasting, expiring } = encoded(&write());
        let bytes = [&(lasting.len() as u64).to_le_bytes()[..], &lasting, &expiring].concat();
        std::fs::write(&path, bytes).unwrap();
    }
    let bytes = std::fs::read(path).unwrap();
    let (length, rest) = bytes.split_first_chunk().unwrap();
    let (lasting, expiring) = rest.split_at(u64::from_le_bytes(*length) as usize);
    Sections { lasting: lasting.into(), expiring: expiring.into() }
}

fn decoded(sections: &Sections) -> Write {
    decode(&sections.lasting, Some(&sections.expiring)).unwrap()
}

/// A stream whose first contract has something in every table.
fn put_contract() -> Write {
    let text = "preset = \"measurements\"\n[counters.weight]\nkey = [\"/user_id\"]\namount = \"/weight\"\n";
    let contract = Contract::from_toml(text).unwrap().contract;
    let version = Version { number: 3, baseline: 2, contract: Arc::new(contract) };
    let stream = StreamWrite {
        key: StreamKey { tenant: "default".into(), stream: "weights".into() },
        before: Default::default(),
        after: Default::default(),
        version: Some((version, Time::from_nanos(1_767_225_600_000_000_001))),
        changes: Default::default(),
    };
    Write { streams: vec![stream], ..Write::default() }
}

/// A key that holds, and one that was revoked.
fn put_keys() -> Write {
    let at = Time::from_nanos(1_767_225_600_000_000_001);
    let key = Key {
        id: "k_1".into(),
        tenant: "default".into(),
        hash: [7; 32],
        access: Access { role: Role::Ingest, streams: Patterns::new(["pumps*"]), lanes: Patterns::all() },
        rates: Rates::default(),
        note: Some("pump 7".into()),
        created_at: at,
        revoked_at: None,
    };
    let revoked = Key { id: "k_2".into(), note: None, revoked_at: Some(at), ..key.clone() };
    Write { keys: vec![key, revoked], ..Write::default() }
}

/// A key with both limits, and one that is exempt from one.
fn put_rates() -> Write {
    let [key, revoked] = <[Key; 2]>::try_from(put_keys().keys).unwrap();
    let both = Key { rates: Rates { requests: Some(50), events: Some(u32::MAX) }, ..key };
    let exempt = Key { rates: Rates { requests: None, events: Some(0) }, ..revoked };
    Write { keys: vec![both, exempt], ..Write::default() }
}

#[test]
fn keys_of_format_1_are_read_as_what_was_put_and_written_the_same() {
    assert_same(&decoded(&keys_fixture()), &put_keys());
    assert_eq!(encoded(&put_keys()), keys_fixture());
    assert_same(&decoded(&rates_fixture()), &put_rates());
    assert_eq!(encoded(&put_rates()), rates_fixture());
}

#[test]
fn format_1_is_read_as_what_was_written() {
    assert_same(&decoded(&whole_fixture()), &whole::write());
}

#[test]
fn format_1_is_written_again_with_the_same_bytes() {
    assert_eq!(encoded(&decoded(&whole_fixture())), whole_fixture());
}

#[test]
fn a_contract_in_format_1_is_read_as_what_was_put() {
    // Not compared byte for byte: a contract is written with every key, and a later one has more of them.
    assert_same(&decoded(&contract_fixture()), &put_contract());
}

#[test]
fn entries_of_format_1_are_found_alone() {
    let (write, fixture) = (whole::write(), whole_fixture());
    for (index, entry) in (0..).zip(&write.streams[1].changes.entries) {
        assert_eq!(entry_at(&fixture.lasting, index).unwrap(), **entry);
    }
}

/// Words are written as their places in their tables. A word that moved would be read as another one.
#[test]
fn the_words_of_format_1_keep_their_places() {
    keeps(
        Code::ALL,
        Code::name,
        &[
            "DUPLICATE_EVENT_ID PAYLOAD_CONFLICT STALE_SEQUENCE SCHEMA_VIOLATION TIMESTAMP_MISSING TIMESTAMP_PARSE_ERROR",
            "TIMESTAMP_TIMEZONE_VIOLATION TIMESTAMP_FUTURE_BEYOND_TOLERANCE TIMESTAMP_TOO_OLD TIMESTAMP_REGRESSION",
            "DUPLICATE_NONCE SEQUENCE_REGRESSION SEQUENCE_GAP EPOCH_FENCED SEQUENCE_CONFLICT EXPECTED_SEQ_REQUIRED",
            "AMOUNT_INVALID LANE_FORBIDDEN BATCH_STOPPED BATCH_REFUSED",
        ],
    );
    keeps(
        State::ALL,
        State::name,
        &[
            "SEQUENCE_CONTINUOUS SEQUENCE_GAP_DETECTED SEQUENCE_OUT_OF_ORDER SEQUENCE_REPEATED GAP_ABANDONED",
            "CLOCK_SKEW_DETECTED EVENT_LATE_ARRIVAL TIMESTAMP_REGRESSION TIMESTAMP_MISSING TIMESTAMP_INVALID_FORMAT",
            "TIMESTAMP_NON_UTC EVENT_DUPLICATE_REJECTED REENCODED IDEMPOTENCY_MISMATCH DUPLICATE_EVENT_ID",
            "PAYLOAD_CONFLICT SCHEMA_VIOLATION TIMESTAMP_FUTURE_BEYOND_TOLERANCE TIMESTAMP_TOO_OLD DUPLICATE_NONCE",
            "EPOCH_FENCED SEQUENCE_CONFLICT EXPECTED_SEQ_REQUIRED AMOUNT_INVALID LANE_FORBIDDEN BATCH_STOPPED",
            "BATCH_REFUSED",
        ],
    );
    keeps(
        Mark::ALL,
        Mark::name,
        &[
            "HAS_GAPS OUT_OF_ORDER SEQUENCE_REPEATED SEQUENCE_UNPROVEN CLOCK_SKEW LATE_ARRIVAL TIMESTAMP_REGRESSION",
            "OVERRIDE WOULD_REJECT ADJUSTMENT",
        ],
    );
    keeps(Verdict::ALL, Verdict::name, &["accepted duplicate conflict stale rejected not_evaluated"]);
    keeps(EntryKind::ALL, EntryKind::name, &["event adjustment close"]);
    keeps(Class::ALL, Class::name, &["folded late_beyond_window period_closed"]);
    keeps(GapKind::ALL, GapKind::name, &["open acknowledged abandoned unlisted"]);
}

fn keeps<W: Copy>(all: &[W], name: fn(W) -> &'static str, places: &[&str]) {
    let now: Vec<&str> = all.iter().map(|word| name(*word)).collect();
    let then: Vec<&str> = places.iter().flat_map(|line| line.split(' ')).collect();
    // A new word comes after those that were there.
    assert_eq!(now.get(..then.len()), Some(&*then));
}
