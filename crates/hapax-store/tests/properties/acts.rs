//! Histories with everything that happens to a stream beside events: corrections, closings, recorded losses, and
//! contracts that change under way.

use std::sync::Arc;

use hapax_store::memory::Memory;
use hapax_store::turn::{Ask, CorrectionAsk};
use proptest::prelude::*;
use proptest::sample::select;

use super::play::model::{Mode, Period, Rules, Usage, to_toml};
use super::play::stage::Stage;
use super::play::world::{Clock, World, worlds};

/// What happens after a request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Nothing,
    Correct {
        id: u8,
        key: &'static str,
        amount: &'static str,
    },
    Close {
        key: Option<&'static str>,
    },
    Acknowledge {
        lane: &'static str,
        from: u64,
        size: u64,
    },
    Mode(Mode),
    /// Another counter begins, or the first one waits longer.
    Counters {
        extra: bool,
        lateness_ms: i64,
    },
}

/// A world, and an act after each of its requests.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    pub(crate) world: World,
    pub(crate) acts: Vec<Act>,
}

/// Worlds that count, with acts.
pub(crate) fn stories() -> impl Strategy<Value = Story> {
    let key = || select(vec!["[\"x\"]", "[\"y\"]", "[\"x\",\"requests\"]", "[]"]);
    let mode = select(vec![Mode::Enforce, Mode::Shadow, Mode::Off]);
    let amount = select(vec!["1", "-2.5", "0.000000001", "9999999999999999999", "abc"]);
    let act = prop_oneof![
        10 => Just(Act::Nothing),
        3 => (0_u8..4, key(), amount).prop_map(|(id, key, amount)| Act::Correct { id, key, amount }),
        2 => prop::option::weighted(0.8, key()).prop_map(|key| Act::Close { key }),
        3 => (select(vec!["a", "b"]), 0_u64..12, 0_u64..3)
            .prop_map(|(lane, from, size)| Act::Acknowledge { lane, from, size }),
        2 => mode.prop_map(Act::Mode),
        1 => (any::<bool>(), select(vec![0, 5_000, 3_600_000]))
            .prop_map(|(extra, lateness_ms)| Act::Counters { extra, lateness_ms }),
    ];
    (worlds(Clock::MayStepBack), prop::collection::vec(act, 60)).prop_map(|(mut world, acts)| {
        world.rules.usage.get_or_insert_with(usage);
        world.rules.identity.exclude.retain(|name| name != "amount");
        Story { world, acts }
    })
}

fn usage() -> Usage {
    let lateness = 5_000_000_000;
    Usage { key: vec!["customer".to_string()], amount: "amount".to_string(), period: Period::Day, lateness }
}

impl Story {
    /// Plays everything, and answers with the stage as it is then.
    pub(crate) fn play(&self) -> Stage<Memory> {
        let mut rules = self.world.rules.clone();
        let mut extra = false;
        let mut stage = Stage::new(&to_toml(&rules));
        for (request, act) in self.world.requests.iter().zip(&self.acts) {
            stage.submit(request.now_ns, &request.docs, request.opts);
            match act {
                Act::Mode(mode) => rules.mode = *mode,
                Act::Counters { extra: another, lateness_ms } => {
                    extra |= another;
                    rules.usage = rules.usage.map(|usage| Usage { lateness: lateness_ms * 1_000_000, ..usage });
                }
                Act::Nothing | Act::Correct { .. } | Act::Close { .. } | Act::Acknowledge { .. } => {
                    act.ask(&mut stage, &rules, request.now_ns);
                    continue;
                }
            }
            stage.put(&(to_toml(&rules) + if extra { EXTRA } else { "" }));
        }
        stage
    }
}

const EXTRA: &str = "\n[counters.extra]\nkey = []\namount = \"/amount\"\nperiod = \"hour\"\nlateness = \"1h\"\n";

impl Act {
    /// What of it is a request. Whether it is refused does not matter here: then nothing happened.
    fn ask(&self, stage: &mut Stage<Memory>, rules: &Rules, now_ns: i64) {
        let stream = stage.stream.clone();
        let period = match rules.usage.as_ref().map(|usage| usage.period) {
            Some(Period::Day) => "2026-01-31",
            Some(Period::Month) => "2026-01",
            Some(Period::None) | None => "all",
        };
        let (counter, period) = ("usage".to_string(), period.to_string());
        let ask = match self {
            Act::Nothing | Act::Mode(_) | Act::Counters { .. } => return,
            Act::Correct { id, key, amount } => Ask::Correct(CorrectionAsk {
                stream,
                counter,
                id: format!("c{id}"),
                key: (*key).to_string(),
                period,
                amount: (*amount).to_string(),
                reason: "a test".to_string(),
            }),
            Act::Close { key } => Ask::Close { stream, counter, key: key.map(String::from), period },
            Act::Acknowledge { lane, from, size } => {
                let (lane, reason) = (Arc::from(*lane), Arc::from("a test"));
                Ask::Acknowledge { stream, lane, from: *from, to: from + size, reason }
            }
        };
        stage.ask(now_ns, ask);
    }
}
