//! What a server does that touches the disk, each as a story that may break off anywhere.
//!
//! | phase | the store before | what happens |
//! |---|---|---|
//! | creation | none | start, a contract, an event |
//! | service | stopped in good order | start, events one by one, over several segments |
//! | batches | the same | start, large batches one after the other, with repeats of those before |
//! | spare | the same | the same, and only the file counts that is made ahead of need |
//! | compaction | sealed segments full of attempts that have expired | start; only the rewritten segment counts |
//! | recovery | killed, with a torn commit, without an index | start: the tail is cut, the index is built |
//! | stop | killed, with an index that lacks the last commits | start, SIGTERM |

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ledger::{EVENTS, Told, event};
use crate::process::{Server, folder};
use crate::program::{PATIENCE, Program, SMALL, serve};
use crate::traced::{Fault, Point, counted, faulty, points, was_injected};

/// A story.
pub struct Phase {
    pub name: &'static str,
    /// Only calls on this file of the store count.
    only: Option<&'static str>,
    prepare: fn(&Path) -> Told,
    act: fn(&mut Program, &mut Told, &Path) -> io::Result<()>,
    /// Events that are sent at most, those of the preparation included.
    pub sent: u64,
}

/// What came of one point.
pub struct Outcome {
    /// Did the program come to it?
    pub reached: bool,
    /// How it ended, if it did by itself.
    pub code: Option<i32>,
    pub said: String,
    pub told: Told,
    pub store: PathBuf,
}

/// A phase that is ready to be repeated.
pub struct Stage {
    pub phase: &'static Phase,
    folder: PathBuf,
    before: Told,
    pub points: Vec<Point>,
}

static PHASES: [Phase; 7] = [
    Phase { name: "creation", only: None, prepare: nothing, act: first_event, sent: 1 },
    Phase { name: "service", only: None, prepare: stopped, act: events, sent: 14 },
    Phase { name: "batches", only: None, prepare: stopped, act: batches, sent: 4 + BATCHES * BATCH },
    Phase { name: "spare", only: Some("log/spare.tmp"), prepare: stopped, act: events_with_a_spare, sent: 14 },
    Phase { name: "compaction", only: Some("log/compacted.tmp"), prepare: attempts, act: compaction, sent: 4 },
    Phase { name: "recovery", only: None, prepare: torn, act: only_start, sent: 9 },
    Phase { name: "stop", only: None, prepare: behind, act: stop, sent: 7 },
];

/// The phase of this name.
pub fn phase(name: &str) -> &'static Phase {
    PHASES.iter().find(|it| it.name == name).expect("a phase")
}

impl Phase {
    /// Does a failure there end the process? The first failed write or sync of the log does.
    pub fn poisons(&self, point: &Point) -> bool {
        let of_the_log = matches!(point.call, "pwrite64" | "fdatasync" | "fsync" | "rename");
        matches!(self.name, "service" | "batches" | "spare" | "compaction") && of_the_log
    }
}

impl Stage {
    /// Prepares a phase and counts its points.
    pub fn new(test: &str, phase: &'static Phase) -> Self {
        let folder = folder(&format!("faults-{test}-{}", phase.name));
        let before = (phase.prepare)(&folder.join("before"));
        let mut stage = Self { phase, folder, before, points: Vec::new() };
        let store = stage.copy();
        let (command, trace) = counted(&store, &SMALL, stage.only(&store).as_deref());
        let mut program = Program::start(command);
        let mut told = stage.before.clone();
        let acted = (phase.act)(&mut program, &mut told, &store);
        assert!(acted.is_ok() && told.refused.is_empty(), "{}: {acted:?} {}", phase.name, program.heard());
        program.kill();
        stage.points = points(&trace);
        assert!(
            !stage.points.is_empty(),
            "{}: nothing was traced; strace must be allowed to trace (ptrace)",
            phase.name
        );
        stage
    }

    fn copy(&self) -> PathBuf {
        let (before, store) = (self.folder.join("before"), self.folder.join("store"));
        _ = fs::remove_dir_all(&store);
        if before.is_dir() {
            copy(&before, &store);
        }
        store
    }

    fn only(&self, store: &Path) -> Option<PathBuf> {
        self.phase.only.map(|it| store.join(it))
    }

    /// Tells the story with a fault at a point.
    pub fn play(&self, point: &Point, fault: Fault) -> Outcome {
        let store = self.copy();
        let (command, trace) = faulty(&store, &SMALL, self.only(&store).as_deref(), point, fault);
        let mut program = Program::start(command);
        let mut told = self.before.clone();
        let acted = (self.phase.act)(&mut program, &mut told, &store);
        let stopped = told.refused.iter().any(|(code, _)| code == "STORE_STOPPED");
        // What comes to the point only after the story was told has no time left to end, and is not counted.
        let injected = was_injected(&trace);
        let must_end = acted.is_err() || stopped || injected && fault != Fault::Lie && self.phase.poisons(point);
        let ended = program.end(if must_end { PATIENCE } else { Duration::ZERO });
        assert!(ended.is_some() || !(acted.is_err() || stopped), "it hangs: {acted:?} {}", program.heard());
        let said = program.heard().to_owned();
        program.kill();
        let reached = match fault {
            Fault::Kill => ended.is_some_and(|it| it.code().is_none()),
            Fault::Once(_) | Fault::ForEver(_) | Fault::Lie => injected || ended.is_some() && was_injected(&trace),
        };
        Outcome { reached, code: ended.map(|it| it.code().unwrap_or(-1)), said, told, store }
    }
}

/// A directory with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("a name").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

fn nothing(_: &Path) -> Told {
    Told::default()
}

/// Some events, and an end in good order.
fn stopped(store: &Path) -> Told {
    let told = begun(store, 4);
    Server::on(store, &SMALL).stop();
    told
}

/// Some events, and a kill.
fn begun(store: &Path, count: u64) -> Told {
    let mut told = Told::default();
    let program = Program::start(serve(store, &SMALL));
    told.put(&program).expect("a contract");
    let mut client = program.client().expect("a connection");
    for n in 0..count {
        told.send(&mut client, n).expect("an answer");
    }
    assert_eq!(told.events.len() as u64, count, "{told:?}");
    program.kill();
    told
}

/// Attempts over several segments, which have expired by the next start.
fn attempts(store: &Path) -> Told {
    let told = begun(store, 4);
    let server = Server::on(store, &SMALL);
    for _ in 0..12 {
        // The same id with another payload is a conflict, and its document is kept for as long as the contract says.
        let conflict = event(3).replace("xxx", "yyy");
        assert_eq!(server.post(EVENTS, &conflict).status, 409);
    }
    let last = server.get("/v1/streams/s/attempts").json();
    assert!(last["attempts"].as_array().is_some_and(|it| it.len() >= 12), "{last}");
    server.stop();
    told
}

/// The tail of a commit that was never whole, behind the last one.
fn torn(store: &Path) -> Told {
    let told = begun(store, 9);
    let segments = segments(store);
    let last = segments.last().expect("a segment");
    let mut bytes = fs::read(last).expect("a segment");
    let used = bytes.iter().rposition(|it| *it != 0).map_or(0, |at| (at + 1).next_multiple_of(512));
    if let Some(room) = bytes.get_mut(used..used + 512) {
        room[..300].fill(0xa5);
        fs::write(last, bytes).expect("a torn tail");
    }
    fs::remove_dir_all(store.join("index")).unwrap_or_default();
    told
}

/// An index that lacks the last commits.
fn behind(store: &Path) -> Told {
    let mut told = stopped(store);
    let program = Program::start(serve(store, &SMALL));
    let mut client = program.client().expect("a connection");
    for n in 4..7 {
        told.send(&mut client, n).expect("an answer");
    }
    program.kill();
    told
}

fn first_event(program: &mut Program, told: &mut Told, _: &Path) -> io::Result<()> {
    told.put(program)?;
    told.send(&mut program.client()?, 0)?;
    Ok(())
}

fn events(program: &mut Program, told: &mut Told, _: &Path) -> io::Result<()> {
    let mut client = program.client()?;
    for n in 4..14 {
        told.send(&mut client, n)?;
    }
    Ok(())
}

/// So many events are so many bytes that whoever sends them alone has the whole machine: they are read by two threads, and written by who
/// judged them.
const BATCH: u64 = 170;
const BATCHES: u64 = 4;

/// Each batch begins with what the one before ended with.
fn batches(program: &mut Program, told: &mut Told, _: &Path) -> io::Result<()> {
    let mut client = program.client()?;
    for first in (0..BATCHES).map(|it| it * BATCH) {
        told.send_all(&mut client, first..first + BATCH + 4)?;
    }
    Ok(())
}

/// Waits for the spare, and goes on until it has become a segment.
fn events_with_a_spare(program: &mut Program, told: &mut Told, store: &Path) -> io::Result<()> {
    let mut client = program.client()?;
    for n in 4..8 {
        told.send(&mut client, n)?;
    }
    let spare = store.join("log/spare.tmp");
    let whole = || fs::metadata(&spare).is_ok_and(|it| it.len() == 4096);
    if !program.wait_for("a spare", whole) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let before = segments(store).len();
    for n in 8..14 {
        told.send(&mut client, n)?;
        if segments(store).len() > before {
            break;
        }
    }
    Ok(())
}

fn compaction(program: &mut Program, _: &mut Told, store: &Path) -> io::Result<()> {
    program.address.ok_or(io::ErrorKind::NotConnected)?;
    // A compacted segment is as long as what is in it, and a new one as long as all.
    let compacted = || segments(store).iter().any(|it| fs::metadata(it).is_ok_and(|it| it.len() < 4096));
    if !program.wait_for("a compaction", compacted) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn only_start(program: &mut Program, _: &mut Told, _: &Path) -> io::Result<()> {
    program.ask("GET", "/readyz", "").map(drop)
}

fn stop(program: &mut Program, _: &mut Told, _: &Path) -> io::Result<()> {
    program.address.ok_or(io::ErrorKind::NotConnected)?;
    program.signal("TERM");
    match program.end(PATIENCE) {
        Some(status) if status.success() => Ok(()),
        Some(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        None => panic!("it does not stop: {}", program.heard()),
    }
}

/// The files of the log, in order.
pub fn segments(store: &Path) -> Vec<PathBuf> {
    let Ok(names) = fs::read_dir(store.join("log")) else { return Vec::new() };
    let mut names: Vec<PathBuf> = names.map(|it| it.expect("a name").path()).collect();
    names.retain(|name| name.extension().is_some_and(|it| it == "seg"));
    names.sort();
    names
}
