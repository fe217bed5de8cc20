//! The documents are checked like code: what they list is what there is, and what they show is what happens.
//!
//! Not here: whether a sentence is true. A table, a link, a path, an example and a printed output can be compared with the
//! program, and these are.

#[path = "docs/console.rs"]
mod console;
#[path = "docs/http.rs"]
mod http;
#[path = "docs/keys.rs"]
mod keys;
#[path = "docs/knobs.rs"]
mod knobs;
#[path = "docs/markdown.rs"]
mod markdown;
#[path = "docs/operating.rs"]
mod operating;
#[path = "docs/pages.rs"]
mod pages;
#[path = "docs/promises.rs"]
mod promises;
#[path = "docs/readme.rs"]
mod readme;
#[path = "docs/registry.rs"]
mod registry;
#[path = "docs/script.rs"]
mod script;
#[path = "docs/server.rs"]
mod server;
#[path = "docs/words.rs"]
mod words;
