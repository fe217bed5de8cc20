//! The registry of effects: handlers, how their states changed, their lanes, their claims.

use hapax_core::claim::{
    Claim, ClaimState, Effect, Fence, Handler, HandlerLane, HeldClaim, Order, Place, Rank, ResultText, StateChange,
    Work,
};
use hapax_core::duration::Span;

use super::draft::Draft;
use super::fault::{Fault, Undecodable};
use super::put::{Put, bits};
use super::refusal::{read_optional, write_optional};
use super::tables::Tables;
use super::take::Take;
use crate::seam::HandlerKey;

const LANE: u64 = 1;
const EPOCH: u64 = 1 << 1;
const SEQ: u64 = 1 << 2;
const LEDGER: u64 = 1 << 3;
const OWNER: u64 = 1 << 4;
const STREAM: u64 = 1 << 5;

pub(super) fn write_key<'w>(draft: &mut Draft<'w, '_>, key: &'w HandlerKey) {
    let HandlerKey { tenant, handler } = key;
    draft.name(tenant);
    draft.name(handler);
}

pub(super) fn read_key<'b>(take: &mut Take<'b>, tables: &Tables<'b>) -> Result<HandlerKey, Undecodable> {
    Ok(HandlerKey { tenant: tables.name(take)?, handler: tables.name(take)? })
}

pub(super) fn write_handler(out: &mut impl Put, handler: &Handler) {
    let Handler { name, stream, order, effect, lease, heartbeat, attempts_max, backoff } = handler;
    out.text(name);
    out.push(u8::from(stream.is_some()));
    stream.iter().for_each(|stream| out.text(stream));
    out.push(match order {
        Order::None => 0,
        Order::LatestOnly => 1,
        Order::InOrder => 2,
    });
    out.push(match effect {
        Effect::Transactional => 0,
        Effect::IdempotentTarget => 1,
        Effect::Fenced => 2,
        Effect::AtLeastOnce => 3,
    });
    [lease, heartbeat, backoff].iter().for_each(|span| out.number(span.millis()));
    out.number(u64::from(*attempts_max));
}

pub(super) fn read_handler(take: &mut Take<'_>) -> Result<Handler, Undecodable> {
    let name = take.string()?;
    let has_stream = take.flag()?;
    Ok(Handler {
        name,
        stream: take.when(has_stream, Take::string)?,
        order: match take.byte()? {
            0 => Order::None,
            1 => Order::LatestOnly,
            2 => Order::InOrder,
            tag => return take.unknown("order of a handler", tag),
        },
        effect: match take.byte()? {
            0 => Effect::Transactional,
            1 => Effect::IdempotentTarget,
            2 => Effect::Fenced,
            3 => Effect::AtLeastOnce,
            tag => return take.unknown("effect of a handler", tag),
        },
        lease: read_span(take)?,
        heartbeat: read_span(take)?,
        backoff: read_span(take)?,
        attempts_max: take.short()?,
    })
}

fn read_span(take: &mut Take<'_>) -> Result<Span, Undecodable> {
    let (start, millis) = (take.at(), take.number()?);
    let span = Span::from_millis(millis);
    if span.millis() == millis { Ok(span) } else { take.fault_at(start, Fault::Value("length of time")) }
}

pub(super) fn write_state(out: &mut impl Put, change: &StateChange) {
    let StateChange { next_fence, dead, passed } = change;
    out.number(next_fence.0);
    out.number(*dead);
    write_optional(out, *passed);
}

pub(super) fn read_state(take: &mut Take<'_>) -> Result<StateChange, Undecodable> {
    Ok(StateChange { next_fence: Fence(take.number()?), dead: take.number()?, passed: read_optional(take)? })
}

pub(super) fn write_lane(out: &mut impl Put, lane: &HandlerLane) {
    let HandlerLane { last_done, position, held } = lane;
    out.push(u8::from(last_done.is_some()));
    last_done.iter().for_each(|rank| write_rank(out, *rank));
    out.number(*position);
    out.number(held.len() as u64);
    for ((rank, fence), HeldClaim { event_id, until }) in held {
        write_rank(out, *rank);
        out.number(fence.0);
        out.text(event_id);
        out.push(u8::from(until.is_some()));
        until.iter().for_each(|time| out.time(*time));
    }
}

pub(super) fn read_lane(take: &mut Take<'_>) -> Result<HandlerLane, Undecodable> {
    let has_done = take.flag()?;
    let last_done = take.when(has_done, read_rank)?;
    let position = take.number()?;
    let held = take.list(|take| {
        let key = (read_rank(take)?, Fence(take.number()?));
        let event_id = take.string()?;
        let has_end = take.flag()?;
        Ok((key, HeldClaim { event_id, until: take.when(has_end, Take::time)? }))
    })?;
    Ok(HandlerLane { last_done, position, held: held.into_iter().collect() })
}

fn write_rank(out: &mut impl Put, rank: Rank) {
    out.number(rank.epoch);
    out.number(rank.seq);
}

fn read_rank(take: &mut Take<'_>) -> Result<Rank, Undecodable> {
    Ok(Rank { epoch: take.number()?, seq: take.number()? })
}

pub(super) fn write(out: &mut impl Put, claim: &Claim) {
    let Claim { work: Work { event_id, stream, lane, epoch, seq, place }, owner, fence, attempt, state } = claim;
    out.number(bits([
        (lane.is_some(), LANE),
        (*epoch != 0, EPOCH),
        (seq.is_some(), SEQ),
        (*place != Place::Registry, LEDGER),
        (owner.is_some(), OWNER),
        (stream.is_some(), STREAM),
    ]));
    out.text(event_id);
    lane.iter().for_each(|lane| out.text(lane));
    if *epoch != 0 {
        out.number(*epoch);
    }
    seq.iter().for_each(|seq| out.number(*seq));
    match place {
        Place::Registry => {}
        Place::Ledger { ordinal, offset, previous_in_lane } => {
            out.number(*offset);
            out.apart(*ordinal, *offset);
            out.apart(*previous_in_lane, *offset);
        }
    }
    owner.iter().for_each(|owner| out.text(owner));
    stream.iter().for_each(|stream| out.text(stream));
    out.number(fence.0);
    out.number(u64::from(*attempt));
    write_outcome(out, state);
}

pub(super) fn read(take: &mut Take<'_>) -> Result<Claim, Undecodable> {
    let flags = take.bits("claim", LANE | EPOCH | SEQ | LEDGER | OWNER | STREAM)?;
    let ledger = |take: &mut Take<'_>| {
        let offset = take.number()?;
        Ok(Place::Ledger { ordinal: take.apart(offset)?, offset, previous_in_lane: take.apart(offset)? })
    };
    let mut work = Work {
        event_id: take.string()?,
        stream: None,
        lane: take.when(flags & LANE != 0, Take::string)?,
        epoch: take.when(flags & EPOCH != 0, Take::number)?.unwrap_or_default(),
        seq: take.when(flags & SEQ != 0, Take::number)?,
        place: take.when(flags & LEDGER != 0, ledger)?.unwrap_or(Place::Registry),
    };
    let owner = take.when(flags & OWNER != 0, Take::string)?;
    work.stream = take.when(flags & STREAM != 0, Take::string)?;
    Ok(Claim { work, owner, fence: Fence(take.number()?), attempt: take.short()?, state: read_outcome(take)? })
}

fn write_outcome(out: &mut impl Put, state: &ClaimState) {
    match state {
        ClaimState::Held { lease_until } => {
            out.push(0);
            out.time(*lease_until);
        }
        ClaimState::Failed { error, next_attempt_at } => {
            out.push(1);
            out.text(error);
            out.time(*next_attempt_at);
        }
        ClaimState::Dead { error, expired } => {
            out.push(2);
            out.text(error);
            out.push(u8::from(*expired));
        }
        ClaimState::Done { result } => {
            out.extend_from_slice(&[3, u8::from(result.is_some())]);
            result.iter().for_each(|result| out.text(result.as_str()));
        }
        ClaimState::Skipped { reason } => {
            out.push(4);
            out.text(reason);
        }
    }
}

fn read_outcome(take: &mut Take<'_>) -> Result<ClaimState, Undecodable> {
    Ok(match take.byte()? {
        0 => ClaimState::Held { lease_until: take.time()? },
        1 => ClaimState::Failed { error: take.string()?, next_attempt_at: take.time()? },
        2 => ClaimState::Dead { error: take.string()?, expired: take.flag()? },
        3 => {
            let has_result = take.flag()?;
            ClaimState::Done { result: take.when(has_result, read_result)? }
        }
        4 => ClaimState::Skipped { reason: take.string()? },
        tag => return take.unknown("state of a claim", tag),
    })
}

fn read_result(take: &mut Take<'_>) -> Result<ResultText, Undecodable> {
    let start = take.at();
    ResultText::parse(take.string()?).or_else(|_| take.fault_at(start, Fault::Value("result")))
}
