//! A real Postgres of the test's own: made in a folder of its own, started, killed, frozen, and gone afterwards.
//!
//! The postmaster is a child of this process and is waited for, never a daemon: whoever kills it knows when it is gone. A guard
//! beside it removes everything as soon as this process has ended, however it did. Syncs are on: what is confirmed must be there
//! after a crash.
//!
//! Not here: Hapax. This file is shared by the tests of several crates.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// Long enough for anything that happens at all, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(5);

/// The role that everything belongs to, and what it says at the door.
pub const ROLE: &str = "hapax";
pub const PASSWORD: &str = "open-sesame";

/// When nobody holds the other end of its input any more, all processes of the cluster end, and its folder goes.
const GUARD: &str = r#"
cat >/dev/null
while
  # It complains of strangers who end while it looks, and that says nothing about ours.
  found="$(find /proc/[0-9]* -maxdepth 1 -name cwd -lname "$1/data" 2>/dev/null || true)"
  [ -n "$found" ]
do
  for one in $found; do one="${one#/proc/}"; kill -KILL "${one%/cwd}" 2>/dev/null; done
done
rm -rf "$1"
"#;

/// One cluster.
pub struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    guard: Child,
    postmaster: Mutex<Option<Child>>,
}

impl Cluster {
    /// The one that all tests of this process share. Nobody kills it, so it lies in memory if there is room: its syncs cost nothing
    /// there, and making hundreds of tables is most of what it does.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| {
            let memory = Path::new("/dev/shm");
            let place = if has_room(memory) { memory.to_owned() } else { std::env::temp_dir() };
            Self::at(&place, &["max_wal_size=128MB"])
        })
    }

    /// A new one that runs, on disk, with these settings (`name=value`).
    pub fn new(settings: &[&str]) -> Self {
        Self::at(&std::env::temp_dir(), settings)
    }

    fn at(place: &Path, settings: &[&str]) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let programs = programs();
        let folder = place.join(format!("hapax-pg-{}-{number}", std::process::id()));
        // A process with the same id may have been stopped so hard that even its guard was.
        _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder for the cluster");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("a folder that can be entered");
        if let Some((user, group)) = other_user() {
            chown(&folder, Some(user), Some(group)).expect("a folder for another user");
        }
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "guard"]).arg(&folder).process_group(0).stdin(Stdio::piped());
        let guard = guard.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a guard");
        let cluster = Self { port: free_port(number), folder, programs, guard, postmaster: Mutex::default() };
        cluster.make();
        cluster.start_with(settings);
        cluster
    }

    fn make(&self) {
        let password = self.folder.join("password");
        fs::write(&password, PASSWORD).expect("a file");
        let mut initdb = self.program("initdb");
        initdb.args(["--no-sync", "--no-instructions", "--locale=C", "--encoding=UTF8", "--username", ROLE]);
        initdb.args(["--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile"]).arg(&password);
        let output = initdb.arg("-D").arg(self.data()).output().expect("initdb runs");
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Puts a file that only its user may read beside its data, where settings find it by its name.
    pub fn put(&self, name: &str, text: &str) {
        let path = self.data().join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a file of one's own");
        if let Some((user, group)) = other_user() {
            chown(&path, Some(user), Some(group)).expect("a file for another user");
        }
    }

    /// A program of Postgres, run by a user that it does not refuse.
    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut command = match other_user() {
            Some((user, group)) => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={user}"), format!("--regid={group}"), "--clear-groups".to_owned()]);
                command.arg(path);
                command
            }
            None => Command::new(path),
        };
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// Starts it, and waits until it takes connections.
    pub fn start(&self) {
        self.start_with(&[]);
    }

    /// The same with these settings.
    pub fn start_with(&self, settings: &[&str]) {
        let mut held = self.postmaster();
        assert!(held.is_none(), "it runs already");
        assert!(self.processes().is_empty(), "all of the last one are gone");
        // They are, so this speaks of nobody, or of a stranger who got the same number.
        _ = fs::remove_file(self.data().join("postmaster.pid"));
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_file()).expect("a log");
        let mut postgres = self.program("postgres");
        postgres.arg("-D").arg(self.data());
        let place = format!("unix_socket_directories={}", self.folder.display());
        let port = format!("port={}", self.port);
        let usual = ["listen_addresses=127.0.0.1", &port, &place, "shared_buffers=32MB", "log_line_prefix=%m [%p] "];
        for setting in usual.iter().chain(settings) {
            postgres.args(["-c", setting]);
        }
        // A group of its own: what stops the tests from the keyboard leaves it to the guard.
        let child = postgres.process_group(0).stdout(Stdio::null()).stderr(log).spawn().expect("postgres starts");
        let child = held.insert(child);
        wait_until("postgres takes connections", || {
            let ended = child.try_wait().expect("a child");
            assert!(ended.is_none(), "postgres ended: {}", self.log());
            self.try_ask("SELECT 1").is_ok()
        });
    }

    /// SIGKILL to the postmaster, then to what is left of its children: nothing of it runs any more.
    pub fn kill(&self) {
        let mut child = self.postmaster().take().expect("a postmaster");
        child.kill().expect("a process to kill");
        child.wait().expect("its end");
        wait_until("its children are gone", || {
            let left = self.processes();
            left.iter().for_each(|process| signal(*process, "KILL"));
            left.is_empty()
        });
    }

    /// Ends every session and stops in good order.
    pub fn stop_fast(&self) {
        let mut child = self.postmaster().take().expect("a postmaster");
        signal(child.id(), "INT");
        child.wait().expect("its end");
        wait_until("its children are gone", || self.processes().is_empty());
    }

    /// Nothing of it moves, and connections stay as they are.
    pub fn freeze(&self) {
        // The postmaster first: nobody is born meanwhile.
        let first = self.postmaster().as_ref().expect("a postmaster").id();
        signal(first, "STOP");
        self.processes().iter().filter(|process| **process != first).for_each(|process| signal(*process, "STOP"));
    }

    /// It goes on.
    pub fn thaw(&self) {
        self.processes().iter().for_each(|process| signal(*process, "CONT"));
    }

    /// The processes of sessions of others.
    pub fn backends(&self) -> Vec<u32> {
        let of_others = "backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let found = self.ask(&format!("SELECT pid FROM pg_stat_activity WHERE {of_others} ORDER BY pid"));
        found.lines().map(|line| line.parse().expect("a process")).collect()
    }

    /// SIGKILL to one session. Postgres then ends all others and recovers, which is waited for. False if it was gone.
    pub fn kill_backend(&self, process: u32) -> bool {
        let times = || self.log().matches("database system is ready to accept connections").count();
        let before = times();
        if !self.processes().contains(&process) || !try_signal(process, "KILL") {
            return false;
        }
        wait_until("postgres has recovered", || times() > before && self.try_ask("SELECT 1").is_ok());
        true
    }

    /// An address of a database in it, with a schema.
    pub fn url_of(&self, database: &str, schema: &str) -> String {
        let door = format!("127.0.0.1:{}", self.port);
        format!("postgres://{ROLE}:{PASSWORD}@{door}/{database}?sslmode=disable&schema={schema}")
    }

    /// An address of a schema in it.
    pub fn url(&self, schema: &str) -> String {
        self.url_of("postgres", schema)
    }

    /// A schema that nobody else has.
    pub fn schema(&self) -> String {
        static NAMED: AtomicU32 = AtomicU32::new(0);
        format!("ledger_{}", NAMED.fetch_add(1, Ordering::Relaxed))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Asks the server something; rows are lines, columns are parted by `|`.
    pub fn ask(&self, sql: &str) -> String {
        self.try_ask(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The same, of a server that may be down.
    pub fn try_ask(&self, sql: &str) -> Result<String, String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", ROLE, "-d", "postgres", "-h"]);
        psql.arg(&self.folder).args(["-p", &self.port.to_string(), "-c", sql]).stdin(Stdio::null());
        let output = psql.output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// What the server wrote down.
    pub fn log(&self) -> String {
        fs::read(self.log_file()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn postmaster(&self) -> MutexGuard<'_, Option<Child>> {
        // A test that failed with it in hand is no reason for the others to.
        self.postmaster.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Every process of the cluster: they all live in its folder.
    fn processes(&self) -> Vec<u32> {
        let data = self.data();
        let number = |name: &OsStr| name.to_str().and_then(|name| name.parse::<u32>().ok());
        let all = fs::read_dir("/proc").expect("processes").filter_map(|entry| number(&entry.ok()?.file_name()));
        all.filter(|process| fs::read_link(format!("/proc/{process}/cwd")).is_ok_and(|it| it == data)).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        _ = self.guard.wait();
        if let Some(mut child) = self.postmaster().take() {
            _ = child.wait();
        }
    }
}

/// Polls until it is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..PATIENCE.as_millis() / STEP.as_millis() {
        if is_so() {
            return;
        }
        std::thread::park_timeout(STEP);
    }
    panic!("it did not happen: {what}");
}

/// Sends a signal to a process, by the signal's name; one that is gone needs none.
fn signal(process: u32, name: &str) {
    _ = try_signal(process, name);
}

fn try_signal(process: u32, name: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([format!("-{name}"), process.to_string()]).stderr(Stdio::null());
    kill.status().expect("kill").success()
}

/// Where Postgres is installed: the newest version of Debian's places, or what the path says.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut found: Vec<_> = versions.filter_map(|it| Some((number(&it.path())?, it.path().join("bin")))).collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = found.into_iter().rev().map(|(_, path)| path).chain(std::env::split_paths(&path));
    let whole = |place: &PathBuf| ["initdb", "postgres", "psql"].iter().all(|name| place.join(name).exists());
    places.into_iter().find(whole).expect(
        "Postgres is missing, and these tests start a real one: apt-get install --no-install-recommends postgresql",
    )
}

/// Postgres refuses to run as root: then it is run by the user that its package makes, or by nobody.
fn other_user() -> Option<(u32, u32)> {
    static USER: OnceLock<Option<(u32, u32)>> = OnceLock::new();
    let id = |arguments: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(arguments).stderr(Stdio::null()).output().expect("id");
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    *USER.get_or_init(|| {
        let root = id(&["-u"]) == Some(0);
        let of = |name: &&str| Some((id(&["-u", name])?, id(&["-g", name])?));
        root.then(|| ["postgres", "nobody"].iter().find_map(of).expect("a user that is not root"))
    })
}

/// Is there as much as a gibibyte? Containers often have 64 MiB of it.
fn has_room(place: &Path) -> bool {
    let output = Command::new("df").args(["--output=avail", "-k"]).arg(place).stderr(Stdio::null()).output();
    let text = output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default();
    text.lines().nth(1).and_then(|line| line.trim().parse::<u64>().ok()).is_some_and(|free| free >= 1 << 20)
}

/// A port that is free, below those that outgoing connections take: while it is down nobody else gets it.
fn free_port(number: u32) -> u16 {
    let first = std::process::id().wrapping_mul(37).wrapping_add(number * 101);
    let ports = (0..1000).map(|step| 20_000 + (first.wrapping_add(step) % 12_000) as u16);
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.into_iter().find(free).expect("a free port")
}
