//! Inside a crate, imports point down its layers, as dependencies between crates point down the stack.

use std::collections::BTreeMap;

use super::tokens::{Token, first_segments};
use super::{Violation, matches};

/// The modules of a crate that has layers, lowest first: a module may use those before it, and none after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layers {
    /// The crate.
    pub(super) package: &'static str,
    /// Its top-level modules.
    pub(super) modules: &'static [&'static str],
}

/// The crates with layers.
pub(super) const LAYERS: [Layers; 0] = [];

/// What `lib.rs` re-exports at its root, and of which module it is.
pub(super) type Exports = BTreeMap<String, String>;

/// The names that `pub use module::…` puts at a crate's root.
pub(super) fn exports(library: &[Token<'_>]) -> Exports {
    let mut exports = Exports::new();
    for (at, token) in library.iter().enumerate() {
        let path = at.saturating_add(1);
        let colons = at.saturating_add(2);
        if token.text != "use" || !matches(library, colons, &[":", ":"]) {
            continue;
        }
        let Some(module) = library.get(path) else { continue };
        for name in first_segments(library, at.saturating_add(4)) {
            exports.insert(name.text.to_owned(), module.text.to_owned());
        }
    }
    exports
}

impl Layers {
    fn position(&self, module: &str) -> Option<usize> {
        self.modules.iter().position(|known| *known == module)
    }

    /// Modules that `lib.rs` declares and the table does not have, and the other way round.
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

    /// Looks at the tokens of one source file of the crate, tests left out. `inside` is its path below `src`.
    pub(super) fn check(
        &self,
        file: &str,
        inside: &str,
        tokens: &[Token<'_>],
        exports: &Exports,
    ) -> Vec<Violation> {
        let Some((module, depth)) = place(inside) else { return Vec::new() };
        let Some(own) = self.position(module) else { return Vec::new() };
        let mut violations = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let Some(path) = root_path(tokens, at, depth) else { continue };
            for segment in first_segments(tokens, path) {
                let target = exports.get(segment.text).map_or(segment.text, String::as_str);
                if self.position(target).is_some_and(|other| other > own) {
                    let what = format!("{module} uses {target} ({}), which is above it", segment.text);
                    violations.push(Violation::new(file, token.line, what));
                }
            }
        }
        violations
    }
}

/// The top-level module that a file belongs to, and how many `super` lead from it to the root; `None` for `lib.rs`.
fn place(inside: &str) -> Option<(&str, usize)> {
    let path = inside.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let module = path.split('/').next()?;
    (module != "lib" && module != "main").then(|| (module, path.split('/').count()))
}

/// Where a path that begins at `at` goes on behind the crate's root: behind `crate::`, or as many `super::` as lead there.
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

    const HOUSE: Layers = Layers { package: "house", modules: &["cellar", "hall", "roof"] };
    const LIBRARY: &str =
        "mod cellar; mod hall; mod roof; pub use roof::{Tile, Gutter}; pub use cellar::Wine;";

    fn found(inside: &str, source: &str) -> Vec<String> {
        let exports = exports(&tokenize(LIBRARY));
        let violations = HOUSE.check(inside, inside, &tokenize(source), &exports);
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
    fn the_table_has_the_modules_of_the_library() {
        assert!(HOUSE.unlisted("lib.rs", &tokenize(LIBRARY)).is_empty());
        let more = tokenize("mod cellar;\nmod hall;\nmod roof;\nmod attic;");
        assert_eq!(HOUSE.unlisted("lib.rs", &more)[0].line, 4);
        assert_eq!(HOUSE.unlisted("lib.rs", &tokenize("mod cellar; mod hall;")).len(), 1);
    }
}
