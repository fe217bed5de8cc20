//! What if the contract were another one?

use std::sync::Arc;

use hapax_core::access::Deed;
use hapax_core::contract::Contract;
use hapax_core::problem::Problem;
use hapax_core::time::Time;
use hapax_store::whatif::{Question, whatif};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lanes::read_json;
use super::route::{Route, action};
use super::{App, Call, Reply, body, invalid, unread};
use crate::writer::busy;

pub(super) const ROUTES: &[Route] = &[Route {
    method: "POST",
    path: "/v1/streams/{stream}/whatif",
    deed: Some(Deed::Look),
    about: "Judges the recorded attempts again under another contract, and says which verdicts would change.",
    takes: &[],
    body: Some("{contract, from?, to?, limit?}; the contract as JSON, or as a string of TOML"),
    answers: "what would be otherwise",
    action: action!(post),
}];

/// The other ledger is in memory: about a kilobyte an attempt, and its documents.
const ATTEMPTS_MAX: u64 = 200_000;
const BYTES_MAX: u64 = 256 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted<'b> {
    #[serde(borrow)]
    contract: &'b RawValue,
    from: Option<String>,
    to: Option<String>,
    limit: Option<usize>,
}

async fn post(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    call.all_lanes()?;
    let (stream, _) = call.version(&app)?;
    let body = body::read(&app, &mut call).await?;
    let Wanted { contract, from, to, limit } = read_json(&body.bytes)?;
    let contract = match serde_json::from_str::<String>(contract.get()) {
        Ok(text) => Contract::from_toml(&text),
        Err(_) => Contract::from_json(contract.get().as_bytes()),
    };
    let contract = contract.map_err(Problem::contract)?;
    let (from, to) = (time("from", from)?, time("to", to)?);
    let examples_max = limit.unwrap_or(20).min(1_000);
    // One at a time: each may fill its share of the memory.
    let place = app.asking.try_acquire().map_err(|_| busy("another what-if runs; send it again in a while"))?;
    let question = Question { contract, from, to, examples_max, attempts_max: ATTEMPTS_MAX, bytes_max: BYTES_MAX };
    let told = tokio::task::block_in_place(|| whatif(&*app.reader, &stream, question)).map_err(unread)?;
    drop(place);
    Ok(Reply::json(200, &told))
}

fn time(name: &str, text: Option<String>) -> Result<Option<Time>, Problem> {
    let parse = |text: String| {
        hapax_core::time::parse(&text, false)
            .map_err(|fault| invalid(format!("{name} is an RFC 3339 time, not {text:?}: {}", fault.why())))
    };
    text.map(parse).transpose()
}
