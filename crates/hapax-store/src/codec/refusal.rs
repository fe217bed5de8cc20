//! Refusals: the code, the state, and what was compared. Every kind of comparison has a tag of its own.

use hapax_core::refusal::{Refusal, Why};
use hapax_core::time::Time;
use hapax_core::words::{Code, State};

use super::fault::{Fault, Undecodable};
use super::put::Put;
use super::take::Take;

pub(super) fn write(out: &mut impl Put, refusal: &Refusal, base: Time) {
    let Refusal { code, state, why } = refusal;
    out.extend_from_slice(&[*code as u8, *state as u8, tag(why)]);
    match why {
        Why::Schema { pointer, expected, found } => [pointer, expected, found].iter().for_each(|text| out.text(text)),
        Why::Format { reason } => out.text(reason),
        Why::Bounds { observed, ingested, bound } => {
            out.time_from(*observed, base);
            out.time_from(*ingested, base);
            out.text(bound);
        }
        Why::Regression { last, submitted } => {
            out.time_from(*last, base);
            out.time_from(*submitted, base);
        }
        Why::Nonce { used_at } => out.time_from(*used_at, base),
        Why::Number { expected, got, last_seen } => {
            write_optional(out, *expected);
            out.number(*got);
            write_optional(out, *last_seen);
        }
        Why::Epoch { current, got } => {
            out.number(*current);
            out.number(*got);
        }
        Why::Current { current, expected } => {
            out.number(*current);
            write_optional(out, *expected);
        }
        Why::Amount { counter, reason } => {
            out.text(counter);
            out.text(reason);
        }
        Why::Lane => {}
        Why::Batch { index } => out.number(*index as u64),
    }
}

/// The tags are never given to another kind.
const fn tag(why: &Why) -> u8 {
    match why {
        Why::Schema { .. } => 0,
        Why::Format { .. } => 1,
        Why::Bounds { .. } => 2,
        Why::Regression { .. } => 3,
        Why::Nonce { .. } => 4,
        Why::Number { .. } => 5,
        Why::Epoch { .. } => 6,
        Why::Current { .. } => 7,
        Why::Amount { .. } => 8,
        Why::Lane => 9,
        Why::Batch { .. } => 10,
    }
}

pub(super) fn read(take: &mut Take<'_>, base: Time) -> Result<Refusal, Undecodable> {
    let code = take.word(Code::ALL, "code")?;
    let state = take.word(State::ALL, "state")?;
    let why = match take.byte()? {
        0 => Why::Schema { pointer: take.string()?, expected: take.string()?, found: take.string()? },
        1 => Why::Format { reason: take.string()? },
        2 => Why::Bounds { observed: take.time_from(base)?, ingested: take.time_from(base)?, bound: take.string()? },
        3 => Why::Regression { last: take.time_from(base)?, submitted: take.time_from(base)? },
        4 => Why::Nonce { used_at: take.time_from(base)? },
        5 => Why::Number { expected: read_optional(take)?, got: take.number()?, last_seen: read_optional(take)? },
        6 => Why::Epoch { current: take.number()?, got: take.number()? },
        7 => Why::Current { current: take.number()?, expected: read_optional(take)? },
        8 => Why::Amount { counter: take.string()?, reason: take.string()? },
        9 => Why::Lane,
        10 => {
            let (start, index) = (take.at(), take.number()?);
            match usize::try_from(index) {
                Ok(index) => Why::Batch { index },
                Err(_) => return take.fault_at(start, Fault::Number),
            }
        }
        tag => return take.unknown("reason of a refusal", tag),
    };
    Ok(Refusal { code, state, why })
}

/// A byte that says whether there is one, and the number.
pub(super) fn write_optional(out: &mut impl Put, number: Option<u64>) {
    out.push(u8::from(number.is_some()));
    number.iter().for_each(|number| out.number(*number));
}

pub(super) fn read_optional(take: &mut Take<'_>) -> Result<Option<u64>, Undecodable> {
    let present = take.flag()?;
    take.when(present, Take::number)
}
