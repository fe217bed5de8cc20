//! A script of calls from a seed, and a model that says what must be there whatever happens to it.

use super::*;
use crate::embedded::disk::SimDisk;

/// Numbers from a seed (xorshift): the tests' own, so that the disk's can change without changing the scripts.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Append(usize, usize),
    Compact,
    Spare,
    Close,
    Kill,
}

/// A dozen calls: mostly appends, of sizes around those where something changes.
pub(super) fn script(seed: u64) -> Vec<Step> {
    let mut dice = Dice::new(seed);
    let steps = 3 + dice.below(10);
    let size = |dice: &mut Dice| match dice.below(8) {
        0 => 0,
        1 => 440 - dice.below(3) as usize,
        2 => 1000 + dice.below(1500) as usize,
        3 if dice.below(4) == 0 => 5000,
        _ => dice.below(400) as usize,
    };
    let step = |_| match dice.below(14) {
        0 => Step::Close,
        1 => Step::Kill,
        2 | 3 => Step::Compact,
        4 | 5 => Step::Spare,
        _ => Step::Append(size(&mut dice), size(&mut dice)),
    };
    (0..steps).map(step).collect()
}

/// What was acknowledged, and what may or may not have been written when the world stopped.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) sure: Vec<Pair>,
    pub(super) open: Option<Pair>,
    pub(super) compacted: bool,
    salt: u8,
}

impl Model {
    fn pair(&mut self, lasting: usize, expiring: usize) -> Pair {
        self.salt = self.salt.wrapping_add(37);
        (vec![self.salt; lasting], vec![!self.salt; expiring])
    }

    pub(super) fn append(&mut self, log: &mut Log<SimDisk>, lasting: usize, expiring: usize) -> Result<(), LogError> {
        let pair = self.pair(lasting, expiring);
        self.open = Some(pair.clone());
        let number = log.append(&pair.0, &pair.1)?;
        self.open = None;
        self.sure.push(pair);
        assert_eq!(number.0 as usize, self.sure.len(), "numbers have no holes");
        Ok(())
    }

    /// Compares with what is there, and takes what is there as sure: whoever opened the log was told of it.
    pub(super) fn check(&mut self, log: &Log<SimDisk>) {
        let found = all(log);
        assert_eq!(found.len() as u64, log.last().0);
        if let Some(open) = self.open.take()
            && found.len() > self.sure.len()
        {
            self.sure.push(open);
        }
        assert_eq!(found.len(), self.sure.len(), "as many frames as were acknowledged");
        for (index, (found, sure)) in found.iter().zip(&mut self.sure).enumerate() {
            assert_eq!(found.0, sure.0, "what lasts of frame {}", index + 1);
            if self.compacted && found.1.is_empty() && dropped(FrameNumber(index as u64 + 1)) {
                sure.1.clear();
            }
            assert_eq!(found.1, sure.1, "what expires of frame {}", index + 1);
        }
    }
}

/// What the compactions of the scripts drop.
pub(super) fn dropped(number: FrameNumber) -> bool {
    number.0.is_multiple_of(2)
}

pub(super) fn compact_all(log: &Log<SimDisk>) -> Result<(), LogError> {
    for segment in log.reader().segments().into_iter().filter(|it| it.sealed) {
        log.compact(segment.first, |number, _, expiring| (!dropped(number)).then(|| expiring.to_vec()))?;
    }
    Ok(())
}

pub(super) fn open_or_create(disk: &SimDisk) -> Result<Log<SimDisk>, LogError> {
    match Log::open(disk.clone(), small()) {
        Ok((log, _)) => Ok(log),
        Err(LogError::Missing) => Log::create(disk.clone(), small(), ID),
        Err(other) => Err(other),
    }
}

/// Plays a script to its end or to the first error; `then` sees the log that the error came from.
pub(super) fn play(
    disk: &SimDisk,
    steps: &[Step],
    model: &mut Model,
    then: impl FnOnce(Log<SimDisk>, &LogError),
) -> Result<(), LogError> {
    let mut log = open_or_create(disk)?;
    for step in steps {
        let done = match step {
            Step::Append(lasting, expiring) => model.append(&mut log, *lasting, *expiring),
            Step::Compact => {
                model.compacted = true;
                compact_all(&log)
            }
            Step::Spare => log.spare().make().map(drop),
            Step::Close => {
                log.close()?;
                log = open_or_create(disk)?;
                Ok(())
            }
            Step::Kill => {
                drop(log);
                disk.kill();
                log = open_or_create(disk)?;
                Ok(())
            }
        };
        if let Err(error) = done {
            then(log, &error);
            return Err(error);
        }
    }
    Ok(())
}

/// After a start nothing is behind the last frame but zeros.
pub(super) fn behind_is_zero(disk: &SimDisk, log: &Log<SimDisk>) {
    let first = log.reader().segments().last().unwrap().first;
    let bytes = disk.contents(&segment::path(&segment::name(first))).unwrap();
    assert!(bytes[log.end as usize..].iter().all(|it| *it == 0), "zeros behind the last frame");
}
