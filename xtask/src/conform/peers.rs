//! libtiledb in a separate process, which answers with one line for each case.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The peer's answer for a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) outcome: Outcome,
    pub(super) what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Equal,
    Refused,
    Differs,
    /// It wrote cells that it cannot read.
    SelfRefused,
    /// It wrote cells and reads other cells.
    SelfDiffers,
    Crashed,
}

/// A running peer.
pub(super) struct Peer {
    pub(super) script: PathBuf,
    pub(super) library: PathBuf,
    /// The path of the list of cases.
    pub(super) batch: PathBuf,
    pub(super) op: &'static str,
    pub(super) arrays: PathBuf,
    pub(super) cases: usize,
    pub(super) child: Option<Child>,
}

impl Peer {
    pub(super) fn start(mut self) -> Result<Self, String> {
        self.child = Some(self.spawn(0)?);
        Ok(self)
    }

    fn spawn(&self, skip: usize) -> Result<Child, String> {
        Command::new("python3")
            .arg(&self.script)
            .arg("--lib")
            .arg(&self.library)
            .arg("--batch")
            .arg(&self.batch)
            .arg("--arrays")
            .arg(&self.arrays)
            .args(["--op", self.op, "--skip", &skip.to_string()])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot run python3: {error}"))
    }

    /// All answers. A crash of the peer is also an answer; the peer is then started again with the
    /// next case. Reading can be repeated, so when reading, the peer is first started again with
    /// the same case: a crash counts only if it happens again in a new process.
    pub(super) fn finish(mut self) -> Result<Vec<Answer>, String> {
        let mut answers = Vec::with_capacity(self.cases);
        let mut crashed = None;
        loop {
            let mut child = match self.child.take() {
                Some(child) => child,
                None => self.spawn(answers.len())?,
            };
            let before = answers.len();
            let output = child.stdout.take().ok_or("no pipe from python3")?;
            for line in BufReader::new(output).lines() {
                answers.push(parse(&line.map_err(|error| error.to_string())?)?);
            }
            let status = child.wait().map_err(|error| error.to_string())?;
            if let Some((case, status)) = crashed.filter(|(case, _)| *case < answers.len()) {
                println!(
                    "{} crashed ({status}) on the case at {case} of {}, and not when it was asked again",
                    self.library.display(),
                    self.batch.display()
                );
                crashed = None;
            }
            if answers.len() >= self.cases {
                break;
            }
            if status.success() || status.code().is_some() && before == answers.len() && before == 0 {
                return Err(format!("{} {} ended early: {status}", self.script.display(), self.op));
            }
            if self.op == "read" && crashed.is_none() {
                crashed = Some((answers.len(), status));
                continue;
            }
            crashed = None;
            answers.push(Answer { outcome: Outcome::Crashed, what: status.to_string() });
            if answers.len() >= self.cases {
                break;
            }
        }
        Ok(answers)
    }
}

fn parse(line: &str) -> Result<Answer, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let outcome = match text("outcome").as_str() {
        "equal" => Outcome::Equal,
        "refused" => Outcome::Refused,
        "differs" => Outcome::Differs,
        "self-refused" => Outcome::SelfRefused,
        "self-differs" => Outcome::SelfDiffers,
        other => return Err(format!("unknown outcome {other:?}")),
    };
    Ok(Answer { outcome, what: text("what") })
}
