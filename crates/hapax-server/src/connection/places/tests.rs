use super::*;

fn places(all: usize, of_address: usize) -> Places {
    let limits = Limits { connections_max: all, connections_per_address_max: of_address, ..Limits::default() };
    Places::new(&limits)
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn one_address_leaves_places_for_others_and_gives_its_own_back() {
    let places = places(3, 2);
    let first = places.take(address("10.0.0.1")).expect("a place");
    let _second = places.take(address("::ffff:10.0.0.1")).expect("a place: the same address, written otherwise");
    assert!(places.take(address("10.0.0.1")).is_err(), "two are enough for one");
    let _third = places.take(address("10.0.0.2")).expect("a place for another");
    assert!(places.take(address("10.0.0.3")).is_err(), "three are enough for all");
    drop(first);
    let again = places.take(address("10.0.0.1")).expect("the place that was given back");
    drop(again);
    assert_eq!(places.taken.lock().expect("a lock").by_address.len(), 2);
}

#[test]
fn an_address_of_the_new_kind_counts_as_its_network() {
    let places = places(10, 1);
    let _one = places.take(address("2001:db8:0:1::1")).expect("a place");
    assert!(places.take(address("2001:db8:0:1:ffff::2")).is_err(), "the same network");
    assert!(places.take(address("2001:db8:0:2::1")).is_ok(), "another network");
    assert_eq!(places.taken.lock().expect("a lock").by_address.len(), 1, "gone again");
}
