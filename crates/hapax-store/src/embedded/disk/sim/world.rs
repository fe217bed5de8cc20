//! All that is behind a simulated disk: its nodes, the call that is to fail, and what a restart leaves.
//!
//! Every call that reads or writes is counted, so that a test can let any one of them fail.

use std::io;

use rustix::io::Errno;

use super::Fault;
use super::node::{DirNode, FileNode, Node, Random};

const ROOT: usize = 0;

#[derive(Clone, Debug)]
pub(super) struct World {
    random: Random,
    nodes: Vec<Node>,
    calls: u64,
    fault: Option<(u64, Fault)>,
    off: bool,
    locked: bool,
    capacity: u64,
    /// Which process this is: the files and locks of an earlier one are gone.
    life: u64,
    images: Option<Images>,
}

/// What the disk was just before some calls.
#[derive(Clone, Debug)]
struct Images {
    kept: Vec<World>,
    left: usize,
    every: u64,
    next: u64,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let nodes = vec![Node::Dir(DirNode::default())];
        let random = Random(seed);
        let (calls, life, capacity) = (0, 0, 1 << 30);
        Self { random, nodes, calls, fault: None, off: false, locked: false, capacity, life, images: None }
    }

    pub(super) fn reseed(&mut self, seed: u64) {
        self.random = Random(seed);
    }

    pub(super) fn fail(&mut self, call: u64, fault: Fault) {
        self.fault = Some((self.calls + call, fault));
    }

    pub(super) fn heal(&mut self) {
        self.fault = None;
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn is_off(&self) -> bool {
        self.off
    }

    pub(super) fn keep_images(&mut self, max: usize, calls: u64) {
        let every = (calls / max.max(1) as u64).max(1);
        let next = self.calls + 1 + self.random.next() % every;
        self.images = Some(Images { kept: Vec::new(), left: max, every, next });
    }

    pub(super) fn take_images(&mut self) -> Vec<World> {
        self.images.take().map(|images| images.kept).unwrap_or_default()
    }

    /// Keeps an image if it is time for one.
    fn keep_image(&mut self) {
        let Some(mut images) = self.images.take_if(|images| images.left > 0 && images.next <= self.calls + 1) else {
            return;
        };
        let mut image = self.clone();
        image.fault = None;
        images.kept.push(image);
        images.left -= 1;
        images.next += images.every;
        self.images = Some(images);
    }

    pub(super) fn set_capacity(&mut self, bytes: u64) {
        self.capacity = bytes;
    }

    pub(super) fn restart(&mut self) {
        self.life += 1;
        (self.off, self.locked) = (false, false);
    }

    /// After a power cut nobody has a file open, so what has no name is gone.
    fn forget_unnamed(&mut self) {
        let mut named = vec![false; self.nodes.len()];
        let mut todo = vec![ROOT];
        while let Some(node) = todo.pop() {
            named[node] = true;
            if let Node::Dir(dir) = &self.nodes[node] {
                todo.extend(dir.live.values());
            }
        }
        for (node, is_named) in self.nodes.iter_mut().zip(named) {
            if !is_named {
                *node = Node::File(FileNode::default());
            }
        }
    }

    pub(super) fn power_cut(&mut self) {
        for node in &mut self.nodes {
            match node {
                Node::File(file) => file.power_cut(&mut self.random),
                Node::Dir(dir) => dir.power_cut(&mut self.random),
            }
        }
        self.forget_unnamed();
        self.restart();
    }

    /// Counts a call, and says whether it is the one that fails.
    fn call(&mut self) -> io::Result<Option<Fault>> {
        if self.off {
            return Err(io::Error::other("the machine is off"));
        }
        self.keep_image();
        self.calls += 1;
        let fault = self.fault.take_if(|it| it.0 == self.calls).map(|it| it.1);
        self.off = fault == Some(Fault::Crash);
        Ok(fault)
    }

    pub(super) fn lock(&mut self) -> io::Result<u64> {
        if self.locked {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.locked = true;
        Ok(self.life)
    }

    pub(super) fn unlock(&mut self, life: u64) {
        if life == self.life {
            self.locked = false;
        }
    }

    fn find(&self, path: &str) -> io::Result<usize> {
        let mut node = ROOT;
        for part in path.split('/').filter(|it| !it.is_empty()) {
            node = match &self.nodes[node] {
                Node::Dir(dir) => *dir.live.get(part).ok_or(io::ErrorKind::NotFound)?,
                Node::File(_) => return Err(io::ErrorKind::NotADirectory.into()),
            };
        }
        Ok(node)
    }

    fn dir(&mut self, path: &str) -> io::Result<&mut DirNode> {
        let node = self.find(path)?;
        match &mut self.nodes[node] {
            Node::Dir(dir) => Ok(dir),
            Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn file(&mut self, node: usize, life: u64) -> io::Result<&mut FileNode> {
        if life != self.life {
            return Err(io::Error::other("the process that opened this file is gone"));
        }
        match &mut self.nodes[node] {
            Node::File(file) => Ok(file),
            Node::Dir(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    /// Makes a change of names. One that fails has no effect; one that the machine stops in may have it.
    fn change(&mut self, path: &str, names: Vec<(String, Option<usize>)>) -> io::Result<()> {
        let fault = self.call()?;
        if fault.is_none() || (fault == Some(Fault::Crash) && self.random.coin()) {
            self.dir(path)?.change(names);
        }
        fault.map_or(Ok(()), |it| Err(error(it)))
    }

    fn add(&mut self, path: &str, node: Node) -> io::Result<usize> {
        if self.find(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.nodes.push(node);
        let node = self.nodes.len() - 1;
        let (dir, name) = split(path);
        self.change(dir, vec![(name.to_owned(), Some(node))])?;
        Ok(node)
    }

    pub(super) fn create_dir(&mut self, path: &str) -> io::Result<()> {
        self.add(path, Node::Dir(DirNode::default())).map(|_| ())
    }

    pub(super) fn create(&mut self, path: &str) -> io::Result<(usize, u64)> {
        Ok((self.add(path, Node::File(FileNode::default()))?, self.life))
    }

    pub(super) fn open(&mut self, path: &str) -> io::Result<(usize, u64)> {
        self.call()?.map_or(Ok(()), |it| Err(error(it)))?;
        Ok((self.find(path)?, self.life))
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let node = self.find(from)?;
        let ((dir, old), (other, new)) = (split(from), split(to));
        assert_eq!(dir, other, "a rename stays in its directory");
        self.change(dir, vec![(old.to_owned(), None), (new.to_owned(), Some(node))])
    }

    pub(super) fn remove(&mut self, path: &str, is_dir: bool) -> io::Result<()> {
        let node = self.find(path)?;
        match &self.nodes[node] {
            Node::Dir(dir) if is_dir && !dir.live.is_empty() => return Err(io::ErrorKind::DirectoryNotEmpty.into()),
            Node::Dir(_) if !is_dir => return Err(io::ErrorKind::IsADirectory.into()),
            Node::File(_) if is_dir => return Err(io::ErrorKind::NotADirectory.into()),
            Node::File(_) | Node::Dir(_) => {}
        }
        let (dir, name) = split(path);
        self.change(dir, vec![(name.to_owned(), None)])
    }

    pub(super) fn list(&mut self, path: &str) -> io::Result<Vec<String>> {
        self.call()?.map_or(Ok(()), |it| Err(error(it)))?;
        Ok(self.dir(path)?.live.keys().cloned().collect())
    }

    pub(super) fn sync_dir(&mut self, path: &str) -> io::Result<()> {
        self.call()?.map_or(Ok(()), |it| Err(error(it)))?;
        self.dir(path)?.sync();
        Ok(())
    }

    pub(super) fn size(&mut self, node: usize, life: u64) -> io::Result<u64> {
        Ok(self.file(node, life)?.cache.len() as u64)
    }

    pub(super) fn read(&mut self, node: usize, life: u64, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.call()?.map_or(Ok(()), |it| Err(error(it)))?;
        let file = self.file(node, life)?;
        let at = at as usize;
        into.copy_from_slice(file.cache.get(at..at + into.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    pub(super) fn write(&mut self, node: usize, life: u64, at: u64, bytes: &[u8]) -> io::Result<()> {
        let fault = self.call()?;
        let done = if fault.is_none() { bytes.len() } else { self.random.below(bytes.len() + 1) };
        self.file(node, life)?.write(at as usize, &bytes[..done]);
        fault.map_or(Ok(()), |it| Err(error(it)))
    }

    pub(super) fn resize(&mut self, node: usize, life: u64, bytes: u64) -> io::Result<()> {
        let fault = self.call()?;
        let free = self.free();
        let file = self.file(node, life)?;
        if bytes > file.cache.len() as u64 + free {
            return Err(error(Fault::Enospc));
        }
        file.resize(bytes as usize);
        fault.map_or(Ok(()), |it| Err(error(it)))
    }

    pub(super) fn sync(&mut self, node: usize, life: u64) -> io::Result<()> {
        let fault = self.call()?;
        let mut random = self.random.clone();
        let file = self.file(node, life)?;
        match fault {
            None => file.sync(),
            // The restart decides what reached the disk.
            Some(Fault::Crash) => {}
            Some(Fault::Eio | Fault::Enospc) => file.fail_sync(&mut random),
        }
        self.random = random;
        fault.map_or(Ok(()), |it| Err(error(it)))
    }

    pub(super) fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.used(ROOT) as u64)
    }

    fn used(&self, node: usize) -> usize {
        match &self.nodes[node] {
            Node::File(file) => file.cache.len(),
            Node::Dir(dir) => dir.live.values().map(|node| self.used(*node)).sum(),
        }
    }

    fn contents_of(&self, path: &str) -> Option<&[u8]> {
        match &self.nodes[self.find(path).ok()?] {
            Node::File(file) => Some(&file.cache),
            Node::Dir(_) => None,
        }
    }

    pub(super) fn contents(&self, path: &str) -> Option<Vec<u8>> {
        self.contents_of(path).map(<[u8]>::to_vec)
    }

    pub(super) fn put(&mut self, path: &str, bytes: &[u8]) {
        if let Ok(node) = self.find(path)
            && let Node::File(file) = &mut self.nodes[node]
        {
            file.put(bytes);
        }
    }

    pub(super) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut todo = vec![(String::new(), ROOT)];
        while let Some((path, node)) = todo.pop() {
            match &self.nodes[node] {
                Node::File(_) => found.push(path),
                Node::Dir(dir) => todo.extend(dir.live.iter().map(|(name, node)| (join(&path, name), *node))),
            }
        }
        found.sort();
        found
    }
}

fn error(fault: Fault) -> io::Error {
    match fault {
        Fault::Crash => io::Error::other("the machine is off"),
        Fault::Eio => Errno::IO.into(),
        Fault::Enospc => Errno::NOSPC.into(),
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}
