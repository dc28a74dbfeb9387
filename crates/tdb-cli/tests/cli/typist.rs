//! The command at a pseudo-terminal, and who types.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

use crate::common::Scratch;

/// Seconds after which nothing more is expected.
const LONG: Duration = Duration::from_secs(30);

/// A command that runs at a terminal of 100 columns and 24 lines, and who types.
pub(crate) struct Typist {
    child: Child,
    terminal: File,
    shown: Receiver<Vec<u8>>,
    /// What was written since the last keys, and since the command began.
    seen: String,
    all: String,
}

impl Typist {
    /// Runs a command in a folder.
    pub(crate) fn new(folder: &Scratch, args: &[&str]) -> Self {
        let size = Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        command.args(args).current_dir(folder.path()).env("TERM", "xterm");
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
        Self { child, terminal, shown, seen: String::new(), all: String::new() }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.seen.clear();
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the command has written a text since the last keys.
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |typist| typist.seen.contains(text));
    }

    /// Waits until the screen shows a text, whatever the command wrote for that.
    #[cfg(feature = "browse")]
    pub(crate) fn wait_for_screen(&mut self, text: &str) {
        self.wait_until(text, |typist| screen(&typist.all).contains(text));
    }

    /// Everything that the command has written.
    #[cfg(feature = "browse")]
    pub(crate) fn written(&self) -> &str {
        &self.all
    }

    fn wait_until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let until = Instant::now() + LONG;
        while !holds(self) {
            match self.shown.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes);
                    self.seen += &text;
                    self.all += &text;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{what:?} is not in {:?}, which shows\n{}", self.seen, screen(&self.all))
                }
            }
        }
    }

    /// Types a line, and waits for what it answers.
    #[cfg(feature = "sql")]
    pub(crate) fn asks(&mut self, line: &str, answer: &str) {
        self.types(&format!("{line}\r"));
        self.wait_for(answer);
    }

    pub(crate) fn signals(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits until the command has ended.
    pub(crate) fn ends(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Typist {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The screen after some output: it moves the cursor and clears the screen, and else only writes.
fn screen(written: &str) -> String {
    let mut cells = vec![vec![' '; 100]; 24];
    let (mut row, mut column) = (0usize, 0usize);
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            if let Some(cell) = cells.get_mut(row).and_then(|line| line.get_mut(column)) {
                *cell = character;
            }
            column += 1;
            continue;
        }
        let code: String = characters.by_ref().take_while(|c| !c.is_ascii_alphabetic()).collect();
        // The letter that ends the code is the one before what is left.
        let behind = written.len() - characters.as_str().len();
        match written.as_bytes()[behind - 1] {
            b'H' => {
                let mut places =
                    code.trim_start_matches('[').split(';').map(|place| place.parse().unwrap_or(1));
                (row, column) = (places.next().unwrap_or(1) - 1, places.next().unwrap_or(1) - 1);
            }
            b'J' => cells.iter_mut().for_each(|line| line.fill(' ')),
            _ => {}
        }
    }
    cells.iter().map(|line| line.iter().collect::<String>() + "\n").collect()
}
