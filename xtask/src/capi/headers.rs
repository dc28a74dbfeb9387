//! Declarations and constants in the text of C headers.

use std::collections::{BTreeMap, BTreeSet};

/// The words before what a library exports.
const EXPORTS: [&str; 2] = ["TILEDB_EXPORT", "TILEDB_DEPRECATED_EXPORT"];

/// What a header declares: a function, or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    name: String,
    /// The type of the result, or of the variable.
    result: String,
    /// The types of the arguments; `None` for a variable.
    arguments: Option<Vec<String>>,
}

impl Signature {
    /// A line of the table. The arguments of a variable are a minus sign.
    pub(super) fn line(&self) -> String {
        let arguments = self.arguments.as_ref().map_or_else(|| "-".to_owned(), |types| types.join(", "));
        format!("{}\t{}\t{arguments}", self.name, self.result)
    }
}

/// A constant that has a number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Constant {
    /// The enum, without `tiledb_` and `_t`; `define` for one that a preprocessor line defines.
    group: String,
    value: i64,
    name: String,
}

impl Constant {
    /// A line of the table.
    pub(super) fn line(&self) -> String {
        format!("{}\t{}\t{}", self.group, self.name, self.value)
    }
}

/// All functions and variables that the headers export, by name.
pub(super) fn signatures(headers: &[String]) -> Vec<Signature> {
    let mut found = BTreeMap::new();
    for header in headers {
        let text = without_comments(header);
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>();
        let code = code.join("\n");
        let tokens = tokens(&code);
        for (at, token) in tokens.iter().enumerate() {
            if EXPORTS.contains(token) {
                let rest = tokens.get(at.saturating_add(1)..).unwrap_or_default();
                if let Some(signature) = declaration(rest) {
                    found.insert(signature.name.clone(), signature);
                }
            }
        }
    }
    found.into_values().collect()
}

/// The declaration that the tokens begin with, up to its semicolon.
fn declaration(tokens: &[&str]) -> Option<Signature> {
    let end = tokens.iter().position(|token| *token == ";")?;
    let tokens = tokens.get(..end)?;
    let at = tokens.iter().position(|token| token.starts_with("tiledb_") && is_name_of(tokens, token))?;
    let result = type_text(tokens.get(..at)?.iter().filter(|token| **token != "extern"));
    let rest = tokens.get(at.saturating_add(1)..)?;
    let arguments = match rest.first() {
        None => None,
        Some(_) => {
            let inside = rest.get(1..closing(rest)?)?;
            let types = split(inside).into_iter().map(argument_type);
            Some(types.filter(|text| text != "void").collect())
        }
    };
    Some(Signature { name: (*tokens.get(at)?).to_owned(), result, arguments })
}

/// Whether a token is followed by arguments or by nothing: it is not a type.
fn is_name_of(tokens: &[&str], token: &&str) -> bool {
    let at = tokens.iter().position(|other| std::ptr::eq(*other, *token));
    let next = at.and_then(|at| tokens.get(at.saturating_add(1)));
    next.is_none_or(|next| *next == "(")
}

/// Where the parenthesis that the tokens begin with is closed.
fn closing(tokens: &[&str]) -> Option<usize> {
    let mut depth = 0i32;
    tokens.iter().position(|token| {
        depth = depth.saturating_add(step(token));
        depth == 0
    })
}

fn step(token: &str) -> i32 {
    match token {
        "(" => 1,
        ")" => -1,
        _ => 0,
    }
}

/// The arguments, cut at commas that are in no parentheses.
fn split<'a, 'b>(tokens: &'b [&'a str]) -> Vec<&'b [&'a str]> {
    let mut depth = 0i32;
    tokens
        .split(move |token| {
            depth = depth.saturating_add(step(token));
            depth == 0 && *token == ","
        })
        .filter(|part| !part.is_empty())
        .collect()
}

/// The type of an argument, without its name.
fn argument_type(tokens: &[&str]) -> String {
    if tokens.contains(&"(") {
        return "callback".to_owned();
    }
    if let [before @ .., _, "[", "]"] = tokens {
        return format!("{}*", type_text(before.iter()));
    }
    let words = tokens.iter().filter(|token| is_word(token) && **token != "const").count();
    let is_named = words > 1 && tokens.last().is_some_and(|last| is_word(last));
    let count = if is_named { tokens.len().saturating_sub(1) } else { tokens.len() };
    type_text(tokens.iter().take(count))
}

fn is_word(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
}

/// `const char**` of its tokens.
fn type_text<'a>(tokens: impl Iterator<Item = &'a &'a str>) -> String {
    let mut text = String::new();
    for token in tokens {
        if is_word(token) && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(token);
    }
    text
}

/// All constants with numbers, sorted by enum and value.
pub(super) fn constants(headers: &[String]) -> BTreeSet<Constant> {
    let texts: Vec<String> = headers.iter().map(|header| without_comments(header)).collect();
    // `#define TILEDB_X_ENUM(id) TILEDB_##id` says how the names of an enum begin.
    let mut prefixes = BTreeMap::new();
    for (name, value) in texts.iter().flat_map(|text| defines(text)) {
        if let (Some(enumeration), Some(prefix)) =
            (name.strip_suffix("_ENUM(id)"), value.strip_suffix("##id"))
        {
            prefixes.insert(format!("{enumeration}_ENUM"), prefix.to_owned());
        }
    }
    let mut found = BTreeSet::new();
    for text in &texts {
        for (name, value) in defines(text) {
            let number = value.trim_start_matches('(').trim_end_matches(')').parse();
            if let (true, Ok(value)) = (name.starts_with("TILEDB_"), number) {
                found.insert(Constant { group: "define".to_owned(), value, name: name.to_owned() });
            }
        }
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>();
        let code = code.join("\n");
        let tokens = tokens(&code);
        listed(&tokens, &prefixes, &mut found);
        typed(&tokens, &mut found);
    }
    found
}

/// The names and values of `#define` lines.
fn defines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define ")?;
        let (name, value) = rest.trim_start().split_once(' ')?;
        Some((name, value.trim()))
    })
}

/// Adds `TILEDB_X_ENUM(NAME) = 1` and `TILEDB_X_ENUM(NAME)`, which counts on.
fn listed(tokens: &[&str], prefixes: &BTreeMap<String, String>, found: &mut BTreeSet<Constant>) {
    let mut next = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        // A name that a Windows header defines is in two halves: `X_ENUM_CONCAT_ID(DEL, ETE) = 2`.
        let halves = token.strip_suffix("_CONCAT_ID");
        let token = halves.unwrap_or(token);
        let Some(prefix) = prefixes.get(token) else { continue };
        let word = |offset: usize| tokens.get(at.saturating_add(offset)).copied().unwrap_or_default();
        let (half, end) = if halves.is_some() { (word(4), 6) } else { ("", 4) };
        let stated = if word(end) == "=" { word(end.saturating_add(1)).parse().ok() } else { None };
        let value: i64 = stated.or_else(|| next.get(token).copied()).unwrap_or(0);
        next.insert(token, value.saturating_add(1));
        let group = token.trim_start_matches("TILEDB_").trim_end_matches("_ENUM").to_lowercase();
        found.insert(Constant { group, value, name: format!("{prefix}{}{half}", word(2)) });
    }
}

/// Adds the constants of `typedef enum { A = 1, B, … } tiledb_x_t`.
fn typed(tokens: &[&str], found: &mut BTreeSet<Constant>) {
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| **token == "enum") {
        let rest = tokens.get(at..).unwrap_or_default();
        let open = rest.iter().take(3).position(|token| *token == "{");
        let end = rest.iter().position(|token| *token == "}");
        let (Some(open), Some(end)) = (open, end) else { continue };
        let name = if open == 1 { rest.get(end.saturating_add(1)) } else { rest.get(1) };
        let group = name.map_or("", |name| name.trim_start_matches("tiledb_").trim_end_matches("_t"));
        let mut next = 0i64;
        for part in rest.get(open.saturating_add(1)..end).unwrap_or_default().split(|token| *token == ",") {
            let (name, value) = match part {
                [name] => (*name, Some(next)),
                [name, "=", value] => (*name, value.parse().ok()),
                _ => continue,
            };
            if let (true, Some(value)) = (name.starts_with("TILEDB_"), value) {
                next = value.saturating_add(1);
                found.insert(Constant { group: group.to_owned(), value, name: name.to_owned() });
            }
        }
    }
}

/// The text with a space in place of each comment, and with continued lines joined.
fn without_comments(text: &str) -> String {
    let text = text.replace("\\\n", " ");
    let mut rest = text.as_str();
    let mut code = String::new();
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        let (before, comment) = rest.split_at(at);
        code.push_str(before);
        code.push(' ');
        let end = if comment.starts_with("/*") {
            comment.find("*/").map(|end| end.saturating_add(2))
        } else {
            comment.find('\n')
        };
        rest = comment.split_at(end.unwrap_or(comment.len())).1;
    }
    code.push_str(rest);
    code
}

/// Words, numbers, and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = if is_part(first) {
            rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(end);
        found.push(token);
        rest = after.trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(header: &str) -> Vec<String> {
        signatures(&[header.to_owned()]).iter().map(Signature::line).collect()
    }

    #[test]
    fn arguments_lose_their_names_and_comments_do_not_count() {
        let header = "/** TILEDB_EXPORT int tiledb_no(void); */\n#define X\n\
            TILEDB_EXPORT capi_return_t tiledb_a_get(\n  tiledb_ctx_t* ctx, const tiledb_a_t* a, \
            const char** name, uint32_t size) TILEDB_NOEXCEPT; // TILEDB_EXPORT\n\
            TILEDB_DEPRECATED_EXPORT void tiledb_version(void);";
        let get = "tiledb_a_get\tcapi_return_t\ttiledb_ctx_t*, const tiledb_a_t*, const char**, uint32_t";
        assert_eq!(lines(header), [get, "tiledb_version\tvoid\t"]);
    }

    #[test]
    fn callbacks_are_one_argument_and_variables_have_none() {
        let header = "TILEDB_EXPORT int32_t tiledb_ls(int32_t (*callback)(const char*, void*), void* data);\n\
            TILEDB_EXPORT extern const tiledb_op_t* tiledb_op_max;";
        assert_eq!(
            lines(header),
            ["tiledb_ls\tint32_t\tcallback, void*", "tiledb_op_max\tconst tiledb_op_t*\t-"]
        );
    }

    #[test]
    fn constants_come_from_lists_enums_and_defines() {
        let header = "#define TILEDB_ERR (-1)\n#define TILEDB_MAX tiledb_max()\n\
            typedef enum {\n#define TILEDB_KIND_ENUM(id) TILEDB_##id\n#include \"x\"\n} tiledb_kind_t;\n\
            TILEDB_KIND_ENUM(ONE) = 1,\nTILEDB_KIND_ENUM(TWO),\n\
            typedef enum { TILEDB_LT = 0, TILEDB_LE = 1, } tiledb_op_t;";
        let found: Vec<_> = constants(&[header.to_owned()]).iter().map(Constant::line).collect();
        let expected = [
            "define\tTILEDB_ERR\t-1",
            "kind\tTILEDB_ONE\t1",
            "kind\tTILEDB_TWO\t2",
            "op\tTILEDB_LT\t0",
            "op\tTILEDB_LE\t1",
        ];
        assert_eq!(found, expected);
    }
}
