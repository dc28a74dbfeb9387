//! Several processes that use one array, and processes that are killed.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]
#![expect(clippy::indexing_slicing, reason = "of results whose length the test knows")]

mod crowd;
mod equal;
mod kills;
#[path = "../all/maintain/model.rs"]
mod model;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::{env, fs};

/// A folder that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tdb-processes-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // After a failure it is kept for inspection.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Starts one test of this program in a separate process, with `words` in its environment.
fn start(test: &str, words: &[(&str, String)]) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).stdin(Stdio::null()).stdout(Stdio::null());
    for (name, value) in words {
        command.env(name, value);
    }
    command.spawn().unwrap()
}

/// A number from the environment, for runs that take longer than usual.
fn number(name: &str, usual: u64) -> u64 {
    env::var(name).map_or(usual, |value| value.parse().unwrap())
}

/// Random numbers that depend on a seed.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % end
    }
}
