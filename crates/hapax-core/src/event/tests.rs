use super::*;
use crate::contract::{Contract, Version};
use crate::refusal::Why;
use proptest::prelude::*;

const SALT: [u8; 32] = [7; 32];
/// 2026-01-01T10:00:00Z.
const NOW: Time = Time::from_nanos(1_767_261_600_000_000_000);

fn version(contract: &str) -> Version {
    Version::first(Contract::from_toml(contract).unwrap_or_else(|why| panic!("{contract}: {why:?}")).contract)
}

fn read_under(contract: &str, document: &str) -> Event {
    let door =
        Door { salt: &SALT, now: NOW, spare: 0x5eed, event_bytes_max: 1 << 20, covers: &|lane| lane != "secret" };
    read(Arc::from(document.as_bytes()), &version(contract), &door)
}

/// Where, expected, found; or nothing.
fn refusal(event: &Event) -> String {
    match event.refusal.as_deref().map(|refusal| &refusal.why) {
        Some(Why::Schema { pointer, expected, found }) => format!("{pointer}: {expected}; {found}"),
        Some(why) => format!("{why:?}"),
        None => String::new(),
    }
}

const A_NAME: &str = "a string of 1 to 256 bytes without U+0000";
const A_LANE: &str = "a string of 1 to 256 bytes without U+0000, or an integer of 64 bits";
const A_NUMBER: &str = "an integer from 0 to 18446744073709551615";

#[test]
fn a_document_is_a_json_object_within_limits() {
    fn check(document: &str, expect: &str) {
        assert_eq!(refusal(&read_under("", document)), expect, "{document}");
    }
    check("{}", "");
    check("[]", ": a JSON object; an array");
    check("5", ": a JSON object; a number");
    check("null", ": a JSON object; null");
    check("", ": strict JSON; the text is empty");
    check("{\"a\":1", ": strict JSON; the text ends too early");
    check("{\"a\":{\"b\":1,\"b\":2}}", "/a/b: strict JSON; duplicate key \"b\"");
    let door = Door { salt: &SALT, now: NOW, spare: 0, event_bytes_max: 2, covers: &|_| true };
    for (document, expect) in [("{}", ""), ("{ }", ": at most 2 bytes; 3")] {
        assert_eq!(refusal(&read(Arc::from(document.as_bytes()), &version(""), &door)), expect);
    }
}

#[test]
fn an_id_is_a_string_of_1_to_256_bytes_as_it_is_written() {
    fn check(id: &str, expect: &str) {
        let event = read_under("identity.required = true", &format!("{{\"id\":{id}}}"));
        let said =
            if event.refusal.is_some() { refusal(&event) } else { event.id.as_deref().unwrap_or("?").to_owned() };
        assert_eq!(said, expect, "{id}");
    }
    check("\"a\"", "a");
    check("\" A \"", " A ");
    check("\"e\\u0301\"", "e\u{301}");
    check("\"\\u0041\"", "A");
    check("5", &format!("/id: {A_NAME}; a number"));
    check("true", &format!("/id: {A_NAME}; true or false"));
    check("{}", &format!("/id: {A_NAME}; an object"));
    check("\"\"", &format!("/id: {A_NAME}; an empty string"));
    check("null", &format!("/id: {A_NAME}; nothing"));
    check("\"a\\u0000b\"", &format!("/id: {A_NAME}; a string with U+0000"));
    check(&format!("\"{}\"", "x".repeat(256)), &"x".repeat(256));
    check(&format!("\"{}\"", "x".repeat(257)), &format!("/id: {A_NAME}; a string of 257 bytes"));
    // Bytes, not letters.
    check(&format!("\"{}\"", "é".repeat(128)), &"é".repeat(128));
    check(&format!("\"{}é\"", "x".repeat(255)), &format!("/id: {A_NAME}; a string of 257 bytes"));
}

#[test]
fn a_lanes_text_tells_every_two_lanes_apart() {
    fn check(document: &str, expect: &str) {
        let event = read_under("envelope.lane = \"/lane\"\nsequence.source = \"server\"", document);
        let said =
            if event.refusal.is_some() { refusal(&event) } else { event.lane.as_deref().unwrap_or("?").to_owned() };
        assert_eq!(said, expect, "{document}");
    }
    check(r#"{"lane":"a"}"#, "a");
    check(r#"{"lane":"5"}"#, "5");
    check(r#"{"lane":5}"#, "[5]");
    check(r#"{"lane":-5}"#, "[-5]");
    check(r#"{"lane":"[5]"}"#, r#"["[5]"]"#);
    check(r#"{"lane":"["}"#, r#"["["]"#);
    check(r#"{"lane":"a[5]"}"#, "a[5]");
    check(r#"{"lane":"{\"a\":1}"}"#, r#"{"a":1}"#);
    check(r#"{"lane":18446744073709551615}"#, "[18446744073709551615]");
    check(r#"{"lane":-9223372036854775808}"#, "[-9223372036854775808]");
    check(r#"{"lane":-0}"#, "[0]");
    check(r#"{"lane":18446744073709551616}"#, &format!("/lane: {A_LANE}; 18446744073709551616"));
    check(r#"{"lane":1.0}"#, &format!("/lane: {A_LANE}; 1.0"));
    check(r#"{"lane":1e2}"#, &format!("/lane: {A_LANE}; 1e2"));
    check(r#"{"lane":true}"#, &format!("/lane: {A_LANE}; true or false"));
    check(r#"{"lane":""}"#, &format!("/lane: {A_LANE}; an empty string"));
    check(r#"{"lane":"\u0000"}"#, &format!("/lane: {A_LANE}; a string with U+0000"));
    check(r#"{"lane":null}"#, &format!("/lane: {A_LANE}; nothing"));
    check("{}", &format!("/lane: {A_LANE}; nothing"));
    check(&format!("{{\"lane\":\"{}\"}}", "x".repeat(257)), &format!("/lane: {A_LANE}; a string of 257 bytes"));
}

#[test]
fn a_composite_lane_is_its_json_array() {
    fn check(document: &str, expect: &str) {
        let event = read_under("envelope.lane = [\"/a\", \"/b\"]\ntime.regression = \"mark\"", document);
        let said =
            if event.refusal.is_some() { refusal(&event) } else { event.lane.as_deref().unwrap_or("?").to_owned() };
        assert_eq!(said, expect, "{document}");
    }
    check(r#"{"a":"x","b":"y"}"#, r#"["x","y"]"#);
    check(r#"{"a":"x\",\"y","b":"z"}"#, r#"["x\",\"y","z"]"#);
    check(r#"{"a":5,"b":"5"}"#, r#"[5,"5"]"#);
    check(r#"{"a":"\n","b":"é"}"#, "[\"\\n\",\"é\"]");
    check(r#"{"a":"x"}"#, &format!("/b: {A_LANE}; nothing"));
    check(r#"{"b":null}"#, &format!("/a: {A_LANE}; nothing"));
}

#[test]
fn where_no_rule_reads_lanes_an_absent_one_is_the_default() {
    fn check(contract: &str, document: &str, expect: &str) {
        assert_eq!(read_under(contract, document).lane.as_deref(), Some(expect), "{contract}: {document}");
    }
    check("", "{}", "default");
    check("", r#"{"lane":null}"#, "default");
    check("", r#"{"lane":"a"}"#, "a");
    check("envelope.lane = [\"/a\", \"/b\"]", r#"{"a":"x"}"#, "default");
    check("envelope.lane = false\nsequence.source = \"server\"", r#"{"lane":"a"}"#, "default");
    // One that is there must still be one.
    assert_eq!(refusal(&read_under("", r#"{"lane":[]}"#)), format!("/lane: {A_LANE}; an array"));
}

#[test]
fn a_lane_that_the_key_does_not_cover_is_refused_before_anything_is_derived() {
    let event = read_under("identity.derive = [\"/x\"]", r#"{"lane":"secret","x":1}"#);
    assert_eq!(refusal(&event), "Lane");
    assert_eq!((event.id, event.lane.as_deref()), (None, Some("secret")));
}

#[test]
fn the_audit_finds_a_refused_document_by_its_id_and_lane() {
    let event = read_under("sequence.source = \"producer\"", r#"{"id":"a","lane":"b"}"#);
    assert_eq!(refusal(&event), format!("/seq: {A_NUMBER}; nothing"));
    assert_eq!((event.id.as_deref(), event.lane.as_deref()), (Some("a"), Some("b")));
}

/// The identity that is derived from `/a` and `/b`.
fn derived(document: &str) -> String {
    let event = read_under("identity.derive = [\"/a\", \"/b\"]\nenvelope.time = \"/b\"", document);
    match event.id {
        Some(id) if event.id_source == IdSource::Derived => id.to_string(),
        _ => refusal(&event),
    }
}

#[test]
fn a_derived_identity_never_changes() {
    fn check(document: &str, expect: &str) {
        assert_eq!(derived(document), expect, "{document}");
    }
    check(r#"{"a":"x","b":"y"}"#, "ohL8rRnyjHZfuvi2LcA8V_kM5Q_LnkzghQeNT2BLN-I");
    check(r#"{"a":"x"}"#, "VW_35eoAUG__F6mVbYbZW7MU_s7MXbl4N7d6vEkmTXg");
    check(r#"{"a":"x","b":null}"#, "OQFwt3D-4Lf9t1OoSTgNCEf5g_CFNbqK4hRycktoW28");
    check(r#"{"a":5,"b":true}"#, "Qk6FwNj51ezQzpoHbwTIwRf-_3smShLUUeHYVkhvpp4");
    check(r#"{"a":"5","b":true}"#, "HPcvI7wCGpyn9e0xRzLol3AKryIMFo8ojTOGWkbaBF4");
    check(r#"{"a":"x","b":"2026-01-01T10:00:00Z"}"#, "pEm2sIWVewxDu3m5umT4kJE5I836rFziSm0JJ9gYYbc");
    check(r#"{"a":{"k":[1,"z"]},"b":"y"}"#, "1WZLF6sbtixdD9Vid8yECt2eg9nRgGV8Es7QXOtligQ");
    check("{}", ": an id, or something to derive it from: /a, /b; neither");
}

#[test]
fn what_means_the_same_derives_the_same_and_nothing_else_does() {
    let same = |one: &str, other: &str| assert_eq!(derived(one), derived(other), "{one} and {other}");
    same(r#"{"a":1,"b":"y"}"#, r#"{"b":"\u0079","a":1.0}"#);
    same(r#"{"a":1e2}"#, r#"{"a":100, "other":5}"#);
    same(r#"{"b":"2026-01-01T10:00:00Z"}"#, r#"{"b":"2026-01-01t10:00:00.000+00:00"}"#);
    same(r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2.0,"x":1}}"#);
    let all = [
        r#"{"a":"x","b":"y"}"#,
        r#"{"a":"xy","b":""}"#,
        r#"{"a":"","b":"xy"}"#,
        r#"{"a":"y","b":"x"}"#,
        r#"{"a":null,"b":"y"}"#,
        r#"{"b":"y"}"#,
        r#"{"a":"null","b":"y"}"#,
        r#"{"a":5}"#,
        r#"{"a":"5"}"#,
        r#"{"a":[5]}"#,
        r#"{"a":"[5]"}"#,
        r#"{"a":true}"#,
        r#"{"a":"true"}"#,
        r#"{"a":null}"#,
        r#"{"b":null}"#,
        r#"{"b":"2026-01-01T10:00:00Z"}"#,
        r#"{"a":"2026-01-01T10:00:00Z"}"#,
        r#"{"a":"2026-01-01T10:00:00.0Z"}"#,
        r#"{"a":"é"}"#,
        r#"{"a":"e\u0301"}"#,
        r#"{"a":"x "}"#,
        r#"{"a":"X"}"#,
        r#"{"a":{}}"#,
        r#"{"a":[]}"#,
    ];
    let ids: std::collections::BTreeSet<String> = all.iter().map(|document| derived(document)).collect();
    assert_eq!(ids.len(), all.len(), "no two of them are one event");
    assert!(ids.iter().all(|id| id.len() == 43), "256 bits in base64url, without padding");
}

#[test]
fn a_derived_identity_belongs_to_its_tenant() {
    let contract = version("identity.derive = [\"/a\"]");
    let with = |salt: [u8; 32]| {
        let door = Door { salt: &salt, now: NOW, spare: 0, event_bytes_max: 99, covers: &|_| true };
        read(Arc::from(br#"{"a":1}"#.as_slice()), &contract, &door).id
    };
    assert_eq!(with([1; 32]), with([1; 32]));
    assert_ne!(with([1; 32]), with([2; 32]));
}

#[test]
fn a_given_id_wins_and_null_is_absent() {
    let contract = "identity.derive = [\"/a\"]";
    assert_eq!(read_under(contract, r#"{"id":"x","a":1}"#).id_source, IdSource::Given);
    assert_eq!(read_under(contract, r#"{"id":null,"a":1}"#).id_source, IdSource::Derived);
    assert_eq!(read_under("", r#"{"id":null}"#).id_source, IdSource::Assigned);
    assert_eq!(read_under("envelope.id = false", r#"{"id":"x"}"#).id_source, IdSource::Assigned);
}

#[test]
fn an_assigned_id_is_a_uuid_of_version_7() {
    fn check(now: i64, spare: u128, expect: &str) {
        let door = Door { salt: &SALT, now: Time::from_nanos(now), spare, event_bytes_max: 99, covers: &|_| true };
        let event = read(Arc::from(b"{}".as_slice()), &version(""), &door);
        assert_eq!(event.id.as_deref(), Some(expect));
        assert_eq!(event.id_source, IdSource::Assigned);
    }
    check(NOW.nanos(), 0, "019b78ff-f900-7000-8000-000000000000");
    check(NOW.nanos() + 1_999_999, u128::MAX, "019b78ff-f901-7fff-bfff-ffffffffffff");
    check(0, 0x5eed, "00000000-0000-7000-8000-000000005eed");
    // Before 1970 there is nothing smaller than the beginning.
    check(-1, 1, "00000000-0000-7000-8000-000000000001");
    check(0, 1 << 62, "00000000-0000-7001-8000-000000000000");
}

#[test]
fn identities_and_nonces_are_kept_apart_by_their_lengths_and_domains() {
    let lanes = [
        Identity::of(None, "ab"),
        Identity::of(Some("a"), "b"),
        Identity::of(Some("ab"), ""),
        Identity::of(Some(""), "ab"),
        Identity::of_correction("ab"),
        Identity::of_closing("a", None, "b"),
        Identity::of_closing("a", Some("b"), ""),
        Identity(NonceKey::of("a", "b").0),
    ];
    let distinct: std::collections::BTreeSet<Identity> = lanes.into_iter().collect();
    assert_eq!(distinct.len(), 8);
    assert_eq!(
        crate::receipt::hex(&Identity::of(None, "e-1").0),
        "46ed721dac03735b3b6f994992c473167c64c6175b1b442f6885accfddc2a3d9"
    );
    assert_eq!(
        crate::receipt::hex(&Identity::of(Some("a"), "e-1").0),
        "46ed721dac03735b9650983695451e41bd37c36f273c5628c5171bef25885294",
        "the identities of one id begin alike, in whatever lane"
    );
    assert_eq!(
        crate::receipt::hex(&NonceKey::of("a", "n").0),
        "834a2e0d35b63c6f0f05b852d21960b042a6fdb7f08c127c5a9a0ba9d79eb125"
    );
}

#[test]
fn an_id_is_looked_up_within_its_scope() {
    let identity =
        |contract: &str, lane: &str| read_under(contract, &format!(r#"{{"id":"x","lane":"{lane}"}}"#)).identity;
    assert_eq!(identity("", "a"), identity("", "b"));
    assert_ne!(identity("identity.scope = \"lane\"", "a"), identity("identity.scope = \"lane\"", "b"));
}

#[test]
fn a_producers_number_is_an_unsigned_integer_of_64_bits() {
    fn check(number: &str, expect: Result<u64, &str>) {
        let event = read_under("sequence.source = \"producer\"", &format!(r#"{{"lane":"a","seq":{number}}}"#));
        match expect {
            Ok(number) => assert_eq!((event.seq, refusal(&event)), (Some(number), String::new())),
            Err(found) => assert_eq!(refusal(&event), format!("/seq: {A_NUMBER}; {found}"), "{number}"),
        }
    }
    check("0", Ok(0));
    check("18446744073709551615", Ok(u64::MAX));
    check("18446744073709551616", Err("18446744073709551616"));
    check("-1", Err("-1"));
    check("1.0", Err("1.0"));
    check("1e2", Err("1e2"));
    check("\"1\"", Err("a string"));
    check("[1]", Err("an array"));
    check("null", Err("nothing"));
}

#[test]
fn a_number_below_the_first_is_no_number_of_the_lane() {
    fn check(first: &str, number: u64, expect: &str) {
        let contract = format!("sequence = {{ source = \"producer\", first = {first} }}");
        assert_eq!(refusal(&read_under(&contract, &format!(r#"{{"lane":"a","seq":{number}}}"#))), expect);
    }
    check("1", 0, "/seq: a number from 1; 0");
    check("1", 1, "");
    check("0", 0, "");
    check("\"any\"", 0, "");
}

#[test]
fn the_epoch_is_zero_if_nobody_says_otherwise_and_a_number_if_somebody_does() {
    fn check(epoch: &str, expect: Result<u64, &str>) {
        let event = read_under("sequence.source = \"producer\"", &format!(r#"{{"lane":"a","seq":1{epoch}}}"#));
        match expect {
            Ok(epoch) => assert_eq!((event.epoch, refusal(&event)), (epoch, String::new())),
            Err(found) => assert_eq!(refusal(&event), format!("/epoch: {A_NUMBER}; {found}")),
        }
    }
    check("", Ok(0));
    check(r#","epoch":null"#, Ok(0));
    check(r#","epoch":7"#, Ok(7));
    check(r#","epoch":-1"#, Err("-1"));
    check(r#","epoch":"7""#, Err("a string"));
}

#[test]
fn a_pointer_that_no_rule_reads_is_not_looked_at() {
    let odd = r#"{"id":"a","lane":"a","seq":"x","epoch":[],"expected_seq":{},"time":5}"#;
    let event = read_under("", odd);
    assert_eq!(refusal(&event), "");
    assert_eq!((event.seq, event.epoch, event.expected), (None, 0, None));
    assert_eq!(event.time, Stamp::NotText("a number"), "what to make of that is the judge's");
    assert_eq!(
        refusal(&read_under("sequence.source = \"server\"", odd)),
        format!("/expected_seq: {A_NUMBER}; an object")
    );
    assert_eq!(refusal(&read_under("sequence.source = \"producer\"", odd)), format!("/seq: {A_NUMBER}; a string"));
}

#[test]
fn an_event_of_a_listed_kind_must_say_what_it_expects() {
    fn check(document: &str, expect: (Option<u64>, bool)) {
        let contract = "sequence.source = \"server\"\n\
                        sequence.expected_required_for = { field = \"/kind\", values = [\"update\", 1, true] }";
        let event = read_under(contract, document);
        assert_eq!((event.expected, event.expected_required), expect, "{document}");
    }
    check(r#"{"lane":"a","kind":"update"}"#, (None, true));
    check(r#"{"lane":"a","kind":"update","expected_seq":3}"#, (Some(3), true));
    check(r#"{"lane":"a","kind":"create","expected_seq":0}"#, (Some(0), false));
    check(r#"{"lane":"a","kind":1.0}"#, (None, true));
    check(r#"{"lane":"a","kind":"1"}"#, (None, false));
    check(r#"{"lane":"a","kind":true}"#, (None, true));
    check(r#"{"lane":"a","kind":null}"#, (None, false));
    check(r#"{"lane":"a"}"#, (None, false));
}

#[test]
fn a_nonce_is_a_name_and_belongs_to_its_lane() {
    fn check(nonce: &str, expect: &str) {
        let contract = "nonce = { required = true, keep = \"forever\" }";
        let event = read_under(contract, &format!(r#"{{"lane":"a","nonce":{nonce}}}"#));
        assert_eq!(refusal(&event), expect, "{nonce}");
        assert_eq!(event.nonce.is_some(), expect.is_empty());
    }
    check("\"n\"", "");
    check("5", &format!("/nonce: {A_NAME}; a number"));
    check("\"\"", &format!("/nonce: {A_NAME}; an empty string"));
    check("null", &format!("/nonce: {A_NAME}; nothing"));
    check("\"\\u0000\"", &format!("/nonce: {A_NAME}; a string with U+0000"));
    let of = |lane: &str| read_under("", &format!(r#"{{"lane":"{lane}","nonce":"n"}}"#)).nonce;
    assert_eq!(of("a"), Some(NonceKey::of("a", "n")));
    assert_ne!(of("a"), of("b"));
}

#[test]
fn a_nonce_is_read_where_it_can_be_refused() {
    fn check(contract: &str, document: &str, expect: (bool, bool)) {
        let event = read_under(contract, document);
        assert_eq!((event.nonce.is_some(), event.refusal.is_some()), expect, "{contract}: {document}");
    }
    let required = "nonce = { required = true, keep = \"forever\" }\n";
    check("", r#"{"nonce":"n"}"#, (true, false));
    check("", "{}", (false, false));
    check(required, r#"{"lane":"a"}"#, (false, true));
    check(&format!("{required}mode = \"shadow\""), r#"{"lane":"a"}"#, (false, false));
    check(&format!("{required}mode = \"off\""), r#"{"lane":"a","nonce":5}"#, (false, false));
    check("envelope.nonce = false", r#"{"nonce":"n"}"#, (false, false));
}

#[test]
fn a_time_is_read_as_far_as_it_can_be() {
    fn check(contract: &str, time: &str, expect: &str) {
        let said = match read_under(contract, &format!(r#"{{"time":{time}}}"#)).time {
            Stamp::Absent => "absent".to_owned(),
            Stamp::Read(time) => time.to_string(),
            Stamp::Unreadable(TimeFault::Malformed(_)) => "malformed".to_owned(),
            Stamp::Unreadable(TimeFault::NotUtc(_)) => "not UTC".to_owned(),
            Stamp::NotText(kind) => kind.to_owned(),
        };
        assert_eq!(said, expect, "{time}");
    }
    check("", "null", "absent");
    check("", "\"2026-01-01T10:00:00.50Z\"", "2026-01-01T10:00:00.5Z");
    check("", "\"2026-01-01T10:00:00+01:00\"", "not UTC");
    check("time.utc_only = false", "\"2026-01-01T10:00:00+01:00\"", "2026-01-01T09:00:00Z");
    check("", "\"yesterday\"", "malformed");
    check("", "\"\"", "malformed");
    check("", "1767261600", "a number");
    check("envelope.time = false", "\"yesterday\"", "absent");
}

/// `key=amount` of each counter that applies, or what is wrong with the amount.
fn counted(document: &str) -> String {
    let contract = "counters.all = { amount = \"/q\", key = [] }\n\
                    counters.by = { amount = \"/q\", key = [\"/a\", \"/b\"], when = { field = \"/m\", values = [\"x\"] } }";
    let event = read_under(contract, document);
    if event.refusal.is_some() {
        return refusal(&event);
    }
    let one = |counted: &Counted| {
        let amount = counted.amount.as_ref().map_or_else(String::clone, ToString::to_string);
        format!("{} {}={amount}", ["all", "by"][counted.counter], counted.key)
    };
    event.counted.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_counter_takes_what_its_key_and_amount_say() {
    fn check(document: &str, expect: &str) {
        assert_eq!(counted(document), expect, "{document}");
    }
    check(r#"{"q":1}"#, "all []=1");
    check(r#"{"q":"-2.50"}"#, "all []=-2.5");
    check(r#"{"q":1e3}"#, "all []=1000");
    check(r#"{"q":1,"m":"x","a":"k","b":5}"#, r#"all []=1, by ["k",5]=1"#);
    check(r#"{"q":1,"m":"x","a":"5","b":5.0}"#, r#"all []=1, by ["5",5]=1"#);
    // What cannot be attributed is still counted.
    check(r#"{"q":1,"m":"x","b":null}"#, "all []=1, by [null,null]=1");
    check(r#"{"q":1,"m":"x","a":true,"b":""}"#, r#"all []=1, by [true,""]=1"#);
    check(r#"{"q":1,"m":"X"}"#, "all []=1");
    check(r#"{}"#, "all []=there is none at /q");
    check(r#"{"q":null}"#, "all []=null at /q is not a number");
    check(r#"{"q":[1]}"#, "all []=an array at /q is not a number");
    let part = "a string of at most 256 bytes without U+0000, a number, true, false or null";
    check(r#"{"q":1,"m":"x","a":[]}"#, &format!("/a: {part}; an array"));
    check(r#"{"q":1,"m":"x","a":"\u0000"}"#, &format!("/a: {part}; a string with U+0000"));
    check(&format!(r#"{{"q":1,"m":"x","a":"{}"}}"#, "x".repeat(257)), &format!("/a: {part}; a string of 257 bytes"));
    check(&format!(r#"{{"q":1,"m":"x","a":{}}}"#, "9".repeat(257)), &format!("/a: {part}; a number"));
}

#[test]
fn an_amount_that_cannot_be_counted_is_told_with_its_place() {
    for document in [r#"{"q":"x"}"#, r#"{"q":"1 "}"#, r#"{"q":""}"#, r#"{"q":1e19}"#, r#"{"q":1e-10}"#] {
        assert!(counted(document).ends_with("(at /q)"), "{document}: {}", counted(document));
    }
}

#[test]
fn a_counters_key_is_written_in_one_way_whoever_wrote_it() {
    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(counter_key(text.as_bytes()).as_deref(), expect, "{text}");
    }
    check(r#"[ "a" , 5.0, null ,true ]"#, Some(r#"["a",5,null,true]"#));
    check("[]", Some("[]"));
    check(r#"["\u0041"]"#, Some(r#"["A"]"#));
    check("[[]]", None);
    check("{}", None);
    check("\"a\"", None);
    check("[", None);
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_answered(bytes: Vec<u8>) {
        let door = Door { salt: &SALT, now: NOW, spare: 0, event_bytes_max: 1 << 20, covers: &|_| true };
        let event = read(Arc::from(bytes.as_slice()), &version("preset = \"telemetry-strict\""), &door);
        prop_assert!(event.refusal.is_some() || event.id.is_some() && event.lane.is_some());
        prop_assert_eq!(event.digest, digest(&bytes));
    }

    /// Two lanes have the same text only if they have the same parts.
    #[test]
    fn no_two_lanes_share_a_text(one in prop::collection::vec("[\\[\\]\",a0-9]{1,4}", 1..3), other in prop::collection::vec("[\\[\\]\",a0-9]{1,4}", 1..3)) {
        let text = |parts: &[String]| {
            let names = ["/a", "/b"];
            let contract = format!("envelope.lane = {:?}\nsequence.source = \"server\"", &names[..parts.len()]);
            let members: Vec<String> = parts.iter().zip(names).map(|(part, name)| {
                format!("\"{}\":{}", &name[1..], serde_json::to_string(part).expect("JSON"))
            }).collect();
            read_under(&contract, &format!("{{{}}}", members.join(","))).lane
        };
        prop_assert_eq!(text(&one) == text(&other), one == other);
    }
}

/// What was scanned with others is read as it is read alone, and what one document leaves behind changes no other.
#[test]
fn documents_that_are_read_together_are_read_as_each_alone() {
    let contracts = [
        "preset = \"telemetry-strict\"",
        "preset = \"telemetry-tolerant\"",
        "preset = \"cloudevents\"",
        "nonce = { required = true, keep = \"forever\" }\n\
         envelope = { id = \"/meta/id\", lane = [\"/a\", \"/b\", \"/meta/c\"], nonce = \"/n\" }",
        "envelope = { id = \"/n\", lane = \"/n\", nonce = \"/n\" }",
        "identity.derive = [\"/a\", \"/meta\"]\ncounters.all = { amount = \"/sequence\", key = [\"/a\"] }",
    ];
    let documents = [
        r#"{"event_id":"e1","component_instance_id":"a","sequence":1,"observed_at":"2026-01-01T00:00:00Z"}"#,
        r#"{"event_id":"e2","component_instance_id":"a","sequence":2,"observed_at":"2026-01-01T00:00:00.5+01:00"}"#,
        r#"{ "sequence" : 3, "\u0065vent_id":"e3","component_instance_id":"\u0061","observed_at":"then"}"#,
        r#"{"event_id":null,"component_instance_id":7,"sequence":-1}"#,
        r#"{"event_id":"","component_instance_id":"[x","sequence":1.0}"#,
        r#"{"event_id":"\u0000","component_instance_id":"b\u0000","n":"a\u0000"}"#,
        r#"{"meta":{"id":"m","c":3},"a":"x","b":"y","n":"once"}"#,
        r#"{"meta":{"id":"m"},"a":"x","b":"y","n":"once"}"#,
        r#"{"id":"c1","source":"/s","type":"t","specversion":"1.0","time":"2026-01-01T00:00:00Z"}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"n":"same","n2":"same"}"#,
        r#"{"n":"other"}"#,
        r#"[1,2]"#,
        "7",
        "{}",
    ];
    let body = format!("[{}]", documents.join(" ,\n"));
    let batch = crate::json::Batch::of(body.as_bytes(), 100).expect("an array");
    assert_eq!(batch.raw().collect::<Vec<_>>(), documents);
    for contract in contracts {
        let version = version(contract);
        let covers = |lane: &str| lane != "b";
        let door = Door { salt: &[7; 32], now: NOW, spare: 5, event_bytes_max: 110, covers: &covers };
        let (mut reader, mut scanned) = (Reader::new(&version, 2), Reader::new(&version, 1_000));
        for (index, document) in documents.iter().enumerate() {
            let document: Arc<[u8]> = Arc::from(document.as_bytes());
            let alone = format!("{:?}", read(Arc::clone(&document), &version, &door));
            assert_eq!(format!("{:?}", reader.read(Arc::clone(&document), &door)), alone);
            match batch.node(index) {
                Some(node) => assert_eq!(format!("{:?}", scanned.read_scanned(document, node, &door)), alone),
                None => assert!(alone.contains("duplicate key"), "{alone}"),
            }
        }
    }
}

#[test]
fn events_of_one_lane_share_its_name() {
    let version = version("preset = \"telemetry-tolerant\"");
    let door = Door { salt: &[7; 32], now: NOW, spare: 5, event_bytes_max: 1 << 20, covers: &|_| true };
    let mut reader = Reader::new(&version, 100);
    let mut lane = |name: &str| {
        let document = format!(r#"{{"event_id":"e","component_instance_id":"{name}","sequence":1}}"#);
        reader.read(document.into_bytes().into(), &door).lane.expect("a lane")
    };
    let (a, b, again) = (lane("device-1"), lane("device-2"), lane("device-1"));
    assert_eq!((&*a, &*b), ("device-1", "device-2"));
    assert!(Arc::ptr_eq(&a, &again));
}
