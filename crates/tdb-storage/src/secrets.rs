//! Removes secrets from URLs: passwords, and signatures in queries.

use std::borrow::Cow;

/// A text in which no URL shows its user name and password (`https://user:password@host/a`), and no
/// URL of a web server its query, which may be a signature (`https://host/a?sig=…`). For messages,
/// logs and plans.
///
/// ```
/// use tdb_storage::without_secrets;
///
/// let text = "cannot read https://user:word@host/a?sig=b: not found";
/// assert_eq!(without_secrets(text), "cannot read https://host/a: not found");
/// ```
#[must_use]
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let Some((before, mut rest)) = text.split_once(BETWEEN) else { return Cow::Borrowed(text) };
    let mut shown = String::with_capacity(text.len());
    shown.push_str(before);
    loop {
        shown.push_str(BETWEEN);
        let scheme = scheme_of(&shown);
        // In `abfs://container@account…` that part is a container, not a user.
        let is_web = is_web(scheme);
        let names_users = !scheme.starts_with("abfs");
        let authority = rest.find(|c: char| "/?#".contains(c) || ends_url(c)).unwrap_or(rest.len());
        let (host, path) = rest.split_at(authority);
        let user = if names_users { host.rfind('@').map_or(0, |at| at.saturating_add(1)) } else { 0 };
        shown.push_str(host.get(user..).unwrap_or_default());
        rest = path;
        if is_web {
            let url = rest.find(ends_url).unwrap_or(rest.len());
            let (path, after) = rest.split_at(url);
            if let Some(query) = path.find(['?', '#']) {
                let (path, query) = path.split_at(query);
                shown.push_str(path);
                // Punctuation after the URL is not part of the query.
                let end = query.trim_end_matches([':', ',', ';', '.', ')', ']']).len();
                shown.push_str(query.get(end..).unwrap_or_default());
                rest = after;
            }
        }
        let Some((before, after)) = rest.split_once(BETWEEN) else { break };
        shown.push_str(before);
        rest = after;
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// A location in two parts: what comes before its query, and the query with its `?`, or a fragment.
/// Only URLs of web servers have these: elsewhere, `?` and `#` are characters of names.
///
/// ```
/// use tdb_storage::split_query;
///
/// assert_eq!(split_query("https://host/a?sig=b"), ("https://host/a", "?sig=b"));
/// assert_eq!(split_query("s3://bucket/a?b"), ("s3://bucket/a?b", ""));
/// ```
#[must_use]
pub fn split_query(location: &str) -> (&str, &str) {
    let is_web = location.split_once(BETWEEN).is_some_and(|(scheme, _)| is_web(scheme));
    let query = if is_web { location.find(['?', '#']) } else { None };
    location.split_at(query.unwrap_or(location.len()))
}

/// A location without its user name, password and query, to be stored or shown. Unlike
/// [`without_secrets`], it takes the whole text for one location, whatever characters are in it.
#[must_use]
pub fn location_without_secrets(location: &str) -> Cow<'_, str> {
    without_secrets(split_query(location).0)
}

fn is_web(scheme: &str) -> bool {
    ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web))
}

/// The characters between the scheme and the host of a URL.
const BETWEEN: &str = "://";

/// The scheme of the URL that begins at the end of a text.
fn scheme_of(text: &str) -> &str {
    let text = text.strip_suffix(BETWEEN).unwrap_or(text);
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    text.get(text.trim_end_matches(is_inside).len()..).unwrap_or_default()
}

/// Whether a URL inside a text ends before this character.
const fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_passwords_and_queries_are_left_out() {
        for (text, shown) in [
            ("https://user:word@host/a/b?sig=secret#x", "https://host/a/b"),
            ("https://user:w@rd@host:8080", "https://host:8080"),
            ("http://host?sig=secret", "http://host"),
            ("s3://user:word@bucket/a?b#c", "s3://bucket/a?b#c"),
            (
                "error: \"http://u:p@h/a\": gone; http://v:q@h/b?s=1, too",
                "error: \"http://h/a\": gone; http://h/b, too",
            ),
            ("(see http://u:p@h/a?s=1)", "(see http://h/a)"),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }

    #[test]
    fn a_location_ends_where_its_text_ends() {
        for (location, shown) in [
            ("https://u:p@host/a b?sig=secret.", "https://host/a b"),
            ("HTTPS://host/a#b?c", "HTTPS://host/a"),
            ("abfss://container@account/a?b", "abfss://container@account/a?b"),
            ("/data/a?b#c", "/data/a?b#c"),
        ] {
            assert_eq!(location_without_secrets(location), shown);
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "",
            "/data/a@b/c?d",
            "s3://bucket/a b@c/",
            "abfs://container@account.dfs.core.windows.net/a",
            "https://host/user@place/a",
            "://@",
            "no colon // a@b",
        ] {
            let shown = if text == "://@" { "://" } else { text };
            assert_eq!(without_secrets(text), shown);
        }
    }
}
