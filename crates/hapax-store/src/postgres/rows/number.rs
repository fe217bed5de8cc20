//! Numbers that are wider than those of SQL: `numeric` in its binary format.
//!
//! Big endian: how many digits `i16`, the place of the first `i16`, sign `u16`, digits after the point `u16`, and the digits
//! to the base of 10 000, each `i16`, without zeros at either end. A digit at place `p` stands for itself times 10 000^p.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use hapax_core::amount::Amount;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

const BASE: u64 = 10_000;
const PLUS: u16 = 0;
const MINUS: u16 = 0x4000;

/// A number of a producer, which may use all 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::postgres) struct Whole(pub(in crate::postgres) u64);

/// An exact amount. It is written for people who look, and never read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) struct Decimal(pub(in crate::postgres) Amount);

impl Whole {
    /// How long it is at most.
    pub(super) const BYTES_MAX: usize = 8 + 2 * 5;

    /// Its bytes, and how many of them count.
    pub(super) fn bytes(self) -> ([u8; Self::BYTES_MAX], usize) {
        let (mut digits, mut rest) = ([0; 5], self.0);
        for digit in digits.iter_mut().rev() {
            (*digit, rest) = ((rest % BASE) as u16, rest / BASE);
        }
        let mut bytes = [0; Self::BYTES_MAX];
        let length = 8 + 2 * numeric(&mut bytes, &digits, 4, PLUS, 0);
        (bytes, length)
    }
}

/// Writes digits of which the first stands at this place; answers how many of them count.
fn numeric(bytes: &mut [u8], digits: &[u16], place: i16, sign: u16, scale: u16) -> usize {
    let first = digits.iter().position(|digit| *digit != 0).unwrap_or(digits.len());
    let end = digits.iter().rposition(|digit| *digit != 0).map_or(first, |last| last + 1);
    let count = end - first;
    let place = if count == 0 { 0 } else { place - first as i16 };
    let sign = if count == 0 { PLUS } else { sign };
    let mut out = bytes;
    out.put_i16(count as i16);
    out.put_i16(place);
    out.put_u16(sign);
    out.put_u16(scale);
    digits[first..end].iter().for_each(|digit| out.put_u16(*digit));
    count
}

impl ToSql for Whole {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let (bytes, length) = self.bytes();
        out.extend_from_slice(&bytes[..length]);
        Ok(IsNull::No)
    }

    accepts!(NUMERIC);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Whole {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        whole(raw).map(Self).ok_or_else(|| "not a whole number of 64 bits".into())
    }

    accepts!(NUMERIC);
}

fn whole(raw: &[u8]) -> Option<u64> {
    let (words, rest) = raw.as_chunks::<2>();
    let [count, place, sign, _scale, digits @ ..] = words else { return None };
    let (count, place) = (i16::from_be_bytes(*count), i16::from_be_bytes(*place));
    if !rest.is_empty() || usize::try_from(count).ok()? != digits.len() || u16::from_be_bytes(*sign) != PLUS {
        return None;
    }
    let mut value: u64 = 0;
    let mut next = place;
    for digit in digits {
        let digit = u64::from(u16::from_be_bytes(*digit));
        if next < 0 || digit >= BASE {
            return None;
        }
        value = value.checked_mul(BASE)?.checked_add(digit)?;
        next -= 1;
    }
    // Zeros at the end are not written.
    for _ in 0..=next {
        if value == 0 {
            break;
        }
        value = value.checked_mul(BASE)?;
    }
    Some(value)
}

impl ToSql for Decimal {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let scaled = self.0.scaled();
        let (units, parts) = (scaled.unsigned_abs() / 1_000_000_000, scaled.unsigned_abs() % 1_000_000_000);
        // 38 digits in all, nine of them after the point: eight digits of ours before it, three after it.
        let mut digits = [0; 11];
        let (before, after) = digits.split_at_mut(8);
        // Three digits of ours are twelve, three more than nine.
        for (digits, mut rest) in [(before, units), (after, parts * 1_000)] {
            for digit in digits.iter_mut().rev() {
                (*digit, rest) = ((rest % u128::from(BASE)) as u16, rest / u128::from(BASE));
            }
        }
        let mut bytes = [0; 8 + 2 * 11];
        let count = numeric(&mut bytes, &digits, 7, if scaled < 0 { MINUS } else { PLUS }, 9);
        out.extend_from_slice(&bytes[..8 + 2 * count]);
        Ok(IsNull::No)
    }

    accepts!(NUMERIC);
    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As Postgres 15 sends them: `COPY (SELECT …::numeric) TO STDOUT WITH (FORMAT binary)`.
    const KNOWN: [(u64, &[u8]); 7] = [
        (0, &[0, 0, 0, 0, 0, 0, 0, 0]),
        (1, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 1]),
        (9_999, &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x0f]),
        (10_000, &[0, 1, 0, 1, 0, 0, 0, 0, 0, 1]),
        (12_345_678, &[0, 2, 0, 1, 0, 0, 0, 0, 0x04, 0xd2, 0x16, 0x2e]),
        (100_000_001, &[0, 3, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]),
        (u64::MAX, &[0, 5, 0, 4, 0, 0, 0, 0, 0x07, 0x34, 0x1a, 0x58, 0x02, 0xe1, 0x03, 0xbb, 0x06, 0x4f]),
    ];

    fn written(value: impl ToSql) -> Vec<u8> {
        let mut out = BytesMut::new();
        value.to_sql(&Type::NUMERIC, &mut out).expect("it can be written");
        out.to_vec()
    }

    fn decimal(scaled: i128) -> Vec<u8> {
        written(Decimal(Amount::from_scaled(scaled).expect("it is an amount")))
    }

    #[test]
    fn numbers_have_the_bytes_that_postgres_gives_them() {
        for (number, bytes) in KNOWN {
            assert_eq!(written(Whole(number)), bytes, "{number}");
            assert_eq!(whole(bytes), Some(number), "{number}");
        }
    }

    #[test]
    fn amounts_have_the_bytes_that_postgres_gives_them() {
        assert_eq!(decimal(0), [0, 0, 0, 0, 0, 0, 0, 9]);
        // 1.5
        assert_eq!(decimal(1_500_000_000), [0, 2, 0, 0, 0, 0, 0, 9, 0, 1, 0x13, 0x88]);
        // -0.000000001
        assert_eq!(decimal(-1), [0, 1, 0xff, 0xfd, 0x40, 0, 0, 9, 0x03, 0xe8]);
        // -12345678.9
        let bytes = [0, 3, 0, 1, 0x40, 0, 0, 9, 0x04, 0xd2, 0x16, 0x2e, 0x23, 0x28];
        assert_eq!(decimal(-12_345_678_900_000_000), bytes);
    }

    #[test]
    fn what_is_no_whole_number_of_64_bits_is_refused() {
        let too_large = [0, 5, 0, 4, 0, 0, 0, 0, 0x07, 0x34, 0x1a, 0x58, 0x02, 0xe1, 0x03, 0xbb, 0x06, 0x50];
        let refused: [&[u8]; 9] = [
            &[],
            &[0, 0, 0, 0, 0, 0, 0],
            &too_large,
            // -1, NaN, 0.5, 1.5
            &[0, 1, 0, 0, 0x40, 0, 0, 0, 0, 1],
            &[0, 0, 0, 0, 0xc0, 0, 0, 0],
            &[0, 1, 0xff, 0xff, 0, 0, 0, 1, 0x13, 0x88],
            &[0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0x13, 0x88],
            // A digit too many, and a place far too high.
            &[0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1],
            &[0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1],
        ];
        for bytes in refused {
            assert_eq!(whole(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn every_number_is_read_back(number: u64) {
            prop_assert_eq!(whole(&written(Whole(number))), Some(number));
            prop_assert_eq!(whole(&written(Whole(number % 1_000_000))), Some(number % 1_000_000));
        }

        #[test]
        fn any_bytes_give_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let _ = whole(&bytes);
        }
    }
}
