//! The page `docs/first-hour.md`: its commands are those of the script next to it, and print what
//! it shows. Another page has the same tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Scratch;

/// The first lines of the script of a page.
fn head(page: &str) -> String {
    format!(
        "#!/bin/sh\n# The commands of {page}.md, which explains them: run them in an empty folder, with tdb in the PATH.\n\
         # A test compares the two, so change both.\nset -eu\n"
    )
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The blocks of a kind, in order, each with the number of blocks of all kinds before it.
fn blocks(page: &str, kind: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    let mut number = 0;
    while let Some(line) = lines.next() {
        if let Some(own) = line.strip_prefix("```") {
            let block: String =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            if own == kind {
                found.push((number, block));
            }
            number += 1;
        }
    }
    found
}

/// The script has the commands of the page, which has at most so many lines.
pub(crate) fn assert_script(name: &str, most: usize) {
    let page = fs::read_to_string(docs().join(format!("{name}.md"))).unwrap();
    let commands: Vec<String> = blocks(&page, "sh").into_iter().map(|(_, block)| block).collect();
    let script = fs::read_to_string(docs().join(format!("{name}.sh"))).unwrap();
    assert_eq!(script, format!("{}\n{}", head(name), commands.join("\n")));
    assert!(page.lines().count() <= most, "a newcomer has an hour for {name}.md");
}

/// The commands of the page print what stands behind them, and nothing else.
pub(crate) fn assert_output(name: &str) {
    let page = fs::read_to_string(docs().join(format!("{name}.md"))).unwrap();
    let scratch = Scratch::new();
    let tdb = Path::new(env!("CARGO_BIN_EXE_tdb")).parent().unwrap();
    let path = format!("{}:{}", tdb.display(), std::env::var("PATH").unwrap());
    let shown = blocks(&page, "text");
    for (number, commands) in blocks(&page, "sh") {
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &commands]).env("PATH", &path).current_dir(scratch.path());
        let output = shell.output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success() && err.is_empty(), "{commands}{err}");
        let expected = shown.iter().find(|(own, _)| *own == number + 1).map_or("", |(_, text)| text);
        assert_eq!(out, expected, "{commands}");
    }
}

#[test]
fn the_script_has_the_commands_of_the_page() {
    assert_script("first-hour", 150);
}

#[test]
fn the_commands_of_the_page_print_what_it_shows() {
    assert_output("first-hour");
}
