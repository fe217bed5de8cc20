//! The real program, as a person meets it: its words, its exit codes, and which of the two outputs they go to.
//!
//! Every run has a folder of its own and names files without their paths, so nothing here depends on the machine.

#[path = "cli/asked.rs"]
mod asked;
#[path = "cli/benched.rs"]
mod benched;
#[path = "cli/contracts.rs"]
mod contracts;
#[path = "cli/explain.rs"]
mod explain;
#[path = "cli/mistakes.rs"]
mod mistakes;
#[path = "cli/page.rs"]
mod page;
#[path = "cli/program.rs"]
mod program;
#[path = "cli/scenarios.rs"]
mod scenarios;
#[path = "cli/sent.rs"]
mod sent;
#[path = "cli/served.rs"]
mod served;
#[path = "cli/toured.rs"]
mod toured;
#[path = "cli/worked.rs"]
mod worked;
