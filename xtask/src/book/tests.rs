use std::collections::BTreeSet;

use super::*;

fn pages<const N: usize>(pages: [(&str, &str); N]) -> Pages {
    pages.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

#[test]
fn each_page_of_the_book_is_named_once() {
    let right = [(SUMMARY, "- [A](a.md)\n  - [B](b/b.md)\n"), ("docs/a.md", ""), ("docs/b/b.md", "")];
    assert_eq!(wrong_contents(&pages(right)), Vec::<String>::new());
    let wrong =
        [(SUMMARY, "- [A](a.md)\n- [A](a.md)\n- [C](../c.md)\n"), ("docs/a.md", ""), ("docs/b.md", "")];
    let expected = [
        "docs/SUMMARY.md: docs/a.md is named 2 times",
        "docs/SUMMARY.md: docs/b.md is not named",
        "docs/SUMMARY.md: c.md is no page of the book",
    ];
    assert_eq!(wrong_contents(&pages(wrong)), expected);
    assert_eq!(wrong_contents(&pages([("docs/a.md", "")])).len(), 1, "there are no contents");
}

#[test]
fn links_lead_to_files_and_headings() {
    let all = pages([
        (
            "README.md",
            "[a](docs/a.md#one) [b](docs/a.md#two)\n[c](docs/c.md) [d](LICENSE) [e](#here)\n## Here\n",
        ),
        ("docs/a.md", "# One\n[up](../../up)\n"),
    ]);
    let exists = |path: &str| ["LICENSE", "README.md", "docs/a.md"].contains(&path);
    let expected = [
        "README.md:1: docs/a.md has no heading #two",
        "README.md:2: the link to docs/c.md leads nowhere",
        "docs/a.md:2: the link to ../../up leads nowhere",
    ];
    assert_eq!(broken_links(&all, exists), expected);
}

#[test]
fn links_out_of_the_book_lead_to_the_web() {
    let page = "[a](a.md#b) [c](../README.md#d) [e](../crates/x)\n";
    let expected = format!("[a](a.md#b) [c]({WEB}/README.md#d) [e]({WEB}/crates/x)\n");
    assert_eq!(with_outer_links("docs/p.md", page), expected);
}

#[test]
fn the_pages_of_this_repository_are_right() {
    let root = peer::repository_root().unwrap();
    let pages = super::pages(&root).unwrap();
    assert_eq!(broken_links(&pages, |path| root.join(path).exists()), Vec::<String>::new());
    assert_eq!(wrong_contents(&pages), Vec::<String>::new());
}

#[test]
fn the_tests_that_the_page_of_the_field_names_are_there() {
    let root = peer::repository_root().unwrap();
    let mut functions = BTreeSet::new();
    for extension in ["rs", "py"] {
        for path in check::files_below(&root.join("crates"), extension).unwrap() {
            let text = fs::read_to_string(path).unwrap();
            let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let named = words.windows(2).filter(|pair| ["fn", "def"].contains(&pair[0]));
            functions.extend(named.map(|pair| pair[1].to_owned()));
        }
    }
    let page = fs::read_to_string(root.join("docs/field.md")).unwrap();
    let is_test = |code: &&str| {
        code.matches('_').count() > 2 && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let tests: Vec<&str> = page.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(tests.len() > 50, "{tests:?}");
    let gone: Vec<&str> = tests.into_iter().filter(|test| !functions.contains(*test)).collect();
    assert_eq!(gone, Vec::<&str>::new());
}

#[test]
fn an_unknown_argument_is_refused() {
    assert!(run(&["--chekc".to_owned()]).unwrap_err().contains("--chekc"));
}
