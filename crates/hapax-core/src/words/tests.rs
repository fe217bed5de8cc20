use super::*;

#[test]
fn every_word_is_found_by_its_name() {
    for word in Code::ALL {
        assert_eq!(Code::named(word.name()), Some(*word));
    }
    for word in State::ALL {
        assert_eq!(State::named(word.name()), Some(*word));
    }
    for word in Mark::ALL {
        assert_eq!(Mark::named(word.name()), Some(*word));
    }
    for word in Verdict::ALL {
        assert_eq!(Verdict::named(word.name()), Some(*word));
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

#[test]
fn every_mark_and_state_has_its_own_bit() {
    let marks = Mark::ALL.iter().fold(Marks::NONE, |set, mark| set.with(*mark));
    let states = State::ALL.iter().fold(States::NONE, |set, state| set.with(*state));
    assert_eq!((marks.iter().count(), states.iter().count()), (Mark::ALL.len(), State::ALL.len()));
    assert!(Marks::NONE.is_empty() && !marks.is_empty());
    assert_eq!(States::from_bits(states.bits()), Some(states));
    assert_eq!(States::from_bits(1 << State::ALL.len()), None);
}

#[test]
fn the_marks_on_disk_are_these() {
    let names: Vec<_> = Mark::ALL.iter().map(|mark| mark.name()).collect();
    assert_eq!(
        names.join(" "),
        "HAS_GAPS OUT_OF_ORDER SEQUENCE_REPEATED SEQUENCE_UNPROVEN CLOCK_SKEW LATE_ARRIVAL TIMESTAMP_REGRESSION \
         OVERRIDE WOULD_REJECT ADJUSTMENT"
    );
}

#[test]
fn the_verdicts_on_the_wire_are_these() {
    let names: Vec<_> = Verdict::ALL.iter().map(|verdict| verdict.name()).collect();
    assert_eq!(names.join(" "), "accepted duplicate conflict stale rejected not_evaluated");
    assert_eq!(serde_json::to_string(&Verdict::NotEvaluated).expect("JSON"), r#""not_evaluated""#);
}

#[test]
fn a_set_is_a_list_on_the_wire() {
    let set = Marks::NONE.with(Mark::Adjustment).with(Mark::HasGaps);
    assert_eq!(serde_json::to_string(&set).expect("JSON"), r#"["HAS_GAPS","ADJUSTMENT"]"#);
    assert_eq!(serde_json::to_string(&Marks::NONE).expect("JSON"), "[]");
}

#[test]
fn what_is_accepted_or_ignored_on_purpose_is_no_error() {
    fn check(state: State, expect: LogClass) {
        assert_eq!(state.class(), expect, "{state}");
    }
    check(State::SequenceContinuous, LogClass::Info);
    for state in [
        State::SequenceGapDetected,
        State::SequenceOutOfOrder,
        State::EventLateArrival,
        State::ClockSkewDetected,
        State::GapAbandoned,
        State::TimestampRegression,
    ] {
        check(state, LogClass::Warn);
    }
    for state in
        [State::EventDuplicateRejected, State::PayloadConflict, State::SchemaViolation, State::SequenceConflict]
    {
        check(state, LogClass::Error);
    }
}
