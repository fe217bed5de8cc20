use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use hapax_core::access::Rates;
use proptest::collection::vec;
use proptest::prelude::*;

use super::{ADDRESSES_MAX, Account, Limit, Payer, Rating, TooMany};

fn account(requests: u32, events: u32) -> Account {
    let rates = Rates { requests: Some(requests), events: Some(events) };
    Account::new(Payer::Key(Arc::from("k_1")), rates).expect("something to count")
}

fn address(address: impl Into<IpAddr>) -> Account {
    let rates = Rates { requests: Some(1), events: None };
    Account::new(Payer::Address(address.into()), rates).expect("something to count")
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_seconds_worth_at_once_and_then_the_rate() {
    let (rating, account) = (Rating::default(), account(4, 0));
    let taken = |now| (0..10).take_while(|_| rating.request(&account, now, false).is_ok()).count();
    assert_eq!(taken(millis(0)), 4);
    assert_eq!((taken(millis(249)), taken(millis(250)), taken(millis(999))), (0, 1, 2));
    assert_eq!(taken(millis(3_600_000)), 4, "an hour of silence is worth no more than a second of it");
}

#[test]
fn a_batch_beyond_a_seconds_worth_is_taken_and_owed() {
    let (rating, account) = (Rating::default(), account(0, 100));
    assert_eq!(rating.events(&account, millis(0), 1_000), Ok(()));
    let later = TooMany { limit: Limit::Events, rate: 100, wait: millis(10_000) };
    assert_eq!(rating.events(&account, millis(0), 1_000), Err(later));
    assert_eq!(rating.request(&account, millis(9_009), true).map_err(|it| it.wait), Err(millis(1)));
    assert_eq!(rating.request(&account, millis(9_010), true), Ok(()), "one event would be taken again");
    assert_eq!(rating.events(&account, millis(9_999), 1_000).map_err(|it| it.wait), Err(millis(1)));
    assert_eq!(rating.events(&account, millis(10_000), 1_000), Ok(()));
}

#[test]
fn who_is_refused_for_events_is_told_of_requests_too() {
    let (rating, account) = (Rating::default(), account(1, 100));
    assert_eq!(rating.request(&account, millis(0), true), Ok(()));
    assert_eq!(rating.events(&account, millis(0), 100), Ok(()));
    let many = rating.events(&account, millis(0), 1).expect_err("nothing is left");
    assert_eq!(many.wait, millis(1_000), "an event would be taken after 10 ms, its request after a second");
}

#[test]
fn what_is_refused_costs_nothing() {
    let (rating, account) = (Rating::default(), account(1, 10));
    assert_eq!(rating.events(&account, millis(0), 10), Ok(()));
    for _ in 0..100 {
        assert!(rating.events(&account, millis(0), 10).is_err());
        assert!(rating.request(&account, millis(0), true).is_err());
    }
    assert_eq!(rating.events(&account, millis(1_000), 10), Ok(()));
    assert_eq!(rating.request(&account, millis(1_000), false), Ok(()));
}

#[test]
fn nothing_is_counted_where_there_is_no_limit() {
    let none = Rates { requests: Some(0), events: None };
    assert_eq!(Account::new(Payer::Key(Arc::from("k")), none), None);
    let own = Rates { requests: None, events: Some(0) };
    let server = Rates { requests: Some(5), events: Some(5) };
    assert_eq!(own.or(server), Rates { requests: Some(5), events: Some(0) }, "a key can be exempt");
}

#[test]
fn the_neighbours_of_an_address_are_the_same_payer() {
    let rating = Rating::default();
    let (here, there) =
        (Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 9, 9, 9, 9));
    assert_eq!(rating.request(&address(here), millis(0), false), Ok(()));
    assert!(rating.request(&address(there), millis(0), false).is_err());
    assert_eq!(rating.request(&address(Ipv6Addr::LOCALHOST), millis(0), false), Ok(()));
    assert_eq!(rating.request(&address(Ipv4Addr::LOCALHOST), millis(0), false), Ok(()));
    let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
    assert!(rating.request(&address(mapped), millis(0), false).is_err(), "one machine under two names");
}

#[test]
fn a_flood_of_addresses_is_forgotten_and_those_that_come_again_are_not() {
    let rating = Rating::default();
    let regular = address(Ipv4Addr::LOCALHOST);
    for number in 0..10 * ADDRESSES_MAX as u32 {
        assert_eq!(rating.request(&address(Ipv4Addr::from(0x0a00_0000 + number)), millis(0), false), Ok(()));
        if number % 1_000 == 0 {
            assert_eq!(rating.request(&regular, millis(0), false).is_ok(), number == 0);
        }
    }
    let addresses = rating.addresses.lock().expect("the addresses");
    let (young, old) = (addresses.young.len(), addresses.old.len());
    assert!(young <= ADDRESSES_MAX && old <= ADDRESSES_MAX, "{young} and {old} are remembered");
}

/// A caller that sends so many events after a while.
#[derive(Clone, Copy, Debug)]
struct Visit {
    after: Duration,
    events: u32,
}

fn visits() -> impl Strategy<Value = Vec<Visit>> {
    let after = prop_oneof![Just(0), 0..5_000_000_u64, 0..3_000_000_000_u64].prop_map(Duration::from_nanos);
    vec((after, 1..300_u32).prop_map(|(after, events)| Visit { after, events }), 1..60)
}

proptest! {
    /// Between any two moments a caller gets no more than the rate for the time between, a second's worth on top, and
    /// where its batches are larger than that, what the last one has more.
    #[test]
    fn never_more_than_the_burst_and_the_rate(rate in 1..200_u32, visits in visits()) {
        let (rating, account) = (Rating::default(), account(0, rate));
        let mut now = Duration::ZERO;
        let mut taken: Vec<(Duration, u32)> = Vec::new();
        for Visit { after, events } in visits {
            now += after;
            if rating.events(&account, now, events as usize).is_ok() {
                taken.push((now, events));
            }
        }
        for (first, (from, _)) in taken.iter().enumerate() {
            let mut sum = 0;
            for (to, events) in &taken[first..] {
                // What is owed when the last one comes is at most what a second's worth leaves room for.
                let before = u128::from(rate.saturating_sub(*events)) * super::WHOLE;
                let earned = (*to - *from).as_nanos() * u128::from(rate);
                prop_assert!(sum <= before + earned, "{sum} billionths in {:?}", *to - *from);
                sum += u128::from(*events) * super::WHOLE;
            }
        }
    }

    /// Who waits as long as a refusal says gets through, and a moment earlier would not have; and who waits until all is
    /// there again gets anything through.
    #[test]
    fn what_a_refusal_says_is_true(requests in 1..8_u32, rate in 1..200_u32, visits in visits(), wish in 1..400_u32) {
        let account = account(requests, rate);
        let rating = || {
            let (rating, mut at) = (Rating::default(), Duration::ZERO);
            for Visit { after, events } in &visits {
                at += *after;
                _ = rating.request(&account, at, true).and_then(|()| rating.events(&account, at, *events as usize));
            }
            (rating, at)
        };
        let (refusing, now) = rating();
        let level = refusing.levels(&account, now)[1];
        prop_assert_eq!(refusing.events(&account, now + level.full_in, wish as usize), Ok(()));
        let (refusing, _) = rating();
        if let Err(many) = refusing.events(&account, now, wish as usize) {
            prop_assert!(level.left < wish);
            let early = many.wait - Duration::from_nanos(1);
            prop_assert!(refusing.request(&account, now + early, true)
                .and_then(|()| refusing.events(&account, now + early, wish as usize)).is_err());
            let (refusing, _) = rating();
            let then = now + many.wait;
            prop_assert_eq!(refusing.request(&account, then, true), Ok(()));
            prop_assert_eq!(refusing.events(&account, then, wish as usize), Ok(()));
        } else {
            prop_assert!(level.left >= wish.min(rate));
        }
    }
}
