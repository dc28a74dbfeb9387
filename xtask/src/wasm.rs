//! `cargo xtask wasm [--require]`: builds the modules of `tdb-wasm-reader`, puts the npm package
//! together in `target/npm/tdb-arrays` and the viewer with it in `target/npm/viewer`, tests both in
//! Node and in Chromium, and prints the sizes.
//!
//! The expected cells are read natively and encoded by the same crate. If the toolchain has no
//! standard library for WebAssembly, that of Debian's packages compiles one along. Where neither is
//! there, or no Node, the command does nothing and prints the reason; where Chromium is missing, it
//! leaves out the tests in it. With `--require`, both are errors.

mod cases;
mod viewer;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peer;

const USAGE: &str = "usage: cargo xtask wasm [--require]";

const TARGET: &str = "wasm32-unknown-unknown";
const TEST: &str = "crates/tdb-web/tests/node.mjs";
/// The npm package, without its modules.
const SOURCE: &str = "crates/tdb-web/npm";
/// Where it is put together, below the target folder.
const PACKAGE: &str = "npm/tdb-arrays";
/// Where the viewer is put together, as releases have it.
const VIEWER: &str = "npm/viewer";

/// The modules: the codecs of most arrays, and all of them.
const MODULES: [&str; 2] = ["core", "full"];

/// What reads arrays as Zarr through the package, from npm.
const ZARRITA: &str = "zarrita@0.7.5";

/// What drives Chromium, and what looks for faults of a page that some people cannot use, from npm.
const PLAYWRIGHT: [&str; 2] = ["playwright-core@1.57.0", "axe-core@4.10.3"];
const CHROMIUM: &str = "/usr/bin/chromium";

/// Debian's toolchain (`rustc-web`, `cargo-web`), the sources of its standard library
/// (`rust-web-src`), and a linker (`lld-19`).
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_LIBRARY: &str = "/usr/lib/rustlib/src/rust/library/std";
const DEBIAN_LINKER: &str = "wasm-ld-19";

/// What the module of a toolchain that compiles its standard library along is smaller by.
const IMMEDIATE_ABORT: &str = "-Zunstable-options -Cpanic=immediate-abort";

/// The profile for modules: small, and without debug information.
const PROFILE: &str = "web";

/// Entry point: `args` are the words after `cargo xtask wasm`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let require = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => false,
        ["--require"] => true,
        words => return Err(format!("unknown arguments {}\n{USAGE}", words.join(" "))),
    };
    let tools = match ToolChain::find() {
        Ok(tools) => tools,
        Err(reason) if require => return Err(reason),
        Err(reason) => {
            println!("skipped: {reason}");
            return Ok(());
        }
    };
    let root = peer::repository_root()?;
    let Made { target, package, viewer } = make_with(&root, tools)?;
    let browser = match Browser::find(&target) {
        Err(reason) if require => return Err(reason),
        found => found,
    };
    let zarrita = match from_npm(&target.join("npm/zarrita"), &["zarrita"], &[ZARRITA]) {
        Err(reason) if require => return Err(reason),
        found => found,
    };
    let folder = target.join("npm/test");
    cases::write(&root, &folder, &zarrita, &browser)?;
    let tested = node(&root, TEST, &[&root, &package, &folder.join("cases.json")]);
    let cleaned =
        fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()));
    tested.and(cleaned)?;
    viewer::test(&root, &package, &viewer, &target, &browser)?;
    pack(&package, &target.join("npm"))?;
    for name in MODULES {
        let module = package.join(format!("tdb-{name}.wasm"));
        let bytes = fs::read(&module).map_err(|error| format!("{}: {error}", module.display()))?;
        println!("module {name}: {} bytes, {} with gzip", bytes.len(), gzip(&bytes)?);
    }
    Ok(())
}

/// What was put together.
pub(crate) struct Made {
    target: PathBuf,
    /// The folder of the npm package.
    pub(crate) package: PathBuf,
    /// The folder of the viewer, with the package in it.
    pub(crate) viewer: PathBuf,
}

/// Builds the modules, and puts the package and the viewer together.
pub(crate) fn make(root: &Path) -> Result<Made, String> {
    make_with(root, ToolChain::find()?)
}

fn make_with(root: &Path, tools: ToolChain) -> Result<Made, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    let (package, viewer) = (target.join(PACKAGE), target.join(VIEWER));
    gather(root, &package)?;
    for name in MODULES {
        let module = build(root, tools, &target, name)?;
        copy(&module, &package.join(format!("tdb-{name}.wasm")))?;
    }
    viewer::gather(root, &package, &viewer)?;
    Ok(Made { target, package, viewer })
}

/// The programs that compile for WebAssembly.
#[derive(Clone, Copy)]
enum ToolChain {
    /// Those that compiled this command; they have a standard library for the target.
    Own,
    /// Debian's, which compile the standard library along.
    Debian,
}

impl ToolChain {
    /// What this machine has; the reason why it cannot run the test, if it has nothing.
    fn find() -> Result<Self, String> {
        let says = |program: &str, args: &[&str]| {
            let output =
                Command::new(program).args(args).output().ok().filter(|output| output.status.success());
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        if says("node", &["--version"]).is_none() {
            return Err("there is no `node` that says its version".to_owned());
        }
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        let libraries = says(&rustc, &["--print", "target-libdir", "--target", TARGET]);
        if libraries.is_some_and(|folder| Path::new(&folder).is_dir()) {
            return Ok(Self::Own);
        }
        let debian = [DEBIAN_RUSTC, DEBIAN_CARGO, DEBIAN_LIBRARY].iter().all(|path| Path::new(path).exists());
        if debian && says(DEBIAN_LINKER, &["--version"]).is_some() {
            return Ok(Self::Debian);
        }
        Err(format!(
            "the target {TARGET} is not installed: `rustup target add {TARGET}`, or on Debian what `.ci/packages full` names"
        ))
    }

    /// Cargo, with what has to stand before the arguments that name what is built.
    fn cargo(self) -> Command {
        match self {
            Self::Own => Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))),
            Self::Debian => {
                let mut cargo = Command::new(DEBIAN_CARGO);
                // Only nightly releases have this option, and those that this variable makes one.
                cargo
                    .env("RUSTC", DEBIAN_RUSTC)
                    .env("RUSTC_BOOTSTRAP", "1")
                    // A panic traps at once: nobody reads its message.
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", IMMEDIATE_ABORT)
                    .args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
                cargo.arg("--config").arg(format!("target.{TARGET}.linker={DEBIAN_LINKER:?}"));
                cargo
            }
        }
    }
}

/// What the tests in a browser need.
pub(crate) struct Browser {
    /// The folder of playwright-core.
    pub(crate) playwright: PathBuf,
    /// The folder in whose `node_modules` it lies, with the other packages.
    pub(crate) packages: PathBuf,
}

impl Browser {
    /// Chromium, and what drives it, which comes from npm once.
    fn find(target: &Path) -> Result<Self, String> {
        if !Path::new(CHROMIUM).exists() {
            return Err(format!("there is no {CHROMIUM} (Debian's package chromium)"));
        }
        let packages = target.join("npm/playwright");
        let installed = from_npm(&packages, &["playwright-core", "axe-core"], &PLAYWRIGHT)?;
        Ok(Self { playwright: installed.join("playwright-core"), packages })
    }
}

/// The folder of packages from npm, which are installed once. They are named as folders, and as npm
/// asks for them.
fn from_npm(folder: &Path, names: &[&str], packages: &[&str]) -> Result<PathBuf, String> {
    let modules = folder.join("node_modules");
    let are_here = || names.iter().all(|name| modules.join(name).is_dir());
    if !are_here() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut npm = Command::new("npm");
        npm.current_dir(folder).args(["install", "--no-save", "--no-audit", "--no-fund", "--silent"]);
        let status = npm.args(["--prefix", "."]).args(packages).status();
        if !status.is_ok_and(|status| status.success()) || !are_here() {
            return Err(format!("npm cannot install {}", packages.join(" and ")));
        }
    }
    Ok(modules)
}

/// Puts the package together: its files, but the modules.
fn gather(root: &Path, package: &Path) -> Result<(), String> {
    if package.exists() {
        fs::remove_dir_all(package).map_err(|error| format!("{}: {error}", package.display()))?;
    }
    peer::copy_folder(&root.join(SOURCE), package)?;
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root.join(license), &package.join(license))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// Builds a module, and returns its path.
fn build(root: &Path, tools: ToolChain, target: &Path, features: &str) -> Result<PathBuf, String> {
    let status = tools
        .cargo()
        .current_dir(root)
        .args(["build", "--locked", "--quiet", "--profile", PROFILE, "--target", TARGET])
        .args(["--package", "tdb-wasm-reader", "--features", features])
        .arg("--target-dir")
        .arg(target)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err(format!("the module {features} was not built: {status}"));
    }
    Ok(target.join(TARGET).join(PROFILE).join("tdb_wasm_reader.wasm"))
}

/// Runs a test of the repository in Node.
fn node(root: &Path, test: &str, arguments: &[&Path]) -> Result<(), String> {
    let status = Command::new("node").arg(root.join(test)).args(arguments).status();
    let status = status.map_err(|error| format!("cannot run node: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{test} failed: {status}")) }
}

/// Makes the file that npm publishes.
fn pack(package: &Path, folder: &Path) -> Result<(), String> {
    let mut npm = Command::new("npm");
    npm.current_dir(package).args(["pack", "--silent", "--pack-destination"]).arg(folder);
    let packed = npm.output().map_err(|error| format!("cannot run npm: {error}"))?;
    if !packed.status.success() {
        return Err(format!("npm pack failed: {}", String::from_utf8_lossy(&packed.stderr).trim()));
    }
    println!("package: {}", folder.join(String::from_utf8_lossy(&packed.stdout).trim()).display());
    Ok(())
}

/// The number of bytes after gzip at its default level.
fn gzip(bytes: &[u8]) -> Result<usize, String> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.map(|packed| packed.len()).map_err(|error| format!("gzip: {error}"))
}
