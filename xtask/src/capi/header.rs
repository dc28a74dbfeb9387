//! The header of our library, made of the tables of functions and constants.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The functions that C programs pass, which the table calls `callback`, by the functions that take
/// them.
const CALLBACKS: [(&str, &str); 3] = [
    ("tiledb_object_ls", "int32_t (*)(const char*, tiledb_object_t, void*)"),
    ("tiledb_object_walk", "int32_t (*)(const char*, tiledb_object_t, void*)"),
    ("tiledb_vfs_ls", "int32_t (*)(const char*, void*)"),
];

/// Enums whose names are not those of their types.
const NAMES: [(&str, &str); 1] = [("object_type", "object")];

/// Values that are no member of an enum.
const DEFINES: &str = "define";

const BEGIN: &str = "\
/* TileDB's C functions as tdb has them: the names, types and values of libtiledb 2.30.0.
   Made by `cargo xtask capi --prefix`; do not change it. */
#ifndef TILEDB_H
#define TILEDB_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern \"C\" {
#endif

typedef int32_t capi_return_t;
typedef int32_t capi_status_t;
";

/// Types that are no handles, which [`TYPES`] declares.
const OWN_TYPES: [&str; 3] = ["tiledb_ls_callback_t", "tiledb_ls_callback_v2_t", "tiledb_range_t"];

/// Functions of the caller with a type of their own, the range of an N-dimensional rectangle, and
/// values that upstream's headers compute.
const TYPES: &str = "
typedef int32_t (*tiledb_ls_callback_t)(const char*, size_t, uint64_t, void*);
typedef int32_t (*tiledb_ls_callback_v2_t)(const char*, size_t, uint64_t, uint8_t, void*);
typedef struct {
    const void* min;
    uint64_t min_size;
    const void* max;
    uint64_t max_size;
} tiledb_range_t;

#define TILEDB_VAR_NUM UINT32_MAX
#define TILEDB_MAX_PATH 4096
#define TILEDB_COORDS \"__coords\"
#define TILEDB_TIMESTAMP_NOW_MS UINT64_MAX
";

const END: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

/// The header, from the two tables.
///
/// # Errors
/// A line of a table has not its three columns, or a function takes another one whose type is not
/// known.
pub(super) fn text(signatures: &str, constants: &str) -> Result<String, String> {
    let mut text = BEGIN.to_owned();
    let enums = enums(constants)?;
    let mut functions = String::new();
    let mut types = BTreeSet::new();
    for line in signatures.lines().skip(1) {
        let [name, result, arguments] = columns(line)?;
        let words = arguments.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        types.extend(words.chain([result_type(result)]).filter(|word| word.starts_with("tiledb_")));
        if arguments == "-" {
            writeln!(functions, "extern {result} {name};").map_err(|error| error.to_string())?;
        } else {
            let arguments = with_callback(name, arguments)?;
            writeln!(functions, "{result} {name}({arguments});").map_err(|error| error.to_string())?;
        }
    }
    for (of, members) in &enums {
        text.push('\n');
        if *of == DEFINES {
            members.iter().for_each(|(name, value)| text += &format!("#define {name} ({value})\n"));
            continue;
        }
        let known = NAMES.iter().find(|(name, _)| name == of).map_or(*of, |(_, name)| *name);
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("    {name} = {value}")).collect();
        text += &format!("typedef enum {{\n{}\n}} tiledb_{known}_t;\n", members.join(",\n"));
        types.remove(format!("tiledb_{known}_t").as_str());
    }
    text.push('\n');
    for name in types.iter().filter(|name| !OWN_TYPES.contains(*name)) {
        let handle = name.strip_suffix("_t").unwrap_or(name);
        text += &format!("typedef struct {handle}_handle_t {name};\n");
    }
    Ok(text + TYPES + "\n" + &functions + END)
}

fn result_type(result: &str) -> &str {
    result.trim_start_matches("const ").trim_end_matches('*')
}

fn columns(line: &str) -> Result<[&str; 3], String> {
    let columns: Vec<&str> = line.split('\t').collect();
    <[&str; 3]>::try_from(columns).map_err(|_| format!("this line has not three columns: {line}"))
}

/// The members of each enum and their values, in the order of the table.
type Enums<'a> = BTreeMap<&'a str, Vec<(&'a str, &'a str)>>;

fn enums(constants: &str) -> Result<Enums<'_>, String> {
    let mut enums = Enums::new();
    for line in constants.lines().skip(1) {
        let [of, name, value] = columns(line)?;
        enums.entry(of).or_default().push((name, value));
    }
    Ok(enums)
}

/// The arguments, with the type of the function among them.
fn with_callback(name: &str, arguments: &str) -> Result<String, String> {
    if arguments.is_empty() {
        return Ok("void".to_owned());
    }
    if !arguments.split(", ").any(|argument| argument == "callback") {
        return Ok(arguments.to_owned());
    }
    let callback = CALLBACKS.iter().find(|(function, _)| *function == name);
    let (_, callback) = callback.ok_or_else(|| format!("{name} takes a function of an unknown type"))?;
    Ok(arguments.replacen("callback", callback, 1))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    const SIGNATURES: &str = include_str!("../../../crates/tdb-capi/signatures.tsv");
    const CONSTANTS: &str = include_str!("../../../crates/tdb-capi/constants.tsv");

    #[test]
    fn every_function_and_constant_is_in_the_header() {
        let text = text(SIGNATURES, CONSTANTS).unwrap();
        for line in SIGNATURES.lines().skip(1) {
            let name = line.split('\t').next().unwrap();
            assert!(text.contains(&format!(" {name}(")) || text.contains(&format!(" {name};")), "{name}");
        }
        for line in CONSTANTS.lines().skip(1) {
            let name = line.split('\t').nth(1).unwrap();
            assert!(text.contains(name), "{name}");
        }
    }

    #[test]
    fn a_c_compiler_takes_the_header_as_c_and_as_cpp() {
        let folder = std::env::temp_dir().join(format!("tdb-header-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let header = folder.join("tiledb.h");
        fs::write(&header, text(SIGNATURES, CONSTANTS).unwrap()).unwrap();
        for language in ["c", "c++"] {
            let mut compiler = Command::new("cc");
            compiler.args(["-fsyntax-only", "-Wall", "-Werror", "-x", language]).arg(&header);
            let Ok(output) = compiler.output() else {
                println!("skipped: there is no C compiler");
                continue;
            };
            let said = String::from_utf8_lossy(&output.stderr);
            // A compiler for C alone is enough for the gate.
            if language == "c++" && said.contains("cc1plus") {
                println!("skipped: there is no compiler for C++");
                continue;
            }
            assert!(output.status.success(), "{language}: {said}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_function_that_takes_an_unknown_one_is_refused() {
        let line = "name\tresult\targuments\ntiledb_new\tint32_t\tcallback, void*";
        assert!(text(line, "enum\tname\tvalue").unwrap_err().contains("tiledb_new"));
        assert!(text("name\nx", "enum").unwrap_err().contains("three columns"));
    }
}
