//! Being asked to stop: the first time politely, the second time not.

use hapax_client::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Sets `stop` at the first SIGTERM or SIGINT, and `kill` at the second.
pub(crate) fn listen(stop: &Stop, kill: &Stop) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let wishes = [stop.clone(), kill.clone()];
    std::thread::spawn(move || {
        for (_, wish) in signals.forever().zip(&wishes) {
            wish.set();
        }
    });
    Ok(())
}
