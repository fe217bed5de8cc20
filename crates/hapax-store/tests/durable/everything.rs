//! Everything that can be read of a store, in words that can be compared.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use hapax_core::event::{Identity, NonceKey};
use hapax_core::facts::{LaneNeeds, Needs};
use hapax_store::seam::{
    AttemptFilter, CounterFilter, Figures, HandlerKey, Read, RequestKey, Store, StoreError, StreamKey, StreamNeeds,
    TurnNeeds,
};

/// What nobody can list, and must be asked for by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) nonces: Vec<NonceKey>,
    pub(crate) requests: Vec<RequestKey>,
}

/// Everything.
pub(crate) fn everything<S: Store>(store: &mut S, names: &Names) -> Result<String, StoreError> {
    let mut all = String::new();
    let reader = store.reader().clone();
    for tenant in reader.tenants()? {
        let salt = reader.salt(&tenant)?;
        line(&mut all, format_args!("tenant {tenant} {salt:?} {:?}", reader.keys(&tenant)?));
        for stream in reader.streams(&tenant, "", usize::MAX)?.items {
            let key = StreamKey { tenant: Arc::clone(&tenant), stream: Arc::clone(&stream.name) };
            line(&mut all, format_args!("{stream:?}"));
            read_stream(&reader, &key, &mut all)?;
            let handlers = reader.handlers(&tenant, "", usize::MAX)?.items;
            let handlers: Vec<_> = handlers.into_iter().map(|(name, _)| name).collect();
            let handlers = handlers.into_iter().map(|handler| HandlerKey { tenant: Arc::clone(&tenant), handler });
            load(store, &key, &handlers.collect::<Vec<_>>(), names, &mut all)?;
        }
        for (name, handler) in reader.handlers(&tenant, "", usize::MAX)?.items {
            let key = HandlerKey { tenant: Arc::clone(&tenant), handler: name };
            line(&mut all, format_args!("{handler:?} {:?}", reader.dead(&key, None, usize::MAX)?));
        }
    }
    let Figures { attempts, streams, handlers, .. } = reader.figures()?;
    line(&mut all, format_args!("{attempts} {streams:?} {handlers:?} {}", reader.needs_keys()?));
    Ok(all)
}

fn line(all: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(all, "{text}").expect("a text takes everything");
}

fn read_stream(reader: &impl Read, key: &StreamKey, all: &mut String) -> Result<(), StoreError> {
    line(all, format_args!("{:?} {:?}", reader.head(key)?, reader.versions(key)?));
    let entries = reader.entries(key, 0, usize::MAX)?;
    // In pages, and one by one, it is the same ledger.
    let mut paged = Vec::new();
    while paged.len() < entries.len() {
        let page = reader.entries(key, paged.len() as u64, 3)?;
        assert!(!page.is_empty(), "the ledger ends at {} of {}", paged.len(), entries.len());
        paged.extend(page);
    }
    assert_eq!(paged, entries);
    let ids: BTreeSet<Arc<str>> = entries.iter().map(|entry| Arc::clone(&entry.id)).collect();
    for entry in &entries {
        line(all, format_args!("{entry:?} now {:?}", reader.entry(key, &entry.identity)?.map(|it| it.offset)));
    }
    for id in ids {
        let offsets: Vec<u64> = reader.entries_with_id(key, &id)?.iter().map(|entry| entry.offset).collect();
        let filter = AttemptFilter { id: Some(id.to_string()), ..AttemptFilter::default() };
        line(all, format_args!("{id} {offsets:?} {:?}", reader.attempts(key, &filter, 0, usize::MAX)?.items));
    }
    line(all, format_args!("{:?}", reader.attempts(key, &AttemptFilter::default(), 0, usize::MAX)?));
    line(all, format_args!("{:?}", reader.attempts(key, &AttemptFilter::default(), 3, 5)?));
    line(all, format_args!("{:?}", reader.lanes(key, false, "", usize::MAX)?));
    line(all, format_args!("{:?}", reader.lanes(key, true, "", usize::MAX)?));
    line(all, format_args!("{:?}", reader.counters(key, &CounterFilter::default(), None, usize::MAX)?));
    Ok(())
}

/// What only a turn sees.
fn load<S: Store>(
    store: &mut S,
    key: &StreamKey,
    handlers: &[HandlerKey],
    names: &Names,
    all: &mut String,
) -> Result<(), StoreError> {
    let entries = store.reader().entries(key, 0, usize::MAX)?;
    let lanes: BTreeSet<Arc<str>> = entries.iter().map(|entry| Arc::clone(&entry.lane)).collect();
    let mut identities: Vec<Identity> = entries.iter().map(|entry| entry.identity).collect();
    identities.push(Identity::of(None, "nobody"));
    let each = |handler: &HandlerKey| -> Vec<(HandlerKey, Identity)> {
        identities.iter().map(|identity| (handler.clone(), *identity)).collect()
    };
    let lane_of = |handler: &HandlerKey| -> Vec<(HandlerKey, Arc<str>)> {
        lanes.iter().map(|lane| (handler.clone(), Arc::clone(lane))).collect()
    };
    let needs = Needs {
        identities: identities.clone(),
        lanes: lanes.iter().map(|lane| (Arc::clone(lane), LaneNeeds { numbers: vec![1, 2, 3], epoch: 0 })).collect(),
        nonces: names.nonces.clone(),
        ..Needs::default()
    };
    let needs = TurnNeeds {
        streams: [(key.clone(), StreamNeeds { needs, whole_lanes: lanes.iter().cloned().collect(), writes: false })]
            .into(),
        handlers: handlers.to_vec(),
        handler_lanes: handlers.iter().flat_map(lane_of).collect(),
        claims: handlers.iter().flat_map(each).collect(),
        requests: names.requests.clone(),
        keys: vec![Arc::clone(&key.tenant)],
    };
    let loaded = store.load(&needs)?;
    let Some(stream) = loaded.streams.get(key) else { return Ok(()) };
    for identity in &identities {
        line(all, format_args!("{:?}", stream.facts.original(identity)));
    }
    for nonce in &names.nonces {
        line(all, format_args!("{:?}", stream.facts.nonce(nonce)));
    }
    for lane in &lanes {
        line(all, format_args!("{lane} {:?}", stream.facts.lane(lane)));
    }
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    line(all, format_args!("{:?}", sorted(loaded.claims.iter().map(|it| format!("{it:?}")).collect())));
    line(all, format_args!("{:?}", sorted(loaded.handler_lanes.iter().map(|it| format!("{it:?}")).collect())));
    line(all, format_args!("{:?}", sorted(loaded.requests.iter().map(|it| format!("{it:?}")).collect())));
    line(all, format_args!("{:?}", sorted(loaded.keys.iter().map(|it| format!("{it:?}")).collect())));
    Ok(())
}
