//! The prompt of `tdb sql`, at a pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

use crate::common::{Scratch, sparse};

/// Seconds after which nothing more is expected.
const LONG: Duration = Duration::from_secs(30);

/// A prompt, and who types.
struct Typist {
    child: Child,
    terminal: File,
    shown: Receiver<Vec<u8>>,
    seen: String,
}

impl Typist {
    fn new(folder: &Scratch) -> Self {
        let size = Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        command.arg("sql").current_dir(folder.path()).env("TERM", "xterm");
        command.env("XDG_STATE_HOME", folder.path().join("state"));
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let terminal = File::from(pty.master);
        let (mut reader, (give, shown)) = (terminal.try_clone().unwrap(), channel());
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // Linux says that the other end is closed by an error.
            while let Ok(len @ 1..) = reader.read(&mut part) {
                if give.send(part[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut typist = Self { child, terminal, shown, seen: String::new() };
        typist.wait_for("tdb> ");
        typist
    }

    fn types(&mut self, keys: &str) {
        self.seen.clear();
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the terminal shows a text.
    fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + LONG;
        while !self.seen.contains(text) {
            match self.shown.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{text:?} is not in {:?}", self.seen)
                }
            }
        }
    }

    /// Types a line, and waits for what it answers.
    fn asks(&mut self, line: &str, answer: &str) {
        self.types(&format!("{line}\r"));
        self.wait_for(answer);
    }

    fn interrupts(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }
}

impl Drop for Typist {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn statements_have_several_lines_and_names_are_completed() {
    let scratch = Scratch::new();
    sparse(&scratch.path().join("trips"));
    let mut typist = Typist::new(&scratch);
    typist.asks(".tables", "trips");
    typist.asks("SELECT max(k) AS most", " ..> ");
    typist.types("FROM tri\t;\r");
    typist.wait_for("most");
    typist.wait_for("9");
    typist.asks("\\d trips", "Int32");
    typist.asks(".nothing", ".help lists them");
    typist.types("quit\r");
    assert!(typist.child.wait().unwrap().success());
}

#[test]
fn an_interrupt_ends_a_query_that_computes_without_a_pause_and_the_next_one_runs() {
    let scratch = Scratch::new();
    let mut typist = Typist::new(&scratch);
    let many = "generate_series(1, 3000000)";
    for query in [
        format!("SELECT count(*) FROM {many} a, {many} b WHERE a.value * b.value = 7;"),
        format!("CREATE TABLE t AS SELECT sum(a.value * b.value) AS s FROM {many} a, {many} b;"),
    ] {
        typist.types(&format!("{query}\r"));
        // Until the query runs, an interrupt would be the prompt's.
        std::thread::sleep(Duration::from_millis(1500));
        let begun = Instant::now();
        typist.interrupts();
        typist.wait_for("interrupted");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        typist.asks("SELECT 41 + 1 AS answer;", "42");
    }
}

#[test]
fn an_interrupt_between_two_batches_ends_a_copy_which_leaves_no_array() {
    let scratch = Scratch::new();
    let mut typist = Typist::new(&scratch);
    typist.types("COPY (SELECT value AS k FROM generate_series(1, 100000000)) TO 'many' STORED AS TILEDB;\r");
    // Most of this time goes into the temporary file.
    std::thread::sleep(Duration::from_millis(1500));
    typist.interrupts();
    typist.wait_for("interrupted");
    typist.asks("SELECT 41 + 1 AS answer;", "42");
    assert!(!scratch.path().join("many/__schema").exists());
}
