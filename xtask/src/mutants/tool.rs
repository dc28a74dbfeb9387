//! Runs cargo-mutants.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::report::Outcomes;
use super::suites::{Step, Suite};
use super::tree::Tree;

/// How to get what is missing.
const MISSING: &str = "cargo-mutants is missing: `cargo install --locked cargo-mutants`";

/// cargo-mutants, for one copy of the tree.
#[derive(Debug)]
pub(super) struct Tool<'a> {
    tree: &'a Tree,
}

impl<'a> Tool<'a> {
    /// Fails, and says how to install it, where cargo-mutants is missing.
    pub(super) fn find(tree: &'a Tree) -> Result<Self, String> {
        let found = Command::new("cargo").args(["mutants", "--version"]).output();
        if found.is_ok_and(|output| output.status.success()) {
            Ok(Self { tree })
        } else {
            Err(MISSING.into())
        }
    }

    /// The names of a crate's mutants, each with file, line and column; `diff` leaves out those in
    /// lines that it does not touch.
    pub(super) fn list(&self, suite: &Suite, diff: Option<&Path>) -> Result<Vec<String>, String> {
        let mut command = self.command(suite);
        command.args(["--list", "--json", "--no-config"]);
        if let Some(diff) = diff {
            command.arg("--in-diff").arg(diff);
        }
        let output = command.output().map_err(|error| format!("cannot run cargo: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo mutants --list: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        // A diff that touches no source makes it print nothing at all.
        if text.trim().is_empty() { Ok(Vec::new()) } else { names(&text) }
    }

    /// Runs the tests on each of these mutants: those of each step on what the steps before missed.
    pub(super) fn run(&self, suite: &Suite, mutants: &[String]) -> Result<Outcomes, String> {
        let mut outcomes = Outcomes { missed: mutants.to_vec(), ..Outcomes::default() };
        for step in suite.steps {
            if outcomes.missed.is_empty() {
                break;
            }
            let of_step = self.run_step(suite, step, &outcomes.missed)?;
            outcomes.replace_missed(of_step);
        }
        Ok(outcomes)
    }

    fn run_step(&self, suite: &Suite, step: &Step, mutants: &[String]) -> Result<Outcomes, String> {
        let config = self.tree.out.join("mutants.toml");
        fs::write(&config, configuration(mutants))
            .map_err(|error| format!("{}: {error}", config.display()))?;
        let mut command = self.command(suite);
        command
            .arg("--config")
            .arg(&config)
            // cargo-mutants 27.1 also runs each mutant that leaves out a field of a struct
            // expression, whatever the configuration chooses: a diff leaves out those in other
            // lines.
            .arg("--in-diff")
            .arg(self.tree.write_lines(mutants)?)
            .args(["--in-place", "--no-times", "--colors", "never", "--timeout"])
            .arg(step.timeout.to_string())
            .args(step.tests.iter().flat_map(|package| ["--test-package", package]))
            .arg("--output")
            .arg(&self.tree.out)
            .args(step.targets.iter().map(|target| format!("--cargo-arg={target}")))
            .arg("--cargo-arg=--locked")
            // Compiling takes most of the time, and optimising the mutated crate most of that.
            .args(suite.not_optimised.iter().flat_map(|package| {
                let level = format!("--cargo-arg=profile.dev.package.{package}.opt-level=0");
                ["--cargo-arg=--config".to_owned(), level]
            }))
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .stdout(Stdio::null());
        let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
        // 2: some were missed; 3: some timed out.
        if !matches!(status.code(), Some(0 | 2 | 3)) {
            return Err(format!("cargo mutants ended with {status}; see {}", self.tree.out.display()));
        }
        let read = |name: &str| {
            let path = self.tree.out.join("mutants.out").join(name);
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let wanted = |name: &&str| mutants.iter().any(|mutant| mutant == name);
            Ok::<_, String>(text.lines().filter(wanted).map(str::to_owned).collect())
        };
        Ok(Outcomes {
            caught: read("caught.txt")?,
            missed: read("missed.txt")?,
            unviable: read("unviable.txt")?,
            timeouts: read("timeout.txt")?,
        })
    }

    fn command(&self, suite: &Suite) -> Command {
        let mut command = Command::new("cargo");
        command
            .arg("mutants")
            .args(suite.packages.iter().flat_map(|package| ["--package", package]))
            .args(suite.not_built.iter().flat_map(|file| ["--exclude", file]))
            .current_dir(&self.tree.files)
            .env("CARGO_TARGET_DIR", &self.tree.built);
        command
    }
}

/// The names in what `cargo mutants --list --json` prints.
fn names(json: &str) -> Result<Vec<String>, String> {
    let wrong = |why: String| format!("cargo mutants --list --json: {why}");
    let list: Vec<serde_json::Value> =
        serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
    list.iter()
        .map(|mutant| mutant.get("name").and_then(serde_json::Value::as_str).map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or_else(|| wrong("a mutant has no name".into()))
}

/// A configuration that chooses exactly these mutants: there are too many for a command line.
fn configuration(mutants: &[String]) -> String {
    let lines = mutants.iter().map(|name| format!("    '''^{}$''',\n", escaped(name)));
    format!("examine_re = [\n{}]\n", lines.collect::<String>())
}

/// A regular expression that matches a text and nothing else.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_list() {
        let json = r#"[{"file": "a.rs", "name": "a.rs:1:2: replace f"}, {"name": "a.rs:3:4: g"}]"#;
        assert_eq!(names(json).unwrap(), ["a.rs:1:2: replace f", "a.rs:3:4: g"]);
        assert!(names("[{}]").is_err() && names("no").is_err());
    }

    #[test]
    fn a_configuration_chooses_exactly_the_given_mutants() {
        let mutants =
            ["a.rs:1:2: replace f -> Option<[u8; 2]> with None".to_owned(), "b: \"+\" ^ |= '!'".into()];
        let expected = "examine_re = [\n    '''^a\\.rs:1:2: replace f -> Option<\\[u8; 2\\]> with None$''',\n    \
                        '''^b: \"\\+\" \\^ \\|= '!'$''',\n]\n";
        assert_eq!(configuration(&mutants), expected);
    }
}
