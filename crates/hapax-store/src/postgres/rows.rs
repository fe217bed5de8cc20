//! Rows of the tables, and the core's types that they hold: both directions, and nothing else.
//!
//! | what | reading | writing |
//! |---|---|---|
//! | entries, attempts | `COLUMNS`, `read` | `COPY`, `write`: a row in the binary format of COPY |
//! | everything else | `COLUMNS`, `read` | `…Rows`: columns that one statement unnests ([`Batch`]) |
//!
//! `COLUMNS` is a select list over a table with the alias `t`; `read` expects it from the first column of a row on. A value
//! that cannot be one of ours is [`StoreError::Corrupt`], with its table and column. A [`Batch`] never gets a key twice.
//!
//! Not here: which rows are wanted, and when they are written.

pub(super) mod adjustment;
pub(super) mod attempt;
pub(super) mod claim;
pub(super) mod closed;
pub(super) mod contract;
pub(super) mod copy;
pub(super) mod counter;
pub(super) mod entry;
pub(super) mod filled;
pub(super) mod gap;
pub(super) mod handler;
pub(super) mod handler_lane;
pub(super) mod key;
pub(super) mod lane;
pub(super) mod loss;
pub(super) mod nonce;
pub(super) mod request;
pub(super) mod stream;

mod cells;
mod number;
mod period;

pub(super) use cells::{Fixed, Text, can_be, flag, number, own, text};
pub(super) use number::{Decimal, Whole};
pub(super) use period::period;

use tokio_postgres::types::ToSql;

/// Rows of one table as columns, and the statement that takes them.
pub(super) trait Batch {
    /// The statement.
    const SQL: &'static str;

    /// Is there nothing to write?
    fn is_empty(&self) -> bool;

    /// Its parameters, an array for each column.
    fn params(&self) -> Vec<&(dyn ToSql + Sync)>;
}

/// Columns of rows that are written together: each field is an array, in the order of the statement's parameters.
macro_rules! batch {
    ($(#[$about:meta])* $name:ident { $($column:ident: $kind:ty),+ $(,)? } $sql:literal) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        pub(in crate::postgres) struct $name { $($column: Vec<$kind>),+ }

        impl $crate::postgres::rows::Batch for $name {
            const SQL: &'static str = $sql;

            fn is_empty(&self) -> bool {
                self.tenant.is_empty()
            }

            fn params(&self) -> Vec<&(dyn tokio_postgres::types::ToSql + Sync)> {
                vec![$(&self.$column),+]
            }
        }
    };
}
use batch;
