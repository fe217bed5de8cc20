//! The part of a worker: the client's own work loop around an effect and a next step, and the places to die in.

use std::fs;
use std::path::PathBuf;

use hapax_client::{Claim, Entry, Happening, Plan, Stop, Work, Worker};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::part::{Part, Point, say};
use crate::target::Accounts;

struct Hand<'p> {
    part: &'p Part,
    accounts: Accounts,
    notes: PathBuf,
}

/// Works until all that is in the stream now is handled.
pub fn play(part: &Part) {
    let client = part.client();
    let plan = Plan::of(&client, &part.handler, &part.stream, &part.owner).expect("a plan");
    let after = if part.replays { 0 } else { plan.after };
    let notes = part.folder.join("notes");
    let accounts = Accounts::open(&part.folder, part.target);
    fs::create_dir_all(&notes).expect("a folder for the notes");
    let mut hand = Hand { part, accounts, notes };
    let summary = Worker::new(&client, Plan { after, once: true, ..plan }, Stop::new()).run(&mut hand);
    say(&format!("did {:?}", summary.expect("a server that comes back")));
}

impl Work for Hand<'_> {
    fn run(&mut self, entry: &Entry, claim: &Claim) -> Result<Option<Box<RawValue>>, String> {
        say(&format!("claimed {} {} {}", entry.id, claim.fence(), claim.attempt()));
        self.part.reach(Point::AfterClaim, &entry.id);
        let document: Value = serde_json::from_str(entry.document.get()).map_err(|error| error.to_string())?;
        let amount = document["amount"].as_u64().ok_or("there is no amount")?;
        if self.part.fails_on.as_ref() == Some(&entry.id) && !self.part.folder.join("cured").exists() {
            return Err("the target refuses it".to_owned());
        }
        self.part.reach(Point::BeforeApply, &entry.id);
        self.accounts.add(&entry.lane, &entry.id, amount, claim.fence())?;
        self.part.reach(Point::AfterApply, &entry.id);
        // The next step. It is the same whoever takes it, and however often.
        fs::write(self.notes.join(entry.offset.to_string()), &entry.id).map_err(|error| error.to_string())?;
        self.part.reach(Point::BeforeDone, &entry.id);
        Ok(None)
    }

    fn told(&mut self, entry: &Entry, happening: &Happening) {
        say(&format!("{} {happening:?}", entry.id));
        if *happening == Happening::Done {
            self.part.reach(Point::AfterDone, &entry.id);
        }
    }
}
