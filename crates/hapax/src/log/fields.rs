//! How the fields of a line are written: as the subscriber would, only sooner.

use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::{RecordFields, VisitOutput as _};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};

/// The subscriber's own format. Most of what it costs is to ask of each character of a text whether it must be escaped; a text that
/// needs none of that, as ids and names do not, is written at once.
pub(super) struct Fields;

impl<'w> FormatFields<'w> for Fields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = Visitor { writer, is_empty: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct Visitor<'w> {
    writer: Writer<'w>,
    is_empty: bool,
    result: fmt::Result,
}

impl Visitor<'_> {
    fn as_by_default(&mut self, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        let mut visitor = DefaultVisitor::new(self.writer.by_ref(), self.is_empty);
        record(&mut visitor);
        self.result = self.result.and(visitor.finish());
        self.is_empty = false;
    }

    fn plain(&mut self, name: &str, value: &str) -> fmt::Result {
        if !self.is_empty {
            self.writer.write_char(' ')?;
        }
        self.is_empty = false;
        [name, "=\"", value, "\""].into_iter().try_for_each(|piece| self.writer.write_str(piece))
    }
}

impl Visit for Visitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let name = field.name();
        if is_plain(value) && name != "message" && !name.starts_with("r#") {
            self.result = self.result.and_then(|()| self.plain(name, value));
        } else {
            self.as_by_default(|it| it.record_str(field, value));
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.as_by_default(|it| it.record_error(field, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.as_by_default(|it| it.record_debug(field, value));
    }
}

/// Does the text stay as it is when it is quoted?
fn is_plain(text: &str) -> bool {
    // All bytes are looked at, because that is done many at a time.
    text.bytes().fold(true, |so_far, byte| so_far & matches!(byte, b' '..=b'~') & (byte != b'"') & (byte != b'\\'))
}
