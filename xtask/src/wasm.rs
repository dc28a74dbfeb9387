//! `cargo xtask wasm [--require]`: builds `tdb-wasm-reader` for WebAssembly, reads fixtures with it
//! in Node, and prints its size.
//!
//! The expected cells are read natively and encoded by the same crate. If the toolchain has no
//! standard library for WebAssembly, that of Debian's packages compiles one along. Where neither is
//! there, or no Node, the command does nothing and prints the reason; with `--require`, that is an
//! error.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tdb_array::{Key, Layout, OpenOptions, TimeWindow};

use crate::peer;

const USAGE: &str = "usage: cargo xtask wasm [--require]";

const TARGET: &str = "wasm32-unknown-unknown";
const TEST: &str = "crates/tdb-wasm-reader/tests/read.mjs";

/// Debian's toolchain (`rustc-web`, `cargo-web`), the sources of its standard library
/// (`rust-web-src`), and a linker (`lld-19`).
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_LIBRARY: &str = "/usr/lib/rustlib/src/rust/library/std";
const DEBIAN_LINKER: &str = "wasm-ld-19";

/// The profile for installed programs: small, and without debug information.
const PROFILE: &str = "dist";

/// The fixtures that are read, and the purpose of each.
const FIXTURES: [(&str, &str); 13] = [
    ("1.4.0/capacity_exact", "version 1, sparse"),
    ("1.7.7/base_dense", "version 4, dense, strings, several fragments"),
    ("2.2.9/base_nullable_dense", "the first nullable cells"),
    ("2.30.0/fragments_dense", "fragments that overlap, in every order and at several times"),
    ("2.30.0/fragments_sparse", "the same of sparse cells"),
    ("2.30.0/base_strings", "dimensions of strings and reals"),
    ("2.30.0/nullable_types", "nullable numbers, lists and strings"),
    ("2.30.0/hilbert_string", "cells along a Hilbert curve"),
    ("2.30.0/deletes", "delete conditions"),
    ("2.30.0/filter_chain_long", "gzip, zstd and lz4 in one chain"),
    ("2.30.0/filter_chain_dd_bzip2", "double delta and bzip2"),
    ("2.30.0/filter_webp", "images"),
    ("2.30.0/encrypted_sparse", "encryption"),
];

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
    let module = build(&root, tools)?;
    let folder = std::env::temp_dir().join(format!("tdb-wasm-{}", std::process::id()));
    let result = test(&root, &module, &folder);
    let cleaned =
        fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()));
    result.and(cleaned)?;
    let bytes = fs::read(&module).map_err(|error| format!("{}: {error}", module.display()))?;
    println!("module: {} bytes, {} with gzip", bytes.len(), gzip(&bytes)?);
    Ok(())
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
                    .arg("-Zbuild-std=std,panic_abort");
                cargo.arg("--config").arg(format!("target.{TARGET}.linker={DEBIAN_LINKER:?}"));
                cargo
            }
        }
    }
}

/// Builds the module, and returns its path.
fn build(root: &Path, tools: ToolChain) -> Result<PathBuf, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
    let status = tools
        .cargo()
        .current_dir(root)
        .args(["build", "--locked", "--quiet", "--profile", PROFILE, "--target", TARGET])
        .args(["--package", "tdb-wasm-reader", "--features", "codecs"])
        .arg("--target-dir")
        .arg(&target)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err(format!("the module was not built: {status}"));
    }
    Ok(target.join(TARGET).join(PROFILE).join("tdb_wasm_reader.wasm"))
}

/// Writes the expected bytes, and runs Node to compare them.
fn test(root: &Path, module: &Path, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let arrays: Vec<Value> =
        FIXTURES.iter().map(|(id, _)| array(root, id, folder)).collect::<Result<_, String>>()?;
    let cases = folder.join("cases.json");
    write(&cases, Value::Array(arrays).to_string().as_bytes())?;
    let status = Command::new("node")
        .arg(root.join(TEST))
        .arg(module)
        .arg(&cases)
        .status()
        .map_err(|error| format!("cannot run node: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{TEST} failed: {status}")) }
}

/// One fixture, in the form that the test in Node needs; the expected bytes are written to the
/// folder.
fn array(root: &Path, id: &str, folder: &Path) -> Result<Value, String> {
    let fixtures = root.join("xtask/fixtures");
    let (path, recorded) = (fixtures.join("arrays").join(id), fixtures.join(format!("expected/{id}.json")));
    let text = fs::read_to_string(&recorded).map_err(|error| format!("{}: {error}", recorded.display()))?;
    let json: Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", recorded.display()))?;
    let key = json.get("key").and_then(Value::as_str);
    let dense = json.pointer("/schema/array_type").and_then(Value::as_str) == Some("dense");
    let queries = json.get("queries").and_then(Value::as_array).ok_or_else(|| format!("{id}: no queries"))?;
    // Queries of a part of the domain are left out, because the module reads everything. The query
    // of a whole dense array contains its domain as numbers.
    let whole = |query: &&Value| {
        let kind = query.get("kind").and_then(Value::as_str);
        let all = query.get("ranges").is_some_and(Value::is_null) || dense;
        matches!(kind, Some("full" | "time-travel")) && all
    };
    let mut reads: Vec<Asked> = queries.iter().filter(whole).filter_map(Asked::recorded).collect();
    // Also in every other order, whether or not it was recorded.
    for order in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered] {
        let asked = Asked { window: TimeWindow::ALL, order, query: None };
        if !reads.iter().any(|read| (read.window, read.order) == (asked.window, order)) {
            reads.push(asked);
        }
    }
    let mut made = Vec::new();
    for (number, read) in reads.iter().enumerate() {
        let file = folder.join(format!("{}.{number}", id.replace('/', "-")));
        // Not every array can be read in every order; the module then fails as well, and this is
        // not compared.
        let cells = match (read.cells(&path, key), &read.query) {
            (Ok(cells), _) => cells,
            (Err(_), None) => continue,
            (Err(error), Some(query)) => return Err(format!("{id}, {query}: {error}")),
        };
        write(&file, &cells)?;
        made.push(json!({
            "start": read.window.start.to_string(), "end": read.window.end.to_string(), "order": read.order.name(),
            "expected": file.display().to_string(), "query": read.query,
        }));
    }
    Ok(json!({
        "id": id, "folder": path.display().to_string(), "key": key, "recorded": recorded.display().to_string(),
        "reads": made,
    }))
}

/// One read of a whole array.
struct Asked {
    window: TimeWindow,
    order: Layout,
    /// The query in the fixture's JSON that returns the same cells.
    query: Option<String>,
}

impl Asked {
    fn recorded(query: &Value) -> Option<Self> {
        let times = query.get("timestamps")?.as_array()?;
        let time = |at: usize| times.get(at).and_then(Value::as_u64);
        let window = TimeWindow::between(time(0).unwrap_or(0), time(1).unwrap_or(u64::MAX));
        let name = query.get("layout")?.as_str()?;
        let order = (0..4).filter_map(Layout::from_code).find(|order| order.name() == name)?;
        Some(Self { window, order, query: query.get("id")?.as_str().map(str::to_owned) })
    }

    /// The cells that tdb reads natively, in the form that the module returns.
    fn cells(&self, path: &Path, key: Option<&str>) -> Result<Vec<u8>, String> {
        let mut options = OpenOptions::new().window(self.window);
        if let Some(key) = key {
            let bytes = key.as_bytes().try_into().map_err(|_| format!("a key of {} bytes", key.len()))?;
            options = options.key(Key::new(bytes));
        }
        let array = options.open(path).map_err(|error| error.to_string())?;
        let cells = array.read().order(self.order).collect().map_err(|error| error.to_string())?;
        tdb_wasm_reader::encode(&cells).map_err(|error| error.to_string())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The number of bytes after gzip at its default level.
fn gzip(bytes: &[u8]) -> Result<usize, String> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.map(|packed| packed.len()).map_err(|error| format!("gzip: {error}"))
}
