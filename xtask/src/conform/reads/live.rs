//! libtiledb in a separate process, which writes and reads one case after another.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::conform::form::text;

/// The outcome of a case.
#[derive(Debug)]
pub(in crate::conform) enum Came {
    /// The library does not write this array.
    Refused(String),
    /// What the library reads.
    Read(Value),
    /// The library crashed during this operation.
    Crashed(String),
}

/// The task of the peer.
#[derive(Debug)]
pub(in crate::conform) struct Live {
    pub(in crate::conform) script: PathBuf,
    pub(in crate::conform) library: PathBuf,
    pub(in crate::conform) arrays: PathBuf,
    pub(in crate::conform) seed: u64,
    pub(in crate::conform) cases: u64,
    pub(in crate::conform) queries: u64,
    pub(in crate::conform) only: Option<u64>,
}

impl Live {
    /// Reports each case as soon as it is done. After a crash, the peer is started again with the
    /// next case.
    pub(in crate::conform) fn run(&self, take: &mut dyn FnMut(u64, Came)) -> Result<(), String> {
        let mut next = 0;
        let mut unread = None;
        while next < self.cases {
            let mut child = self.spawn(next, unread)?;
            let output = child.stdout.take().ok_or("no pipe from python3")?;
            let mut doing = "start".to_owned();
            for line in BufReader::new(output).lines() {
                let line = line.map_err(|error| error.to_string())?;
                let said: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
                let number =
                    said.get("case").and_then(Value::as_u64).ok_or_else(|| format!("no case: {line}"))?;
                next = number;
                if said.get("doing").is_some() {
                    text(&said, "doing").clone_into(&mut doing);
                    continue;
                }
                next = number.saturating_add(1);
                let refused = said.get("refused").is_some().then(|| text(&said, "refused").to_owned());
                take(number, refused.map_or(Came::Read(said), Came::Refused));
            }
            let status = child.wait().map_err(|error| error.to_string())?;
            if status.success() {
                return Ok(());
            }
            if status.code().is_some() {
                return Err(format!("{} failed in case {next}: {doing}", self.script.display()));
            }
            take(next, Came::Crashed(format!("{status}: {doing}")));
            if unread != Some(next) && doing != "start" && doing != "write" {
                // The case is written again, and the written cells are compared.
                unread = Some(next);
            } else {
                next = if self.only.is_some() { self.cases } else { next.saturating_add(1) };
            }
        }
        Ok(())
    }

    fn spawn(&self, skip: u64, unread: Option<u64>) -> Result<Child, String> {
        let mut command = Command::new("python3");
        command.arg(&self.script).arg("--lib").arg(&self.library).arg("--arrays").arg(&self.arrays);
        for (name, value) in
            [("--seed", self.seed), ("--cases", self.cases), ("--queries", self.queries), ("--skip", skip)]
        {
            command.args([name, &value.to_string()]);
        }
        for (name, case) in [("--only", self.only), ("--unread", unread)] {
            if let Some(case) = case {
                command.args([name, &case.to_string()]);
            }
        }
        command
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run python3: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcome of a script that replaces the peer.
    fn told(name: &str, script: &str) -> (Result<(), String>, Vec<(u64, String)>) {
        let path = std::env::temp_dir().join(format!("tdb-reads-{name}-{}.py", std::process::id()));
        std::fs::write(&path, script).unwrap();
        let (library, arrays) = (PathBuf::from("none"), PathBuf::from("none"));
        let live = Live { script: path.clone(), library, arrays, seed: 1, cases: 3, queries: 1, only: None };
        let mut all = Vec::new();
        let result = live.run(&mut |number, came| {
            let what = match came {
                Came::Refused(what) => format!("refused {what}"),
                Came::Read(_) => "read".to_owned(),
                Came::Crashed(_) => "crashed".to_owned(),
            };
            all.push((number, what));
        });
        std::fs::remove_file(path).unwrap();
        (result, all)
    }

    #[test]
    fn after_a_crash_the_cases_behind_it_are_read() {
        let script = r#"
import os, sys
skip = int(sys.argv[sys.argv.index("--skip") + 1])
for case in range(skip, 3):
    print('{"case": %d, "doing": "write"}' % case, flush=True)
    if case == 1: os.kill(os.getpid(), 11)
    if case == 2 and "--unread" not in sys.argv:
        print('{"case": 2, "doing": "read whole"}', flush=True)
        os.kill(os.getpid(), 11)
    print('{"case": %d, %s}' % (case, '"refused": "no"' if case == 2 else '"queries": []'), flush=True)
"#;
        let (result, all) = told("crash", script);
        assert_eq!(result, Ok(()));
        let all: Vec<(u64, &str)> = all.iter().map(|(number, what)| (*number, what.as_str())).collect();
        assert_eq!(all, [(0, "read"), (1, "crashed"), (2, "crashed"), (2, "refused no")]);
    }

    #[test]
    fn a_peer_that_fails_by_itself_is_no_crash_of_the_library() {
        let (result, all) = told("fail", "raise SystemExit(1)");
        assert!(result.is_err() && all.is_empty());
    }
}
