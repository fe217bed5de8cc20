//! A crash at every call: what opens again is right as far as it says it goes, and the rest is found to be damaged.

use super::script::*;
use super::*;
use crate::embedded::disk::Fault;

const SCRIPTS: u64 = 40;

/// Crashes at every call of many scripts; `after` sees the disk and says whether the index was whole.
fn everywhere(options: &TableOptions, mut after: impl FnMut(&SimDisk, &Model, &mut Dice)) {
    for seed in 0..SCRIPTS {
        let steps = script(seed, 24);
        let disk = SimDisk::new(seed);
        play(&disk, options, &steps, &mut Model::default(), |_, _| {}).unwrap();
        for call in 1..=disk.calls() {
            let mut dice = Dice::new(seed << 16 | call);
            let disk = SimDisk::new(seed << 16 | call);
            let mut model = Model::default();
            disk.fail(call, Fault::Crash);
            let _ = play(&disk, options, &steps, &mut model, |_, _| {});
            disk.heal();
            after(&disk, &model, &mut dice);
        }
    }
}

/// Opens the table after a crash, which may crash again, and compares all it says.
fn reopened(disk: &SimDisk, options: &TableOptions, model: &Model, dice: &mut Dice) -> Result<(), TableError> {
    let open = || Table::open(disk.clone(), "ids", ID, options.clone());
    if dice.below(3) == 0 {
        disk.fail(1 + dice.below(6), Fault::Crash);
        drop(open());
        disk.heal();
        disk.kill();
    }
    let table = open()?;
    assert!(table.flushed().0 <= model.frames.len() as u64);
    model.check(&table, dice)?;
    model.catch_up(&table);
    model.check(&table, dice)?;
    table.flush()?;
    while table.upkeep()? {}
    model.check(&table, dice)?;
    let table = open()?;
    assert_eq!(table.flushed().0, model.frames.len() as u64);
    model.check(&table, dice)
}

#[test]
fn a_process_that_dies_at_any_call_leaves_a_table_that_opens_and_is_right() {
    everywhere(&small(), |disk, model, dice| {
        disk.kill();
        reopened(disk, &small(), model, dice).unwrap();
    });
}

#[test]
fn after_a_power_cut_at_any_call_a_table_is_right_or_damaged_and_never_wrong() {
    let (mut right, mut damaged) = (0, 0);
    everywhere(&small(), |disk, model, dice| {
        disk.power_cut();
        match reopened(disk, &small(), model, dice) {
            Ok(()) => right += 1,
            Err(TableError::Damaged(_)) => damaged += 1,
            Err(TableError::Io(what)) => panic!("{what}"),
        }
    });
    assert!(right > 100 && damaged > 100, "{right} right, {damaged} damaged");
}

#[test]
fn a_table_that_is_synced_survives_a_power_cut_at_any_call() {
    let options = TableOptions { sync: true, ..small() };
    everywhere(&options, |disk, model, dice| {
        disk.power_cut();
        reopened(disk, &options, model, dice).unwrap();
    });
}
