//! For producers and consumers: what they would otherwise each have to get right.
//!
//! A request carries one `Idempotency-Key` and is sent again under it until the server has answered, so a lost answer is
//! never a lost or a doubled event. A reader that was cut off goes on where it was. A worker holds its claim alive while
//! it works, and says how it ended.
//!
//! What is *not* here, on purpose: no rules, no store, no server. This crate knows the wire and nothing else, so it can
//! be used without the rest. Calls block; whoever wants many at once has threads.
//!
//! Read in this order: [`Client`] (one request), [`Retry`] (again, under the same key), [`Batch`] (sending),
//! [`Pages`] and [`Follow`] (reading), [`Worker`] (acting once on each).
//!
//! ```no_run
//! use hapax_client::{Batch, Client};
//!
//! let client = Client::new("http://127.0.0.1:4090", None)?;
//! let batch = Batch::new("orders", [r#"{"id": "e-1", "total": 9.90}"#, r#"{"id": "e-2", "total": 12.00}"#]);
//! for receipt in client.send(&batch)?.receipts {
//!     println!("{}: {}", receipt.id.unwrap_or_default(), receipt.verdict);
//! }
//! # Ok::<(), hapax_client::Error>(())
//! ```

mod agent;
mod answer;
mod backlog;
mod call;
mod claim;
mod client;
mod clock;
mod entry;
mod error;
mod follow;
mod pages;
mod reader;
mod retry;
mod route;
mod send;
mod sse;
mod stop;
mod token;
mod work;

#[cfg(test)]
mod fake;

pub use answer::{Answer, Incoming};
pub use call::{Call, Method};
pub use claim::{Claims, Decision, Grant, Status};
pub use client::Client;
pub use entry::Entry;
pub use error::{Effect, Error, KeyProblem, Problem};
pub use follow::Follow;
pub use pages::Pages;
pub use retry::Retry;
pub use route::Route;
pub use send::{Batch, Receipt, Receipts};
pub use stop::Stop;
pub use token::random as random_key;
pub use work::{Claim, Happening, Plan, Summary, Work, Worker};
