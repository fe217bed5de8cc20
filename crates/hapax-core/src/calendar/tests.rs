use super::*;

#[test]
fn every_day_of_eight_centuries_agrees_with_jiff() {
    let mut date = jiff::civil::date(1600, 1, 1);
    let mut days = Date { year: 1600, month: 1, day: 1 }.days();
    assert_eq!(days, -135_140);
    while date.year() < 2400 {
        let expect = Date { year: i64::from(date.year()), month: date.month() as u32, day: date.day() as u32 };
        assert_eq!(Date::from_days(days), expect);
        assert_eq!(expect.days(), days);
        assert_eq!(weekday(days), i64::from(date.weekday().to_monday_zero_offset()));
        date = date.tomorrow().expect("jiff reaches the year 9999");
        days += 1;
    }
}

#[test]
fn a_day_that_the_calendar_does_not_have_is_none() {
    fn check(year: i64, month: u32, day: u32, expect: bool) {
        assert_eq!(Date::new(year, month, day).is_some(), expect, "{year}-{month}-{day}");
    }
    check(2024, 2, 29, true);
    check(2025, 2, 29, false);
    check(1900, 2, 29, false);
    check(2000, 2, 29, true);
    check(2025, 2, 30, false);
    check(2025, 4, 31, false);
    check(2025, 0, 1, false);
    check(2025, 13, 1, false);
    check(2025, 1, 0, false);
}
