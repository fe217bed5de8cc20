//! Names that nobody else has: request keys, and the chance in a delay.

use std::fmt::Write as _;

/// A fresh key for a request: 128 random bits in hex.
pub fn random() -> String {
    let mut text = String::with_capacity(32);
    for byte in bytes() {
        _ = write!(text, "{byte:02x}");
    }
    text
}

/// A random number.
pub(crate) fn dice() -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

fn bytes() -> [u8; 16] {
    let mut bytes = [0; 16];
    // A key that is not random could be somebody else's, and then their answer would be taken for ours.
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}
