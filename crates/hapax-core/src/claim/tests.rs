//! Stories of the registry. `world` keeps what the core decides and speaks a small language; the other files are tables
//! in it, and `chance` lets dice write the stories and audits them.

mod calls;
mod chance;
mod decisions;
mod letters;
mod shapes;
mod world;
