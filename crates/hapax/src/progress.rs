//! A bar for what takes long. It is drawn on a terminal and nowhere else.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How far something is.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// So many bytes.
    pub(crate) fn bytes(all: u64, verb: &'static str) -> Self {
        Self::new(all, "{bar:30} {bytes} of {total_bytes} {msg}, {bytes_per_sec}, {eta} left", verb)
    }

    /// So many things.
    pub(crate) fn count(all: u64, things: &'static str) -> Self {
        Self::new(all, "{bar:30} {pos} of {len} {msg}, {per_sec}, {eta} left", things)
    }

    fn new(all: u64, template: &str, word: &'static str) -> Self {
        // indicatif itself draws nothing where there is no terminal.
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(word);
        Self(bar)
    }

    /// This far.
    pub(crate) fn at(&self, place: u64) {
        self.0.set_position(place);
    }

    /// There.
    pub(crate) fn done(&self) {
        self.0.finish_and_clear();
    }
}
