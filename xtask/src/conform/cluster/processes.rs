//! The processes of a cluster: `tdb cluster scheduler`, `tdb cluster executor`, and
//! `tdb sql --cluster`, on the loopback interface.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a process may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a query may take before it counts as one that hangs.
const LIMIT: Duration = Duration::from_secs(600);
/// Ticks of the processor's clock in a second, as Linux counts them for programs.
const TICKS: f64 = 100.0;

/// The command, and the options of stores that all processes get.
#[derive(Clone)]
pub(super) struct Tdb {
    pub(super) path: PathBuf,
    pub(super) options: Vec<String>,
}

impl Tdb {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.options).stdin(Stdio::null());
        command
    }

    /// Starts a query of a cluster, or of this process alone.
    pub(super) fn query(&self, sql: &str, cluster: Option<&str>) -> Result<Child, String> {
        let mut command = self.command();
        command.args(["sql", "--format", "ndjson"]).arg(sql);
        if let Some(address) = cluster {
            command.args(["--cluster", address]);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(said)
    }
}

/// Waits for an answer: its text.
pub(super) fn answer(mut query: Child) -> Result<String, String> {
    let (out, err) = (read(query.stdout.take()), read(query.stderr.take()));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = query.try_wait().map_err(said)? {
            break status;
        }
        if begun.elapsed() > LIMIT {
            drop(Process(query));
            return Err(format!("no answer in {LIMIT:?}"));
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |reader: thread::JoinHandle<Vec<u8>>| {
        let bytes = reader.join().map_err(|_| "an output cannot be read".to_owned())?;
        String::from_utf8(bytes).map_err(said)
    };
    let (out, err) = (text(out)?, text(err)?);
    if status.success() { Ok(out) } else { Err(format!("{status}: {}", err.trim_end())) }
}

/// Reads an output while its process goes on.
fn read(output: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What cannot be read is missing, and the answer differs.
        let _ = output.map(|mut output| output.read_to_end(&mut bytes));
        bytes
    })
}

/// A process that ends when it is dropped.
pub(super) struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// The seconds of processors that it has used, where the system says so.
    fn seconds(&self) -> Option<f64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).ok()?;
        // The name in parentheses may contain spaces; the fields after it are counted from 3.
        let (_, rest) = text.rsplit_once(')')?;
        let field = |number: usize| rest.split_whitespace().nth(number - 3)?.parse::<f64>().ok();
        Some((field(14)? + field(15)?) / TICKS)
    }
}

/// A scheduler and its executors.
pub(super) struct Cluster {
    tdb: Tdb,
    folder: PathBuf,
    pub(super) address: String,
    scheduler: Process,
    executors: Vec<Process>,
    /// How many executors were started.
    started: usize,
    /// Whether each executor has a processor of its own.
    pinned: bool,
}

impl Cluster {
    /// Starts a scheduler and executors with one thread each.
    pub(super) fn start(tdb: &Tdb, folder: &Path, executors: usize, pinned: bool) -> Result<Self, String> {
        let mut command = tdb.command();
        command.args(["cluster", "scheduler", "--listen", "127.0.0.1:0"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().map_err(said)?;
        let output = process.stdout.take();
        let scheduler = Process(process);
        let mut address = String::new();
        let output = output.ok_or("the scheduler has no output")?;
        BufReader::new(output).read_line(&mut address).map_err(said)?;
        let address = address.trim().to_owned();
        if address.is_empty() {
            return Err("the scheduler ended before it listened".to_owned());
        }
        let mut cluster = Self {
            tdb: tdb.clone(),
            folder: folder.to_owned(),
            address,
            scheduler,
            executors: Vec::new(),
            started: 0,
            pinned,
        };
        for _ in 0..executors {
            cluster.add()?;
        }
        Ok(cluster)
    }

    /// Starts another executor, and waits until the scheduler knows it.
    pub(super) fn add(&mut self) -> Result<(), String> {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).map_err(said)?.port();
        let folder = self.folder.join(format!("executor-{}", self.started));
        fs::create_dir_all(&folder).map_err(said)?;
        let mut words = vec!["cluster".to_owned(), "executor".to_owned(), self.address.clone()];
        words.extend(["--threads".to_owned(), "1".to_owned(), "--port".to_owned(), port.to_string()]);
        words.extend(["--temporary".to_owned(), folder.display().to_string()]);
        let mut command = if self.pinned {
            let mut command = Command::new("taskset");
            command.args(["--cpu-list", &self.executors.len().to_string()]).arg(&self.tdb.path);
            command.args(&self.tdb.options).stdin(Stdio::null());
            command
        } else {
            self.tdb.command()
        };
        let process =
            command.args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(said)?;
        let mut process = Process(process);
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Ok(Some(status)) = process.0.try_wait() {
                return Err(format!("an executor ended: {status}"));
            }
            if begun.elapsed() > PATIENCE {
                return Err("an executor does not answer".to_owned());
            }
            thread::sleep(Duration::from_millis(50));
        }
        // It asks the scheduler for work as soon as it listens.
        thread::sleep(Duration::from_millis(500));
        self.started += 1;
        self.executors.push(process);
        Ok(())
    }

    /// Kills the executor that was started first.
    pub(super) fn kill(&mut self) {
        if !self.executors.is_empty() {
            drop(self.executors.remove(0));
        }
    }

    /// The answer to a query, and how long it took.
    pub(super) fn ask(&self, sql: &str) -> Result<(String, Duration), String> {
        let begun = Instant::now();
        let text = answer(self.tdb.query(sql, Some(&self.address))?)?;
        Ok((text, begun.elapsed()))
    }

    /// The seconds of processors that the scheduler and each executor have used.
    pub(super) fn seconds(&self) -> (f64, Vec<f64>) {
        let of = |process: &Process| process.seconds().unwrap_or(f64::NAN);
        (of(&self.scheduler), self.executors.iter().map(of).collect())
    }
}

fn said(error: impl core::fmt::Display) -> String {
    error.to_string()
}
