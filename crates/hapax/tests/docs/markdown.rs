//! As much of Markdown as the checks need: fenced blocks, tables, headings, links, inline code.
//!
//! Not here: the rest of Markdown. The pages keep to this part.

use std::fs;
use std::path::{Path, PathBuf};

/// One page.
pub(crate) struct Page {
    /// Where it is, from the root.
    pub(crate) path: PathBuf,
    /// Its text.
    pub(crate) text: String,
}

/// A fenced block.
pub(crate) struct Block {
    /// What stands after the fence.
    pub(crate) info: String,
    /// What is inside.
    pub(crate) body: String,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One page by its path.
pub(crate) fn page(path: &str) -> Page {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    Page { path: path.into(), text }
}

/// Every page: those at the root and all under `docs/`.
pub(crate) fn pages() -> Vec<Page> {
    let mut paths = listed(Path::new(""));
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for path in listed(&folder) {
            let list = if root().join(&path).is_dir() { &mut folders } else { &mut paths };
            list.push(path);
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths.iter().map(|path| page(path.to_str().expect("a path in UTF-8"))).collect()
}

/// What is in a folder, from the root.
pub(crate) fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| folder.join(entry.expect("an entry").file_name())).collect();
    paths.sort();
    paths
}

impl Page {
    /// The fenced blocks.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for line in self.text.lines() {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(info), None) => open = Some(Block { info: info.trim().to_owned(), body: String::new() }),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.body.extend([line, "\n"]),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a fenced block is not closed", self.path.display());
        blocks
    }

    /// The lines outside fenced blocks.
    pub(crate) fn prose(&self) -> Vec<&str> {
        let mut fenced = false;
        let outside = |line: &&str| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fenced && !fence
        };
        self.text.lines().filter(outside).collect()
    }

    /// The cells of the rows under a table's header, for each table whose header begins with this cell.
    pub(crate) fn rows(&self, first: &str) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut inside = None;
        for line in self.prose() {
            let Some(line) = line.strip_prefix('|') else {
                inside = None;
                continue;
            };
            let cells: Vec<_> =
                line.trim_end().trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            match inside {
                None => inside = Some(cells[0] == first),
                Some(true) if !cells[0].starts_with("---") => rows.push(cells),
                Some(_) => {}
            }
        }
        assert!(!rows.is_empty(), "{} has no table of {first}", self.path.display());
        rows
    }

    /// The cells of the header that begins with this cell.
    pub(crate) fn header(&self, first: &str) -> Vec<String> {
        let begins = format!("| {first} |");
        let lines = self.prose();
        let line = lines.iter().rfind(|line| line.starts_with(&begins)).expect("the header of a table");
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    }

    /// Inline code outside fenced blocks.
    pub(crate) fn inline_code(&self) -> Vec<&str> {
        self.prose().into_iter().flat_map(code).collect()
    }

    /// The targets of links.
    pub(crate) fn links(&self) -> Vec<&str> {
        self.prose()
            .into_iter()
            .flat_map(|line| line.split("](").skip(1))
            .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
            .collect()
    }

    /// What a link can point to inside the page.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let headings = self.prose().into_iter().filter(|line| line.starts_with('#'));
        headings.map(|line| slug(line.trim_start_matches('#').trim())).collect()
    }
}

/// The inline code of a line or a cell.
pub(crate) fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
}
