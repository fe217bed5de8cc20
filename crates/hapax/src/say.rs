//! Printing lines. Whoever reads them may stop early (`hapax test … | head`): the rest is then said to nobody, and the
//! command still ends as it would have.

use std::fmt::Display;
use std::io::Write as _;

/// Prints a line to standard output.
pub(crate) fn line(line: impl Display) {
    text(format_args!("{line}\n"));
}

/// Prints a text as it is.
pub(crate) fn text(text: impl Display) {
    _ = write!(std::io::stdout(), "{text}");
}

/// Prints a line, and says whether anybody reads it: what has no end of its own ends with its reader.
pub(crate) fn line_is_read(line: impl Display) -> bool {
    writeln!(std::io::stdout(), "{line}").is_ok()
}
