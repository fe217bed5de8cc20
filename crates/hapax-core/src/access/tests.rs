use super::*;

fn check(pattern: &str, yes: &[&str], no: &[&str]) {
    let patterns = Patterns::new([pattern]);
    yes.iter().for_each(|text| assert!(patterns.cover(text), "{pattern} fits {text}"));
    no.iter().for_each(|text| assert!(!patterns.cover(text), "{pattern} does not fit {text}"));
}

#[test]
fn a_pattern_fits_the_whole_text_or_not_at_all() {
    check("*", &["", "a", "a/b"], &[]);
    check("", &[""], &["a"]);
    check("a", &["a"], &["", "aa", "A"]);
    check("a*", &["a", "ab", "a*"], &["", "ba"]);
    check("*a", &["a", "ba", "aaa"], &["", "ab"]);
    check("a*b*c", &["abc", "axxbxxc", "abbcbc"], &["ab", "acb", "abcd"]);
    check("?", &["a", "é"], &["", "ab"]);
    check("lane-?", &["lane-1"], &["lane-", "lane-12"]);
    check("**", &["", "a"], &[]);
}

#[test]
fn a_hostile_pattern_costs_no_more_than_its_product() {
    let pattern = "*a".repeat(128);
    let text = "a".repeat(127) + "b";
    check(&pattern, &[], &[&text]);
}

#[test]
fn one_of_several_patterns_is_enough_and_none_fits_nothing() {
    assert!(Patterns::new(["a", "b*"]).cover("bc"));
    assert!(!Patterns::new(["a", "b*"]).cover("c"));
    assert!(!Patterns::new::<&str>([]).cover("a"));
}

#[test]
fn a_role_may_do_what_it_says() {
    let may = |role: Role| [Deed::Send, Deed::Look, Deed::Act, Deed::Rule].map(|deed| role.may(deed));
    assert_eq!(may(Role::Ingest), [true, false, false, false]);
    assert_eq!(may(Role::Read), [false, true, false, false]);
    assert_eq!(may(Role::Consume), [false, true, true, false]);
    assert_eq!(may(Role::Admin), [true; 4]);
}

#[test]
fn a_star_alone_is_everything_however_it_is_made() {
    assert_eq!(Patterns::new(["*"]), Patterns::all());
    assert_eq!(Patterns::all().iter().collect::<Vec<_>>(), ["*"]);
    assert!(Patterns::all().cover("") && Patterns::all().is_all());
    assert_eq!(Patterns::new(["a", "*"]).iter().collect::<Vec<_>>(), ["a", "*"], "several are as they were written");
}
