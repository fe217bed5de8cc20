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
    use super::*;

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
