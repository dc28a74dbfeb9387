//! `cargo xtask book [--check | --require]`: the pages of `docs` as a book, by mdBook.
//!
//! Whether mdBook is installed or not, links and anchors of all pages of the repository have to
//! lead somewhere, and `docs/SUMMARY.md`, the contents of the book, has to name every page of
//! `docs` once. With `--check` that is all. The book is made of a copy, in which links to files
//! that are not in the book lead to the repository on the web.

mod links;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{check, peer};

const USAGE: &str = "usage: cargo xtask book [--check | --require]";

/// The folder of the book, and its contents.
const FOLDER: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";

/// Where links lead that leave the book.
const WEB: &str = "https://github.com/tdb-rs/tdb/blob/main";

/// How people get mdBook. Its releases before 0.5 read other words in `book.toml`.
const INSTALL: &str = "cargo install --locked mdbook --version ^0.5";

/// Folders with pages; those of the repository's own folder count as well.
const FOLDERS: [&str; 3] = [FOLDER, "xtask", "crates"];

/// Pages and what they contain: paths relative to the repository, with forward slashes.
type Pages = BTreeMap<String, String>;

/// What is to be done beside the checks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Build {
    Never,
    IfThere,
    Required,
}

/// Entry point: `args` are the words after `cargo xtask book`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let build = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => Build::IfThere,
        ["--check"] => Build::Never,
        ["--require"] => Build::Required,
        words => return Err(format!("unknown arguments {}\n{USAGE}", words.join(" "))),
    };
    let root = peer::repository_root()?;
    let pages = pages(&root)?;
    let mut wrong = broken_links(&pages, |path| root.join(path).exists());
    wrong.extend(wrong_contents(&pages));
    if !wrong.is_empty() {
        wrong.iter().for_each(|line| println!("{line}"));
        return Err(format!("{} mistakes in the pages", wrong.len()));
    }
    println!("links and contents of {} pages are right", pages.len());
    match build {
        Build::Never => Ok(()),
        _ if has_mdbook() => build_book(&root, &pages),
        Build::Required => Err(format!("mdBook is not installed: {INSTALL}")),
        Build::IfThere => {
            println!("the book is not built: mdBook is not installed ({INSTALL})");
            Ok(())
        }
    }
}

/// All pages of the repository.
fn pages(root: &Path) -> Result<Pages, String> {
    let mut paths = Vec::new();
    for folder in FOLDERS {
        paths.extend(check::files_below(&root.join(folder), "md")?);
    }
    let entries = fs::read_dir(root).map_err(|error| format!("{}: {error}", root.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", root.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
    let read = |path: &Path| {
        let name = check::relative(root, path);
        let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
        Ok((name, text))
    };
    paths.iter().map(|path| read(path)).collect()
}

/// A line for each link that leads to no file, or to no heading of a page.
fn broken_links(pages: &Pages, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for (name, text) in pages {
        for link in links::of(text) {
            let (path, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let target = if path.is_empty() { Some(name.clone()) } else { links::resolve(name, path) };
            let line = link.line;
            match target {
                Some(target) if exists(&target) => {
                    let page = pages.get(&target);
                    if !anchor.is_empty() && page.is_some_and(|page| !links::anchors(page).contains(anchor)) {
                        broken.push(format!("{name}:{line}: {target} has no heading #{anchor}"));
                    }
                }
                _ => broken.push(format!("{name}:{line}: the link to {} leads nowhere", link.target)),
            }
        }
    }
    broken
}

/// A line for each page of the book that its contents do not name, or name more than once.
fn wrong_contents(pages: &Pages) -> Vec<String> {
    let Some(summary) = pages.get(SUMMARY) else {
        return vec![format!("{SUMMARY}: there is no such page")];
    };
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for link in links::of(summary) {
        if let Some(page) = links::resolve(SUMMARY, &link.target) {
            let count = named.entry(page).or_default();
            *count = count.saturating_add(1);
        }
    }
    let prefix = format!("{FOLDER}/");
    let in_book = |name: &&String| name.starts_with(&prefix) && *name != SUMMARY;
    let mut wrong = Vec::new();
    for page in pages.keys().filter(in_book) {
        match named.remove(page) {
            Some(1) => {}
            Some(count) => wrong.push(format!("{SUMMARY}: {page} is named {count} times")),
            None => wrong.push(format!("{SUMMARY}: {page} is not named")),
        }
    }
    wrong.extend(named.keys().map(|page| format!("{SUMMARY}: {page} is no page of the book")));
    wrong
}

/// Whether mdBook can be started.
fn has_mdbook() -> bool {
    Command::new("mdbook").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Builds the book from a copy, which has other links than the pages.
fn build_book(root: &Path, pages: &Pages) -> Result<(), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let copy = target.join("book-source");
    let book = target.join("book");
    if copy.exists() {
        fs::remove_dir_all(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    }
    for path in check::all_files_below(&root.join(FOLDER))? {
        let name = check::relative(root, &path);
        let Some(inside) = name.strip_prefix(FOLDER).and_then(|name| name.strip_prefix('/')) else {
            continue;
        };
        let place = copy.join(inside);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let written = match pages.get(&name) {
            Some(text) => fs::write(&place, with_outer_links(&name, text)),
            None => fs::copy(&path, &place).map(drop),
        };
        written.map_err(|error| format!("{}: {error}", place.display()))?;
    }
    let status = Command::new("mdbook")
        .arg("build")
        .arg(&copy)
        .arg("--dest-dir")
        .arg(&book)
        .status()
        .map_err(|error| format!("cannot run mdbook: {error}"))?;
    if !status.success() {
        return Err(format!("mdbook ended with {status}"));
    }
    println!("the book: {}", book.join("index.html").display());
    Ok(())
}

/// The page as it is in the book: links to files outside of the book lead to the web.
fn with_outer_links(name: &str, text: &str) -> String {
    let prefix = format!("{FOLDER}/");
    links::replace(text, |target| {
        let (path, anchor) = target.split_once('#').map_or((target, None), |(path, end)| (path, Some(end)));
        let outside = links::resolve(name, path).filter(|path| !path.starts_with(&prefix))?;
        let anchor = anchor.map_or_else(String::new, |anchor| format!("#{anchor}"));
        Some(format!("{WEB}/{outside}{anchor}"))
    })
}

#[cfg(test)]
mod tests;
