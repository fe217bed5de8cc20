//! The front page: its commands are the ones that are run, and what it shows is what the program prints.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::console::check_examples;
use crate::markdown::{Page, page, root};

fn commands(page: &Page) -> Vec<String> {
    let shell = page.blocks().into_iter().filter(|block| block.info == "sh");
    shell.flat_map(|block| block.body.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn the_two_commands_are_the_ones_that_the_machine_runs() {
    let commands = commands(&page("README.md"));
    let [main, test] = commands.as_slice() else { panic!("README.md has two commands, not {commands:?}") };
    let script = fs::read_to_string(root().join("scripts/test")).expect("scripts/test");
    // There it does not wait for anybody.
    let run = format!("step {main} --fast --exit ");
    assert!(script.lines().any(|line| line.starts_with(&run)), "scripts/test does not run `{main}`");
    assert_eq!(test, "./scripts/test");
    let run = fs::read_to_string(root().join(".ci/run")).expect(".ci/run");
    let lines: Vec<_> = run.lines().filter(|line| !line.starts_with('#') && !line.starts_with("set ")).collect();
    assert_eq!(lines, ["exec \"$(dirname \"$0\")/../scripts/test\""]);
}

#[cfg(unix)]
#[test]
fn the_scripts_can_be_executed() {
    use std::os::unix::fs::PermissionsExt;
    for path in ["scripts/test", ".ci/run"] {
        let mode = fs::metadata(root().join(path)).expect(path).permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{path}");
    }
}

#[test]
fn it_has_six_links_into_the_documents() {
    let page = page("README.md");
    let inside: Vec<_> = page.links().into_iter().filter(|link| !link.contains("://")).collect();
    assert_eq!(inside.len(), 6, "{inside:?}");
}

/// Runs the program in a folder that holds the scenario of the front page.
fn run(scenario: &str, folder: &str, arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).expect("a folder for the scenario");
    fs::write(folder.join("first.toml"), scenario).expect("the scenario");
    let program = env!("CARGO_BIN_EXE_hapax");
    Command::new(program).args(arguments).current_dir(folder).output().expect("the program runs")
}

fn scenario(page: &Page) -> String {
    page.blocks().into_iter().find(|block| block.info == "toml").expect("a scenario").body
}

#[test]
fn what_it_shows_is_what_the_program_prints() {
    let page = page("README.md");
    let consoles = page.blocks().into_iter().filter(|block| block.info == "console");
    let consoles: Vec<_> = consoles.filter(|block| !block.body.starts_with("$ curl ")).collect();
    assert_eq!(consoles.len(), 2);
    for console in consoles {
        let (command, shown) = console.body.split_once('\n').expect("a command and its output");
        let arguments = command.strip_prefix("$ target/release/hapax ").expect("a command");
        let output = run(&scenario(&page), "readme-shown", &arguments.split(' ').collect::<Vec<_>>());
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        match shown.strip_suffix("...\n") {
            Some(beginning) => assert!(printed.starts_with(beginning), "{command} prints\n{printed}"),
            None => assert_eq!(printed, shown, "{command}"),
        }
        assert_eq!(output.status.code(), Some(1), "the scenario has a mistake");
    }
}

#[test]
fn the_first_receipt_is_the_one_that_is_shown() {
    check_examples("README.md", 4);
}

#[test]
fn corrected_as_it_says_the_scenario_holds() {
    let page = page("README.md");
    let scenario = scenario(&page);
    assert!(page.text.contains("Write `marks = [\"HAS_GAPS\"]` in step 2"));
    let (before, after) = scenario.rsplit_once("marks = []").expect("the marks of step 2");
    let output = run(&format!("{before}marks = [\"HAS_GAPS\"]{after}"), "readme-corrected", &["test", "first.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}
