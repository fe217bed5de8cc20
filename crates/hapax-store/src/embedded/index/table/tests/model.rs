//! Every answer of a table is that of a sorted set.

use super::script::*;
use super::*;
use crate::embedded::disk::Fault;

#[test]
fn every_answer_is_that_of_a_sorted_set_through_flushes_merges_and_restarts() {
    for seed in 0..120 {
        let mut dice = Dice::new(seed);
        let options = TableOptions { ordered: seed % 2 == 0, merge_width: 2 + seed as usize % 3, ..small() };
        let mut merged = 0;
        play(&SimDisk::new(seed), &options, &script(seed, 60), &mut Model::default(), |table, model| {
            model.check(table, &mut dice).unwrap();
            merged = merged.max(table.runs());
        })
        .unwrap();
        assert!(merged > 0, "seed {seed} wrote no run");
    }
}

#[test]
fn what_fails_leaves_everything_as_it_was_and_can_be_tried_again() {
    for seed in 0..12 {
        let steps: Vec<Step> = script(seed, 30).into_iter().filter(|it| !matches!(it, Step::Reopen)).collect();
        'calls: for call in 1.. {
            for fault in [Fault::Eio, Fault::Enospc] {
                let disk = SimDisk::new(seed);
                let mut dice = Dice::new(seed ^ call);
                let mut model = Model::default();
                let table = Table::open(disk.clone(), "ids", ID, small()).unwrap();
                let calls = disk.calls();
                disk.fail(call, fault);
                for step in &steps {
                    let done = match step {
                        Step::Insert(records) => {
                            let frame = model.add(records);
                            table.insert(frame, &model.frames[frame.0 as usize - 1]);
                            Ok(())
                        }
                        Step::Room => {
                            table.make_room();
                            Ok(())
                        }
                        Step::Upkeep => table.upkeep().map(drop),
                        Step::Flush | Step::Reopen => table.flush(),
                    };
                    if let Err(error) = done {
                        assert!(matches!(error, TableError::Io(_)), "{error}");
                        model.check(&table, &mut dice).unwrap();
                    }
                }
                disk.heal();
                while table.upkeep().unwrap() {}
                table.flush().unwrap();
                model.check(&table, &mut dice).unwrap();
                let again = Table::open(disk.clone(), "ids", ID, small()).unwrap();
                assert_eq!(again.flushed().0, model.frames.len() as u64);
                model.check(&again, &mut dice).unwrap();
                if disk.calls() - calls < call {
                    break 'calls;
                }
            }
        }
    }
}
