use super::*;

fn written(write: impl FnOnce(&mut Out)) -> String {
    let mut out = Out::default();
    write(&mut out);
    String::from_utf8(out.into_bytes()).expect("text")
}

#[test]
fn numbers_of_every_length_are_written_in_full() {
    let mut numbers = vec![0, u64::MAX];
    numbers.extend((0..20).map(|power| 10_u64.pow(power)).flat_map(|it| [it - 1, it, it + 1, it.saturating_mul(7)]));
    for number in numbers {
        assert_eq!(written(|out| out.number(number)), number.to_string());
    }
    for number in [0, -1, 10, i64::MIN, i64::MAX] {
        assert_eq!(written(|out| out.signed(number)), number.to_string());
    }
    assert_eq!(written(|out| out.number_or_null(None)), "null");
}

#[test]
fn every_byte_of_a_hash_is_two_digits() {
    for first in 0..=255_u8 {
        let hash: Digest = std::array::from_fn(|index| first.wrapping_add(index as u8));
        let expected: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written(|out| out.hash(&hash)), format!("\"{expected}\""));
    }
}

/// An escape is seen wherever it stands among the eight bytes that are looked at together.
#[test]
fn an_awkward_character_is_seen_at_every_place() {
    for char in (0..=0x100).filter_map(char::from_u32).chain(['\u{2028}', '\u{ffff}', '𝄞']) {
        for before in 0..18 {
            for after in 0..18 {
                let text = format!("{:a<before$}{char}{:é<after$}", "", "");
                let expected = serde_json::to_string(&text).expect("JSON");
                assert_eq!(written(|out| out.string(&text)), expected);
            }
        }
    }
}

#[test]
fn members_and_items_have_commas_between_them_and_nowhere_else() {
    let numbers = |out: &mut Out| {
        out.object(|out| {
            out.member("none").list([0; 0], |out, it| out.number(it));
            out.member("two").list([true, false], |out, it| out.flag(it));
            out.member("empty").object(|_| {});
            out.member_of("\"").word("last");
        });
    };
    assert_eq!(written(numbers), r#"{"none":[],"two":[true,false],"empty":{},"\"":"last"}"#);
}

#[test]
fn what_has_another_key_is_written_anew() {
    let mut known = Repeat::NONE;
    let mut times = 0;
    let text = written(|out| {
        for key in [1, 1, 2, 2, 1] {
            out.repeat(&mut known, key, |out, key| {
                times += 1;
                out.number(*key);
            });
        }
    });
    assert_eq!((text.as_str(), times), ("11221", 3));
}
