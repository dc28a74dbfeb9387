//! The names, signatures and constants of the library are those of libtiledb.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::enums;
use crate::error::ErrorText;
use crate::ffi::testing::Variable;

mod written {
    //! What the build script found: each function that is written, and the kinds of its types.

    use crate::ffi::Signature;

    include!(concat!(env!("OUT_DIR"), "/written.rs"));
}

/// A table of this crate, without its head.
fn table(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// The kind of a type of the C headers.
fn kind(text: &str) -> &'static str {
    match text.strip_prefix("const ").unwrap_or(text) {
        text if text.contains('*') || text.contains("callback") => "pointer",
        "void" => "void",
        "uint64_t" | "size_t" => "u64",
        "uint8_t" => "u8",
        _ => "32",
    }
}

#[test]
fn every_written_function_has_the_arguments_of_the_table() {
    let written: BTreeMap<&str, Vec<&str>> = written::kinds().into_iter().collect();
    let mut count = 0;
    for row in table("signatures.tsv") {
        let [name, result, arguments] = row.as_slice() else { panic!("{row:?}") };
        let Some(found) = written.get(name.as_str()) else { continue };
        let types = arguments.split(", ").filter(|text| !text.is_empty());
        let expected: Vec<&str> = [kind(result)].into_iter().chain(types.map(kind)).collect();
        assert_eq!(*found, expected, "{name}");
        count += 1;
    }
    assert_eq!(count, written.len(), "each written function is in the table");
}

#[test]
fn the_table_has_the_names_that_libtiledb_exports() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/capi/functions.tsv");
    let names: BTreeSet<String> = table("signatures.tsv").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(names.len(), 520);
    // The list is not part of the repository.
    let Ok(text) = fs::read_to_string(path) else { return };
    let listed =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').next().unwrap());
    assert_eq!(names, listed.map(str::to_owned).collect());
}

#[test]
fn words_have_the_numbers_of_the_constants() {
    let mut numbers: BTreeMap<(String, u32), String> = BTreeMap::new();
    for row in table("constants.tsv") {
        if let Ok(number) = row[2].parse() {
            numbers.insert((row[0].replace('_', ""), number), row[1].clone());
        }
    }
    let plain = |text: &str| text.to_uppercase().replace(['-', '_', ' '], "");
    for words in enums::ALL {
        let (name, entries) = words.entries();
        for (number, word) in entries {
            let key = (name.to_lowercase(), number);
            let constant = numbers.get(&key).unwrap_or_else(|| panic!("no constant for {key:?}"));
            let constant = plain(constant.trim_start_matches("TILEDB_"));
            // Some words are shorter or longer than the names of the constants.
            let word = match word {
                "image/tiff" => "TIFF",
                "application/pdf" => "PDF",
                "DICTIONARY_ENCODING" => "DICTIONARY",
                word => word,
            };
            assert!(constant.contains(&plain(word)), "{key:?}: {constant} is not {word}");
        }
    }
}

#[test]
fn null_and_handles_of_other_types_are_errors_and_a_second_free_is_nothing() {
    let mut error = Variable::of(ErrorText("text".to_owned()));
    assert_eq!(error.get().get().unwrap().0, "text");
    assert!(error.as_other::<crate::context::Context>().get().is_err());
    error.freed().free();
    assert!(error.is_null());
    error.freed().free();
    assert!(error.get().get().is_err());
    let mut context = Variable::null();
    crate::context::tiledb_ctx_alloc(Variable::null().get(), context.out());
    assert_eq!(crate::context::tiledb_ctx_cancel_tasks(context.get()), 0);
    assert_eq!(crate::context::tiledb_ctx_cancel_tasks(error.as_other()), -3);
}

#[test]
fn what_is_kept_for_the_caller_stays_where_it_is_and_is_kept_once() {
    let error = Variable::of(ErrorText(String::new()));
    let first = error.get().keep(b"some bytes").unwrap();
    let others: Vec<_> = (0..100u8).map(|byte| error.get().keep(&[byte]).unwrap()).collect();
    assert_eq!(error.get().keep(b"some bytes").unwrap(), first);
    assert_eq!(others.iter().collect::<BTreeSet<_>>().len(), 100);
}
