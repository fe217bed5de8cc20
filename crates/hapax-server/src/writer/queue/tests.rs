//! Each test lets things wait, and looks at what makes a turn. A thing is written `a1`: about `a`, the first.

use super::{Item, Queue, Refused};

type Names = Queue<char, &'static str>;

fn queue(writers: usize, names: &[&'static str]) -> Names {
    let queue = Names::new(8, 3, writers);
    names.iter().for_each(|name| queue.push(item(name)).expect("room"));
    queue
}

fn item(name: &'static str) -> Item<char, &'static str> {
    Item { about: name.chars().next().expect("a name"), size: 1, what: name }
}

/// What the next turn takes. It is not over then.
fn turn(queue: &Names) -> String {
    let mut turn = Vec::new();
    queue.take(&mut turn).expect("something waits");
    turn.join(" ")
}

#[test]
fn one_writer_takes_all_that_waits_up_to_the_size_of_a_turn() {
    let queue = queue(1, &["a1", "b1", "a2", "b2"]);
    assert_eq!(turn(&queue), "a1 b1 a2");
    assert_eq!(turn(&queue), "b2");
}

#[test]
fn a_turn_of_one_writer_that_has_enough_takes_nothing_more() {
    for (writers, second) in [(1, "a3"), (2, "")] {
        let queue = Names::new(8, 20_000, writers);
        for (name, size) in [("a1", 999), ("a2", 1), ("a3", 1)] {
            queue.push(Item { size, ..item(name) }).expect("room");
        }
        let first = turn(&queue);
        let rest = if queue.waiting() > 0 { turn(&queue) } else { String::new() };
        assert_eq!((first.starts_with("a1 a2"), rest.as_str()), (true, second), "{writers} writers");
    }
}

#[test]
fn of_several_each_takes_what_is_about_one_thing_in_its_order() {
    let queue = queue(2, &["a1", "b1", "a2", "c1", "b2"]);
    assert_eq!(turn(&queue), "a1 a2");
    assert_eq!(turn(&queue), "b1 b2");
    assert_eq!(turn(&queue), "c1");
}

#[test]
fn a_turn_about_one_thing_is_bounded_too() {
    let queue = queue(2, &["a1", "a2", "b1", "a3", "a4"]);
    assert_eq!(turn(&queue), "a1 a2 a3");
    assert_eq!(turn(&queue), "b1");
    assert_eq!(turn(&queue), "a4");
}

#[test]
fn a_third_turn_about_one_thing_waits_and_others_pass_it() {
    let queue = queue(4, &["a1"]);
    assert_eq!(turn(&queue), "a1");
    queue.push(item("a2")).expect("room");
    assert_eq!(turn(&queue), "a2");
    ["a3", "b1", "a4"].into_iter().for_each(|name| queue.push(item(name)).expect("room"));
    assert_eq!(turn(&queue), "b1", "two turns about `a` are under way");
    assert_eq!(queue.waiting(), 2);
    queue.over(&'a');
    assert_eq!(turn(&queue), "a3 a4");
}

#[test]
fn a_writer_that_waits_for_a_turn_to_be_over_is_woken() {
    let queue = queue(3, &["a1"]);
    assert_eq!(turn(&queue), "a1");
    queue.push(item("a2")).expect("room");
    assert_eq!(turn(&queue), "a2");
    queue.push(item("a3")).expect("room");
    queue.close();
    std::thread::scope(|scope| {
        let third = scope.spawn(|| turn(&queue));
        queue.over(&'a');
        assert_eq!(third.join().expect("the third writer"), "a3");
    });
    assert_eq!(queue.take(&mut Vec::new()), None);
}

#[test]
fn what_waited_before_the_end_is_still_handed_out() {
    let queue = queue(1, &["a1"]);
    queue.close();
    assert_eq!(queue.push(item("a2")), Err(Refused::Closed));
    assert_eq!(turn(&queue), "a1");
    assert_eq!(queue.take(&mut Vec::new()), None);
}

#[test]
fn after_a_failure_nothing_is_handed_out() {
    let queue = queue(2, &["a1", "b1"]);
    queue.fail();
    assert_eq!(queue.push(item("a2")), Err(Refused::Closed));
    assert_eq!(queue.take(&mut Vec::new()), None);
}

#[test]
fn no_more_waits_than_may() {
    let queue = queue(1, &["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"]);
    assert_eq!(queue.push(item("a9")), Err(Refused::Full));
    assert_eq!(turn(&queue), "a1 a2 a3");
    assert_eq!(queue.push(item("a9")), Ok(()));
}
