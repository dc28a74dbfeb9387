//! The list of mutants that no test can notice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The committed list.
pub(super) const LIST: &str = "xtask/mutants.txt";

/// One entry: a mutant without its position, and which of several of that name in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// `FILE: WHAT IS REPLACED`.
    name: String,
    /// From 1; `None` for all of that name.
    number: Option<usize>,
}

/// The mutants of `xtask/mutants.txt`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Equivalents(Vec<Entry>);

impl Equivalents {
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(root.join(LIST)).map_err(|error| format!("{LIST}: {error}"))?;
        Self::parse(&text)
    }

    /// A mutant is a line that begins at the margin; the indented lines after it say why no test
    /// can notice it. Lines with `#` at the margin and empty lines are comments.
    fn parse(text: &str) -> Result<Self, String> {
        let mut entries = Vec::new();
        let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
        while let Some(line) = lines.next() {
            let mut has_reason = false;
            while lines.next_if(|next| next.starts_with(' ')).is_some() {
                has_reason = true;
            }
            if line.starts_with(' ') || !has_reason {
                return Err(format!("{LIST}: needs a mutant, and a reason on the lines after it:\n{line}"));
            }
            let (name, number) = match line.rsplit_once(" #") {
                Some((name, number)) => {
                    let wrong = |_| format!("{LIST}: not the number of a mutant:\n{line}");
                    (name, Some(number.parse().map_err(wrong)?))
                }
                None => (line, None),
            };
            entries.push(Entry { name: name.to_owned(), number });
        }
        Ok(Self(entries))
    }

    /// Those of the mutants (in the order of their file) that the list names.
    pub(super) fn of(&self, mutants: &[String]) -> BTreeSet<String> {
        let named = |(name, number): &(String, usize)| {
            self.0.iter().any(|entry| entry.name == *name && entry.number.is_none_or(|n| n == *number))
        };
        let numbered = numbered(mutants);
        mutants
            .iter()
            .zip(&numbered)
            .filter(|(_, short)| named(short))
            .map(|(long, _)| long.clone())
            .collect()
    }

    /// The entries about some packages that are none of their mutants.
    pub(super) fn gone(&self, packages: &[&str], mutants: &[String]) -> Vec<String> {
        let numbered = numbered(mutants);
        let is_theirs =
            |name: &str| packages.iter().any(|package| name.starts_with(&format!("crates/{package}/")));
        let is_gone = |entry: &&Entry| {
            let same = |(name, number): &(String, usize)| {
                *name == entry.name && entry.number.is_none_or(|wanted| wanted == *number)
            };
            is_theirs(&entry.name) && !numbered.iter().any(same)
        };
        let text = |entry: &Entry| match entry.number {
            Some(number) => format!("{} #{number}", entry.name),
            None => entry.name.clone(),
        };
        self.0.iter().filter(is_gone).map(text).collect()
    }
}

/// The mutants without their positions, each with its number among those of that name.
fn numbered(mutants: &[String]) -> Vec<(String, usize)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let number = |mutant: &String| {
        let name = without_position(mutant);
        let count = seen.entry(name.clone()).or_default();
        *count = count.saturating_add(1);
        (name, *count)
    };
    mutants.iter().map(number).collect()
}

/// `FILE: WHAT` of `FILE:LINE:COLUMN: WHAT`.
fn without_position(mutant: &str) -> String {
    let Some((place, what)) = mutant.split_once(": ") else { return mutant.to_owned() };
    let file = place.split(':').next().unwrap_or(place);
    format!("{file}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# comment\n\ncrates/a/src/lib.rs: replace + with - in f #2\n    x is 0 here\n\
        crates/a/src/lib.rs: replace g -> bool with true\n    always true\n    for this reason\n";

    fn mutants() -> Vec<String> {
        [
            "crates/a/src/lib.rs:1:2: replace + with - in f",
            "crates/a/src/lib.rs:1:9: replace + with - in f",
            "crates/a/src/lib.rs:7:1: replace g -> bool with true",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[test]
    fn entries_name_mutants_without_their_position_and_by_number_among_equal_names() {
        let list = Equivalents::parse(TEXT).unwrap();
        let found: Vec<String> = list.of(&mutants()).into_iter().collect();
        assert_eq!(found, mutants()[1..]);
        assert!(list.gone(&["b", "a"], &mutants()).is_empty());
    }

    #[test]
    fn entries_whose_mutant_is_gone_are_told_for_their_package_alone() {
        let list = Equivalents::parse(TEXT).unwrap();
        let gone = list.gone(&["a"], &mutants()[..1]);
        assert_eq!(gone.len(), 2);
        assert_eq!(gone[0], "crates/a/src/lib.rs: replace + with - in f #2");
        assert!(list.gone(&["b"], &[]).is_empty());
    }

    #[test]
    fn entries_without_a_reason_or_with_a_wrong_number_are_refused() {
        for wrong in ["a: b\n", "a: b\nc: d\n    reason\n", "  reason\n", "a: b #x\n    reason\n"] {
            assert!(Equivalents::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
