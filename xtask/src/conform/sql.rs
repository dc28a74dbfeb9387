//! `cargo xtask conform sql`: random questions of SQL to random arrays, with the answers of DuckDB
//! and of a model.
//!
//! `xtask/peer/sql_random.py` draws arrays, which libtiledb writes, and questions, `INSERT` and
//! `DELETE` among them, and asks them of one `tdb sql`. A model of a few hundred lines says what is
//! right; DuckDB has to say the same over the same cells, or a rule says why it does not, which is
//! counted and has a name in `docs/sql.md`. `--only ARRAY` or `--only ARRAY:QUESTION` repeats one,
//! and shows its rows. Where libtiledb or DuckDB cannot be had, the part fails; with
//! `--optional yes` it says so and does nothing, unless the environment says that this is a CI run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::built;
use crate::peer::{READER, libraries, python, repository_root, scratch};

pub(super) const USAGE: &str = "[--seed S] [--arrays N] [--questions N] [--seconds N] [--only ARRAY[:QUESTION]] [--tdb COMMAND] \
     [--optional yes]";

/// The script.
const SCRIPT: &str = "sql_random.py";

#[derive(Debug, PartialEq, Eq)]
struct Options {
    seed: u64,
    arrays: u64,
    questions: u64,
    /// How long it may draw.
    seconds: u64,
    only: Option<String>,
    tdb: Option<PathBuf>,
    optional: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            seed: 1,
            arrays: 200,
            questions: 100,
            seconds: 1200,
            only: None,
            tdb: None,
            optional: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            let number = || value.parse().map_err(|_| format!("{arg}: {value:?} is not a number"));
            match arg.as_str() {
                "--seed" => options.seed = number()?,
                "--arrays" => options.arrays = number()?,
                "--questions" => options.questions = number()?,
                "--seconds" => options.seconds = number()?,
                "--only" => options.only = Some(place(value)?),
                "--tdb" => options.tdb = Some(value.into()),
                "--optional" => options.optional = value == "yes",
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        Ok(options)
    }

    /// The words for the script.
    fn words(&self) -> Vec<String> {
        let mut words = vec![
            format!("--seed={}", self.seed),
            format!("--arrays={}", self.arrays),
            format!("--questions={}", self.questions),
            format!("--seconds={}", self.seconds),
        ];
        words.extend(self.only.iter().map(|only| format!("--only={only}")));
        words
    }
}

/// The number of an array, or those of an array and of a question.
fn place(text: &str) -> Result<String, String> {
    let (array, question) = text.split_once(':').unwrap_or((text, "0"));
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    match is_number(array) && is_number(question) {
        true => Ok(text.to_owned()),
        false => Err(format!("--only: {text:?} is neither ARRAY nor ARRAY:QUESTION")),
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let library = match ready(&root) {
        Ok(library) => library,
        Err(why) if options.optional => {
            println!("skipped: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let tdb = built::tdb(options.tdb.clone(), "sql")?;
    let folder = scratch("conform-sql");
    let mut script = Command::new("python3");
    script.arg(root.join("xtask/peer").join(SCRIPT)).args(options.words());
    script.arg("--tdb").arg(tdb).arg("--library").arg(library).arg("--out").arg(&folder);
    script.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1").stdin(Stdio::null());
    let status = script.status().map_err(|error| format!("cannot run python3: {error}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    if status?.success() { Ok(()) } else { Err("see above".to_owned()) }
}

/// Downloads libtiledb and makes the environment of the script; returns the library.
fn ready(root: &Path) -> Result<PathBuf, String> {
    let library = libraries(root, &[READER.to_owned()])?.remove(READER).ok_or("no library")?;
    python(root, SCRIPT, &["--prepare"])?;
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::super::words;
    use super::*;

    #[test]
    fn a_run_is_repeated_by_its_seed_and_a_place() {
        let options =
            Options::parse(&words("--seed 7 --arrays 3 --questions 5 --seconds 9 --only 2:4")).unwrap();
        let expected = ["--seed=7", "--arrays=3", "--questions=5", "--seconds=9", "--only=2:4"];
        assert_eq!(options.words(), expected);
        assert!(!options.optional && Options::parse(&words("--optional yes")).unwrap().optional);
    }

    #[test]
    fn words_that_mean_nothing_are_refused() {
        for wrong in ["--seed", "--seed x", "--only a", "--only 1:b", "--only 1:2:3", "--cases 3"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
