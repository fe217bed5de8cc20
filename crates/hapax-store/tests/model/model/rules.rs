//! The contract as plain fields, and the same contract as the TOML that Hapax reads.
//!
//! Durations are nanoseconds in whole milliseconds; `None` is `none`, or `forever` where something is kept. The
//! envelope is the default one and never written. Not here: include, equivalences, derived ids, other periods.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Enforce,
    Shadow,
    Off,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Same {
    Replay,
    Reject,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Different {
    Reject,
    Warn,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Stream,
    Lane,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    None,
    Producer,
    Server,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Any,
    Zero,
    One,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    Mark,
    Reject,
}
/// What `regression` and `repeat` can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    Mark,
    Reject,
    Stale,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeRegression {
    Ignore,
    Mark,
    Reject,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    AsSent,
    Time,
    Sequence,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopOn {
    Never,
    Ordering,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Period {
    Month,
    Day,
    None,
}

#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) mode: Mode,
    pub(crate) identity: Identity,
    pub(crate) sequence: Sequence,
    pub(crate) time: Time,
    pub(crate) nonce: Nonce,
    pub(crate) batch: Batch,
    pub(crate) override_allowed: bool,
    pub(crate) usage: Option<Usage>,
}
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) required: bool,
    pub(crate) same: Same,
    pub(crate) different: Different,
    pub(crate) scope: Scope,
    pub(crate) keep: Option<i64>,
    /// Names of top-level members, without the slash.
    pub(crate) exclude: Vec<String>,
}
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    pub(crate) source: Source,
    pub(crate) first: First,
    pub(crate) gap: Gap,
    pub(crate) gap_large: u64,
    pub(crate) regression: Late,
    pub(crate) repeat: Late,
    pub(crate) gaps_open_max: usize,
    /// A top-level name and the strings for which `expected_seq` must be there.
    pub(crate) expected_required_for: Option<(String, Vec<String>)>,
}
#[derive(Debug, Clone)]
pub(crate) struct Time {
    pub(crate) required: bool,
    pub(crate) utc_only: bool,
    pub(crate) future: Option<i64>,
    pub(crate) past: Option<i64>,
    pub(crate) late: Option<i64>,
    pub(crate) regression: TimeRegression,
    pub(crate) grace: i64,
}
#[derive(Debug, Clone)]
pub(crate) struct Nonce {
    pub(crate) required: bool,
    pub(crate) keep: Option<i64>,
}
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) order: Order,
    pub(crate) stop_on: StopOn,
}
/// The one counter, `usage`. `key` and `amount` are names of top-level members.
#[derive(Debug, Clone)]
pub(crate) struct Usage {
    pub(crate) key: Vec<String>,
    pub(crate) amount: String,
    pub(crate) period: Period,
    pub(crate) lateness: i64,
}

impl Default for Rules {
    /// The defaults of section 2, without a counter.
    fn default() -> Rules {
        Rules {
            mode: Mode::Enforce,
            identity: Identity {
                required: false,
                same: Same::Replay,
                different: Different::Reject,
                scope: Scope::Stream,
                keep: None,
                exclude: vec![],
            },
            sequence: Sequence {
                source: Source::None,
                first: First::Any,
                gap: Gap::Mark,
                gap_large: 1000,
                regression: Late::Mark,
                repeat: Late::Reject,
                gaps_open_max: 10_000,
                expected_required_for: None,
            },
            time: Time {
                required: false,
                utc_only: true,
                future: Some(3_600_000_000_000),
                past: None,
                late: None,
                regression: TimeRegression::Ignore,
                grace: 0,
            },
            nonce: Nonce { required: false, keep: Some(86_400_000_000_000) },
            batch: Batch { order: Order::AsSent, stop_on: StopOn::Never },
            override_allowed: false,
            usage: None,
        }
    }
}

/// The whole contract, every key written, so that no default of the other side can hide a difference.
pub(crate) fn to_toml(rules: &Rules) -> String {
    let Rules { identity, sequence, time, nonce, batch, usage, .. } = rules;
    let mut out = format!("mode = \"{}\"\n", word(rules.mode));
    out += &format!(
        "\n[identity]\nrequired = {}\nkeep = {}\nscope = \"{}\"\nsame = \"{}\"\ndifferent = \"{}\"\n",
        identity.required,
        duration(identity.keep, "forever"),
        word(identity.scope),
        word(identity.same),
        word(identity.different),
    );
    out += &format!("\n[identity.payload]\nexclude = {}\n", pointers(&identity.exclude));
    let first = match sequence.first {
        First::Any => "\"any\"",
        First::Zero => "0",
        First::One => "1",
    };
    out += &format!(
        "\n[sequence]\nsource = \"{}\"\nfirst = {first}\ngap = \"{}\"\ngap_large = {}\nregression = \"{}\"\nrepeat = \
         \"{}\"\ngaps_open_max = {}\n",
        word(sequence.source),
        word(sequence.gap),
        sequence.gap_large,
        word(sequence.regression),
        word(sequence.repeat),
        sequence.gaps_open_max,
    );
    if let Some((field, values)) = &sequence.expected_required_for {
        out += &format!("expected_required_for = {{ field = \"/{field}\", values = {values:?} }}\n");
    }
    out += &format!(
        "\n[time]\nrequired = {}\nutc_only = {}\nfuture = {}\npast = {}\nlate = {}\nregression = \"{}\"\ngrace = {}\n",
        time.required,
        time.utc_only,
        duration(time.future, "none"),
        duration(time.past, "none"),
        duration(time.late, "none"),
        word(time.regression),
        duration(Some(time.grace), "none"),
    );
    out += &format!("\n[nonce]\nrequired = {}\nkeep = {}\n", nonce.required, duration(nonce.keep, "forever"));
    let order = match batch.order {
        Order::AsSent => "as_sent".to_string(),
        Order::Time | Order::Sequence => word(batch.order),
    };
    out += &format!("\n[batch]\norder = \"{order}\"\nstop_on = \"{}\"\n", word(batch.stop_on));
    out += &format!("\n[override]\nallowed = {}\n", rules.override_allowed);
    if let Some(usage) = usage {
        out += &format!(
            "\n[counters.usage]\nkey = {}\namount = \"/{}\"\nperiod = \"{}\"\nlateness = {}\n",
            pointers(&usage.key),
            usage.amount,
            word(usage.period),
            duration(Some(usage.lateness), "none"),
        );
    }
    out
}

/// A variant's name is its word in the contract, in lower case.
fn word(variant: impl std::fmt::Debug) -> String {
    format!("{variant:?}").to_lowercase()
}

fn duration(ns: Option<i64>, absent: &str) -> String {
    let Some(ns) = ns else { return format!("\"{absent}\"") };
    assert!(ns >= 0 && ns % 1_000_000 == 0, "a contract's durations are whole milliseconds");
    format!("\"{}ms\"", ns / 1_000_000)
}

fn pointers(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"/{name}\"")).collect();
    format!("[{}]", quoted.join(", "))
}
