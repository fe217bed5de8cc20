//! Running a scenario, step by step, on the real engine.

use std::collections::HashMap;
use std::sync::Arc;

use hapax_core::access::Patterns;
use hapax_core::batch::Terms;
use hapax_core::chain::Verifier;
use hapax_core::claim::Jitter;
use hapax_core::contract::Contract;
use hapax_core::counter::{CounterKey, Recount};
use hapax_core::entry::Caller;
use hapax_core::event::digest;
use hapax_core::lane::Gap;
use hapax_core::manual::find_counter;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::source::{self, Node, Reader, Value};
use hapax_core::time::Time;
use hapax_core::view::{CounterView, HeadView, LaneView};
use hapax_store::seam::{HandlerKey, Read, RequestKey, Store, StoreError, StreamKey};
use hapax_store::turn::{Answer, Ask, CallAsk, ClaimAsk, CorrectionAsk, Request, RequestId, Submission, turn};
use serde_json::json;

use super::action::Action;
use super::explain::explain;
use super::file::with_saved;
use super::matching::{differences, in_lines};
use super::{Scenario, Step};

/// The stream of every scenario.
const STREAM: &str = "scenario";
/// The longest document, as a server takes it by default.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// What a run found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Answers that were not as expected.
    pub(crate) failures: Vec<Failure>,
    /// The rules of the step that was to be explained.
    pub(crate) explained: Vec<String>,
}

/// An answer that was not as expected.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) step: usize,
    pub(crate) line: u32,
    pub(crate) action: &'static str,
    pub(crate) differences: Vec<String>,
    pub(crate) answer: Vec<String>,
}

/// Why there is nothing to explain about a step.
fn unexplained(step: &Step, answer: &Answer) -> &'static str {
    if answer.replayed {
        "nothing was judged, because the request's key was known and its answer was given again"
    } else if step.dry_run {
        "nothing was written down, because it was a dry run"
    } else {
        "nothing was judged in this step"
    }
}

impl Scenario {
    /// Runs all steps on an empty store. A problem is one of the file that only running could find.
    pub(crate) fn run(&self, store: impl Store, explained: Option<usize>) -> Result<Report, source::Problem> {
        let mut stage = Stage::new(store);
        let mut report = Report::default();
        let first = self.steps.iter().find_map(|step| step.clock).unwrap_or(Time::from_nanos(0));
        stage.clock = first;
        stage.put_contract(Ok(Box::new(self.contract.clone())));
        for (index, step) in self.steps.iter().enumerate() {
            let before = stage.attempts();
            let answer = stage.take(step).map_err(|mut problem| {
                problem.key = format!("step {}.{}", index + 1, problem.key);
                problem
            })?;
            if explained == Some(index + 1) {
                report.explained = explain(stage.store.reader(), &stage.stream, before).unwrap_or_default();
                if report.explained.is_empty() {
                    report.explained.push(format!("step {}, {}: {}", index + 1, step.kind, unexplained(step, &answer)));
                }
            }
            let differences = stage.check(step, &answer);
            if !differences.is_empty() {
                let (line, action, answer) = (step.at.line, step.kind, in_lines(&stage.last));
                report.failures.push(Failure { step: index + 1, line, action, differences, answer });
            }
            if let Some(name) = &step.save {
                stage.saved.insert(name.clone(), stage.last.clone());
            }
        }
        Ok(report)
    }
}

/// The world of one scenario: a tenant of its own, a clock that only the file moves.
struct Stage<S> {
    store: S,
    stream: StreamKey,
    clock: Time,
    /// Stands for randomness: each request gets another number, the same in every run.
    requests: u128,
    saved: HashMap<String, Node>,
    last: Node,
}

impl<S: Store> Stage<S> {
    fn new(mut store: S) -> Self {
        let tenant: Arc<str> = Arc::from("scenario");
        // A store that cannot make a tenant says so again with the first contract.
        _ = store.tenant(&tenant, [7; 32]);
        Self {
            store,
            stream: StreamKey { tenant, stream: Arc::from(STREAM) },
            clock: Time::from_nanos(0),
            requests: 0,
            saved: HashMap::new(),
            last: Node::implied(Value::Null),
        }
    }

    fn attempts(&self) -> u64 {
        self.store.reader().head(&self.stream).map(|head| head.attempts).unwrap_or_default()
    }

    /// Does what a step says, with saved values put in.
    fn take(&mut self, step: &Step) -> Result<Answer, source::Problem> {
        if let Some(clock) = step.clock {
            self.clock = clock;
        }
        let node = with_saved(&step.node, &|name, path| self.saved_value(name, path));
        let mut reader = Reader::default();
        let action = Action::read(step.kind, &node, step.kind, &mut reader);
        let Some(action) = action.filter(|_| reader.problems.is_empty()) else {
            return Err(reader.problems.into_iter().next().unwrap_or(source::Problem {
                key: step.kind.to_owned(),
                why: "cannot be read".to_owned(),
                at: step.at,
            }));
        };
        let answer = self.perform(step, action, &node).unwrap_or_else(|error| broken(&error));
        let mut shown = Node::from_json(&answer.body).unwrap_or(Node::implied(Value::Null));
        if step.key.is_some()
            && let Value::Table(members) = &mut shown.value
        {
            members.push(("replayed".to_owned(), Node::implied(Value::Bool(answer.replayed))));
        }
        self.last = shown;
        Ok(answer)
    }

    fn check(&self, step: &Step, answer: &Answer) -> Vec<String> {
        let Some(expect) = &step.expect else {
            let fine =
                answer.status < 400 && !matches!(self.last.get("ok"), Some(Node { value: Value::Bool(false), .. }));
            return if fine {
                Vec::new()
            } else {
                vec![format!("without `expect` a step must succeed; it was answered with status {}", answer.status)]
            };
        };
        let expect = with_saved(expect, &|name, path| self.saved_value(name, path));
        differences(&expect, &self.last)
    }

    fn saved_value(&self, name: &str, path: &[&str]) -> Option<Value> {
        let mut node = self.saved.get(name)?;
        for part in path {
            node = match (&node.value, part.parse::<usize>()) {
                (Value::List(items), Ok(index)) => items.get(index)?,
                _ => node.get(part)?,
            };
        }
        Some(node.value.clone())
    }

    fn perform(&mut self, step: &Step, action: Action, node: &Node) -> Result<Answer, StoreError> {
        let stream = self.stream.clone();
        let handler = |name: &str| HandlerKey { tenant: Arc::clone(&stream.tenant), handler: Arc::from(name) };
        let ask = match action {
            Action::Event(document) => self.submission(step, vec![document], true),
            Action::Batch(documents) => self.submission(step, documents, false),
            Action::Adjust { counter, id, key, period, amount, reason } => {
                Ask::Correct(CorrectionAsk { stream, counter, id, key, period, amount, reason })
            }
            Action::Close { counter, key, period } => Ask::Close { stream, counter, key, period },
            Action::Acknowledge { lane, from, to, reason } => {
                Ask::Acknowledge { stream, lane: lane.into(), from, to, reason: reason.into() }
            }
            Action::Handler(declared) => {
                let mut declaration = declared.handler;
                if !declared.bare {
                    declaration.stream.get_or_insert_with(|| STREAM.to_owned());
                }
                Ask::PutHandler { key: handler(&declaration.name), handler: Box::new(declaration) }
            }
            Action::Claim { handler: name, event_id, lane, epoch, seq, owner } => {
                Ask::Claim(ClaimAsk { handler: handler(&name), event_id, stream: None, lane, epoch, seq, owner })
            }
            Action::Call { handler: name, event_id, lane, call } => {
                Ask::Call(CallAsk { handler: handler(&name), event_id, stream: None, lane, call })
            }
            Action::Contract(node) => {
                let read = Contract::from_node(node).map(Box::new);
                return Ok(self.put_contract(read.map_err(Problem::contract)));
            }
            Action::Lane(name) => return self.lane(&name),
            Action::Counter { name, key, period } => return self.counter(&name, &key, &period),
            Action::Head => return Ok(Answer::of(200, &HeadView(self.store.reader().head(&self.stream)?))),
            Action::Verify => return self.verify(),
            Action::Recount => return self.recount(),
            Action::Attempts(filter) => {
                let attempts = self.store.reader().attempts(&self.stream, &filter, 0, usize::MAX)?.items;
                return Ok(Answer::of(200, &json!({ "count": attempts.len(), "attempts": attempts })));
            }
        };
        self.ask(ask, step, node)
    }

    fn submission(&self, step: &Step, documents: Vec<Arc<[u8]>>, single: bool) -> Ask {
        let caller = Caller { forced: step.force, ..Caller::default() };
        let terms = Terms { atomic: step.atomic, dry_run: step.dry_run, brief: false, caller, lanes: Patterns::all() };
        let stream = self.stream.clone();
        Ask::Submit(Submission {
            stream,
            documents,
            events: Arc::default(),
            terms,
            single,
            event_bytes_max: EVENT_BYTES_MAX,
        })
    }

    fn ask(&mut self, ask: Ask, step: &Step, node: &Node) -> Result<Answer, StoreError> {
        let id = step.key.as_ref().map(|key| RequestId {
            key: RequestKey {
                tenant: Arc::clone(&self.stream.tenant),
                target: target(&ask, step.kind).into(),
                key: Arc::from(key.as_str()),
            },
            fingerprint: digest(
                format!("{} {} {} {}", step.dry_run, step.atomic, step.force, node.to_json()).as_bytes(),
            ),
        });
        self.requests += 1;
        let request = Request {
            now: self.clock,
            spare: self.requests << 32,
            jitter: Jitter::NONE,
            caller: Caller::default(),
            id,
            ask,
        };
        let answers = turn(&mut self.store, &mut [request])?;
        answers.into_iter().next().ok_or(StoreError::Conflict)
    }

    fn put_contract(&mut self, read: Result<Box<hapax_core::contract::Checked>, Problem>) -> Answer {
        let contract = match read {
            Ok(contract) => contract,
            Err(problem) => return Answer::problem(&problem),
        };
        let ask = Ask::PutContract { stream: self.stream.clone(), contract };
        let (spare, jitter) = (0, Jitter::NONE);
        let request = Request { now: self.clock, spare, jitter, caller: Caller::default(), id: None, ask };
        match turn(&mut self.store, &mut [request]) {
            Ok(answers) => answers.into_iter().next().unwrap_or_else(|| broken(&StoreError::Conflict)),
            Err(error) => broken(&error),
        }
    }

    fn lane(&self, name: &str) -> Result<Answer, StoreError> {
        let Some(version) = self.store.reader().versions(&self.stream)?.pop() else {
            return Ok(broken(&StoreError::Conflict));
        };
        let Some(record) = self.store.reader().lane(&self.stream, name)? else {
            let problem = Problem::new(ProblemCode::LaneNotFound, format!("the stream has no lane {name}"));
            return Ok(Answer::problem(&problem));
        };
        let gaps: Vec<Gap> = record.gaps.iter().copied().collect();
        let (lane, contract, now) = (&record.lane, &*version.contract, self.clock);
        Ok(Answer::of(200, &LaneView { name, lane, gaps, filled: Vec::new(), contract, now }))
    }

    fn counter(&self, name: &str, key: &str, period: &str) -> Result<Answer, StoreError> {
        let Some(version) = self.store.reader().versions(&self.stream)?.pop() else {
            return Ok(broken(&StoreError::Conflict));
        };
        let (name, key, period) = match find_counter(&version.contract, name, Some(key), period) {
            Ok(found) => found,
            Err(problem) => return Ok(Answer::problem(&problem)),
        };
        let key = CounterKey { name, key: key.unwrap_or_default(), period };
        let record = self.store.reader().counter(&self.stream, &key)?;
        let view = CounterView {
            key: &key,
            counter: &record.counter,
            closed: record.closed,
            adjustments: &record.adjustments,
        };
        Ok(Answer::of(200, &view))
    }

    fn verify(&self) -> Result<Answer, StoreError> {
        let mut verifier = Verifier::new(STREAM);
        let head = self.store.reader().head(&self.stream)?;
        let entries = self.store.reader().entries(&self.stream, 0, usize::MAX)?;
        let broken = entries.iter().find_map(|entry| verifier.next(entry).err());
        let broken = broken.or_else(|| verifier.finish(head.offset, &head.hash).err());
        Ok(Answer::of(200, &json!({ "ok": broken.is_none(), "entries": entries.len(), "broken": broken })))
    }

    fn recount(&self) -> Result<Answer, StoreError> {
        let versions = self.store.reader().versions(&self.stream)?;
        let mut recount = Recount::default();
        for entry in self.store.reader().entries(&self.stream, 0, usize::MAX)? {
            if let Some(version) = versions.iter().find(|version| version.number == entry.contract) {
                recount.add(&entry, version);
            }
        }
        let stored = self.store.reader().counters(&self.stream, &Default::default(), None, usize::MAX)?.items;
        let adjustments: HashMap<_, _> = stored.iter().map(|(key, record)| (key, &record.adjustments)).collect();
        let differences = recount.differences(stored.iter().map(|(key, record)| (key, &record.counter)), |key| {
            adjustments.get(key).map(|list| (*list).clone()).unwrap_or_default()
        });
        Ok(Answer::of(200, &json!({ "ok": differences.is_empty(), "differences": differences })))
    }
}

/// Method and path, as an HTTP request would have them: the scope of a request's key.
fn target(ask: &Ask, kind: &str) -> String {
    match ask {
        Ask::Submit(_) => "POST events".to_owned(),
        Ask::PutContract { .. } => "PUT stream".to_owned(),
        Ask::Correct(ask) => format!("POST counters/{}/adjustments", ask.counter),
        Ask::Close { counter, .. } => format!("POST counters/{counter}/close"),
        Ask::Acknowledge { lane, .. } => format!("POST lanes/{lane}/gaps/acknowledge"),
        Ask::PutHandler { key, .. } => format!("PUT handlers/{}", key.handler),
        Ask::Claim(ask) => format!("POST handlers/{}/claims", ask.handler.handler),
        Ask::Call(ask) => format!("POST handlers/{}/claims/{}/{kind}", ask.handler.handler, ask.event_id),
        Ask::PutKey(_) | Ask::RevokeKey { .. } => "keys".to_owned(),
    }
}

fn broken(error: &StoreError) -> Answer {
    Answer { status: 503, ..Answer::of(503, &json!({ "code": "STORE", "detail": error.to_string() })) }
}
