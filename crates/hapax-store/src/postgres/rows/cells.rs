//! The cells of a row, one after the other, as what they mean to us.

use std::error::Error;
use std::sync::Arc;

use bytes::BytesMut;
use hapax_core::time::Time;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use super::number::Whole;
use crate::codec::Undecodable;
use crate::seam::StoreError;

/// The next cells of a row of a table.
pub(super) struct Cells<'r> {
    row: &'r Row,
    table: &'static str,
    next: usize,
}

impl<'r> Cells<'r> {
    pub(super) fn new(row: &'r Row, table: &'static str) -> Self {
        Self { row, table, next: 0 }
    }

    /// From a later cell on.
    pub(super) fn at(row: &'r Row, table: &'static str, next: usize) -> Self {
        Self { row, table, next }
    }

    /// A column of many rows that was gathered into one cell; nothing if there were none.
    pub(super) fn list<T: FromSql<'r>>(&mut self) -> Result<Vec<T>, StoreError> {
        Ok(self.next::<Option<Vec<T>>>()?.unwrap_or_default())
    }

    pub(super) fn next<T: FromSql<'r>>(&mut self) -> Result<T, StoreError> {
        let place = self.next;
        self.next += 1;
        self.row.try_get(place).map_err(|error| self.corrupt(&error))
    }

    pub(super) fn text(&mut self) -> Result<Arc<str>, StoreError> {
        self.next::<&str>().map(Arc::from)
    }

    pub(super) fn maybe_text(&mut self) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.next::<Option<&str>>()?.map(Arc::from))
    }

    /// A number of our own.
    pub(super) fn own(&mut self) -> Result<u64, StoreError> {
        let value = self.next::<i64>()?;
        u64::try_from(value).map_err(|_| self.corrupt(&"it is negative"))
    }

    pub(super) fn maybe_own(&mut self) -> Result<Option<u64>, StoreError> {
        let value = self.next::<Option<i64>>()?;
        value.map(u64::try_from).transpose().map_err(|_| self.corrupt(&"it is negative"))
    }

    pub(super) fn short(&mut self) -> Result<u32, StoreError> {
        self.next::<i32>().map(i32::cast_unsigned)
    }

    /// A set of bits.
    pub(super) fn bits<T>(&mut self, read: impl FnOnce(u64) -> Option<T>) -> Result<T, StoreError> {
        let bits = self.next::<i64>()?.cast_unsigned();
        read(bits).ok_or_else(|| self.corrupt(&"it is no set of ours"))
    }

    /// A number of a producer.
    pub(super) fn whole(&mut self) -> Result<u64, StoreError> {
        self.next::<Whole>().map(|whole| whole.0)
    }

    pub(super) fn maybe_whole(&mut self) -> Result<Option<u64>, StoreError> {
        Ok(self.next::<Option<Whole>>()?.map(|whole| whole.0))
    }

    pub(super) fn time(&mut self) -> Result<Time, StoreError> {
        let nanos = self.next::<i64>()?;
        self.within(nanos)
    }

    pub(super) fn maybe_time(&mut self) -> Result<Option<Time>, StoreError> {
        let nanos = self.next::<Option<i64>>()?;
        nanos.map(|nanos| self.within(nanos)).transpose()
    }

    pub(super) fn within(&self, nanos: i64) -> Result<Time, StoreError> {
        let time = Time::from_nanos(nanos);
        if time.nanos() == nanos { Ok(time) } else { Err(self.corrupt(&"it is no time of ours")) }
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        self.next::<Fixed<N>>().map(|fixed| fixed.0)
    }

    /// A word of a vocabulary, by its place in the table.
    pub(super) fn word<T: Copy>(&mut self, all: &[T]) -> Result<T, StoreError> {
        let place = self.next::<i16>()?;
        let word = usize::try_from(place).ok().and_then(|place| all.get(place));
        word.copied().ok_or_else(|| self.corrupt(&"it is no word of ours"))
    }

    /// A word of a vocabulary, by its name.
    pub(super) fn named<T>(&mut self, named: impl FnOnce(&str) -> Option<T>) -> Result<T, StoreError> {
        let name = self.next::<&str>()?;
        named(name).ok_or_else(|| self.corrupt(&"it is no word of ours"))
    }

    /// A record in the codec's shapes.
    pub(super) fn record<T>(&mut self, read: impl FnOnce(&'r [u8]) -> Result<T, Undecodable>) -> Result<T, StoreError> {
        let record = self.next::<&[u8]>()?;
        read(record).map_err(|fault| self.corrupt(&fault))
    }

    /// What is wrong with the cell that was read last.
    pub(super) fn corrupt(&self, why: &dyn std::fmt::Display) -> StoreError {
        let column = self.row.columns().get(self.next.saturating_sub(1)).map_or("?", |column| column.name());
        StoreError::Corrupt(format!("table {}, column {column}: {why}", self.table))
    }
}

/// The text in a cell of a row of a table.
pub(in crate::postgres) fn text(row: &Row, place: usize, table: &'static str) -> Result<Arc<str>, StoreError> {
    Cells::at(row, table, place).text()
}

/// The number in a cell of a row of a table.
pub(in crate::postgres) fn number(row: &Row, place: usize, table: &'static str) -> Result<i64, StoreError> {
    Cells::at(row, table, place).next()
}

/// The yes or no in a cell of a row of a table.
pub(in crate::postgres) fn flag(row: &Row, place: usize, table: &'static str) -> Result<bool, StoreError> {
    Cells::at(row, table, place).next()
}

/// A number of our own: an offset, an ordinal, a count. They never come near 2^63.
pub(in crate::postgres) fn own(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Can a row have this text? U+0000 is in none, and a statement that is asked for it fails.
pub(in crate::postgres) fn can_be(text: &str) -> bool {
    !text.contains('\0')
}

/// A text that others share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::postgres) struct Text(pub(in crate::postgres) Arc<str>);

impl From<&Arc<str>> for Text {
    fn from(text: &Arc<str>) -> Self {
        Self(Arc::clone(text))
    }
}

impl ToSql for Text {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        (&*self.0).to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        <&str as ToSql>::accepts(ty)
    }

    to_sql_checked!();
}

/// Bytes of a fixed length: hashes, salts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) struct Fixed<const N: usize>(pub(in crate::postgres) [u8; N]);

impl<const N: usize> ToSql for Fixed<N> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    accepts!(BYTEA);
    to_sql_checked!();
}

impl<'a, const N: usize> FromSql<'a> for Fixed<N> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        raw.try_into().map(Self).map_err(|_| format!("{} bytes instead of {N}", raw.len()).into())
    }

    accepts!(BYTEA);
}
