//! Power cuts: a file system in a file, copied while a server writes to it, and started again from the copy.
//!
//! What was acknowledged before the copy begins must be in it, for its sync has returned; what was written and not synced is
//! in the memory of the file system, and gone. The copy is mounted, so the journal of the file system is played back first.
//!
//! A copy of a disk that is being written mixes moments, which no power cut does: it may have the name of a file and not
//! what was synced before it got that name. So the server is frozen wherever it is, and copied once the disk is still.
//! Not here: a sync that the cut tears, which the simulated disk of the store does by the thousand.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::client::Client;
use crate::flipped::stop;
use crate::ledger::{CONTRACT, EVENTS, entries, proved};
use crate::mounted::{cannot, mount};
use crate::process::folder;
use crate::program::{Program, serve, serve_arguments};

/// Segments small enough that several begin in each cycle.
const SETTINGS: [&str; 6] = ["--segment-bytes", "65536", "--reserve-bytes", "65536", "--low-water-bytes", "1048576"];

const PRODUCERS: u64 = 3;

/// Events by their ids, as they were acknowledged: offset and hash.
type Acknowledged = Mutex<Vec<(String, Value, Value)>>;

/// Sends until it is told to stop.
fn produce(mut client: Client, producer: u64, cycle: u64, told: &Acknowledged, count: &AtomicU64, enough: &AtomicBool) {
    for seq in 1.. {
        if enough.load(Ordering::Relaxed) {
            return;
        }
        let id = format!("c{cycle}-p{producer}-{seq}");
        let event = json!({
            "event_id": id, "component_instance_id": format!("lane-{cycle}-{producer}"), "sequence": seq,
            "observed_at": "2026-11-01T00:00:00Z", "n": "0.25", "text": "x".repeat(seq as usize % 900),
        });
        let headers = [("content-type", "application/json")];
        let reply = client.send("POST", EVENTS, &headers, event.to_string().as_bytes());
        assert_eq!(reply.status, 201, "{}", reply.text());
        let receipt = reply.json();
        told.lock().expect("a list").push((id, receipt["offset"].clone(), receipt["hash"].clone()));
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a cut showed.
#[derive(Debug)]
struct Cut {
    acknowledged: usize,
    /// Acknowledged, and not there any more.
    lost: Vec<String>,
    /// Of those that were acknowledged after it, or never.
    later: usize,
}

#[test]
fn a_power_cut_under_load_loses_nothing_that_was_acknowledged() {
    let cuts = std::env::var("HAPAX_POWER_CUTS").map_or(3, |it| it.parse().expect("HAPAX_POWER_CUTS is a number"));
    let here = folder("faults-power");
    let (mut acknowledged, mut later) = (0, 0);
    for cycle in 0..cuts {
        let Some(cut) = cut(&here, cycle, serve) else { return };
        assert!(cut.lost.is_empty(), "acknowledged before cut {cycle} and lost: {:?}", cut.lost);
        (acknowledged, later) = (acknowledged + cut.acknowledged, later + cut.later);
    }
    println!(
        "figure: {cuts} power cuts, {acknowledged} events acknowledged before them, 0 lost; {later} later ones were there"
    );
}

/// A sync that says that it is done and does nothing is what this test is there for: it must notice.
#[test]
fn the_same_cut_shows_syncs_that_do_nothing() {
    let here = folder("faults-power-unsynced");
    let Some(cut) = cut(&here, 0, unsynced) else { return };
    assert!(!cut.lost.is_empty(), "nothing was ever synced, and a power cut does not show it: {cut:?}");
    println!("figure: without syncs the same cut loses {} of {} acknowledged events", cut.lost.len(), cut.acknowledged);
}

/// The server on a system whose syncs do nothing.
fn unsynced(store: &Path, settings: &[&str]) -> Command {
    let mut command = Command::new("strace");
    let calls = "fdatasync,fsync";
    command.args(["-D", "-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}")]);
    command.args(["-e", &format!("inject={calls}:retval=0"), env!("CARGO_BIN_EXE_hapax")]);
    serve_arguments(&mut command, store, settings);
    command
}

/// One cut of a server that is started so.
fn cut(here: &Path, cycle: u64, start: fn(&Path, &[&str]) -> Command) -> Option<Cut> {
    let (image, copy) = (here.join("image"), here.join("copy"));
    fs::write(&image, "").expect("an image");
    fs::File::options().write(true).open(&image).and_then(|it| it.set_len(32 << 20)).expect("an image");
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).output();
    let made = made.map_err(|error| format!("mkfs.ext4: {error}"));
    let made = made.and_then(|it| it.status.success().then_some(()).ok_or(format!("mkfs.ext4: {}", it.status)));
    made.map_err(|why| cannot("a power cut", &why)).ok()?;
    let name = |path: &Path| path.to_str().expect("a path").to_owned();
    let disk = mount("a power cut", &["-o", "loop", &name(&image)], &here.join("disk"))?;
    let store = disk.path().join("store");
    let program = Program::start(start(&store, &SETTINGS));
    assert!(program.ask("PUT", "/v1/streams/s", CONTRACT).expect("a contract").status < 300);
    let (told, count, enough) = (Acknowledged::default(), AtomicU64::new(0), AtomicBool::new(false));
    let before = std::thread::scope(|scope| {
        let begin = |producer: u64| {
            let client = program.client().expect("a connection");
            let (told, count, enough) = (&told, &count, &enough);
            scope.spawn(move || produce(client, producer, cycle, told, count, enough))
        };
        let producers: Vec<_> = (0..PRODUCERS).map(begin).collect();
        // Another moment each time: after so many answers, and wherever the writer is then.
        let moment = 60 + cycle * 37 % 211;
        while count.load(Ordering::Relaxed) < moment && !producers.iter().any(|it| it.is_finished()) {
            std::thread::yield_now();
        }
        let before = told.lock().expect("a list").clone();
        program.signal("STOP");
        // No panic before it is thawed: the producers would wait for their answers for ever.
        let same = || Some(fs::read(&image).ok()? == fs::read(&copy).ok()?);
        let still = (0..100).any(|_| fs::copy(&image, &copy).is_ok() && same() == Some(true));
        enough.store(true, Ordering::Relaxed);
        program.signal("CONT");
        assert!(still, "the disk of a frozen server comes to rest");
        before
    });
    program.kill();
    drop(disk);

    let disk = mount("a power cut", &["-o", "loop", &name(&copy)], &here.join("after"))?;
    let store = disk.path().join("store");
    let mut program = Program::start(serve(&store, &SETTINGS));
    let mut cut = Cut { acknowledged: before.len(), lost: Vec::new(), later: 0 };
    let Ok(mut client) = program.client() else {
        println!("it does not start: {}", program.heard());
        cut.lost = before.into_iter().map(|it| it.0).collect();
        return Some(cut);
    };
    let found = entries(&mut client);
    for (id, offset, hash) in before {
        match found.get(&id) {
            Some(entry) => assert_eq!((&entry["offset"], &entry["hash"]), (&offset, &hash), "{id}"),
            None => cut.lost.push(id),
        }
    }
    cut.later = found.len() + cut.lost.len() - cut.acknowledged;
    drop(client);
    stop(program);
    if cut.lost.is_empty() {
        proved(&store);
    }
    Some(cut)
}
