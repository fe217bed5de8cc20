//! The real server, over real sockets: what it answers, to many at once, and after it was killed.

#[path = "serving/authority.rs"]
mod authority;
#[path = "serving/canary.rs"]
mod canary;
#[path = "serving/client.rs"]
mod client;
#[path = "serving/crash.rs"]
mod crash;
#[path = "serving/many.rs"]
mod many;
#[path = "serving/process.rs"]
mod process;
#[path = "serving/proof.rs"]
mod proof;
#[path = "serving/rate.rs"]
mod rate;
#[path = "serving/requests.rs"]
mod requests;
#[path = "serving/rights.rs"]
mod rights;
#[path = "serving/tls.rs"]
mod tls;
#[path = "serving/told.rs"]
mod told;
