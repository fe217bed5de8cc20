//! A second opinion on the rules: slow, plain, and written without a look at the judge.
//!
//! [`model`] answers what the verdict of an event must be, from the whole history, every time anew. [`world`] invents
//! contracts and histories in which collisions are frequent. Neither shares a line with the code it checks. [`stage`]
//! runs the real turn, [`agree`] compares the two, [`judge`] does so in random worlds, [`random`] asks
//! whether the worlds are worth the trouble, [`examples`] whether the model is.

mod model;
/// Other suites use more of it.
#[allow(dead_code)]
mod stage;
mod world;

mod agree;
mod examples;
mod judge;
mod random;
mod regressions;
