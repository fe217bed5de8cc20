use std::collections::BTreeSet;

use hapax_core::contract::Contract;

use super::*;

fn reading(contract: &str) -> Reading {
    let version = Version::first(Contract::from_toml(contract).expect("a contract").contract);
    let (salt, now) = ([7; 32], Time::from_nanos(1_000_000_000));
    Reading { version, salt, now, event_bytes_max: 1 << 20, lanes: Patterns::all() }
}

/// The halves of a body, by a thread of their own.
fn halves<'b>(body: &'b Bytes, max: usize, reading: &Reading) -> Option<Halves<'b>> {
    Halves::begin(body, max, reading, &Beside::on_any_machine().expect("a thread"))
}

fn body(count: usize, one: impl Fn(usize) -> String) -> Bytes {
    Bytes::from(format!("[{}]", (0..count).map(one).collect::<Vec<_>>().join(", ")))
}

#[test]
fn two_read_what_one_reads() {
    let reading = reading("");
    let pad = "x".repeat(200);
    // Some of them are refused, and say so alike.
    let one = |n: usize| match n % 100 {
        99 => format!(r#"{{"id":"{n}","id":"{n}","pad":"{pad}"}}"#),
        98 => format!(r#"{{"id":"","pad":"{pad}"}}"#),
        _ => format!(r#"{{"id":"e{n}","lane":"l{}","seq":{n},"pad":"{pad}"}}"#, n % 7),
    };
    let body = body(1000, one);
    let halves = halves(&body, 1000, &reading).expect("two halves");
    let came = Came::Halves(halves);
    assert_eq!((came.len(), came.is_single()), (1000, false));
    let whole = Came::Whole(Documents::array(&body, 1000).expect("an array"));
    let shown = |came: &Came<'_>| -> Vec<String> {
        came.read(&reading, 0).iter().filter(|it| it.id.is_some()).map(|it| format!("{it:?}")).collect()
    };
    assert_eq!(shown(&came), shown(&whole));
    let refused = whole.read(&reading, 0).iter().filter(|event| event.refusal.is_some()).count();
    assert_eq!(refused, 20);
}

#[test]
fn every_id_that_is_assigned_is_another() {
    let reading = reading("[envelope]\nlane = false\n");
    let body = body(500, |n| format!(r#"{{"seq":{n},"lane":"l","pad":"{}"}}"#, "x".repeat(200)));
    let came = Came::Halves(halves(&body, 1000, &reading).expect("two halves"));
    let events = came.read(&reading, spare());
    assert!(events.iter().all(|event| event.refusal.is_none()));
    assert_eq!(events.iter().map(|event| &event.id).collect::<BTreeSet<_>>().len(), 500);
}

#[test]
fn what_has_no_halves_is_left_to_who_reads_the_whole() {
    let reading = reading("");
    let pad = "x".repeat(200);
    let one = |n: usize| format!(r#"{{"id":"e{n}","pad":"{pad}"}}"#);
    let good = body(500, one);
    let cut = |bytes: &str| Bytes::from(String::from_utf8_lossy(&good).replacen("e400", bytes, 1));
    for (bad, max) in [
        (good.slice(..good.len() / 4), 1000),
        (good.slice(..good.len() - 1), 1000),
        (cut("e400\",nope\""), 1000),
        (cut("e400\u{1}"), 1000),
        (good.clone(), 499),
        // What looks like an element is in a string.
        (Bytes::from(format!(r#"[{{"id":"a","text":"{}"}}]"#, r#"}, {\"id\":1"#.repeat(10_000))), 1000),
        (Bytes::from(format!("[{}]", "1,".repeat(50_000))), 1000),
    ] {
        assert!(halves(&bad, max, &reading).is_none(), "{}", String::from_utf8_lossy(&bad[..80]));
    }
    assert!(halves(&good, 500, &reading).is_some());
}
