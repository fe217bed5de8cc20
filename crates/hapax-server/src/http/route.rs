//! One row per route, and finding the row of a request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hapax_core::access::Deed;
use hapax_core::problem::{Problem, ProblemCode};
use http::Method;

use super::{App, Call, Reply};

/// A request's way to its answer.
pub type Action = fn(Arc<App>, Call) -> Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// One row of the table.
#[derive(Clone, Copy)]
pub struct Route {
    /// `GET`, `PUT`, `POST`, `DELETE`.
    pub method: &'static str,
    /// With `{name}` for what varies.
    pub path: &'static str,
    /// The right that is needed; none where anybody may ask.
    pub deed: Option<Deed>,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Its parameters, and what each is for.
    pub takes: &'static [(&'static str, &'static str)],
    /// What its body is, if it has one.
    pub body: Option<&'static str>,
    /// What it answers with, if all is well.
    pub answers: &'static str,
    /// The way to the answer.
    pub action: Action,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// Writes an `async fn(Arc<App>, Call) -> Result<Reply, Problem>` as an action.
macro_rules! action {
    ($function:path) => {
        |app, call| Box::pin($function(app, call))
    };
}
pub(super) use action;

/// Every route, in the order of the documentation.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    use super::{
        attempts, counters, events, explain, handlers, keys, lanes, ledger, openapi, pages, probes, streams, whatif,
    };
    let all: [&'static [Route]; 13] = [
        streams::ROUTES,
        events::ROUTES,
        ledger::ROUTES,
        explain::ROUTES,
        lanes::ROUTES,
        counters::ROUTES,
        attempts::ROUTES,
        whatif::ROUTES,
        handlers::ROUTES,
        keys::ROUTES,
        probes::ROUTES,
        openapi::ROUTES,
        pages::ROUTES,
    ];
    all.into_iter().flatten()
}

/// Finds the row of a request.
pub struct Router {
    paths: matchit::Router<Address>,
}

/// The rows of one path, and the names of what varies in it.
struct Address {
    rows: Vec<&'static Route>,
    names: Vec<&'static str>,
}

/// A row, and what stands in its variable places, as written.
pub struct Found {
    /// The row.
    pub route: &'static Route,
    /// By name.
    pub params: Vec<(&'static str, String)>,
}

impl Router {
    /// The router of the table.
    ///
    /// # Panics
    /// If two rows contradict each other, which no request can change.
    pub fn new() -> Self {
        let mut by_path: Vec<(&'static str, Vec<&'static Route>)> = Vec::new();
        for route in routes() {
            match by_path.iter_mut().find(|(path, _)| *path == route.path) {
                Some((_, rows)) => rows.push(route),
                None => by_path.push((route.path, vec![route])),
            }
        }
        let mut paths = matchit::Router::new();
        for (path, rows) in by_path {
            let names = path.split(['{', '}']).skip(1).step_by(2).map(|name| name.trim_start_matches('*')).collect();
            paths.insert(path, Address { rows, names }).expect("the table of routes does not contradict itself");
        }
        Self { paths }
    }

    /// The row, or the answer that there is none.
    pub fn find(&self, method: &Method, path: &str) -> Result<Found, Reply> {
        let Ok(found) = self.paths.at(path) else {
            let detail = "nothing is at this address; GET /openapi.json lists what is";
            return Err(Reply::problem(&Problem::new(ProblemCode::NotFound, detail)));
        };
        // Whoever may GET may ask for the headers alone.
        let wanted = if method == Method::HEAD { "GET" } else { method.as_str() };
        let Address { rows, names } = found.value;
        let Some(route) = rows.iter().find(|route| route.method == wanted) else {
            let allowed: Vec<_> = rows.iter().map(|route| route.method).collect();
            let allowed = allowed.join(", ");
            let problem = Problem::new(ProblemCode::MethodNotAllowed, format!("this address takes {allowed}"));
            return Err(Reply::problem(&problem).with("allow", allowed));
        };
        // Both are in the order of the path.
        let params =
            names.iter().zip(found.params.iter()).map(|(name, (_, value))| (*name, value.to_owned())).collect();
        Ok(Found { route, params })
    }
}

impl Default for Router {
    fn default() -> Self {
        Self::new()
    }
}
