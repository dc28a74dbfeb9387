//! Has rustdoc describe crates as JSON.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Has a stable toolchain accept the options of a nightly one.
const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

const JSON: [&str; 4] = ["-Z", "unstable-options", "--output-format", "json"];

/// Features of crates whose items are listed although they are not on by default.
const FEATURES: [(&str, &str); 2] = [("tdb-array", "async"), ("tdb-arrow", "async")];

/// The reason why rustdoc writes no JSON here; `None` if it does.
pub(super) fn missing(root: &Path) -> Option<String> {
    let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    // An empty crate, from standard input.
    let output = Command::new(rustdoc)
        .args(JSON)
        .args(["--crate-name", "probe", "--out-dir"])
        .arg(target(root).join("probe"))
        .arg("-")
        .env(UNSTABLE.0, UNSTABLE.1)
        .stdin(Stdio::null())
        .output();
    let reason = match output {
        Ok(output) if output.status.success() => return None,
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            errors.lines().next().unwrap_or("it does not say why").to_owned()
        }
        Err(error) => error.to_string(),
    };
    Some(format!("there is no rustdoc that writes JSON: {reason}"))
}

/// The names of crates, and the JSON that describes each.
pub(super) fn document(root: &Path, packages: &[String]) -> Result<Vec<(String, String)>, String> {
    let target = target(root);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["doc", "--locked", "--no-deps", "--lib"]);
    packages.iter().for_each(|package| {
        command.args(["--package", package]);
    });
    FEATURES.iter().filter(|(package, _)| packages.iter().any(|own| own == package)).for_each(
        |(package, feature)| {
            command.args(["--features", &format!("{package}/{feature}")]);
        },
    );
    let status = command
        .arg("--target-dir")
        .arg(&target)
        .env(UNSTABLE.0, UNSTABLE.1)
        .env("RUSTDOCFLAGS", JSON.join(" "))
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err(format!("rustdoc did not describe the crates: {status}"));
    }
    let read = |package: &String| {
        let name = package.replace('-', "_");
        let file = target.join(format!("doc/{name}.json"));
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok((name, text))
    };
    packages.iter().map(read).collect()
}

/// A target folder of its own: the variable that makes rustdoc write JSON changes what cargo thinks
/// of build scripts, so both would build everything again in a common one.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir)).join("api")
}
