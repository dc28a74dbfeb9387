//! Inside a crate, a module may only import from lower layers, just as a crate may only depend on
//! lower crates of the stack.

mod table;

use std::collections::{BTreeMap, BTreeSet};

use self::table::LAYERS;
use super::tokens::{Token, first_segments};
use super::{Violation, matches};

/// The file that contains the table of crates.
const FILE: &str = "xtask/src/check/layers/table.rs";

/// The modules of a crate that has layers, lowest first: a module may use those before it, and none
/// after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layers {
    /// The crate.
    package: &'static str,
    /// Its top-level modules.
    modules: &'static [&'static str],
    /// Imports that still point up: the module, and the higher module that it uses. None may be
    /// added; remove those that no longer exist from this list.
    upward: &'static [Upward],
}

/// An import that points up: the importing module, and the module that it uses.
pub(super) type Upward = (&'static str, &'static str);

/// The layers of a crate; `None` if it has no layers.
pub(super) fn of(package: &str) -> Option<&'static Layers> {
    LAYERS.iter().find(|layers| layers.package == package)
}

/// The names that `lib.rs` re-exports at its root, and the module of each.
pub(super) type Exports = BTreeMap<String, String>;

/// The names that `pub use module::…` adds to a crate's root, also where the path begins with
/// `self::` or `crate::`.
pub(super) fn exports(library: &[Token<'_>]) -> Exports {
    let mut exports = Exports::new();
    for (at, token) in library.iter().enumerate() {
        let mut path = at.saturating_add(1);
        if ["self", "crate"].iter().any(|root| matches(library, path, &[root, ":", ":"])) {
            path = path.saturating_add(3);
        }
        if token.text != "use" || !matches(library, path.saturating_add(1), &[":", ":"]) {
            continue;
        }
        let Some(module) = library.get(path) else { continue };
        for name in first_segments(library, path.saturating_add(3)) {
            exports.insert(name.text.to_owned(), module.text.to_owned());
        }
    }
    exports
}

impl Layers {
    fn position(&self, module: &str) -> Option<usize> {
        self.modules.iter().position(|known| *known == module)
    }

    /// Modules that `lib.rs` declares and the table does not list, and the other way round.
    pub(super) fn unlisted(&self, file: &str, library: &[Token<'_>]) -> Vec<Violation> {
        let declared: Vec<&Token<'_>> = library
            .iter()
            .enumerate()
            .filter(|(at, _)| at.checked_sub(1).is_some_and(|before| matches(library, before, &["mod"])))
            .filter(|(at, _)| matches(library, at.saturating_add(1), &[";"]))
            .map(|(_, token)| token)
            .collect();
        let unknown = declared.iter().filter(|token| self.position(token.text).is_none());
        let unknown = unknown.map(|token| {
            Violation::new(
                file,
                token.line,
                format!("the table of layers does not list module {}", token.text),
            )
        });
        let gone = self.modules.iter().filter(|module| declared.iter().all(|token| token.text != **module));
        let gone = gone.map(|module| {
            Violation::new(file, 1, format!("the table of layers lists {module}, which is gone"))
        });
        unknown.chain(gone).collect()
    }

    /// Checks the tokens of one source file of the crate, without its tests. `inside` is its path
    /// below `src`; `seen` collects the imports that are still allowed to point up.
    pub(super) fn check(
        &self,
        (file, inside): (&str, &str),
        tokens: &[Token<'_>],
        exports: &Exports,
        seen: &mut BTreeSet<Upward>,
    ) -> Vec<Violation> {
        let Some((module, depth)) = place(inside) else { return Vec::new() };
        let Some(own) = self.position(module) else { return Vec::new() };
        let mut violations = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let Some(path) = root_path(tokens, at, depth) else { continue };
            for segment in first_segments(tokens, path) {
                let target = exports.get(segment.text).map_or(segment.text, String::as_str);
                if self.position(target).is_none_or(|other| other <= own) {
                    continue;
                }
                if let Some(known) = self.upward.iter().find(|known| **known == (module, target)) {
                    seen.insert(*known);
                } else {
                    let what = format!("{module} uses {target} ({}), which is above it", segment.text);
                    violations.push(Violation::new(file, token.line, what));
                }
            }
        }
        violations
    }

    /// Imports that are allowed to point up, but that no file contains any more.
    pub(super) fn gone(&self, seen: &BTreeSet<Upward>) -> Vec<Violation> {
        let gone = self.upward.iter().filter(|known| !seen.contains(*known));
        gone.map(|(from, to)| {
            Violation::new(FILE, 1, format!("{from} no longer uses {to}: remove it from the list"))
        })
        .collect()
    }

    /// The layers in one line, highest first, and the number of imports that still point up.
    pub(super) fn text(&self) -> String {
        let modules: Vec<&str> = self.modules.iter().rev().copied().collect();
        format!("{}: {} ({} imports point up)", self.package, modules.join(" > "), self.upward.len())
    }
}

/// The top-level module of a file, and the number of `super` from it to the root; `None` for
/// `lib.rs`.
fn place(inside: &str) -> Option<(&str, usize)> {
    let path = inside.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let module = path.split('/').next()?;
    (module != "lib" && module != "main").then(|| (module, path.split('/').count()))
}

/// The position after the crate's root in a path that begins at `at`: after `crate::`, or after as
/// many `super::` as lead to the root.
fn root_path(tokens: &[Token<'_>], at: usize, depth: usize) -> Option<usize> {
    let step = ["super", ":", ":"];
    if matches(tokens, at, &["crate", ":", ":"]) {
        return at.checked_add(3);
    }
    let begins = at.checked_sub(2).is_none_or(|before| !matches(tokens, before, &[":", ":"]));
    let mut next = at;
    let mut steps = 0usize;
    while begins && matches(tokens, next, &step) {
        next = next.saturating_add(step.len());
        steps = steps.saturating_add(1);
    }
    (steps > 0 && steps == depth).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    const HOUSE: Layers =
        Layers { package: "house", modules: &["cellar", "hall", "roof"], upward: &[("cellar", "hall")] };
    const LIBRARY: &str =
        "mod cellar; mod hall; mod roof; pub use roof::{Tile, Gutter}; pub use cellar::Wine;";

    fn found(inside: &str, source: &str) -> Vec<String> {
        let exports = exports(&tokenize(LIBRARY));
        let violations = HOUSE.check((inside, inside), &tokenize(source), &exports, &mut BTreeSet::new());
        violations.into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn imports_down_the_layers_and_within_a_module_are_allowed() {
        assert!(found("roof.rs", "use crate::hall::Door; use crate::{Wine, cellar::Rack};").is_empty());
        assert!(found("hall/stairs.rs", "use super::Door; use crate::hall::Step;").is_empty());
        assert!(found("lib.rs", "use crate::roof::Tile;").is_empty());
    }

    #[test]
    fn an_import_up_the_layers_is_refused_however_it_is_written() {
        for source in [
            "use crate::roof::Tile;",
            "use crate::{Wine, Tile};",
            "use crate::{cellar::{Rack, Wine}, roof};",
            "fn f() { crate::roof::g() }",
            "use super::roof;",
        ] {
            let found = found("hall.rs", source);
            assert_eq!(found.len(), 1, "{source}: {found:?}");
            assert!(found[0].starts_with("hall uses roof"), "{found:?}");
        }
        assert_eq!(found("hall/stairs.rs", "use super::super::roof;").len(), 1);
        assert_eq!(found("hall/mod.rs", "use super::Gutter;").len(), 1);
    }

    #[test]
    fn names_that_the_root_exports_by_any_path_belong_to_their_modules() {
        let of = |library: &str| exports(&tokenize(library));
        let plain = of("pub use roof::{Tile, Gutter}; pub use cellar::Wine;");
        assert_eq!(plain.get("Gutter").map(String::as_str), Some("roof"));
        assert_eq!(plain.len(), 3);
        assert_eq!(of("pub use self::roof::{Tile, Gutter}; pub use self::cellar::Wine;"), plain);
        assert_eq!(of("pub use crate::roof::{Tile, Gutter}; pub use crate::cellar::Wine;"), plain);
    }

    #[test]
    fn an_import_that_is_known_to_point_up_is_allowed_until_it_is_gone() {
        let mut seen = BTreeSet::new();
        assert_eq!(HOUSE.gone(&seen).len(), 1);
        let tokens = tokenize("use crate::hall::Door;");
        let place = ("cellar.rs", "cellar.rs");
        assert!(HOUSE.check(place, &tokens, &exports(&tokenize(LIBRARY)), &mut seen).is_empty());
        assert!(HOUSE.gone(&seen).is_empty());
        assert_eq!(found("cellar.rs", "use crate::roof::Tile;").len(), 1);
    }

    #[test]
    fn the_table_has_the_modules_of_the_library() {
        assert!(HOUSE.unlisted("lib.rs", &tokenize(LIBRARY)).is_empty());
        let more = tokenize("mod cellar;\nmod hall;\nmod roof;\nmod attic;");
        assert_eq!(HOUSE.unlisted("lib.rs", &more)[0].line, 4);
        assert_eq!(HOUSE.unlisted("lib.rs", &tokenize("mod cellar; mod hall;")).len(), 1);
    }
}
