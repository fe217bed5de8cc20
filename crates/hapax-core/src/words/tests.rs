use super::*;

#[test]
fn every_word_is_found_by_its_name() {
    for word in Code::ALL {
        assert_eq!(Code::named(word.name()), Some(*word));
    }
    for word in State::ALL {
        assert_eq!(State::named(word.name()), Some(*word));
    }
    assert_eq!(Mark::named("has_gaps"), None, "names are compared as they are written");
}

#[test]
fn a_set_keeps_what_was_added_and_shows_it_in_the_order_of_the_table() {
    let set = Marks::NONE.with(Mark::ClockSkew).with(Mark::HasGaps);
    assert_eq!(set.iter().collect::<Vec<_>>(), [Mark::HasGaps, Mark::ClockSkew]);
    assert_eq!(Marks::from_bits(set.bits()), Some(set));
    assert_eq!(Marks::from_bits(1 << 15), None, "a bit without a word is not a mark");
}

#[test]
fn the_bits_on_disk_do_not_move() {
    // Marks are hashed into the chain: a word that changes its place would break every ledger.
    let bits: Vec<_> = Mark::ALL.iter().map(|mark| (mark.name(), *mark as u8)).collect();
    assert_eq!(bits[0], ("HAS_GAPS", 0));
    assert_eq!(bits[7], ("OVERRIDE", 7));
    assert_eq!(bits[9], ("ADJUSTMENT", 9));
}
