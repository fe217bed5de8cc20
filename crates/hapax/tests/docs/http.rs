//! `docs/http.md`: its routes, limits and roles are the server's, and its examples are run on one, in order.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::access::{Deed, Role};
use hapax_server::http::routes;

use crate::console::{examples, fits, run};
use crate::markdown::{code, page};
use crate::server::Server;

/// Method and path.
type Place = (String, String);

/// The rows of routes: each with who may ask and its parameters.
fn rows() -> BTreeMap<Place, (Vec<String>, BTreeSet<String>)> {
    let mut rows = BTreeMap::new();
    for cells in page("docs/http.md").rows("method") {
        let [method, path, role, parameters, _] = cells.as_slice() else { panic!("a row of a route: {cells:?}") };
        let owned = |text: &str| code(text).into_iter().map(str::to_owned).collect::<Vec<_>>();
        let place = (owned(method)[0].clone(), owned(path)[0].clone());
        let row = (owned(role), owned(parameters).into_iter().collect());
        assert!(rows.insert(place.clone(), row).is_none(), "{place:?} has two rows");
    }
    rows
}

/// Those who may, as the page writes it: nobody is named where nobody needs a key.
fn roles(deed: Option<Deed>) -> Vec<String> {
    let Some(deed) = deed else { return Vec::new() };
    Role::ALL.iter().filter(|role| role.may(deed)).map(|role| role.name().to_owned()).collect()
}

#[test]
fn every_route_has_its_row_and_the_reverse() {
    let written = rows();
    let known = routes().map(|route| {
        let parameters = route.takes.iter().map(|(name, _)| (*name).to_owned()).collect();
        ((route.method.to_owned(), route.path.to_owned()), (roles(route.deed), parameters))
    });
    let known: BTreeMap<_, _> = known.collect();
    for (place, row) in &known {
        assert_eq!(written.get(place), Some(row), "the row of {place:?} in docs/http.md: roles and parameters");
    }
    let gone: Vec<_> = written.keys().filter(|place| !known.contains_key(*place)).collect();
    assert!(gone.is_empty(), "docs/http.md has rows of routes that are not there: {gone:?}");
}

#[test]
fn every_example_prints_what_is_shown() {
    let server = Server::start();
    let examples = examples(&page("docs/http.md"));
    assert!(examples.len() > 30, "only {} examples were found", examples.len());
    let commands: Vec<_> = examples.iter().map(|example| server.here(&example.command)).collect();
    let printed = run(&commands, server.folder.path());
    for (example, printed) in examples.iter().zip(&printed) {
        let printed = server.shown(printed);
        if let Err(fitting) = fits(&example.shown, &printed) {
            let (command, shown) = (&example.command, &example.shown);
            panic!("docs/http.md shows\n$ {command}\n{shown}\nit prints\n{printed}\nwhat fits is\n{fitting}");
        }
    }
}
