//! What cargo-mutants says of a mutant.

use serde_json::Value;

/// A change of one place in the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mutant {
    /// `FILE:LINE:COLUMN: WHAT IS REPLACED`.
    pub(super) name: String,
    /// The crate that it is in.
    pub(super) package: String,
    /// The file, from the root of the repository.
    pub(super) file: String,
    /// What is replaced.
    pub(super) place: Place,
    pub(super) replacement: String,
    /// The function around it; `None` in a constant.
    pub(super) function: Option<Function>,
}

/// The function that a mutant is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// From its attributes to the brace at its end.
    pub(super) place: Place,
    /// Its return type, with the arrow; nothing if it returns `()`.
    pub(super) returns: String,
}

/// A part of a file: the first character and the one after the last, each a line and a column in
/// characters, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) start: (usize, usize),
    pub(super) end: (usize, usize),
}

/// The mutants in what `cargo mutants --list --json` prints.
pub(super) fn parse(json: &str) -> Result<Vec<Mutant>, String> {
    // A diff that touches no source makes it print nothing at all.
    if json.trim().is_empty() {
        return Ok(Vec::new());
    }
    let wrong = |why: String| format!("cargo mutants --list --json: {why}");
    let list: Vec<Value> = serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
    let parsed = |value: &Value| one(value).ok_or_else(|| wrong(format!("not a mutant: {value}")));
    list.iter().map(parsed).collect()
}

fn one(value: &Value) -> Option<Mutant> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let function = match value.get("function")? {
        Value::Null => None,
        function => Some(Function {
            place: place(function.get("span")?)?,
            returns: function.get("return_type")?.as_str()?.to_owned(),
        }),
    };
    Some(Mutant {
        name: text("name")?,
        package: text("package")?,
        file: text("file")?,
        place: place(value.get("span")?)?,
        replacement: text("replacement")?,
        function,
    })
}

fn place(span: &Value) -> Option<Place> {
    let number = |at: &Value, name: &str| usize::try_from(at.get(name)?.as_u64()?).ok();
    let position = |name: &str| {
        let at = span.get(name)?;
        Some((number(at, "line")?, number(at, "column")?))
    };
    Some(Place { start: position("start")?, end: position("end")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_places_replacements_and_the_functions_around() {
        let span = r#"{"start": {"line": 1, "column": 2}, "end": {"line": 3, "column": 4}}"#;
        let json = format!(
            r#"[{{"name": "a.rs:1:2: w", "package": "p", "file": "a.rs", "span": {span}, "replacement": "-",
                 "function": {{"span": {span}, "return_type": "-> u8"}}}},
                {{"name": "a.rs:9:9: v", "package": "p", "file": "a.rs", "span": {span}, "replacement": "",
                 "function": null}}]"#
        );
        let found = parse(&json).unwrap();
        let place = Place { start: (1, 2), end: (3, 4) };
        assert_eq!(found[0].function, Some(Function { place, returns: "-> u8".into() }));
        assert_eq!((found[0].place, found[0].replacement.as_str()), (place, "-"));
        assert_eq!((found[1].name.as_str(), &found[1].function), ("a.rs:9:9: v", &None));
        assert_eq!(parse(" \n"), Ok(Vec::new()));
        assert!(parse("[{}]").is_err() && parse("no").is_err());
    }
}
