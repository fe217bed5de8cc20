//! Point 3: a projection is killed before the write, after it, and before its cursor is committed.

use serde_json::json;

use crate::actor::Actor;
use crate::part::{End, Fate, Part, Point, Role};
use crate::projection::cursor;
use crate::target::{Index, Kind};
use crate::world::{ACCOUNTS, World, deposits, rounds};

const EACH: u64 = 4;
const IN_HAND: &str = "b-2";

#[test]
fn a_projection_that_is_killed_goes_on_where_it_was_and_its_index_is_right() {
    rounds(|_| {
        let world = World::new("projections");
        world.stream("s", ACCOUNTS);
        world.send("s", &deposits(EACH));
        let publisher = world.part(Role::Publisher, "nobody", "s", Kind::Obeys);
        Actor::plays(&Part { folder: world.folder.clone(), ..publisher }).ends().well();
        std::thread::scope(|cases| {
            for order in ["latest_only", "in_order"] {
                for point in [Point::BeforeWrite, Point::AfterWrite, Point::BeforeCommit] {
                    let world = &world;
                    cases.spawn(move || befalls(world, order, point));
                }
            }
        });
        println!("figure: 3 places, 2 orders: each version written once, every cursor at the end");
    });
}

fn befalls(world: &World, order: &str, point: Point) {
    let handler = format!("{order}-{point:?}");
    let declared = json!({ "stream": "s", "order": order, "effect": "idempotent_target", "lease": "400ms" });
    world.handler(&handler, &declared);
    let part = world.part(Role::Projection, &handler, "s", Kind::Recognises);
    let fate = Fate { event: IN_HAND.to_owned(), point, end: End::Killed };
    let first = Actor::plays(&Part { fate: Some(fate), ..part.clone() }).ends().killed();
    assert_eq!(cursor(&part.folder).get(), 3, "the delivery in hand, the fourth, is not committed");
    let second = Actor::plays(&part).ends().well();

    let said = |it: &[String], line: &str| it.iter().any(|said| said == line);
    let [wrote, refused, done] = ["wrote", "refused", "done"].map(|what| format!("{what} {IN_HAND}"));
    let (before, after) = match point {
        Point::BeforeWrite => (false, &wrote),
        // Written and not marked: it is written again, and the index does not take the same version twice.
        Point::AfterWrite => (true, &refused),
        // Marked and not committed: it is delivered again, and nothing is written.
        Point::BeforeCommit => (true, &done),
        Point::AfterClaim
        | Point::BeforeApply
        | Point::AfterApply
        | Point::BeforeDone
        | Point::AfterDone
        | Point::AfterPublish => {
            unreachable!("no place of a projection")
        }
    };
    assert_eq!(said(&first, &wrote), before, "{first:?}");
    assert!(said(&second, after), "{point:?}: {second:?}");
    let index = Index::open(&part.folder);
    for name in ["a", "b"] {
        let document = index.document(name);
        let numbers: Vec<_> = (1..=EACH).map(|number| format!("{name}-{number}")).collect();
        assert_eq!((document.version, document.value, document.changes), (EACH, EACH, numbers), "{order} {point:?}");
    }
    assert_eq!(cursor(&part.folder).get(), EACH * 2, "everything is dealt with");
    let shown = world.shown(&handler);
    assert_eq!((&shown["lag"], &shown["dead"]), (&json!(0), &json!(0)), "{shown}");
}
