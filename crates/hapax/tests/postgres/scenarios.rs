//! Every scenario, on a ledger in Postgres.

use std::fs;
use std::path::Path;

use crate::cluster::Cluster;
use crate::process::run;

#[test]
fn every_scenario_holds_in_postgres() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<String> = fs::read_dir(folder)
        .expect("scenarios")
        .map(|entry| entry.expect("a name").path())
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .map(|path| path.to_str().expect("a path").to_owned())
        .collect();
    files.sort();
    let cluster = Cluster::shared();
    let url = cluster.url(&cluster.schema());
    // In two processes, for there are two cores: they do not meet.
    let (first, second) = files.split_at(files.len() / 2);
    let outputs = std::thread::scope(|scope| {
        let test = |files: &[String]| {
            let mut arguments = vec!["test", "--store", &url];
            arguments.extend(files.iter().map(String::as_str));
            run(&arguments)
        };
        let other = scope.spawn(move || test(second));
        [test(first), other.join().expect("an end")]
    });
    let mut passed = 0;
    for (output, files) in outputs.iter().zip([first, second]) {
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.ends_with(&format!("{} passed, 0 failed\n", files.len())), "{said}");
        passed += files.len();
    }
    assert!(passed > 100, "all of them were found");
    let left =
        cluster.ask("SELECT count(*) FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema|public|ledger_)'");
    assert_eq!(left, "0", "what was made to be thrown away is gone");
    println!("figure: {passed} scenarios hold in Postgres");
}
