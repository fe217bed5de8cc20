//! Faults, on the program as it is shipped: killed at every call that touches the disk, calls that fail, bytes that turn
//! over, tails that are cut, a full disk, a clock that jumps, a consumer that freezes, a machine that loses its power.
//!
//! Whatever happens: nothing that was acknowledged is lost, nothing is there twice, nothing is served that is not as it was
//! written. Each test prints its figure; `--nocapture` shows it.
//!
//! | variable | what it does |
//! |---|---|
//! | `HAPAX_FAULTS=all` | Every point and every byte; without it a stride over them, and the output says how many of how many. |
//! | `HAPAX_POWER_CUTS=N` | So many power cuts instead of 3. |
//! | `HAPAX_NO_ROOT=1` | What needs to mount file systems is left out, and says so. Without it, it fails where it cannot. |
//!
//! Needs `strace`, `libfaketime` and, as root, `mount`, loop devices and `mkfs.ext4`.

#[path = "serving/client.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod client;
#[path = "../../hapax-store/tests/durable/everything.rs"]
mod everything;
#[path = "serving/process.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod process;

#[path = "faults/ledger.rs"]
mod ledger;
#[path = "faults/program.rs"]
mod program;

#[path = "faults/phases.rs"]
mod phases;
#[path = "faults/traced.rs"]
mod traced;

#[path = "faults/failing.rs"]
mod failing;
#[path = "faults/killed.rs"]
mod killed;

#[path = "faults/answers.rs"]
mod answers;
#[path = "faults/cut.rs"]
mod cut;
#[path = "faults/flipped.rs"]
mod flipped;

#[path = "faults/clock.rs"]
mod clock;
#[path = "faults/frozen.rs"]
mod frozen;
#[path = "faults/full.rs"]
mod full;
#[path = "faults/mounted.rs"]
mod mounted;
#[path = "faults/power.rs"]
mod power;

/// Is everything to be tried, or a stride over it?
fn all() -> bool {
    std::env::var("HAPAX_FAULTS").is_ok_and(|it| it == "all")
}
