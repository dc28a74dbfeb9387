//! `cargo xtask release --dry-run [--only PART] [--out DIR] [--quick] [--target TRIPLE] [--profile
//! NAME]`: what a release has, as far as this machine can build it.
//!
//! Each part is built as for people, put into the folder `--out` (`target/release-parts`),
//! installed into an empty folder and tried there with an empty environment: the crates, the
//! command, TileDB's C functions as a library, the Python package, and the npm package. What is
//! missing for a part is said. In the end there is a table of sizes and times, which is also
//! `table.md` in the folder. The workflow for releases calls the same for each system, and
//! publishes what is in the folder; nothing is published here.
//!
//! `--quick` packs the crates and does not build them from their packages. `--profile` is `dist`
//! unless something is only to be tried; `--target` builds the command and the wheel for another
//! system, and tries them where this one runs their programs.

mod crates;
mod npm;
mod packing;
mod programs;
mod table;
mod trial;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::peer;
use table::{Row, Tried};

const USAGE: &str = "usage: cargo xtask release --dry-run [--only crates|command|c-library|wheel|npm] [--out DIR] [--quick] [--target TRIPLE] [--profile NAME]";

/// A part of a release, and what makes and tries it.
type Part = (&'static str, fn(&Context) -> Result<Row, String>);

const PARTS: [Part; 5] = [
    ("crates", crates::run),
    ("command", programs::command),
    ("c-library", programs::c_library),
    ("wheel", wheel::run),
    ("npm", npm::run),
];

/// The parts that can be built for another system.
const WITH_TARGET: [&str; 2] = ["command", "wheel"];

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    only: Vec<String>,
    out: Option<PathBuf>,
    quick: bool,
    target: Option<String>,
    profile: String,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options =
            Self { only: Vec::new(), out: None, quick: false, target: None, profile: "dist".to_owned() };
        let mut is_dry = false;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--dry-run" => is_dry = true,
                "--quick" => options.quick = true,
                "--only" => options.only.push(part(value()?)?.to_owned()),
                "--out" => options.out = Some(PathBuf::from(value()?)),
                "--target" => options.target = Some(value()?.clone()),
                "--profile" => options.profile.clone_from(value()?),
                _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
            }
        }
        let asks = |name: &str| options.only.is_empty() || options.only.iter().any(|own| own == name);
        if options.target.is_some() && PARTS.iter().any(|(name, _)| asks(name) && !WITH_TARGET.contains(name))
        {
            return Err(format!(
                "--target is about {}: choose with --only\n{USAGE}",
                WITH_TARGET.join(" and ")
            ));
        }
        if options.quick && !asks("crates") {
            return Err(format!("--quick is about the crates\n{USAGE}"));
        }
        if is_dry {
            return Ok(options);
        }
        Err(format!(
            "only --dry-run is here: the workflow for releases publishes, when a tag is pushed\n{USAGE}"
        ))
    }
}

/// The name of a part.
fn part(name: &str) -> Result<&'static str, String> {
    let known = PARTS.iter().find(|(known, _)| *known == name);
    known.map(|(name, _)| *name).ok_or_else(|| format!("{name} is no part of a release\n{USAGE}"))
}

/// What all parts need to know.
struct Context {
    /// The root of the repository.
    root: PathBuf,
    /// The folder for what is made.
    out: PathBuf,
    /// The folder that cargo builds in.
    built: PathBuf,
    quick: bool,
    /// The system that is built for, if it is another one.
    target: Option<String>,
    profile: String,
    /// The version of the workspace.
    version: String,
}

impl Context {
    fn new(options: Options) -> Result<Self, String> {
        let root = peer::repository_root()?;
        let built =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
        let out = options.out.unwrap_or_else(|| built.join("release-parts"));
        fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let out = std::path::absolute(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        Ok(Self {
            root,
            out,
            built,
            quick: options.quick,
            target: options.target,
            profile: options.profile,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }

    /// The folder of what cargo built with the profile.
    fn products(&self) -> PathBuf {
        self.products_of(self.target.as_deref())
    }

    /// The same of another system, or of this machine's own.
    fn products_of(&self, target: Option<&str>) -> PathBuf {
        // The profile of development has another name than its folder.
        let folder = if self.profile == "dev" { "debug" } else { &self.profile };
        match target {
            Some(target) => self.built.join(target).join(folder),
            None => self.built.join(folder),
        }
    }
}

/// Entry point: `args` are the words after `cargo xtask release`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let only = options.only.clone();
    let context = Context::new(options)?;
    let mut rows = Vec::new();
    for (name, make) in PARTS.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|own| own == name))
    {
        println!("== {name}");
        let begun = Instant::now();
        let row = make(&context).unwrap_or_else(|why| Row::failed(name, why));
        println!("{} in {:.0} s", row.tried, begun.elapsed().as_secs_f64());
        rows.push(row);
    }
    let text = table::text(&rows);
    let place = context.out.join("table.md");
    fs::write(&place, &text).map_err(|error| format!("{}: {error}", place.display()))?;
    println!("\n{text}\nwhat was made is in {}", context.out.display());
    let failed: Vec<&str> = rows
        .iter()
        .filter(|row| matches!(row.tried, Tried::Failed(_)))
        .map(|row| row.part.as_str())
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("these parts cannot be released: {}", failed.join(", ")))
    }
}

/// Removes a folder that may be there, and makes it anew.
fn empty_folder(folder: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn context() -> Context {
        Context {
            root: PathBuf::new(),
            out: PathBuf::new(),
            built: PathBuf::from("target"),
            quick: false,
            target: None,
            profile: "dist".to_owned(),
            version: String::new(),
        }
    }

    #[test]
    fn arguments_say_what_is_built_and_nothing_is_published() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let options =
            Options::parse(&words("--dry-run --only wheel --only command --out x --target t --profile dev"));
        let expected = Options {
            only: vec!["wheel".to_owned(), "command".to_owned()],
            out: Some(PathBuf::from("x")),
            quick: false,
            target: Some("t".to_owned()),
            profile: "dev".to_owned(),
        };
        assert_eq!(options.unwrap(), expected);
        assert_eq!(Options::parse(&words("--dry-run")).unwrap().profile, "dist");
        assert!(Options::parse(&words("--dry-run --quick")).unwrap().quick);
        for (wrong, part) in [
            ("", "only --dry-run is here"),
            ("--dry-run --only cli", "cli is no part"),
            ("--dry-run --out", "--out needs a value"),
            ("--publish", "unknown argument --publish"),
            ("--dry-run --target t", "--target is about command and wheel"),
            ("--dry-run --target t --only npm", "--target is about command and wheel"),
            ("--dry-run --quick --only npm", "--quick is about the crates"),
        ] {
            let refused = Options::parse(&words(wrong)).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
    }

    #[test]
    fn products_are_in_the_folder_of_their_target_and_profile() {
        let context = |target: Option<&str>, profile: &str| Context {
            target: target.map(str::to_owned),
            profile: profile.to_owned(),
            ..context()
        };
        assert_eq!(context(None, "dist").products(), Path::new("target/dist"));
        assert_eq!(context(Some("a-b"), "dev").products(), Path::new("target/a-b/debug"));
    }
}
