//! Jobs in Python with the libraries that wheels carry, or with ours in the place of libtiledb.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{capi, pytest};
use crate::python;

/// The two libraries.
pub(super) const SIDES: [&str; 2] = ["libtiledb", OURS];
/// The side that has ours.
const OURS: &str = "tdb";

/// The most characters of a line that are shown.
const SHOWN: usize = 400;

/// Which library of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    First,
    Second,
}

/// Which library runs a phase of a job, and the name of the phase.
pub(super) type Phase = (By, &'static str);

/// All pairs of the two libraries. The first is libtiledb alone.
pub(super) fn pairs() -> impl Iterator<Item = [&'static str; 2]> {
    SIDES.into_iter().flat_map(|first| SIDES.map(|second| [first, second]))
}

/// The processes of a job: a library, and the phases that it runs, one after the other.
pub(super) fn turns<'a>(pair: [&'a str; 2], phases: &[Phase]) -> Vec<(&'a str, Vec<&'static str>)> {
    let mut found: Vec<(&str, Vec<&'static str>)> = Vec::new();
    for (by, phase) in phases {
        let side = match by {
            By::First => pair[0],
            By::Second => pair[1],
        };
        match found.last_mut() {
            Some((last, phases)) if *last == side => phases.push(phase),
            _ => found.push((side, vec![phase])),
        }
    }
    found
}

/// A script of Python, and where it finds packages on each side.
#[derive(Debug)]
pub(super) struct Sides {
    python: PathBuf,
    script: PathBuf,
    /// The working folder of the script.
    work: PathBuf,
    /// The copies of packages that have our library.
    own: PathBuf,
}

impl Sides {
    /// A script that uses packages of a virtual environment. The working folder is emptied, and
    /// gets copies of these packages with the library in the place of theirs.
    ///
    /// # Errors
    /// A package is not there, or has no libtiledb; or a file cannot be copied.
    pub(super) fn new(
        environment: &Path,
        script: PathBuf,
        work: &Path,
        packages: &[&str],
        library: &Path,
    ) -> Result<Self, String> {
        pytest::empty_folder(work)?;
        let (modules, own) = (capi::modules(environment)?, work.join("modules"));
        packages.iter().try_for_each(|package| capi::with_library(package, &modules, &own, library))?;
        let python = python::program(environment, "python");
        Ok(Self { python, script, work: work.to_owned(), own })
    }

    /// The working folder of the script.
    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    /// Runs the script with arguments on one of [`SIDES`]; returns what it printed.
    ///
    /// # Errors
    /// The script fails, or a signal ends it: the last line that it said about it.
    pub(super) fn run(&self, side: &str, words: &[&str]) -> Result<String, String> {
        let mut program = Command::new(&self.python);
        program.args(["-W", "ignore"]).arg(&self.script).args(words).current_dir(&self.work);
        program.env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
        if side == OURS {
            program.env("PYTHONPATH", &self.own);
        }
        let output = program.output().map_err(|error| format!("python: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let why = String::from_utf8_lossy(&output.stderr);
        let last = why.lines().last().unwrap_or_default();
        Err(format!("{} with {side}: it ended with {}: {last}", words.join(" "), output.status))
    }
}

/// The lines in which what a pair of libraries saw differs from what libtiledb alone saw; also if
/// there is nothing to compare.
pub(super) fn differences(expected: &str, found: &str) -> Vec<String> {
    if expected.is_empty() {
        return vec!["nothing was seen".to_owned()];
    }
    let (mut expected, mut found) = (expected.lines(), found.lines());
    let mut all = Vec::new();
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return all,
            (one, other) if one == other => {}
            (one, other) => {
                let (one, other) = (one.unwrap_or("nothing"), other.unwrap_or("nothing"));
                let begin = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
                all.push(format!("`{}`, not `{}`", part(other, begin), part(one, begin)));
            }
        }
    }
}

/// The beginning of a line, and what is at a place in it.
fn part(line: &str, place: usize) -> String {
    let chars = |text: &str, count: usize| text.chars().take(count).collect::<String>();
    if line.chars().count() <= SHOWN {
        return line.to_owned();
    }
    let start =
        (0..=place.saturating_sub(40)).rev().find(|at| line.is_char_boundary(*at)).unwrap_or_default();
    format!("{}… at {start}: {}", chars(line, 40), chars(line.get(start..).unwrap_or_default(), SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_of_one_library_share_a_process() {
        let phases = [
            (By::First, "make"),
            (By::Second, "look"),
            (By::Second, "change"),
            (By::First, "look-again"),
            (By::Second, "end"),
        ];
        assert_eq!(turns(["a", "a"], &phases), [("a", vec!["make", "look", "change", "look-again", "end"])]);
        let expected = [
            ("a", vec!["make"]),
            ("b", vec!["look", "change"]),
            ("a", vec!["look-again"]),
            ("b", vec!["end"]),
        ];
        assert_eq!(turns(["a", "b"], &phases), expected);
        assert_eq!(pairs().next(), Some(["libtiledb", "libtiledb"]));
    }

    #[test]
    fn readings_differ_in_lines_in_their_length_or_by_being_empty() {
        assert!(differences("a\nb\n", "a\nb\n").is_empty());
        assert_eq!(differences("a\nb\n", "c\nd\n"), ["`c`, not `a`", "`d`, not `b`"]);
        assert_eq!(differences("a\nb\n", "a\n"), ["`nothing`, not `b`"]);
        assert_eq!(differences("a\n", "a\nb\n"), ["`b`, not `nothing`"]);
        assert!(!differences("", "").is_empty());
    }

    #[test]
    fn of_long_lines_the_place_is_shown_where_they_differ() {
        let (one, other) = ("x".repeat(900) + "ä1", "x".repeat(900) + "ä2");
        let found = differences(&one, &other);
        assert!(
            found.first().is_some_and(|text| text.contains("at 862:") && text.contains("ä2")),
            "{found:?}"
        );
    }
}
