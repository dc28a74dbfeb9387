//! `cargo xtask check`: the project's rules that the compiler does not check.
//!
//! Each rule is a pure function from source text to [`Violation`]s, in its own module. This module
//! finds the files and prints one line for each violation.

mod defaults;
mod layers;
mod purity;
mod shares;
mod sizes;
mod stack;
pub(crate) mod tokens;
mod unsafe_code;
mod versions;
mod width;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{peer, tables};
use defaults::Counts;
use layers::{Exports, Layers, Upward};
pub(crate) use stack::{Package, Workspace};
use tokens::Token;

/// The command-line program, to which the rules for libraries do not apply. The packages before it
/// in the member list are libraries.
const COMMAND: &str = "tdb-cli";
/// The only file that may contain version numbers.
const GATE_TABLE: &str = "crates/tdb-codec/src/version.rs";

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The file, relative to the repository.
    file: String,
    /// The line, from 1.
    line: usize,
    /// What is wrong.
    what: String,
}

impl Violation {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into() }
    }
}

/// Entry point: takes no arguments.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(word) = args.first() {
        return Err(format!("unknown argument {word}"));
    }
    let root = peer::repository_root()?;
    let mut violations = Vec::new();
    let workspace = Workspace::load(&root)?;
    violations.extend(workspace.wrong_dependencies());
    violations.extend(workspace.unused_permissions());
    let mut files = 0usize;
    let mut outside = BTreeSet::new();
    let mut larger = sizes::Found::new();
    let mut libraries = Vec::new();
    for package in workspace.packages() {
        let source = root.join(&package.folder).join("src");
        let mut house = House::of(&package.name, &root, &source)?;
        let is_library = workspace.is_below(&package.name, COMMAND);
        let mut lines = 0usize;
        let mut counts = Counts::default();
        for path in rust_files(&source)? {
            let name = relative(&root, &path);
            let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
            files = files.saturating_add(1);
            lines = lines.saturating_add(text.lines().count());
            violations.extend(width::comments(&name, &text));
            let tokens = tokens::tokenize(&text);
            if path == source.join("lib.rs") {
                violations.extend(unsafe_code::check_library(&name, &tokens));
            }
            violations.extend(unsafe_code::check_file(&name, &tokens));
            if is_test_file(&name) {
                continue;
            }
            let code = tokens::without_tests(tokens);
            counts.add(&code);
            if is_library {
                violations.extend(purity::check(&name, &code, &purity::MAY, &mut outside));
            }
            if package.folder.starts_with("crates/") {
                violations.extend(sizes::LARGER.check(&name, &code, &mut larger));
                if name != GATE_TABLE {
                    violations.extend(versions::check(&name, &code));
                }
            }
            if let Some(house) = &mut house {
                violations.extend(house.check(&name, &relative(&source, &path), &code));
            }
        }
        if is_library {
            libraries.push((package.name.clone(), package.folder.clone(), lines));
        }
        if let Some(most) = defaults::most(&package.name) {
            violations.extend(counts.check(&package.name, &package.folder, most));
        }
        if let Some(house) = house {
            violations.extend(house.violations);
            violations.extend(house.layers.gone(&house.seen));
            println!("{}", house.layers.text());
        }
    }
    violations.extend(purity::gone(&purity::MAY, &outside));
    violations.extend(sizes::LARGER.gone(&larger));
    violations.extend(shares::check(&libraries, shares::LARGER));
    for page in pages(&root)? {
        let name = relative(&root, &page);
        let text = fs::read_to_string(&page).map_err(|error| format!("{name}: {error}"))?;
        violations.extend(width::page(&name, &text));
    }
    let stale = tables::stale(&root)?;
    violations
        .extend(stale.iter().map(|name| Violation::new(name, 1, "out of date: run `cargo xtask tables`")));
    for Violation { file, line, what } in &violations {
        println!("{file}:{line}: {what}");
    }
    match violations.len() {
        0 => {
            println!("{files} files of {} crates keep the rules", workspace.packages().count());
            Ok(())
        }
        count => Err(format!("{count} violations")),
    }
}

/// A crate with layers, while its files are checked.
struct House {
    layers: &'static Layers,
    exports: Exports,
    seen: BTreeSet<Upward>,
    /// Violations of the table of its modules.
    violations: Vec<Violation>,
}

impl House {
    fn of(package: &str, root: &Path, source: &Path) -> Result<Option<Self>, String> {
        let Some(layers) = layers::of(package) else { return Ok(None) };
        let library = source.join("lib.rs");
        let name = relative(root, &library);
        let text = fs::read_to_string(&library).map_err(|error| format!("{name}: {error}"))?;
        let tokens = tokens::without_tests(tokens::tokenize(&text));
        let violations = layers.unlisted(&name, &tokens);
        Ok(Some(Self { layers, exports: layers::exports(&tokens), seen: BTreeSet::new(), violations }))
    }

    fn check(&mut self, name: &str, inside: &str, code: &[Token<'_>]) -> Vec<Violation> {
        self.layers.check((name, inside), code, &self.exports, &mut self.seen)
    }
}

/// Whether a source file is compiled only for tests, according to the project's naming rules.
fn is_test_file(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.contains("/tests/")
}

/// All `.rs` files below a folder, sorted.
pub(crate) fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    files_below(folder, "rs")
}

/// The project's pages: those at the top, under `docs`, and those of the crates, which are below
/// `crates`.
fn pages(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut pages = files_below(&root.join("docs"), "md")?;
    pages.extend(files_below(&root.join("crates"), "md")?);
    let top = ["README.md", "CHANGELOG.md", "SECURITY.md", "xtask/README.md"];
    pages.extend(top.map(|name| root.join(name)));
    Ok(pages)
}

/// All files below a folder with an extension, sorted.
pub(crate) fn files_below(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = all_files_below(folder)?;
    found.retain(|path| path.extension().is_some_and(|found| found == extension));
    Ok(found)
}

/// All files below a folder, sorted.
pub(crate) fn all_files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A path for output: relative to the repository, with forward slashes.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Whether the tokens from `at` on are exactly these texts.
fn matches(tokens: &[Token<'_>], at: usize, texts: &[&str]) -> bool {
    tokens
        .get(at..)
        .and_then(|rest| rest.get(..texts.len()))
        .is_some_and(|found| found.iter().zip(texts).all(|(token, text)| token.text == *text))
}
