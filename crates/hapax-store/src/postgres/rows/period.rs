//! A period as two columns: its kind, and the hour since 1970 in which it begins.
//!
//! What holds: rows in the order of both are in the order of the periods. One that begins before the earliest time is
//! written with that, and so are no others of its kind.

use hapax_core::period::{Period, PeriodStart};
use hapax_core::time::Time;

use super::cells::Cells;
use crate::seam::StoreError;

const HOUR: i64 = 3_600_000_000_000;
const KINDS: [Period; 5] = [Period::Hour, Period::Day, Period::Week, Period::Month, Period::None];

/// Its columns.
pub(in crate::postgres) fn period(start: PeriodStart) -> (i16, i64) {
    let hour = start.start().nanos() / HOUR;
    match start.period() {
        Period::Hour => (0, hour),
        Period::Day => (1, hour),
        Period::Week => (2, hour),
        Period::Month => (3, hour),
        Period::None => (4, 0),
    }
}

/// The period of the next two cells.
pub(super) fn read(cells: &mut Cells<'_>) -> Result<PeriodStart, StoreError> {
    let kind = cells.word(&KINDS)?;
    let hour = cells.next::<i64>()?;
    of(kind, hour).ok_or_else(|| cells.corrupt(&"no period of its kind begins there"))
}

fn of(kind: Period, hour: i64) -> Option<PeriodStart> {
    let start = kind.of(Time::from_nanos(hour.saturating_mul(HOUR)));
    (period(start).1 == hour).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::tests::any;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_period_is_read_back_and_keeps_its_order(one in any::period(), other in any::period()) {
            let (kind, hour) = period(one);
            prop_assert_eq!(of(KINDS[kind as usize], hour), Some(one));
            prop_assert_eq!(period(one).cmp(&period(other)), one.cmp(&other));
        }
    }

    #[test]
    fn an_hour_in_which_none_begins_is_no_period() {
        assert_eq!(of(Period::Day, 25), None);
        assert_eq!(of(Period::Month, 24), None);
        assert_eq!(of(Period::None, 24), None);
        assert_eq!(of(Period::Hour, i64::MAX), None);
    }
}
