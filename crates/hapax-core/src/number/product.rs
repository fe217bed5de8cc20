//! The product of two integers in digits: school multiplication, nine digits at a time.
//!
//! Nothing faster is needed: one side is a conversion factor from a contract, which is short.

/// Nine decimal digits are the most whose product, with two carries, fits a `u64`.
const LIMB_DIGITS: usize = 9;
const LIMB: u64 = 1_000_000_000;

/// The digits of the product, perhaps with zeros before them.
pub(super) fn of(left: &str, right: &str) -> String {
    let (left, right) = (limbs(left), limbs(right));
    let mut out = vec![0_u64; left.len() + right.len()];
    for (i, a) in left.iter().enumerate() {
        let mut carry = 0;
        for (j, b) in right.iter().enumerate() {
            let sum = out[i + j] + a * b + carry;
            out[i + j] = sum % LIMB;
            carry = sum / LIMB;
        }
        out[i + right.len()] += carry;
    }
    out.iter().rev().map(|limb| format!("{limb:09}")).collect()
}

/// Groups of nine digits, the lowest first.
fn limbs(digits: &str) -> Vec<u64> {
    let value = |group: &[u8]| group.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    digits.as_bytes().rchunks(LIMB_DIGITS).map(value).collect()
}
