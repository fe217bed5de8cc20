//! An attempt as a record: like an entry, but it leaves when the audit forgets it.

use std::sync::Arc;

use hapax_core::audit::{Attempt, Submitted};
use hapax_core::time::Time;
use hapax_core::words::{Code, Verdict};

use super::basis::{self, Beside};
use super::draft::Draft;
use super::entry::read_states;
use super::fault::Undecodable;
use super::put::{Put, bits};
use super::refusal;
use super::tables::Tables;
use super::take::Take;

const ID: u64 = 1;
const LANE: u64 = 1 << 1;
const SEQ: u64 = 1 << 2;
const REFUSAL: u64 = 1 << 3;
const SAME_AS: u64 = 1 << 4;
const CALLER: u64 = 1 << 5;
const REJECTED: u64 = 1 << 6;
const NUMBER: u64 = 1 << 7;
const AT: u64 = 1 << 8;
const CONTRACT: u64 = 1 << 9;
const EPOCH: u64 = 1 << 10;
const ALL: u64 = (1 << 11) - 1;

/// What the attempts of a stream are written against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base {
    /// The number of the first.
    pub(super) number: u64,
    pub(super) at: Time,
    pub(super) contract: u32,
}

/// Writes the attempt at this place among those of its stream.
pub(super) fn write<'w>(draft: &mut Draft<'w, '_>, base: &Base, index: u64, attempt: &'w Attempt) {
    let Attempt { number, at, contract, id, lane, epoch, seq, verdict, code, .. } = attempt;
    let Attempt { states, refusal, document, basis, rejected, caller, .. } = attempt;
    let usual = base.number.wrapping_add(index);
    let caller = draft.caller(caller);
    draft.out.number(bits([
        (id.is_some(), ID),
        (lane.is_some(), LANE),
        (seq.is_some(), SEQ),
        (refusal.is_some(), REFUSAL),
        (matches!(document, Submitted::SameAs(_)), SAME_AS),
        (caller != 0, CALLER),
        (*rejected, REJECTED),
        (*number != usual, NUMBER),
        (*at != base.at, AT),
        (*contract != base.contract, CONTRACT),
        (*epoch != 0, EPOCH),
    ]));
    draft.out.extend_from_slice(&[*verdict as u8, *code as u8]);
    if *number != usual {
        draft.out.apart(*number, usual);
    }
    id.iter().for_each(|id| draft.out.text(id));
    lane.iter().for_each(|lane| draft.name(lane));
    let out = &mut *draft.out;
    seq.iter().for_each(|seq| out.number(*seq));
    if *at != base.at {
        out.time_from(*at, base.at);
    }
    if *contract != base.contract {
        out.number(u64::from(*contract));
    }
    if *epoch != 0 {
        out.number(*epoch);
    }
    if caller != 0 {
        out.number(caller);
    }
    out.number(states.bits());
    refusal.iter().for_each(|refusal| refusal::write(out, refusal, *at));
    basis::write(out, basis, Beside { epoch: *epoch, seq: *seq, time: *at });
    match document {
        Submitted::Document(document) => out.extend_from_slice(document),
        Submitted::SameAs(offset) => out.number(*offset),
    }
    draft.end_record();
}

/// Reads a record to its end.
pub(super) fn read<'b>(
    take: &mut Take<'b>,
    tables: &Tables<'b>,
    base: &Base,
    index: u64,
) -> Result<Attempt, Undecodable> {
    let flags = take.bits("attempt", ALL)?;
    let has = |flag: u64| flags & flag != 0;
    let verdict = take.word(Verdict::ALL, "verdict")?;
    let code = take.word(Code::ALL, "code")?;
    let usual = base.number.wrapping_add(index);
    let number = take.when(has(NUMBER), |take| take.apart(usual))?.unwrap_or(usual);
    let id: Option<Arc<str>> = take.when(has(ID), Take::text)?.map(Arc::from);
    let lane = take.when(has(LANE), |take| tables.name(take))?;
    let seq = take.when(has(SEQ), Take::number)?;
    let at = take.when(has(AT), |take| take.time_from(base.at))?.unwrap_or(base.at);
    let contract = take.when(has(CONTRACT), Take::short)?.unwrap_or(base.contract);
    let epoch = take.when(has(EPOCH), Take::number)?.unwrap_or_default();
    let caller = take.when(has(CALLER), |take| tables.caller(take))?.unwrap_or_default();
    let states = read_states(take)?;
    let refusal = take.when(has(REFUSAL), |take| refusal::read(take, at))?.map(Box::new);
    let basis = basis::read(take, Beside { epoch, seq, time: at })?;
    let document =
        if has(SAME_AS) { Submitted::SameAs(take.number()?) } else { Submitted::Document(take.rest().into()) };
    take.finish()?;
    Ok(Attempt {
        number,
        at,
        contract,
        id,
        lane,
        epoch,
        seq,
        verdict,
        code,
        states,
        refusal,
        document,
        basis,
        rejected: has(REJECTED),
        caller,
    })
}
