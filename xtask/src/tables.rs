//! `cargo xtask tables [--check]`: the tables of `docs/tables`, those in other pages ([`layouts`]),
//! and the READMEs of the crates ([`readmes`]), written from the code they describe.

use std::fs;
use std::path::Path;

use tdb_codec::{Datatype, FormatVersion, Gate};
use tdb_filters::{Key, Scratch, TileContext, registry};

use crate::check::Workspace;
use crate::{layouts, markdown, peer, readmes, sql_types};

const FOLDER: &str = "docs/tables";

/// A generated file: its name in [`FOLDER`] and its text.
type Table = (&'static str, String);

/// Entry point: `args` are the words after `cargo xtask tables`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let root = peer::repository_root()?;
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            let folder = root.join(FOLDER);
            fs::create_dir_all(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
            for (name, text) in all(&root)? {
                fs::write(folder.join(name), text).map_err(|error| format!("{FOLDER}/{name}: {error}"))?;
                println!("wrote {FOLDER}/{name}");
            }
            for (name, text) in pages(&root)? {
                fs::write(root.join(&name), text).map_err(|error| format!("{name}: {error}"))?;
                println!("wrote {name}");
            }
            Ok(())
        }
        ["--check"] => match stale(&root)?.as_slice() {
            [] => Ok(()),
            names => Err(format!("out of date: {}; run `cargo xtask tables`", names.join(", "))),
        },
        words => Err(format!("unknown arguments {}", words.join(" "))),
    }
}

/// Paths of the tables and pages that are missing, differ from the code, or are no longer
/// generated.
pub(crate) fn stale(root: &Path) -> Result<Vec<String>, String> {
    let mut names = differing(&root.join(FOLDER), &all(root)?);
    let differs = |name: &str, text: &str| fs::read_to_string(root.join(name)).ok().as_deref() != Some(text);
    names.extend(pages(root)?.into_iter().filter(|(name, text)| differs(name, text)).map(|(name, _)| name));
    Ok(names)
}

/// The generated pages outside [`FOLDER`]: their paths relative to the repository, and their text.
fn pages(root: &Path) -> Result<Vec<(String, String)>, String> {
    let mut pages = layouts::files(root)?;
    pages.extend(readmes::files(root)?);
    Ok(pages)
}

fn differing(folder: &Path, tables: &[Table]) -> Vec<String> {
    let mut names: Vec<String> = tables
        .iter()
        .filter(|(name, text)| fs::read_to_string(folder.join(name)).ok().as_ref() != Some(text))
        .map(|(name, _)| format!("{FOLDER}/{name}"))
        .collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !tables.iter().any(|(known, _)| *known == name) {
            names.push(format!("{FOLDER}/{name}"));
        }
    }
    names
}

fn all(root: &Path) -> Result<Vec<Table>, String> {
    Ok(vec![
        ("arrow.md", arrow()),
        ("crates.md", crates(&Workspace::load(root)?)),
        ("datatypes.md", datatypes()),
        ("filters.md", filters()),
        ("gates.md", gates()),
        ("sql.md", sql_types::table()?),
    ])
}

/// A document: title, one sentence, and a table.
pub(crate) fn document(
    title: &str,
    intro: &str,
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    markdown::title(title, intro) + &markdown::table(head, rows)
}

fn crates(workspace: &Workspace) -> String {
    let rows = workspace.packages().map(|package| {
        let link = format!("[`{}`](../../{})", package.name, package.folder);
        vec![link, package.description.clone(), package.uses.join(", ")]
    });
    let intro = "A crate may use those above it in this list and none below.";
    document("Crates", intro, &["crate", "what it is", "uses"], rows)
}

fn datatypes() -> String {
    let rows = Datatype::all().map(|datatype| {
        let physical = format!("{:?}", datatype.physical()).to_lowercase();
        let fill: String = datatype.default_fill().iter().map(|byte| format!("{byte:02x}")).collect();
        let class = format!("{:?}", datatype.class()).to_lowercase();
        let unit = datatype.unit().to_owned();
        vec![datatype.code().to_string(), datatype.name().to_owned(), physical, class, unit, fill]
    });
    let intro = "The default fill value is that of one value, as little-endian bytes.";
    document("Datatypes", intro, &["code", "name", "stored as", "class", "unit", "default fill"], rows)
}

/// The table of how `tdb-arrow` converts each type, in both directions.
fn arrow() -> String {
    let code = |data_type: &dyn core::fmt::Display| format!("`{data_type}`");
    let rows = tdb_arrow::types::rows().map(|row| {
        let types = [row.one, row.several, row.variable].map(|data_type| code(&data_type));
        [vec![row.datatype.name().to_owned()], types.to_vec(), vec![row.remark.to_owned()]].concat()
    });
    let intro = "What `tdb-arrow` makes of cells with its default options. Values are not copied unless a remark says so. \
                 `Offsets::Small` makes `List`, `Utf8` and `Binary` of the large ones. Cells with several values have two here. \
                 Attributes with an enumeration are dictionaries, whose keys are those of this table.";
    let head = ["TileDB", "one value a cell", "several", "variable length", "remarks"];
    let to = document("Arrow types", intro, &head, rows);
    let rows = tdb_arrow::types::arrow_rows().map(|(arrow, inferred)| match inferred {
        Ok((datatype, count)) => {
            vec![code(&arrow), datatype.name().to_owned(), count.to_string(), String::new()]
        }
        Err(advice) => vec![code(&arrow), String::new(), String::new(), format!("refused: {advice}")],
    });
    let from = markdown::table(&["Arrow", "TileDB", "values a cell", "remarks"], rows);
    let intro = "What a new field becomes for a column of each type. A field that is there, or metadata that names a datatype, also \
                 takes every other type that is stored alike: plain integers for dates, times, code units and bytes; text or \
                 binary for any bytes. Dictionaries become enumerated attributes, or what their values become.";
    format!("{to}\n## From Arrow\n\n{}\n\n{from}", markdown::wrap(intro))
}

fn gates() -> String {
    let rows = Gate::ALL
        .iter()
        .map(|gate| vec![gate.since().to_string(), format!("`{}`", gate.name()), gate.text().to_owned()]);
    let intro = "These are all the version numbers of the project: code asks `version.has(Gate::…)`.";
    document("Version gates", intro, &["since", "gate", "what came with it"], rows)
}

fn filters() -> String {
    let rows = registry::all().iter().map(|row| {
        let yes = |supported: bool| (if supported { "yes" } else { "no" }).to_owned();
        vec![
            row.code.to_string(),
            row.name.to_owned(),
            row.compressor.map_or(String::new(), |code| code.to_string()),
            row.feature.map_or(String::new(), |feature| format!("`{feature}`")),
            yes(decodes(row)),
            yes(encodes(row)),
        ]
    });
    let intro = "Each feature is on by default and brings a dependency; without it, pipelines that name the filter still parse.";
    let head = ["code", "name", "compressor code", "feature", "decodes", "encodes"];
    document("Filters", intro, &head, rows)
}

/// Contexts for every datatype, with cells of fixed size and of variable length.
fn contexts() -> impl Iterator<Item = TileContext> {
    let version = FormatVersion::CURRENT;
    let fixed =
        move |datatype: Datatype| TileContext::new(datatype, tdb_codec::to_u64(datatype.size()), version);
    Datatype::all().flat_map(move |datatype| [fixed(datatype), TileContext::values(datatype, version)])
}

fn decodes(row: &registry::Row) -> bool {
    let key = Key::new([0; 32]);
    let key = |row: &registry::Row| (row.feature == Some("encryption")).then_some(&key);
    contexts().any(|context| row.pipeline().decoder_with_key(context, key(row)).is_ok())
}

/// Whether zeros (as many bytes as an image has) can be encoded with the row's sample for some
/// datatype.
fn encodes(row: &registry::Row) -> bool {
    let key = Key::new([0; 32]);
    let key = (row.feature == Some("encryption")).then_some(&key);
    let mut scratch = Scratch::new().with_nonces(|| [0; 12]);
    contexts().any(|context| {
        row.pipeline().encoder_with_key(context, key).is_ok_and(|encoder| {
            let (zeros, metadata, data) = ([0; 16 * 48], &mut Vec::new(), &mut Vec::new());
            let strings = encoder.encode_string_chunk(&zeros, &[0, 16], &mut scratch, metadata, data).is_ok();
            strings || encoder.encode_chunk(&zeros, &mut scratch, metadata, data).is_ok()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_a_changed_and_a_leftover_table_are_each_reported() {
        let folder = std::env::temp_dir().join(format!("tdb-tables-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("same.md", "same"), ("changed.md", "old"), ("leftover.md", "left")] {
            fs::write(folder.join(name), text).unwrap();
        }
        let tables = ["same", "changed", "missing"].map(|text| (name(text), text.to_owned()));
        let found = differing(&folder, &tables);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["docs/tables/changed.md", "docs/tables/missing.md", "docs/tables/leftover.md"]);
    }

    fn name(text: &str) -> &'static str {
        match text {
            "same" => "same.md",
            "changed" => "changed.md",
            _ => "missing.md",
        }
    }

    #[test]
    fn every_filter_of_this_build_decodes_and_encodes_something() {
        for row in registry::all().iter().filter(|row| row.available) {
            assert!(decodes(row) && encodes(row), "{}", row.name);
        }
    }

    #[test]
    fn tables_have_a_row_for_everything_and_as_many_cells_in_each() {
        for (text, rows) in [
            (gates(), Gate::ALL.len()),
            (filters(), registry::all().len()),
            (datatypes(), Datatype::all().count()),
        ] {
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
            assert_eq!(lines.len(), rows + 2);
            let bars = |line: &str| line.replace("\\|", "").matches('|').count();
            assert!(lines.iter().all(|line| bars(line) == bars(lines[0])), "{text}");
        }
    }
}
