//! Each test lets things wait, and looks at what makes a turn. A thing is written `a1`: about `a`, the first.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

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

/// Polls the one writer that is a task, once.
fn poll(task: Pin<&mut impl Future<Output = String>>) -> Poll<String> {
    task.poll(&mut Context::from_waker(Waker::noop()))
}

/// The task's next turn; it is durable at once.
async fn next(queue: &Names) -> String {
    let mut turn = Vec::new();
    queue.next(&mut turn).await.expect("something waits");
    turn.join(" ")
}

#[test]
fn a_task_lets_others_come_first_and_then_takes_what_is_there() {
    let queue = queue(1, &[]);
    let mut first = pin!(next(&queue));
    assert!(poll(first.as_mut()).is_pending(), "nothing waits");
    queue.push(item("a1")).expect("room");
    assert_eq!(poll(first.as_mut()), Poll::Ready("a1".to_owned()), "nobody else was there before");
}

#[test]
fn a_small_turn_of_a_task_begins_when_half_of_those_who_ask_are_there() {
    let queue = Names::new(8, 8, 1);
    ["a1", "a2", "a3", "a4"].into_iter().for_each(|name| queue.push(item(name)).expect("room"));
    assert_eq!(poll(pin!(next(&queue))), Poll::Ready("a1 a2 a3 a4".to_owned()));
    queue.push(item("b1")).expect("room");
    let mut second = pin!(next(&queue));
    assert!(poll(second.as_mut()).is_pending(), "four were there, and one is");
    queue.push(item("b2")).expect("room");
    assert_eq!(poll(second.as_mut()), Poll::Ready("b1 b2".to_owned()));
    queue.push(item("c1")).expect("room");
    let mut third = pin!(next(&queue));
    assert!(poll(third.as_mut()).is_pending(), "there were more of late than there are now");
    queue.push(item("c2")).expect("room");
    assert_eq!(poll(third.as_mut()), Poll::Ready("c1 c2".to_owned()));
    queue.push(item("d1")).expect("room");
    assert_eq!(poll(pin!(next(&queue))), Poll::Ready("d1".to_owned()), "that is forgotten, and half of three is one");
}

#[test]
fn a_task_does_not_wait_for_company_that_does_not_come() {
    let queue = Names::new(8, 8, 1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    ["a1", "a2", "a3", "a4"].into_iter().for_each(|name| queue.push(item(name)).expect("room"));
    assert_eq!(runtime.block_on(next(&queue)), "a1 a2 a3 a4");
    queue.push(item("b1")).expect("room");
    assert_eq!(runtime.block_on(next(&queue)), "b1");
}

#[test]
fn a_task_begins_no_third_turn_before_one_is_durable() {
    let queue = Names::new(8, 8, 1);
    let large = |name| Item { size: 256, ..item(name) };
    for name in ["a1", "a2"] {
        queue.push(large(name)).expect("room");
        assert_eq!(poll(pin!(next(&queue))), Poll::Ready(name.to_owned()));
        queue.begun();
    }
    queue.push(large("a3")).expect("room");
    let mut third = pin!(next(&queue));
    assert!(poll(third.as_mut()).is_pending(), "one is written, and one stands ready");
    queue.done();
    assert_eq!(poll(third.as_mut()), Poll::Ready("a3".to_owned()));
}

#[test]
fn a_task_is_told_of_the_end() {
    let queue = queue(1, &[]);
    let mut turn = Vec::new();
    let mut last = pin!(async { format!("{:?}", queue.next(&mut turn).await) });
    assert!(poll(last.as_mut()).is_pending());
    queue.close();
    assert_eq!(poll(last.as_mut()), Poll::Ready("None".to_owned()));
}
