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
            Value::Table(members) => Some(members.as_slice()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                self.complain(path, node.at, format!("expected a table, found {}", node.kind()));
                None
            }
        };
        let is_table = members.is_some();
        Table { path: path.to_owned(), at: node.at, members: members.unwrap_or_default(), is_table, asked: Vec::new() }
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
    /// Something else stood here, and was complained about; what it lacks is then no news.
    is_table: bool,
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
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        self.members.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value of a key that must be there.
    pub fn required(&mut self, key: &'static str, what: &str, reader: &mut Reader) -> Option<&'n Node> {
        let node = self.node(key);
        if node.is_none() && self.is_table {
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
        reader.complain(self.key(key), node.at, format!("expected a whole number from 0, found {}", node.found()));
        None
    }

    /// One of a closed list of words.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)], default: T, reader: &mut Reader) -> T {
        let Some(node) = self.node(key) else { return default };
        if let Value::Text(text) = &node.value
            && let Some((_, value)) = words.iter().find(|(word, _)| word == text)
        {
            return *value;
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        reader.complain(self.key(key), node.at, format!("expected {}, found {}", one_of(&known), node.found()));
        default
    }

    /// A table of its own under this key; absent reads as an empty one.
    pub fn table(&mut self, key: &'static str, reader: &mut Reader) -> Table<'n> {
        let path = self.key(key);
        match self.node(key) {
            Some(node) => reader.table(node, &path),
            None => Table { path, at: self.at, members: &[], is_table: true, asked: Vec::new() },
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
            let why = match nearest(key, self.asked.iter().copied()) {
                Some(known) => format!("is not a key that is known here; did you mean `{known}`?"),
                None if self.asked.is_empty() => "is not known here".to_owned(),
                None => format!("is not a key that is known here; known are {}", self.asked.join(", ")),
            };
            reader.complain(self.key(key), node.at, why);
        }
    }
}

/// Words in the form of a message: `"a", "b" or "c"`.
pub(super) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}

/// The known word that was probably meant: one that begins like it, or differs by a slip or two.
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    // In a short word a slip or two leave nothing that was meant.
    let slips_max = match word.chars().count() {
        0..3 => 0,
        3..5 => 1,
        _ => 2,
    };
    let (slips, nearest) = known
        .into_iter()
        .map(|known| (if word.len() > 1 && known.starts_with(word) { 1 } else { slips(word, known) }, known))
        .min()?;
    (slips <= slips_max).then_some(nearest)
}

/// How many letters must be added, dropped, changed or swapped with their neighbour to make one word the other.
fn slips(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    // Nobody's slip is that long, and the table would be.
    if one.len() > 64 {
        return usize::MAX;
    }
    let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            if i == 0 || j == 0 {
                table[i][j] = i + j;
                continue;
            }
            let change = table[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut least = change.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                least = least.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = least;
        }
    }
    table[one.len()][other.len()]
}
