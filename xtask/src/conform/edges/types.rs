//! Types of other libraries: columns of every type of numpy, pandas and pyarrow go into arrays, and
//! come back.
//!
//! `crates/tdb-python/tests/random_columns.py` draws the columns and knows what has to become of
//! them. It runs with the last pandas 2 and the last pandas 3, half of the time each.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Options;
use crate::peer::repository_root;
use crate::python;

/// The release of Python.
const PYTHON: &str = "3.13";
/// The environments: their names, and their packages.
const ENVIRONMENTS: [(&str, [&str; 3]); 2] = [
    ("pandas-2", ["numpy>=2", "pandas>=2.2,<3", "pyarrow>=18"]),
    ("pandas-3", ["numpy>=2", "pandas>=3", "pyarrow>=18"]),
];
/// What draws the columns.
const PROGRAM: &str = "crates/tdb-python/tests/random_columns.py";

/// Runs the part.
pub(super) fn run(options: &Options) -> Result<(), String> {
    let root = repository_root()?;
    let folder = python::folder(&root);
    let made = ENVIRONMENTS
        .iter()
        .map(|(name, packages)| python::environment(&folder, name, PYTHON, packages, &[]))
        .collect::<Result<Vec<_>, String>>();
    let environments = match made {
        Ok(environments) => environments,
        Err(why) if options.optional => {
            println!("skipped: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let first = environments.first().ok_or("there is no environment")?;
    let wheel = python::wheel(&root, &folder, first, "")?;
    for environment in &environments {
        python::install_wheel(environment, &wheel)?;
    }
    let time = options.time / u32::try_from(environments.len()).unwrap_or(1);
    let draws = environments.iter().map(|environment| draw(&root, environment, options.seed, time));
    // A failure with one pandas says nothing of the other.
    let failures: Vec<String> = draws.filter_map(Result::err).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// Draws columns for a time in one environment.
fn draw(root: &Path, environment: &Path, seed: u64, time: Duration) -> Result<(), String> {
    let mut command = Command::new(python::program(environment, "python"));
    command.arg(root.join(PROGRAM)).args(arguments(seed, time)).stdin(Stdio::null());
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let failed = |what: String| format!("{}: {what}", name_of(environment).display());
    let status = command.status().map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed("not every column came back".to_owned())) }
}

fn arguments(seed: u64, time: Duration) -> [String; 4] {
    ["--seed".to_owned(), seed.to_string(), "--seconds".to_owned(), time.as_secs().to_string()]
}

fn name_of(environment: &Path) -> PathBuf {
    environment.file_name().map_or_else(|| environment.to_path_buf(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_gets_the_seed_and_its_part_of_the_time() {
        assert_eq!(arguments(7, Duration::from_secs(300)), ["--seed", "7", "--seconds", "300"]);
    }

    #[test]
    fn the_program_that_draws_columns_is_there() {
        assert!(repository_root().unwrap().join(PROGRAM).is_file());
    }
}
