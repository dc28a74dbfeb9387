//! `cargo xtask scratch`: the front-page example of `tdb-filters`, run as a new user would run it:
//! in a separate crate outside the workspace that depends only on `tdb-filters`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::peer;

const PAGE: &str = "crates/tdb-filters/src/lib.rs";
/// The expected output of the example.
const EXPECTED: &str = "[100, 101, 103, 106]\n";

/// Entry point: `args` are the words after `cargo xtask scratch`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if let Some(word) = args.first() {
        return Err(format!("unknown argument {word}"));
    }
    let root = peer::repository_root()?;
    let page = fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let example = example(&page).ok_or_else(|| format!("{PAGE} has no example with a main function"))?;
    let folder = std::env::temp_dir().join(format!("tdb-scratch-{}", std::process::id()));
    let result = build_and_run(&root, &folder, &example);
    let cleaned =
        fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()));
    result.and(cleaned)?;
    println!("the example of {PAGE} ({} lines) runs outside the workspace", example.lines().count());
    Ok(())
}

/// The first example with a main function, without the comment marks.
fn example(page: &str) -> Option<String> {
    let lines: Vec<&str> = page.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let mut blocks = lines.split(|line| line.trim_start().starts_with("```"));
    let block = blocks.find(|block| block.iter().any(|line| line.trim_start().starts_with("fn main()")))?;
    Some(block.iter().map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect())
}

fn build_and_run(root: &Path, folder: &Path, example: &str) -> Result<(), String> {
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).map_err(|error| format!("cannot write {name}: {error}"))
    };
    fs::create_dir_all(folder.join("src")).map_err(|error| format!("{}: {error}", folder.display()))?;
    let path = root.join("crates/tdb-filters");
    let manifest = format!(
        "[package]\nname = \"tdb-scratch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         tdb-filters = {{ path = {:?} }}\n\n[workspace]\n",
        path.display().to_string()
    );
    write("Cargo.toml", &manifest)?;
    write("src/main.rs", example)?;
    // Uses the versions that the workspace was tested with, and does not look for newer ones.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))
        .map_err(|error| format!("Cargo.lock: {error}"))?;
    // Below the workspace's target folder, so a second run does not have to build anything.
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into).join("scratch");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || printed != EXPECTED {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the example ended with {} and printed {printed:?}\n{errors}", output.status));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_example_with_a_main_function_is_taken_out_of_the_comment() {
        let page = "//! Page\n//! ```\n//! let a = 1;\n//! ```\n//! ```\n//! fn main() {\n//!     run();\n//!\n//! }\n//! ```\nmod a;\n";
        assert_eq!(example(page).as_deref(), Some("fn main() {\n    run();\n\n}\n"));
        assert_eq!(example("//! ```\n//! let a = 1;\n//! ```\n"), None);
    }
}
