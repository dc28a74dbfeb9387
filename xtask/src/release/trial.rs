//! What was made is tried as a new user would, with nothing of this machine's environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A small table, and the question and answer that show that all of the way works.
const TABLE: &str = "id,city,price\n1,Oslo,2.5\n2,Bergen,\n3,Oslo,4\n";
const QUESTION: &str = "SELECT city, count(*) AS n, sum(price) AS s FROM 'trips' GROUP BY city ORDER BY city";
/// The same of a file, for which SQL needs more of DataFusion.
const IN_A_FILE: &str =
    "SELECT city, count(*) AS n, sum(price) AS s FROM 'trips.parquet' GROUP BY city ORDER BY city";
const ANSWER: &str = "city,n,s\nBergen,1,\nOslo,2,6.5\n";

/// Variables without which programs of some systems do not start.
const NEEDED: [&str; 3] = ["SystemRoot", "TEMP", "TMP"];

/// A folder that is gone with its owner.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// A new folder without anything in it.
    pub(super) fn new(name: &str) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("tdb-release-{name}-{}", std::process::id()));
        super::empty_folder(&folder)?;
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed lies among the temporary files of the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a command, and fails if it does.
pub(super) fn call(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let status = command.stdin(Stdio::null()).status().map_err(|error| format!("{shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}")) }
}

/// A program in a folder, without the environment of this process.
pub(super) fn bare(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear();
    for name in NEEDED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// What a command prints, with the ends of lines of Unix; fails if it does.
pub(super) fn said(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"));
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("{shown}: {}: {}", output.status, errors.trim_end()))
}

/// Compares what was printed with what should have been.
pub(super) fn expect(what: &str, found: &str, expected: &str) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} printed {found:?} instead of {expected:?}"))
}

/// Tries the command: its version, a table that becomes an array, a question to that, and to a
/// Parquet file of it, and whether it finds the viewer beside it.
pub(super) fn command(program: &Path, version: &str) -> Result<(), String> {
    let folder = Folder::new("trial")?;
    let table = folder.path().join("trips.csv");
    fs::write(&table, TABLE).map_err(|error| format!("{}: {error}", table.display()))?;
    let run = |words: &[&str]| said(bare(program, folder.path()).args(words));
    let own = run(&["--version"])?;
    if !own.starts_with(&format!("tdb {version}")) {
        return Err(format!("tdb --version printed {own:?}, and this is version {version}"));
    }
    run(&["import", "trips", "trips.csv", "--dims", "id"])?;
    expect("tdb sql", &run(&["sql", QUESTION])?, ANSWER)?;
    run(&["export", "trips", "trips.parquet"])?;
    expect("tdb sql", &run(&["sql", IN_A_FILE])?, ANSWER)?;
    run(&["verify", "trips"])?;
    run(&["publish", "trips", "--viewer", "page"])?;
    let page = folder.path().join("page/index.html");
    let text = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    if text.contains("data-url=\"../trips\"") { Ok(()) } else { Err("the page leads to no array".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_empty_and_goes_with_its_owner() {
        let folder = Folder::new("test").unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        fs::write(path.join("x"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn programs_run_without_the_environment_and_their_failures_are_told() {
        let folder = Folder::new("bare").unwrap();
        let shell = Path::new("/bin/sh");
        let printed = said(bare(shell, folder.path()).args(["-c", "echo \"${HOME-none}\"; pwd -P"])).unwrap();
        let place = folder.path().canonicalize().unwrap();
        assert_eq!(printed, format!("none\n{}\n", place.display()));
        let failed = said(bare(shell, folder.path()).args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(failed.ends_with("exit status: 3: why"), "{failed}");
        assert!(call(bare(shell, folder.path()).args(["-c", "exit 1"])).is_err());
        assert!(command(shell, "0.0.0").is_err());
        assert!(expect("it", "a", "b").is_err() && expect("it", "a", "a").is_ok());
    }
}
