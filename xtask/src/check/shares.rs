//! Crates that have grown to more than one purpose: the share of a library in the lines of all.

use super::Violation;

/// The file that contains the table.
const FILE: &str = "xtask/src/check/shares.rs";

/// The most percent of the lines of all libraries that one of them may have, its tests included.
const MOST: usize = 12;

/// Libraries that still have more, and their percent, rounded up. None may be added, and the
/// numbers may only fall.
pub(super) const LARGER: &[Larger] = &[];

/// A library, and its percent.
type Larger = (&'static str, usize);

/// The libraries with a larger share of all lines than they may have, and the rows of the table
/// that allow more than there is. `libraries` has the name, the folder and the lines of each.
pub(super) fn check(libraries: &[(String, String, usize)], larger: &[Larger]) -> Vec<Violation> {
    let all: usize = libraries.iter().map(|(_, _, lines)| lines).sum();
    let share = |lines: usize| lines.saturating_mul(100).div_ceil(all.max(1));
    let row = |name: &str| larger.iter().find(|(known, _)| *known == name).map(|(_, percent)| *percent);
    let too_large = libraries.iter().filter_map(|(name, folder, lines)| {
        let (share, most) = (share(*lines), row(name).unwrap_or(MOST));
        (share > most).then(|| {
            let what = format!("{name} has {share} % of the lines of all libraries; {most} are the most");
            Violation::new(folder, 1, what)
        })
    });
    let stale = larger.iter().filter_map(|(name, percent)| {
        let lines = libraries.iter().find(|(known, ..)| known == name).map_or(0, |(_, _, lines)| *lines);
        let share = share(lines);
        let what = match share {
            share if share <= MOST => format!("{name} is no longer larger: remove it from the table"),
            share if share < *percent => format!("{name} has {share} %: write the lower number"),
            _ => return None,
        };
        Some(Violation::new(FILE, 1, what))
    });
    too_large.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong where the library `a` has so many of 1000 lines, and nine others the rest.
    fn found(lines: usize, larger: &[Larger]) -> Vec<String> {
        let library = |name: &str, lines: usize| (name.to_owned(), format!("crates/{name}"), lines);
        let rest = 1000 - lines;
        let mut libraries = vec![library("a", lines), library("b", rest / 9 + rest % 9)];
        libraries.extend((0..8).map(|at| library(&format!("b{at}"), rest / 9)));
        check(&libraries, larger).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn a_library_of_twelve_percent_is_allowed_and_a_line_more_is_not() {
        assert!(found(120, &[]).is_empty());
        assert_eq!(found(121, &[]), ["a has 13 % of the lines of all libraries; 12 are the most"]);
    }

    #[test]
    fn a_library_of_the_table_may_have_its_percent_until_it_has_less() {
        assert!(found(210, &[("a", 21)]).is_empty());
        assert_eq!(found(211, &[("a", 21)]).len(), 1);
        assert_eq!(found(200, &[("a", 21)]), ["a has 20 %: write the lower number"]);
        assert_eq!(found(120, &[("a", 21)]), ["a is no longer larger: remove it from the table"]);
        assert_eq!(found(120, &[("gone", 21)]), ["gone is no longer larger: remove it from the table"]);
    }
}
