//! Runs the tests that reach a mutant on it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::build::Program;
use super::switch::Number;

/// The variable that chooses the mutant.
const CHOSEN: &str = "TDB_MUTANT";
/// The variable that names the file to which a program appends the mutants that it has reached.
const REACHED: &str = "TDB_MUTANTS_REACHED";

/// How long tests may take that would take no time at all without the mutant.
const LEAST: Duration = Duration::from_secs(20);
/// Tests hang when they take this many times as long as without the mutant.
const HANGING: u32 = 10;
/// How many tests run first, and then: the fastest notice most mutants. All others follow.
const GROUPS: [usize; 4] = [3, 12, 40, usize::MAX];
/// The most memory of a program in KiB: a mutant may ask for more than there is.
const MEMORY: &str = "9000000";

/// What tests make of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Missed,
    Noticed,
    Hanging,
}

/// A test of a program, without mutants.
#[derive(Debug)]
struct Test<'a> {
    program: &'a Program,
    name: String,
    takes: Duration,
}

/// The tests of some programs, and which mutants each of them reaches.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    /// The fastest first.
    tests: Vec<Test<'a>>,
    reaching: BTreeMap<Number, Vec<usize>>,
}

impl<'a> Trial<'a> {
    /// Runs each test alone, without a mutant. All of them must pass.
    pub(super) fn new(programs: &'a [Program], out: &Path) -> Result<Self, String> {
        let log = out.join("reached");
        let mut found = Vec::new();
        for program in programs {
            for name in names(program)? {
                remove(&log)?;
                let start = Instant::now();
                let one = [name.as_str()];
                let limit = Duration::from_secs(3600);
                if run(program, &one, limit, &[(REACHED, log.as_os_str()), (CHOSEN, "0".as_ref())])?
                    != Verdict::Missed
                {
                    return Err(format!("{}: {name} fails without a mutant", program.path.display()));
                }
                let numbers = match fs::read_to_string(&log) {
                    Ok(text) => text.lines().filter_map(|line| line.parse().ok()).collect(),
                    Err(_) => Vec::<Number>::new(),
                };
                found.push((Test { program, name, takes: start.elapsed() }, numbers));
            }
        }
        found.sort_by_key(|(test, _)| test.takes);
        let mut trial = Self { tests: Vec::new(), reaching: BTreeMap::new() };
        for (index, (test, numbers)) in found.into_iter().enumerate() {
            trial.tests.push(test);
            for number in numbers {
                trial.reaching.entry(number).or_default().push(index);
            }
        }
        Ok(trial)
    }

    /// What the tests that reach a mutant make of it: all, or those of one package.
    pub(super) fn verdict(&self, number: Number, package: Option<&str>) -> Result<Verdict, String> {
        let Some(reaching) = self.reaching.get(&number) else { return Ok(Verdict::Missed) };
        let is_wanted = |test: &&Test<'_>| package.is_none_or(|package| test.program.package == package);
        let mut tests: Vec<&Test<'_>> =
            reaching.iter().filter_map(|index| self.tests.get(*index)).filter(is_wanted).collect();
        let chosen = number.to_string();
        for size in GROUPS {
            let group: Vec<&Test<'_>> = tests.drain(..size.min(tests.len())).collect();
            let mut of_programs: BTreeMap<&Path, Vec<&Test<'_>>> = BTreeMap::new();
            for test in group {
                of_programs.entry(&test.program.path).or_default().push(test);
            }
            for tests in of_programs.values() {
                let Some(first) = tests.first() else { continue };
                let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
                let takes: Duration = tests.iter().map(|test| test.takes).sum();
                let limit = LEAST.saturating_add(takes.saturating_mul(HANGING));
                let verdict = run(first.program, &names, limit, &[(CHOSEN, chosen.as_ref())])?;
                if verdict != Verdict::Missed {
                    return Ok(verdict);
                }
            }
        }
        Ok(Verdict::Missed)
    }
}

fn remove(file: &Path) -> Result<(), String> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", file.display()))
        }
        _ => Ok(()),
    }
}

/// The names of a program's tests, without those that are ignored.
fn names(program: &Program) -> Result<Vec<String>, String> {
    let failed = |why: String| format!("{}: {why}", program.path.display());
    let listed = |more: &[&str]| {
        let output = Command::new(&program.path)
            .args(["--list", "--format", "terse"])
            .args(more)
            .current_dir(&program.folder)
            .output()
            .map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok::<_, String>(names.map(str::to_owned).collect::<Vec<_>>())
    };
    let ignored = listed(&["--ignored"])?;
    Ok(listed(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
}

/// Runs some tests of a program until one of them fails.
fn run(
    program: &Program,
    tests: &[&str],
    limit: Duration,
    variables: &[(&str, &std::ffi::OsStr)],
) -> Result<Verdict, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", program.path.display());
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")])
        .arg(&program.path)
        .args(["--exact", "--test-threads=1"])
        .args(tests)
        .current_dir(&program.folder)
        .envs(variables.iter().copied())
        .env("CARGO_MANIFEST_DIR", &program.folder)
        // A failure is not worth a file, nor a backtrace.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let (sender, lines) = channel();
    let output = child.stdout.take();
    let reader = thread::spawn(move || {
        let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
        lines.map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    let end = Instant::now().checked_add(limit);
    let early = loop {
        let left = end.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
        match lines.recv_timeout(left) {
            Ok(line) if line.starts_with("test ") && line.ends_with("... FAILED") => {
                break Some(Verdict::Noticed);
            }
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => break Some(Verdict::Hanging),
            Err(RecvTimeoutError::Disconnected) => break None,
        }
    };
    if early.is_some() {
        child.kill().map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    // What the program has started may still hold the other end.
    drop(reader);
    Ok(early.unwrap_or(if status.success() { Verdict::Missed } else { Verdict::Noticed }))
}
