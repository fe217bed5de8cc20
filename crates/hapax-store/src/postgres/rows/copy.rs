//! Rows in the binary format of COPY, straight into the buffer that is sent.
//!
//! A row is how many fields `i16`, and each field its length `i32` (−1 if there is none) and its bytes, all big endian.

use bytes::{BufMut, BytesMut};
use hapax_core::time::Time;

use super::number::Whole;
use super::own;

/// What stands before the first row: the signature, no flags, no extension.
pub(in crate::postgres) fn begin(out: &mut BytesMut) {
    out.extend_from_slice(b"PGCOPY\n\xff\r\n\0");
    out.put_i32(0);
    out.put_i32(0);
}

/// What stands after the last row.
pub(in crate::postgres) fn end(out: &mut BytesMut) {
    out.put_i16(-1);
}

/// How fields are written, one after the other.
pub(super) trait Fields {
    /// How many fields the row has.
    fn row(&mut self, fields: i16);
    fn null(&mut self);
    fn raw(&mut self, bytes: &[u8]);
    fn int8(&mut self, value: i64);
    /// A number of our own.
    fn own(&mut self, value: u64);
    fn int4(&mut self, value: u32);
    fn int2(&mut self, value: u8);
    fn flag(&mut self, value: bool);
    fn time(&mut self, value: Time);
    fn whole(&mut self, value: u64);
    /// One that may be absent.
    fn maybe<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T));
    /// One whose length is known only afterwards.
    fn measured(&mut self, write: impl FnOnce(&mut Self));
}

impl Fields for BytesMut {
    fn row(&mut self, fields: i16) {
        self.put_i16(fields);
    }

    fn null(&mut self) {
        self.put_i32(-1);
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.put_i32(length(bytes.len()));
        self.extend_from_slice(bytes);
    }

    fn int8(&mut self, value: i64) {
        self.put_i32(8);
        self.put_i64(value);
    }

    fn own(&mut self, value: u64) {
        self.int8(own(value));
    }

    fn int4(&mut self, value: u32) {
        self.put_i32(4);
        self.put_i32(value.cast_signed());
    }

    fn int2(&mut self, value: u8) {
        self.put_i32(2);
        self.put_i16(i16::from(value));
    }

    fn flag(&mut self, value: bool) {
        self.put_i32(1);
        self.put_u8(u8::from(value));
    }

    fn time(&mut self, value: Time) {
        self.int8(value.nanos());
    }

    fn whole(&mut self, value: u64) {
        let (bytes, length) = Whole(value).bytes();
        self.raw(&bytes[..length]);
    }

    fn maybe<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.null(),
        }
    }

    fn measured(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.len();
        self.put_i32(0);
        write(self);
        let size = length(self.len() - start - 4);
        self[start..start + 4].copy_from_slice(&size.to_be_bytes());
    }
}

/// Nothing of ours comes near two gigabytes, and the database refuses a length that is cut.
fn length(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::codec::tests::any_entry;
    use crate::postgres::rows::{attempt, entry};
    use crate::seam::StreamKey;
    use hapax_core::audit::Submitted;
    use proptest::prelude::*;

    /// The fields of a row by the columns that the statement names.
    fn fields<'b>(copy: &'static str, row: &'b [u8]) -> HashMap<&'static str, Option<&'b [u8]>> {
        let (_, columns) = copy.split_once('(').expect("columns");
        let (columns, _) = columns.split_once(')').expect("columns");
        let columns: Vec<&str> = columns.split(", ").map(|column| column.trim_matches('"')).collect();
        let (count, mut rest) = row.split_first_chunk().expect("a count");
        assert_eq!(usize::from(u16::from_be_bytes(*count)), columns.len());
        let mut fields = HashMap::new();
        for column in columns {
            let (length, after) = rest.split_first_chunk().expect("a length");
            let length = usize::try_from(i32::from_be_bytes(*length)).ok();
            let (field, after) = after.split_at(length.unwrap_or_default());
            fields.insert(column, length.map(|_| field));
            rest = after;
        }
        assert!(rest.is_empty(), "{rest:?}");
        fields
    }

    fn key() -> StreamKey {
        StreamKey { tenant: "of".into(), stream: "orders".into() }
    }

    fn eight(value: u64) -> [u8; 8] {
        own(value).to_be_bytes()
    }

    proptest! {
        #[test]
        fn a_blocks_fields_stand_where_the_statement_names_them(entry in any_entry::entry()) {
            let mut out = BytesMut::new();
            entry::write(&mut out, &key(), &[entry.clone().into()]);
            let fields = fields(entry::COPY, &out);
            let has = |column: &str, bytes: &[u8]| fields[column] == Some(bytes);
            prop_assert!(has("tenant", b"of") && has("stream", b"orders") && has("partition", &[0, 0]));
            for (column, value) in [("last", entry.offset), ("first", entry.offset), ("attempt", entry.attempt)] {
                prop_assert!(has(column, &eight(value)));
            }
            // One dimension, no nulls, the type, one element, from 1.
            let array = |kind: u8, element: &[u8]| {
                let head = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, kind, 0, 0, 0, 1, 0, 0, 0, 1];
                [&head[..], &length(element.len()).to_be_bytes(), element].concat()
            };
            prop_assert!(has("ids", &array(25, entry.id.as_bytes())) && has("lanes", &array(25, entry.lane.as_bytes())));
            prop_assert!(has("documents", &array(17, &entry.document)));
            let mut record = BytesMut::new();
            crate::codec::alone::write_entry(&mut record, &entry);
            prop_assert!(has("records", &array(17, &record)));
        }

        #[test]
        fn a_lookups_fields_stand_where_the_statement_names_them(entry in any_entry::entry(), by_lane: bool) {
            let mut out = BytesMut::new();
            entry::write_lookups(&mut out, &key(), by_lane, &[entry.clone().into()]);
            let mask = entry::Mask::of(&key());
            let size = fields(entry::COPY_LOOKUPS, &out[..2 + 12 + 12 + 6 + 6 + 10]);
            prop_assert_eq!(size["lookup"], Some(&mask.lookup(&entry.identity).to_be_bytes()[..]));
            prop_assert_eq!(size["offset"], Some(&eight(entry.offset)[..]));
            prop_assert_eq!(size["tenant"], Some(&b"of"[..]));
            prop_assert_eq!(size["stream"], Some(&b"orders"[..]));
            let twice = by_lane && entry.kind == hapax_core::entry::EntryKind::Event;
            prop_assert_eq!(out.len(), 48 * (1 + usize::from(twice)));
        }

        #[test]
        fn blocks_are_bounded_and_follow_each_other(sizes in proptest::collection::vec(0..9_000usize, 1..60), entry in any_entry::entry()) {
            let entries: Vec<_> = (1..).zip(&sizes).map(|(offset, size)| {
                hapax_core::entry::Entry { offset, document: vec![7; *size].into(), ..entry.clone() }.into()
            }).collect();
            let lengths = entry::block_lengths(&entries);
            prop_assert_eq!(lengths.iter().sum::<usize>(), entries.len());
            let mut rest = &sizes[..];
            for length in lengths {
                let (block, more) = rest.split_at(length);
                prop_assert!(length <= 16 && (length == 1 || block.iter().sum::<usize>() <= 7 << 10));
                rest = more;
            }
        }

        #[test]
        fn an_attempts_fields_stand_where_the_statement_names_them(attempt in any_entry::attempt()) {
            let mut out = BytesMut::new();
            attempt::write(&mut out, &key(), &attempt);
            let fields = fields(attempt::COPY, &out);
            prop_assert_eq!(fields["id"], attempt.id.as_ref().map(|id| id.as_bytes()));
            prop_assert_eq!(fields["lane"], attempt.lane.as_ref().map(|lane| lane.as_bytes()));
            prop_assert_eq!(fields["verdict"], Some(attempt.verdict.name().as_bytes()));
            prop_assert_eq!(fields["code"], Some(attempt.code.name().as_bytes()));
            prop_assert_eq!(fields["number"], Some(&eight(attempt.number)[..]));
            let (same_as, document) = match &attempt.document {
                Submitted::SameAs(offset) => (Some(eight(*offset)), None),
                Submitted::Document(document) => (None, Some(&**document)),
            };
            prop_assert_eq!(fields["same_as"], same_as.as_ref().map(|bytes| &bytes[..]));
            prop_assert_eq!(fields["document"], document);
        }
    }

    #[test]
    fn a_copy_has_the_bytes_that_postgres_expects() {
        let mut out = BytesMut::new();
        begin(&mut out);
        out.row(4);
        out.raw(b"ab");
        out.maybe(None, |out, value| out.own(value));
        out.measured(|out| out.extend_from_slice(b"xyz"));
        out.flag(true);
        end(&mut out);
        let row = b"\0\x04\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\x03xyz\0\0\0\x01\x01";
        assert_eq!(out[..], [b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", &row[..], b"\xff\xff"].concat());
    }
}
