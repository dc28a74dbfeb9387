//! The layouts of structures in the pages of `docs/format`, and the matrix of `docs/versions.md`:
//! both are generated from the tables of fields next to the parsers.
//!
//! A pair of comments in a page marks the position of a table; the text between them is replaced:
//!
//! ```text
//! <!-- layout: array schema -->
//! <!-- end of layout -->
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tdb_codec::{FieldRow, FormatVersion, Structure, Times, Wire};

use crate::markdown;

const PAGES: &str = "docs/format";
const MATRIX: &str = "docs/versions.md";
const BEGIN: &str = "<!-- layout: ";
const BEGIN_END: &str = " -->";
const END: &str = "<!-- end of layout -->";

/// Every structure with a parser.
fn structures() -> impl Iterator<Item = &'static Structure> {
    tdb_schema::STRUCTURES.into_iter().chain(tdb_fragment::STRUCTURES)
}

/// The generated files: paths relative to the repository, and texts.
pub(crate) fn files(root: &Path) -> Result<Vec<(String, String)>, String> {
    let mut files = vec![(MATRIX.to_owned(), matrix())];
    let mut placed = BTreeSet::new();
    let folder = root.join(PAGES);
    let error = |error: std::io::Error| format!("{PAGES}: {error}");
    let mut names: Vec<_> = Vec::new();
    for entry in fs::read_dir(&folder).map_err(error)? {
        names.push(entry.map_err(error)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    for name in names {
        let path = format!("{PAGES}/{name}");
        let text = fs::read_to_string(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        let text = fill(&text, &mut placed).map_err(|error| format!("{path}: {error}"))?;
        files.push((path, text));
    }
    match structures().find(|structure| !placed.contains(structure.name)) {
        Some(structure) => Err(format!("no page in {PAGES} has the layout of \"{}\"", structure.name)),
        None => Ok(files),
    }
}

/// A page with its layouts filled in.
fn fill(page: &str, placed: &mut BTreeSet<&'static str>) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after.split_once(BEGIN_END).ok_or("a layout's comment does not end")?;
        let (_, after) =
            after.split_once(END).ok_or_else(|| format!("the layout \"{name}\" does not end"))?;
        let structure = structures().find(|structure| structure.name == name);
        let structure = structure.ok_or_else(|| format!("there is no structure \"{name}\""))?;
        if !placed.insert(structure.name) {
            return Err(format!("the layout \"{name}\" is in two places"));
        }
        let _ = write!(text, "{before}{BEGIN}{name}{BEGIN_END}\n{}\n{END}", layout(structure));
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// The tables of a structure and of its parts.
fn layout(structure: &'static Structure) -> String {
    let (read, write) = structure.code;
    let mut text = format!("Read by `{read}`, written by `{write}`.\n\n{}", table(structure));
    let mut parts = Vec::new();
    collect_parts(structure, &mut parts);
    for part in parts {
        let _ = write!(text, "\n*{}*:\n\n{}", part.name, table(part));
    }
    text
}

fn collect_parts(structure: &'static Structure, parts: &mut Vec<&'static Structure>) {
    for row in structure.rows {
        if let Wire::Structure(part) = row.wire
            && !parts.iter().any(|known| known.name == part.name)
        {
            parts.push(part);
            collect_parts(part, parts);
        }
    }
}

fn table(structure: &Structure) -> String {
    let rows = structure.rows.iter().map(|row| {
        let times = match row.times {
            Times::Once => String::new(),
            Times::If(condition) => format!("if {condition}"),
            Times::Each(item) => format!("each {item}"),
        };
        vec![row.name.to_owned(), row.wire.text(), versions(row), times, row.note.to_owned()]
    });
    markdown::table(&["field", "type", "versions", "how often", "remarks"], rows)
}

/// The versions that have a field, in words.
fn versions(row: &FieldRow) -> String {
    let last = |gate: tdb_codec::Gate| gate.since().saturating_sub(1);
    match (row.since, row.until) {
        (None, None) => String::new(),
        (Some(since), None) => format!("{} on", since.since()),
        (None, Some(until)) => format!("up to {}", last(until)),
        (Some(since), Some(until)) => format!("{} to {}", since.since(), last(until)),
    }
}

/// `docs/versions.md`.
fn matrix() -> String {
    let mut text = markdown::title(
        "Versions and structures",
        "`rw`: structures of this version are read and written; bold where the structure appears or its layout changes. No \
         released library writes version 23: its column follows the specification. What else came with each version: \
         [gates](tables/gates.md). The layouts: [format](format/README.md).",
    );
    let mut head = vec!["structure".to_owned()];
    head.extend(FormatVersion::all().map(|version| version.to_string()));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let rows = structures().map(|structure| {
        let mut before: Option<FormatVersion> = None;
        let cells = FormatVersion::all().map(move |version| {
            let new =
                before.is_none_or(|before| !structure.is_in(before) || structure.differs(before, version));
            before = Some(version);
            match (structure.is_in(version), new) {
                (false, _) => String::new(),
                (true, true) => "**rw**".to_owned(),
                (true, false) => "rw".to_owned(),
            }
        });
        std::iter::once(structure.name.to_owned()).chain(cells).collect()
    });
    text.push_str(&markdown::table(&head, rows));
    text.push('\n');
    let rows = structures().map(|structure| {
        let (read, write) = structure.code;
        vec![structure.name.to_owned(), format!("`{read}`"), format!("`{write}`")]
    });
    text.push_str(&markdown::table(&["structure", "read by", "written by"], rows));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_the_marks_is_replaced_and_the_rest_stays() {
        let page = format!("# Page\n\n{BEGIN}enumeration{BEGIN_END}\nold\n{END}\n\nafter\n");
        let filled = fill(&page, &mut BTreeSet::new()).unwrap();
        assert!(filled.starts_with("# Page\n\n") && filled.ends_with(&format!("{END}\n\nafter\n")));
        assert!(filled.contains("| enumeration name | u32 length, bytes |") && !filled.contains("old"));
        assert_eq!(fill(&filled, &mut BTreeSet::new()).unwrap(), filled, "a fixed point");
    }

    #[test]
    fn unknown_unfinished_and_repeated_layouts_are_errors() {
        let mark = |name: &str| format!("{BEGIN}{name}{BEGIN_END}\n{END}\n");
        let error = |page: &str| fill(page, &mut BTreeSet::new()).unwrap_err();
        assert!(error(&mark("nothing")).contains("no structure"));
        assert!(error(&format!("{BEGIN}enumeration{BEGIN_END}\n")).contains("does not end"));
        assert!(error(&mark("enumeration").repeat(2)).contains("two places"));
    }

    #[test]
    fn the_matrix_has_a_column_a_version_and_no_structure_without_code() {
        let matrix = matrix();
        let footer = matrix.lines().find(|line| line.starts_with("| footer |")).unwrap();
        assert_eq!(footer.matches('|').count(), FormatVersion::all().count() + 2);
        assert_eq!(footer.matches("rw").count(), FormatVersion::all().count() - 2);
        assert!(structures().all(|structure| !structure.code.0.is_empty() && !structure.code.1.is_empty()));
    }
}
