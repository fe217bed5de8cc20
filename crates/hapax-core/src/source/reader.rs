//! Taking a tree apart key by key, so that nothing wrong and nothing unknown goes unnoticed.
//!
//! A [`Table`] is asked for the keys it may have. Each question that meets a wrong kind of value leaves a [`Problem`]
//! and answers with the default, so that one reading finds all problems. `finish` complains about what nobody asked for.

use super::{Node, Place, Problem, Value};

/// Collects what is wrong while a tree is read.
#[derive(Debug, Default)]
pub struct Reader {
    /// Everything that was found, in the order of reading.
    pub problems: Vec<Problem>,
}

impl Reader {
    /// Notes a problem.
    pub fn complain(&mut self, key: impl Into<String>, at: Place, why: impl Into<String>) {
        self.problems.push(Problem { key: key.into(), why: why.into(), at });
    }

    /// Opens a table; anything else is a problem and reads as an empty one.
    pub fn table<'n>(&mut self, node: &'n Node, path: &str) -> Table<'n> {
        let members = match &node.value {
            Value::Table(members) => members.as_slice(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                self.complain(path, node.at, format!("expected a table, found {}", node.kind()));
                &[]
            }
        };
        Table { path: path.to_owned(), at: node.at, members, asked: Vec::new() }
    }
}

/// A table being read.
#[derive(Debug)]
pub struct Table<'n> {
    /// Its dotted path from the top.
    pub path: String,
    /// Where it begins.
    pub at: Place,
    members: &'n [(String, Node)],
    asked: Vec<&'static str>,
}

/// A list being read: each item with its path.
pub type List<'n> = Vec<(String, &'n Node)>;

impl<'n> Table<'n> {
    /// The dotted path of a key of this table.
    pub fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of a key, whatever it is.
    pub fn node(&mut self, key: &'static str) -> Option<&'n Node> {
        self.asked.push(key);
        self.members.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value of a key that must be there.
    pub fn required(&mut self, key: &'static str, what: &str, reader: &mut Reader) -> Option<&'n Node> {
        let node = self.node(key);
        if node.is_none() {
            reader.complain(self.key(key), self.at, format!("is missing; expected {what}"));
        }
        node
    }

    /// A text.
    pub fn text(&mut self, key: &'static str, reader: &mut Reader) -> Option<&'n str> {
        let node = self.node(key)?;
        if let Value::Text(text) = &node.value {
            return Some(text);
        }
        reader.complain(self.key(key), node.at, format!("expected a text, found {}", node.kind()));
        None
    }

    /// True or false.
    pub fn bool(&mut self, key: &'static str, default: bool, reader: &mut Reader) -> bool {
        let Some(node) = self.node(key) else { return default };
        if let Value::Bool(yes) = node.value {
            return yes;
        }
        reader.complain(self.key(key), node.at, format!("expected true or false, found {}", node.kind()));
        default
    }

    /// A whole number that is not negative.
    pub fn count(&mut self, key: &'static str, reader: &mut Reader) -> Option<u64> {
        let node = self.node(key)?;
        if let Value::Number(text) = &node.value
            && let Ok(number) = text.parse()
        {
            return Some(number);
        }
        let found = if let Value::Number(text) = &node.value { text } else { node.kind() };
        reader.complain(self.key(key), node.at, format!("expected a whole number from 0, found {found}"));
        None
    }

    /// One of a closed list of words.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)], default: T, reader: &mut Reader) -> T {
        let Some(node) = self.node(key) else { return default };
        if let Value::Text(text) = &node.value {
            if let Some((_, value)) = words.iter().find(|(word, _)| word == text) {
                return *value;
            }
            reader.complain(self.key(key), node.at, format!("expected {}, found \"{text}\"", one_of(words)));
        } else {
            reader.complain(self.key(key), node.at, format!("expected {}, found {}", one_of(words), node.kind()));
        }
        default
    }

    /// A table of its own under this key; absent reads as an empty one.
    pub fn table(&mut self, key: &'static str, reader: &mut Reader) -> Table<'n> {
        let path = self.key(key);
        match self.node(key) {
            Some(node) => reader.table(node, &path),
            None => Table { path, at: self.at, members: &[], asked: Vec::new() },
        }
    }

    /// The items of a list under this key.
    pub fn list(&mut self, key: &'static str, reader: &mut Reader) -> Option<List<'n>> {
        let node = self.node(key)?;
        let path = self.key(key);
        if let Value::List(items) = &node.value {
            return Some(items.iter().enumerate().map(|(index, item)| (format!("{path}[{index}]"), item)).collect());
        }
        reader.complain(path, node.at, format!("expected a list, found {}", node.kind()));
        None
    }

    /// All members, for tables whose keys are names.
    pub fn members(&self) -> &'n [(String, Node)] {
        self.members
    }

    /// Complains about every key that nobody asked for.
    pub fn finish(self, reader: &mut Reader) {
        for (key, node) in self.members {
            if self.asked.contains(&key.as_str()) {
                continue;
            }
            let near = self.asked.iter().map(|known| (distance(known, key), *known)).min();
            let why = match near {
                Some((far, known)) if far <= 2 || known.starts_with(key.as_str()) => {
                    format!("is not a key that is known here; did you mean `{known}`?")
                }
                _ if self.asked.is_empty() => "is not known here".to_owned(),
                _ => format!("is not a key that is known here; known are {}", self.asked.join(", ")),
            };
            reader.complain(self.key(key), node.at, why);
        }
    }
}

fn one_of<T>(words: &[(&str, T)]) -> String {
    words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ")
}

/// How many letters must be added, dropped or changed to make one word the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let change = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
