//! The names of the library: which functions are written, stubs for the others, and how the linker
//! names the file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The functions and variables of libtiledb: name, result, types of arguments.
const SIGNATURES: &str = "signatures.tsv";

/// The release whose place the library takes.
const SONAME: &str = "libtiledb.so.2.30";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SIGNATURES}");
    println!("cargo::rerun-if-changed=src");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
        // Calls inside the library never reach another libtiledb of the process.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut written = BTreeMap::new();
    find_written(Path::new("src"), &mut Vec::new(), &mut written);
    let table = fs::read_to_string(SIGNATURES).unwrap_or_default();
    let mut stubs = String::new();
    let head = "pub(super) fn kinds() -> Vec<(&'static str, Vec<&'static str>)> {\n    vec![\n";
    let mut kinds = String::from(head);
    for line in table.lines().skip(1) {
        let mut columns = line.split('\t');
        let mut column = || columns.next().unwrap_or_default();
        let (name, result, arguments) = (column(), column(), column());
        match written.get(name) {
            Some(_) if arguments == "-" => {}
            Some(path) => {
                // Writing to a text cannot fail.
                let count = arguments.split(", ").filter(|part| !part.is_empty()).count();
                let holes = vec!["_"; count].join(", ");
                let result = if result == "void" { "" } else { " -> _" };
                let function = format!("{path}::{name} as extern \"C\" fn({holes}){result}");
                let _ = writeln!(kinds, "        (\"{name}\", Signature::kinds(&({function}))),");
            }
            None => stubs.push_str(&stub(name, result, arguments)),
        }
    }
    kinds.push_str("    ]\n}\n");
    fs::write(out.join("stubs.rs"), stubs).unwrap_or_else(|error| println!("cargo::error={error}"));
    fs::write(out.join("written.rs"), kinds).unwrap_or_else(|error| println!("cargo::error={error}"));
}

/// Adds the names of the functions that the files of a folder export, with the path of their
/// module.
fn find_written(folder: &Path, modules: &mut Vec<String>, written: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        modules.push(stem.to_owned());
        if path.is_dir() {
            find_written(&path, modules, written);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            for name in text.lines().flat_map(declared) {
                written.insert(name.to_owned(), format!("crate::{}", modules.join("::")));
            }
        }
        modules.pop();
    }
}

/// The names that a line declares: that of a function or a variable, or all words of a line of
/// names that a macro makes functions of.
fn declared(line: &str) -> Vec<&str> {
    let line = line.strip_prefix("    ").unwrap_or_default();
    let one = line.strip_prefix("fn ").or_else(|| line.strip_prefix("static "));
    let words = match one {
        Some(rest) => rest.split(['(', ':']).take(1).collect(),
        None if line.starts_with("tiledb_") && !line.contains('(') => line.split(' ').collect(),
        None => Vec::new(),
    };
    words.into_iter().filter(|word| word.starts_with("tiledb_")).collect()
}

/// A function that says that it is not supported, or a variable that points to nothing of use.
fn stub(name: &str, result: &str, arguments: &str) -> String {
    if arguments == "-" {
        return format!("exported_variables! {{\n    static {name}: u8 = &0;\n}}\n");
    }
    let types: Vec<&str> = arguments.split(", ").filter(|part| !part.is_empty()).collect();
    let mut list = Vec::new();
    let mut reporter = "nobody".to_owned();
    for (number, text) in types.iter().enumerate() {
        let kind = match *text {
            "tiledb_ctx_t*" if number == 0 => {
                reporter = "a0".to_owned();
                "crate::context::Ctx"
            }
            "tiledb_error_t**" if number + 1 == types.len() => {
                reporter = format!("a{number}");
                "crate::error::OutError"
            }
            text if text.contains('*') || text == "callback" || text.contains("_callback_") => {
                "crate::ffi::Raw"
            }
            "uint64_t" | "size_t" | "const uint64_t" | "const size_t" => "u64",
            "uint8_t" | "const uint8_t" => "u8",
            "int" | "int32_t" => "i32",
            _ => "u32",
        };
        list.push(format!("a{number}: {kind}"));
    }
    let (list, body) = (list.join(", "), format!("Err(crate::ffi::Failure::not_supported(\"{name}\"))"));
    match result {
        "void" => format!("exported! {{\n    fn {name}({list}) {{}}\n}}\n"),
        "uint64_t" => format!("exported! {{\n    fn {name}({list}) -> u64 {{ 0 }}\n}}\n"),
        "uint32_t" => format!("exported! {{\n    fn {name}({list}) -> u32 {{ 0 }}\n}}\n"),
        _ => format!("exported! {{\n    fn {name}({list}) -> Code for {reporter} {{ {body} }}\n}}\n"),
    }
}
