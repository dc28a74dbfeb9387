//! Completions, manual pages, and what a build says of itself.

use std::fs;

use crate::common::{Scratch, refused, said, text};

#[test]
fn every_shell_has_completions_of_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = said(&["completions", shell]);
        for word in ["consolidate", "completions", "no-progress"] {
            assert!(script.contains(word), "{word} is not in the completions for {shell}");
        }
    }
    refused(&["completions", "cmd"], 2, "bash");
}

#[test]
fn every_command_has_a_manual_page() {
    let scratch = Scratch::new();
    let folder = scratch.path().join("share/man1");
    said(&["man", text(&folder)]);
    for page in ["tdb.1", "tdb-read.1", "tdb-meta-set.1", "tdb-completions.1"] {
        let text = fs::read_to_string(folder.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    let read = fs::read_to_string(folder.join("tdb-read.1")).unwrap();
    assert!(read.contains("Examples") && read.contains("tdb read weather"), "{read}");
    let file = scratch.path().join("file");
    fs::write(&file, "").unwrap();
    refused(&["man", text(&file)], 1, "file");
}

#[test]
fn the_version_says_what_the_build_reads_and_writes() {
    let long = said(&["--version"]);
    for part in
        ["format versions: reads 1 to 23, writes 22", "\nfilters: ", "\narrays in: folders", "\nfeatures: "]
    {
        assert!(long.contains(part), "{part} is not in {long}");
    }
    assert_eq!(said(&["-V"]).lines().count(), 1);
}
