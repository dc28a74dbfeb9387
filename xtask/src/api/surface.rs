//! From rustdoc's JSON to one line for each public item, as users of a crate see it.
//!
//! A line is a path and a kind, such as `tdb_array::Array::open fn`. Signatures are left out. Items
//! that are hidden from the documentation are no part of the interface. An item that a crate
//! re-exports from another crate of the workspace has the lines of its members as well.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The oldest format of the JSON in which attributes have the names that are looked for here.
const OLDEST_FORMAT: u64 = 54;

/// What rustdoc says of several crates, by name.
#[derive(Debug, Default)]
pub(super) struct Crates(BTreeMap<String, Documented>);

#[derive(Debug)]
struct Documented {
    json: Value,
    /// The items of this crate by kind and path, which is what other crates know of them.
    by_path: BTreeMap<(String, String), String>,
}

/// An item of one of the crates.
#[derive(Clone, Copy, Debug)]
struct Item<'a> {
    home: &'a Documented,
    id: &'a str,
    value: &'a Value,
    kind: &'a str,
    inner: &'a Value,
}

/// The target of a re-export.
enum Target<'a> {
    Known(Item<'a>),
    /// An item of a crate that rustdoc was not asked about: its kind and path there.
    Foreign(String, String),
}

/// An item with all its public paths, shortest first.
type Found<'a> = BTreeMap<(&'a str, &'a str), (Item<'a>, BTreeSet<(usize, String)>)>;

impl Documented {
    fn item<'a>(&'a self, id: &str) -> Option<Item<'a>> {
        let (id, value) = self.json.get("index")?.as_object()?.get_key_value(id)?;
        let (kind, inner) = value.get("inner")?.as_object()?.iter().next()?;
        Some(Item { home: self, id, value, kind, inner })
    }

    fn name(&self) -> &str {
        self.item(&number(self.json.get("root"))).map_or("", |root| root.name())
    }
}

impl<'a> Item<'a> {
    fn name(&self) -> &'a str {
        text(self.value, "name")
    }

    fn is_public(&self) -> bool {
        text(self.value, "visibility") == "public"
    }

    /// The items with the ids of a list of this one.
    fn members(self, list: &str) -> impl Iterator<Item = Item<'a>> {
        ids(self.inner.get(list)).into_iter().filter_map(move |id| self.home.item(&id))
    }

    /// What it is, and whether users can make a value of it with a literal.
    fn kind(&self) -> String {
        let word = match self.kind {
            "module" => "mod",
            "function" => "fn",
            "constant" | "assoc_const" => "const",
            "type_alias" | "assoc_type" => "type",
            "struct_field" => "field",
            other => other,
        };
        let attributes = self.value.get("attrs").and_then(Value::as_array);
        let closed = |attribute: &Value| attribute.as_str() == Some("non_exhaustive");
        let mut kind = word.to_owned();
        if attributes.is_some_and(|attributes| attributes.iter().any(closed)) {
            kind.push_str(", non-exhaustive");
        }
        // A tuple has `null` in the place of a private field.
        let stripped = self.inner.pointer("/kind/plain/has_stripped_fields").and_then(Value::as_bool);
        let tuple = self.inner.pointer("/kind/tuple").and_then(Value::as_array);
        if stripped == Some(true) || tuple.is_some_and(|fields| fields.iter().any(Value::is_null)) {
            kind.push_str(", private fields");
        }
        kind
    }
}

impl Crates {
    /// Adds the JSON of a crate.
    pub(super) fn add(&mut self, name: &str, text: &str) -> Result<(), String> {
        let json: Value = serde_json::from_str(text).map_err(|error| format!("{name}: {error}"))?;
        let format = json.get("format_version").and_then(Value::as_u64).unwrap_or(0);
        if format < OLDEST_FORMAT {
            return Err(format!("{name}: rustdoc wrote format {format}, and {OLDEST_FORMAT} is needed"));
        }
        let paths = json.get("paths").and_then(Value::as_object).into_iter().flatten();
        let own = paths.filter(|(_, path)| path.get("crate_id").and_then(Value::as_u64) == Some(0));
        let by_path = own.map(|(id, path)| (place(path), id.clone())).collect();
        self.0.insert(name.to_owned(), Documented { json, by_path });
        Ok(())
    }

    /// The lines of a crate.
    pub(super) fn lines(&self, name: &str) -> Result<BTreeSet<String>, String> {
        let home = self.0.get(name).ok_or_else(|| format!("nothing is known of {name}"))?;
        let root = home.item(&number(home.json.get("root"))).ok_or_else(|| format!("{name} has no root"))?;
        let (mut found, mut lines) = (Found::new(), BTreeSet::new());
        self.walk(root, name, &mut found, &mut lines);
        for (item, paths) in found.values() {
            let mut paths = paths.iter().map(|(_, path)| path);
            let Some(first) = paths.next() else { continue };
            lines.insert(format!("{first} {}", item.kind()));
            members(*item, first, &mut lines);
            lines.extend(paths.map(|path| format!("{path} {}, also {first}", item.kind())));
        }
        Ok(lines)
    }

    /// Notes the public items of a module under the path by which users reach it.
    fn walk<'a>(&'a self, module: Item<'a>, path: &str, found: &mut Found<'a>, lines: &mut BTreeSet<String>) {
        for child in module.members("items") {
            let (target, path) = match child.kind {
                "use" if child.inner.get("is_glob").and_then(Value::as_bool) == Some(true) => {
                    if let Some(Target::Known(all)) = self.target(child) {
                        self.walk(all, path, found, lines);
                        for variant in all.members("variants") {
                            note(variant, format!("{path}::{}", variant.name()), found);
                        }
                    }
                    continue;
                }
                "use" => (self.target(child), format!("{path}::{}", text(child.inner, "name"))),
                // An `impl` is listed with its type.
                "impl" => continue,
                _ => (Some(Target::Known(child)), format!("{path}::{}", child.name())),
            };
            match target {
                Some(Target::Known(item)) => {
                    let is_new = note(item, path.clone(), found);
                    // A module that contains a re-export of itself would never end.
                    if item.kind == "module" && is_new {
                        self.walk(item, &path, found, lines);
                    }
                }
                Some(Target::Foreign(kind, of)) => {
                    lines.insert(format!("{path} {kind} of {of}"));
                }
                None => {
                    lines.insert(format!("{path} use of {}", text(child.inner, "source")));
                }
            }
        }
    }

    fn target<'a>(&'a self, reexport: Item<'a>) -> Option<Target<'a>> {
        let id = number(reexport.inner.get("id"));
        if let Some(item) = reexport.home.item(&id) {
            // A re-export of a re-export.
            return if item.kind == "use" { self.target(item) } else { Some(Target::Known(item)) };
        }
        let (kind, path) = place(reexport.home.json.get("paths")?.get(&id)?);
        let home = path.split("::").next().and_then(|name| self.0.get(name));
        let known = home.and_then(|home| home.item(home.by_path.get(&(kind.clone(), path.clone()))?));
        Some(known.map_or(Target::Foreign(kind, path), Target::Known))
    }
}

/// Adds a path of an item; `false` if it is a module that had one.
fn note<'a>(item: Item<'a>, path: String, found: &mut Found<'a>) -> bool {
    let (_, paths) = found.entry((item.home.name(), item.id)).or_insert_with(|| (item, BTreeSet::new()));
    paths.insert((path.matches("::").count(), path));
    paths.len() == 1
}

/// The lines of fields, variants, methods, associated items and implementations of a type or trait.
fn members(item: Item<'_>, path: &str, lines: &mut BTreeSet<String>) {
    match item.kind {
        "struct" => {
            let lists = ["/kind/plain/fields", "/kind/tuple"];
            fields(item, lists.iter().find_map(|list| item.inner.pointer(list)), path, lines);
        }
        "union" => fields(item, item.inner.get("fields"), path, lines),
        "enum" => {
            for variant in item.members("variants") {
                let path = format!("{path}::{}", variant.name());
                lines.insert(format!("{path} {}", variant.kind()));
                members(variant, &path, lines);
            }
        }
        "variant" => {
            let lists = ["/kind/struct/fields", "/kind/tuple"];
            fields(item, lists.iter().find_map(|list| item.inner.pointer(list)), path, lines);
        }
        "trait" => {
            for member in item.members("items") {
                let given = match member.kind {
                    "function" => member.inner.get("has_body").and_then(Value::as_bool) == Some(true),
                    "assoc_const" => member.inner.get("value").is_some_and(|value| !value.is_null()),
                    _ => member.inner.get("type").is_some_and(|value| !value.is_null()),
                };
                let required = if given { "" } else { ", required" };
                lines.insert(format!("{path}::{} {}{required}", member.name(), member.kind()));
            }
        }
        _ => {}
    }
    for implementation in item.members("impls") {
        let of = implementation.inner.get("trait").filter(|name| !name.is_null());
        let Some(of) = of else {
            let public = implementation.members("items").filter(Item::is_public);
            lines.extend(public.map(|member| format!("{path}::{} {}", member.name(), member.kind())));
            continue;
        };
        let synthetic = implementation.inner.get("is_synthetic").and_then(Value::as_bool) == Some(true);
        let blanket = implementation.inner.get("blanket_impl").is_some_and(|all| !all.is_null());
        let name = trait_name(of);
        // The compiler's own mark of derived comparisons.
        if !synthetic && !blanket && name != "StructuralPartialEq" {
            lines.insert(format!("{path} impl {name}"));
        }
    }
}

fn fields(item: Item<'_>, list: Option<&Value>, path: &str, lines: &mut BTreeSet<String>) {
    let named = ids(list).into_iter().filter_map(|id| item.home.item(&id));
    lines.extend(named.map(|field| format!("{path}::{} field", field.name())));
}

/// The name of a trait, with its type arguments where these are plain types.
fn trait_name(value: &Value) -> String {
    let name = last(text(value, "path"));
    let arguments = value.pointer("/args/angle_bracketed/args").and_then(Value::as_array);
    let types: Vec<&str> =
        arguments.into_iter().flatten().filter_map(|argument| plain(argument.get("type")?)).collect();
    if types.is_empty() { name.to_owned() } else { format!("{name}<{}>", types.join(", ")) }
}

fn plain(value: &Value) -> Option<&str> {
    if let Some(path) = value.get("resolved_path") {
        return Some(last(text(path, "path")));
    }
    if let Some(reference) = value.get("borrowed_ref") {
        return plain(reference.get("type")?);
    }
    value.get("primitive").and_then(Value::as_str)
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// The kind and the path of an entry of `paths`.
fn place(value: &Value) -> (String, String) {
    let names = value.get("path").and_then(Value::as_array).into_iter().flatten();
    let path: Vec<&str> = names.filter_map(Value::as_str).collect();
    (text(value, "kind").to_owned(), path.join("::"))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

fn ids(list: Option<&Value>) -> Vec<String> {
    let all = list.and_then(Value::as_array).into_iter().flatten();
    all.filter(|id| !id.is_null()).map(|id| number(Some(id))).collect()
}

/// An id, which is a number where it is a value and a string where it is a key.
fn number(id: Option<&Value>) -> String {
    id.and_then(Value::as_u64).map_or_else(String::new, |id| id.to_string())
}

#[cfg(test)]
mod tests;
