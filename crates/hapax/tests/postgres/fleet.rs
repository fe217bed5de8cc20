//! Servers on one ledger that are killed, started again, frozen and thawed while others talk to them.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use crate::client::Client;
use crate::process::Server;

/// How long a producer waits for an answer before it sends again: a frozen server gives none.
const PATIENCE: Duration = Duration::from_secs(2);

/// Some servers.
pub struct Fleet {
    pub url: String,
    servers: Vec<Mutex<Option<Server>>>,
    addresses: Vec<Mutex<SocketAddr>>,
}

impl Fleet {
    /// So many, all started at the same moment, on what may be an empty database.
    pub fn start(url: &str, count: usize) -> Self {
        let servers: Vec<Server> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(|| serve(url))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a server")).collect()
        });
        let addresses = servers.iter().map(|server| Mutex::new(server.address)).collect();
        let servers = servers.into_iter().map(|server| Mutex::new(Some(server))).collect();
        Self { url: url.to_owned(), servers, addresses }
    }

    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Something with one of them that runs.
    pub fn with<T>(&self, index: usize, act: impl FnOnce(&Server) -> T) -> T {
        act(self.servers[index].lock().expect("a server").as_ref().expect("a server that runs"))
    }

    /// SIGKILL, and another one in its place.
    pub fn replace(&self, index: usize) {
        let mut place = self.servers[index].lock().expect("a server");
        place.take().expect("a server that runs").kill();
        let server = serve(&self.url);
        *self.addresses[index].lock().expect("an address") = server.address;
        *place = Some(server);
    }

    /// `STOP` or `CONT`.
    pub fn signal(&self, index: usize, name: &str) {
        let id = self.with(index, Server::id).to_string();
        assert!(Command::new("kill").args([format!("-{name}"), id]).status().expect("kill").success());
    }

    /// A connection to one of them, if it is there.
    pub fn connect(&self, index: usize) -> io::Result<Client> {
        let address = *self.addresses[index].lock().expect("an address");
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Client::on(stream))
    }
}

fn serve(url: &str) -> Server {
    Server::loud(Path::new(url), "warn", &[])
}
