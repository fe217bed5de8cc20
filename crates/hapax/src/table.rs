//! Tables for people: columns without frames, so that `cut`, `grep` and `awk` can read them too.

use comfy_table::presets::NOTHING;

use crate::say;

/// A table.
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// With these columns.
    pub(crate) fn new<const N: usize>(columns: [&str; N]) -> Table {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).set_header(columns);
        Table(table)
    }

    /// A row more.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.0.add_row(cells);
    }

    /// Prints it, or the sentence if it has no rows.
    pub(crate) fn print(&self, nothing: &str) {
        if self.0.row_count() == 0 {
            say::line(nothing);
            return;
        }
        for line in self.0.lines() {
            // Every cell has a space on either side, where frames would be.
            say::line(line.strip_prefix(' ').unwrap_or(&line).trim_end());
        }
    }
}
