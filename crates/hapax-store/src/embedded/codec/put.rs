//! Writing the few shapes that everything else is made of. Appends to one buffer; nothing here allocates by itself.

use hapax_core::amount::Amount;
use hapax_core::time::Time;

/// How the shapes are written.
pub(super) trait Put {
    /// LEB128: seven bits a byte, lowest first.
    fn number(&mut self, value: u64);
    /// Zigzag, so that small negatives are short too.
    fn signed(&mut self, value: i64);
    /// A number as its distance from one that the reader knows. Wraps, so that it can be written whatever they are.
    fn apart(&mut self, value: u64, from: u64);
    /// A time by itself.
    fn time(&mut self, time: Time);
    /// A time as its distance from one that the reader knows.
    fn time_from(&mut self, time: Time, from: Time);
    /// Billionths, zigzag, LEB128 of 128 bits.
    fn amount(&mut self, amount: Amount);
    /// With their length.
    fn bytes(&mut self, bytes: &[u8]);
    /// With its length.
    fn text(&mut self, text: &str);
}

impl Put for Vec<u8> {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn signed(&mut self, value: i64) {
        self.number((value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned());
    }

    fn apart(&mut self, value: u64, from: u64) {
        self.signed(value.wrapping_sub(from).cast_signed());
    }

    fn time(&mut self, time: Time) {
        self.extend_from_slice(&time.nanos().to_le_bytes());
    }

    fn time_from(&mut self, time: Time, from: Time) {
        self.signed(time.nanos().wrapping_sub(from.nanos()));
    }

    fn amount(&mut self, amount: Amount) {
        let scaled = amount.scaled();
        let mut value = (scaled.cast_unsigned() << 1) ^ (scaled >> 127).cast_unsigned();
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

/// The bits of those that hold.
pub(super) fn bits<const N: usize>(rows: [(bool, u64); N]) -> u64 {
    rows.iter().fold(0, |all, (holds, bit)| if *holds { all | bit } else { all })
}
