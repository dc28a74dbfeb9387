//! Comments and pages are at most 100 columns wide, and some pages only so long.
//!
//! Code in examples, tables, addresses and headings may be wider: breaking them would change what
//! they say.

use super::Violation;
use crate::markdown::COLUMNS;

/// Pages that are read in one sitting: the page, and the lines that it may have.
const SHORT_PAGES: [(&str, usize); 2] = [("docs/ARCHITECTURE.md", 250), ("README.md", 120)];

/// The comments of a Rust file that are too wide.
pub(super) fn comments(file: &str, source: &str) -> Vec<Violation> {
    let mut prose = Prose::default();
    let wide = source.lines().enumerate().filter(|(_, line)| {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            prose = Prose::default();
            return false;
        };
        let words = comment.strip_prefix(['/', '!']).unwrap_or(comment);
        prose.is_prose(words.trim_start()) && is_wide(line)
    });
    violations(file, "comment", wide)
}

/// The lines of a Markdown page that are too wide, or too many.
pub(super) fn page(file: &str, source: &str) -> Vec<Violation> {
    let mut prose = Prose::default();
    let wide =
        source.lines().enumerate().filter(|(_, line)| prose.is_prose(line.trim_start()) && is_wide(line));
    let mut found = violations(file, "line", wide);
    let lines = source.lines().count();
    let most = SHORT_PAGES.iter().find(|(short, most)| *short == file && lines > *most);
    found.extend(most.map(|(_, most)| {
        Violation::new(file, lines, format!("the page has {lines} lines; {most} are the most"))
    }));
    found
}

fn violations<'a>(file: &str, kind: &str, wide: impl Iterator<Item = (usize, &'a str)>) -> Vec<Violation> {
    wide.map(|(at, line)| {
        let columns = line.chars().count();
        let what = format!("the {kind} has {columns} columns; {COLUMNS} are the most");
        Violation::new(file, at.saturating_add(1), what)
    })
    .collect()
}

/// Whether a line is too wide although it could be broken: one without a blank in its first columns
/// is an address, or a path.
fn is_wide(line: &str) -> bool {
    let words = line.trim_start_matches(['/', '!', ' ', '-', '*']);
    let start = line.chars().count().saturating_sub(words.chars().count());
    let breaks = words.chars().take(COLUMNS.saturating_sub(start)).any(char::is_whitespace);
    breaks && line.chars().count() > COLUMNS
}

/// Tells prose from code in fences, tables and headings, line by line.
#[derive(Default)]
struct Prose {
    in_fence: bool,
}

impl Prose {
    fn is_prose(&mut self, words: &str) -> bool {
        if words.starts_with("```") {
            self.in_fence = !self.in_fence;
            return false;
        }
        !self.in_fence && !words.starts_with(['|', '#', '<', '>'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_over_100_columns_is_a_violation_and_code_beside_it_is_not() {
        let words = "word ".repeat(20);
        let wide = format!("/// {words}\n    // {words}\n/// short\nlet a = {words};\n");
        assert_eq!(comments("a.rs", &wide).iter().map(|one| one.line).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn examples_tables_and_addresses_may_be_wide() {
        let words = "word ".repeat(20);
        let address = format!("/// https://{}\n", "x".repeat(100));
        let source = format!("/// ```\n/// {words}\n/// ```\n/// | {words} |\n{address}");
        assert_eq!(comments("a.rs", &source), []);
        let source = format!("```\n{words}x\n```\n| {words} |\n# {words}\n");
        assert_eq!(page("a.md", &source), []);
        assert_eq!(page("a.md", &format!("\n{words}word\n")).len(), 1);
    }

    #[test]
    fn a_page_that_is_read_in_one_sitting_may_have_no_more_lines() {
        let (file, most) = SHORT_PAGES[0];
        assert_eq!(page(file, &"a\n".repeat(most)), []);
        assert_eq!(page(file, &"a\n".repeat(most + 1)).len(), 1);
        assert_eq!(page("docs/other.md", &"a\n".repeat(most + 1)), []);
    }

    #[test]
    fn a_fence_ends_with_its_comment() {
        let words = "word ".repeat(20);
        let source = format!("/// ```\nfn a() {{}}\n/// {words}\n");
        assert_eq!(comments("a.rs", &source).len(), 1);
    }
}
