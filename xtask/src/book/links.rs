//! Links and headings of Markdown pages.
//!
//! What is between fences is no prose. Links are `[words](target)` on one line; those into the web
//! are not ours.

use std::collections::BTreeSet;

/// A link to a file or a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Its line, from 1.
    pub(super) line: usize,
    /// What stands between the parentheses.
    pub(super) target: String,
}

/// The links of a page, in order, without those into the web.
pub(super) fn of(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut line = 0usize;
    walk(text, |words, is_prose| {
        line = line.saturating_add(1);
        if is_prose {
            let _ = replace_line(words, |target| {
                found.push(Link { line, target: target.to_owned() });
                None
            });
        }
    });
    found
}

/// The page with other targets of links, where `other` has one.
pub(super) fn replace(text: &str, mut other: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::new();
    walk(text, |words, is_prose| {
        if is_prose {
            out += &replace_line(words, &mut other);
        } else {
            out += words;
        }
        out.push('\n');
    });
    out
}

/// The anchors of the headings of a page, as GitHub and mdBook make them.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(text, |words, is_prose| {
        let heading = words.trim_start_matches('#');
        let level = words.len().saturating_sub(heading.len());
        if !is_prose || !(1..=6).contains(&level) || !heading.starts_with(' ') {
            return;
        }
        let own = anchor(heading.trim());
        let mut name = own.clone();
        let mut count = 0usize;
        while !found.insert(name.clone()) {
            count = count.saturating_add(1);
            name = format!("{own}-{count}");
        }
    });
    found
}

/// The path of a link's target relative to the repository; `None` if it is outside.
pub(super) fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Calls `each` with every line of a page, and whether it is prose.
fn walk(text: &str, mut each: impl FnMut(&str, bool)) {
    let mut in_fence = false;
    for line in text.lines() {
        let is_mark = line.trim_start().starts_with("```");
        each(line, !in_fence && !is_mark);
        in_fence ^= is_mark;
    }
}

/// The line with other targets, where `other` has one. Code in a line is no link, although the
/// words of a link may be code.
fn replace_line(line: &str, mut other: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut in_code = false;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if c == '`' {
            in_code = !in_code;
        } else if !in_code
            && let Some((target, behind)) = rest.strip_prefix("](").and_then(|rest| rest.split_once(')'))
        {
            let is_ours = !target.contains("://") && !target.starts_with("mailto:");
            let new = if is_ours { other(target) } else { None };
            out += "](";
            out += new.as_deref().unwrap_or(target);
            out.push(')');
            rest = behind;
            continue;
        }
        out.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
}

/// The anchor of a heading: letters, digits, `-` and `_` stay, blanks become `-`.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then_some(c),
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(usize, String)> {
        of(text).into_iter().map(|link| (link.line, link.target)).collect()
    }

    #[test]
    fn links_are_found_but_not_in_fences_in_code_and_into_the_web() {
        let page = "[a](a.md), [`b`](b.md#c)\n```\n[c](c.md)\n```\n`[d](d.md)` [e](https://e) [f](f)\n";
        let expected = [(1, "a.md".to_owned()), (1, "b.md#c".to_owned()), (5, "f".to_owned())];
        assert_eq!(targets(page), expected);
    }

    #[test]
    fn headings_have_the_anchors_that_github_makes() {
        let page = "# One: `two`, three_four\n## A\n## A\n```\n## No\n```\n#hash\n## Über 2\n";
        let expected = ["one-two-three_four", "a", "a-1", "über-2"].map(str::to_owned);
        assert_eq!(anchors(page), BTreeSet::from(expected));
    }

    #[test]
    fn targets_are_relative_to_their_page() {
        assert_eq!(resolve("docs/a.md", "b.md").as_deref(), Some("docs/b.md"));
        assert_eq!(resolve("docs/format/a.md", "../../README.md").as_deref(), Some("README.md"));
        assert_eq!(resolve("docs/a.md", "./format/").as_deref(), Some("docs/format"));
        assert_eq!(resolve("README.md", "../other"), None);
    }

    #[test]
    fn a_replaced_target_leaves_the_rest_of_the_page_as_it_was() {
        let page = "a [b](c) `[d](c)` é\n```\n[e](c)\n```\n";
        let new = replace(page, |target| (target == "c").then(|| "x".to_owned()));
        assert_eq!(new, "a [b](x) `[d](c)` é\n```\n[e](c)\n```\n");
    }
}
