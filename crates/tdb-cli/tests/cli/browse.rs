//! `tdb browse`, at a pseudo-terminal.

use crate::common::{Scratch, refused, sparse, tdb, text};
use crate::typist::Typist;

/// What a terminal gets when the browser takes it, and when it gives it back.
const TAKEN: &str = "\u{1b}[?1049h";
const GIVEN_BACK: &str = "\u{1b}[?1049l";

#[test]
fn a_folder_is_browsed_with_keys_and_the_terminal_is_given_back() {
    let scratch = Scratch::new();
    sparse(&scratch.path().join("data/trips"));
    let mut typist = Typist::new(&scratch, &["browse", "data"]);
    typist.wait_for(TAKEN);
    typist.wait_for_screen("trips");
    // The arrow down, and then what the array has.
    typist.types("\u{1b}[B");
    typist.wait_for_screen("sparse");
    typist.types("4");
    typist.wait_for_screen("cells 1 to 10 of 10");
    typist.types("6");
    typist.wait_for_screen("sparse write");
    typist.types("q");
    typist.wait_for(GIVEN_BACK);
    assert!(typist.ends().success());
}

#[test]
fn signals_give_the_terminal_back() {
    let scratch = Scratch::new();
    sparse(&scratch.path().join("trips"));
    for signal in ["-INT", "-TERM"] {
        let mut typist = Typist::new(&scratch, &["browse", "trips"]);
        typist.wait_for_screen("sparse");
        typist.signals(signal);
        typist.wait_for(GIVEN_BACK);
        typist.wait_for("error: interrupted");
        assert_eq!(typist.ends().code(), Some(1));
    }
}

#[test]
fn control_c_quits() {
    let scratch = Scratch::new();
    sparse(&scratch.path().join("trips"));
    let mut typist = Typist::new(&scratch, &["browse", "trips"]);
    typist.wait_for_screen("sparse");
    typist.types("\u{3}");
    typist.wait_for(GIVEN_BACK);
    assert!(typist.ends().success());
}

#[test]
fn what_is_not_there_is_said_before_the_terminal_is_taken() {
    let scratch = Scratch::new();
    let mut typist = Typist::new(&scratch, &["browse", "nothing"]);
    typist.wait_for("error: nothing: No such file or directory");
    assert!(!typist.written().contains(TAKEN));
    assert_eq!(typist.ends().code(), Some(1));
}

#[test]
fn reports_do_not_write_across_the_screen() {
    let scratch = Scratch::new();
    sparse(&scratch.path().join("trips"));
    let mut typist = Typist::new(&scratch, &["browse", "trips", "-v"]);
    typist.wait_for("error: -v would write across the screen");
    assert_eq!(typist.ends().code(), Some(2));
}

#[test]
fn without_a_terminal_another_command_is_named() {
    let scratch = Scratch::new();
    sparse(scratch.path());
    refused(&["browse", text(scratch.path())], 2, "tdb info --all prints the same tree");
    assert_eq!(tdb(&["browse", "/no/such/place"]).code, 1);
}
