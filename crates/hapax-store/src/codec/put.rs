//! Writing the few shapes that everything else is made of. Appends to one buffer; nothing here allocates by itself.

use bytes::{BufMut, BytesMut};
use hapax_core::amount::Amount;
use hapax_core::time::Time;

/// A buffer that the shapes are written to.
pub(super) trait Put {
    /// One byte.
    fn push(&mut self, byte: u8);
    /// Some bytes, as they are.
    fn extend_from_slice(&mut self, bytes: &[u8]);

    /// LEB128: seven bits a byte, lowest first.
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    /// Zigzag, so that small negatives are short too.
    fn signed(&mut self, value: i64) {
        self.number((value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned());
    }

    /// A number as its distance from one that the reader knows. Wraps, so that it can be written whatever they are.
    fn apart(&mut self, value: u64, from: u64) {
        self.signed(value.wrapping_sub(from).cast_signed());
    }

    /// A time by itself.
    fn time(&mut self, time: Time) {
        self.extend_from_slice(&time.nanos().to_le_bytes());
    }

    /// A time as its distance from one that the reader knows.
    fn time_from(&mut self, time: Time, from: Time) {
        self.signed(time.nanos().wrapping_sub(from.nanos()));
    }

    /// Billionths, zigzag, LEB128 of 128 bits.
    fn amount(&mut self, amount: Amount) {
        let scaled = amount.scaled();
        let mut value = (scaled.cast_unsigned() << 1) ^ (scaled >> 127).cast_unsigned();
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    /// With their length.
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }

    /// With its length.
    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

impl Put for Vec<u8> {
    fn push(&mut self, byte: u8) {
        Self::push(self, byte);
    }

    fn extend_from_slice(&mut self, bytes: &[u8]) {
        Self::extend_from_slice(self, bytes);
    }
}

impl Put for BytesMut {
    fn push(&mut self, byte: u8) {
        self.put_u8(byte);
    }

    fn extend_from_slice(&mut self, bytes: &[u8]) {
        Self::extend_from_slice(self, bytes);
    }
}

/// The bits of those that hold.
pub(super) fn bits<const N: usize>(rows: [(bool, u64); N]) -> u64 {
    rows.iter().fold(0, |all, (holds, bit)| if *holds { all | bit } else { all })
}
