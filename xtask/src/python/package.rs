//! The Python package as it is tested: a wheel, or a folder with a library that cargo has built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{CRATE, call, program};
use crate::peer;

/// What is tested.
pub(super) enum Package {
    /// A wheel, which each environment gets.
    Wheel(PathBuf),
    /// A folder with the package, which each environment looks into first.
    Folder(PathBuf),
}

/// Builds the wheel without optimisation of this workspace's own crates, and returns its path.
pub(crate) fn wheel(
    root: &Path,
    folder: &Path,
    environment: &Path,
    features: &str,
) -> Result<PathBuf, String> {
    let (maturin, python) = (program(environment, "maturin"), program(environment, "python"));
    let how = Build { profile: "dev", features, target: None };
    build(root, &folder.join("wheels"), &maturin, &python, how)
}

/// How a wheel is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build<'a> {
    /// Cargo's profile.
    pub(crate) profile: &'a str,
    /// The features beside the usual ones.
    pub(crate) features: &'a str,
    /// The system that it is for, if that is another one.
    pub(crate) target: Option<&'a str>,
}

/// Builds the wheel into a folder, which then has nothing else, and returns its path.
pub(crate) fn build(
    root: &Path,
    wheels: &Path,
    maturin: &Path,
    python: &Path,
    how: Build<'_>,
) -> Result<PathBuf, String> {
    if wheels.exists() {
        fs::remove_dir_all(wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    }
    let mut builder = Command::new(maturin);
    builder
        .current_dir(root.join(CRATE))
        // Other commands compile the crate without an interpreter; so does this one, and nothing is
        // compiled twice.
        .args(["build", "--locked", "--quiet", "--profile", how.profile, "--features", how.features, "--out"])
        .arg(wheels)
        .arg("--interpreter")
        .arg(python);
    if let Some(target) = how.target {
        builder.args(["--target", target]);
    }
    call(&mut builder)?;
    let made = fs::read_dir(wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    made.flatten().map(|entry| entry.path()).next().ok_or_else(|| "maturin made no wheel".to_owned())
}

/// The package with an extension module that cargo has built, in a folder; returns the folder.
pub(super) fn assembled(root: &Path, folder: &Path, library: &Path) -> Result<PathBuf, String> {
    let place = folder.join("package");
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    peer::copy_folder(&root.join(CRATE).join("python/tdb"), &place.join("tdb"))?;
    let name = if cfg!(windows) { "_tdb.pyd" } else { "_tdb.abi3.so" };
    let copied = fs::copy(library, place.join("tdb").join(name));
    copied.map_err(|error| format!("{}: {error}", library.display()))?;
    describe(root, &place)?;
    place.canonicalize().map_err(|error| format!("{}: {error}", place.display()))
}

/// Puts beside a package what Python knows of an installed one: its name, its version, and what
/// other packages find of it, such as the engine of xarray.
fn describe(root: &Path, place: &Path) -> Result<(), String> {
    let project = root.join(CRATE).join("pyproject.toml");
    let text = fs::read_to_string(&project).map_err(|error| format!("{}: {error}", project.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let folder = place.join(format!("tdb-{version}.dist-info"));
    let files = [
        ("METADATA", format!("Metadata-Version: 2.1\nName: tdb\nVersion: {version}\n")),
        ("entry_points.txt", entry_points(&text)),
    ];
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, text) in files {
        let file = folder.join(name);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// The entry points that a `pyproject.toml` names, as an installed package lists them.
fn entry_points(project: &str) -> String {
    let mut found = String::new();
    let mut is_inside = false;
    for line in project.lines() {
        if line.starts_with('[') {
            let group =
                line.strip_prefix("[project.entry-points.\"").and_then(|rest| rest.strip_suffix("\"]"));
            is_inside = group.is_some();
            if let Some(group) = group {
                found.push_str(&format!("[{group}]\n"));
            }
        } else if is_inside && line.contains('=') {
            found.push_str(&line.replace('"', ""));
            found.push('\n');
        }
    }
    found
}

/// Installs the wheel in an environment.
pub(crate) fn install_wheel(environment: &Path, wheel: &Path) -> Result<(), String> {
    let mut pip = Command::new(program(environment, "python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    call(pip.args(["--force-reinstall", "--no-deps"]).arg(wheel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_points_are_those_of_the_project() {
        let root = peer::repository_root().unwrap();
        let project = fs::read_to_string(root.join(CRATE).join("pyproject.toml")).unwrap();
        assert_eq!(entry_points(&project), "[xarray.backends]\ntdb = tdb._xarray:TdbBackendEntrypoint\n");
        assert_eq!(entry_points("[project]\nname = \"tdb\"\n"), "");
    }
}
