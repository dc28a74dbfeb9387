//! Dependencies point down the stack: the order of `members` in the root manifest.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Violation, relative};

/// The file of this table.
const FILE: &str = "xtask/src/check/stack.rs";

/// The facade. Examples in the documentation of lower crates are written for programs, which use
/// the facade. Those crates may therefore depend on it in their tests.
const FACADE: &str = "tdb-array";

/// Crates that may not use all lower crates: the crate, and all crates of the workspace that it may
/// use.
const MAY_USE: [(&str, &[&str]); 26] = [
    ("tdb-cells", &["tdb-codec", "tdb-filters", "tdb-tile", "tdb-schema", "tdb-fragment"]),
    // Its example makes a schema, whose filters are those of tdb-filters.
    ("tdb-order", &["tdb-codec", "tdb-filters", "tdb-schema", "tdb-cells"]),
    ("tdb-storage", &["tdb-codec"]),
    // File names show which files never change.
    ("tdb-cache", &["tdb-codec", "tdb-fragment", "tdb-storage"]),
    (
        "tdb-snapshot",
        &["tdb-codec", "tdb-filters", "tdb-tile", "tdb-schema", "tdb-fragment", "tdb-cells", "tdb-storage"],
    ),
    (
        "tdb-predicate",
        &["tdb-codec", "tdb-filters", "tdb-schema", "tdb-fragment", "tdb-cells", "tdb-snapshot"],
    ),
    (
        "tdb-scan",
        &[
            "tdb-codec",
            "tdb-filters",
            "tdb-schema",
            "tdb-fragment",
            "tdb-cells",
            "tdb-storage",
            "tdb-snapshot",
            "tdb-order",
            "tdb-predicate",
        ],
    ),
    (
        "tdb-split",
        &[
            "tdb-codec",
            "tdb-filters",
            "tdb-schema",
            "tdb-fragment",
            "tdb-cells",
            "tdb-storage",
            "tdb-snapshot",
            "tdb-order",
            "tdb-scan",
        ],
    ),
    (
        "tdb-aggregate",
        &[
            "tdb-codec",
            "tdb-filters",
            "tdb-schema",
            "tdb-cells",
            "tdb-storage",
            "tdb-snapshot",
            "tdb-predicate",
            "tdb-scan",
            "tdb-split",
        ],
    ),
    (
        "tdb-query",
        &[
            "tdb-codec",
            "tdb-filters",
            "tdb-schema",
            "tdb-fragment",
            "tdb-cells",
            "tdb-storage",
            "tdb-snapshot",
            "tdb-predicate",
            "tdb-scan",
            "tdb-split",
            "tdb-aggregate",
        ],
    ),
    (
        "tdb-write",
        &[
            "tdb-codec",
            "tdb-filters",
            "tdb-tile",
            "tdb-schema",
            "tdb-fragment",
            "tdb-cells",
            "tdb-order",
            "tdb-storage",
            "tdb-snapshot",
        ],
    ),
    (
        "tdb-maintain",
        &[
            "tdb-codec",
            "tdb-filters",
            "tdb-tile",
            "tdb-schema",
            "tdb-fragment",
            "tdb-cells",
            "tdb-order",
            "tdb-storage",
            "tdb-snapshot",
            "tdb-predicate",
            "tdb-scan",
            "tdb-query",
            "tdb-write",
        ],
    ),
    ("tdb-object-store", &["tdb-storage", "tdb-cache"]),
    (
        FACADE,
        &[
            "tdb-codec",
            "tdb-filters",
            "tdb-tile",
            "tdb-schema",
            "tdb-fragment",
            "tdb-cells",
            "tdb-storage",
            "tdb-cache",
            "tdb-snapshot",
            "tdb-query",
            "tdb-write",
            "tdb-maintain",
        ],
    ),
    ("tdb-text", &["tdb-codec", "tdb-filters", "tdb-schema", "tdb-fragment", FACADE]),
    ("tdb-zarr", &["tdb-cells", FACADE, "tdb-text"]),
    ("tdb-soma", &[FACADE]),
    ("tdb-zarr-files", &["tdb-filters", FACADE, "tdb-text", "tdb-zarr"]),
    ("tdb-anndata", &[FACADE, "tdb-soma", "tdb-zarr-files"]),
    // The threads of the engine convert columns, too.
    ("tdb-arrow", &["tdb-cells", FACADE]),
    ("tdb-convert", &[FACADE, "tdb-arrow"]),
    // Dates are those of the format.
    ("tdb-datafusion", &["tdb-codec", FACADE, "tdb-arrow"]),
    ("tdb-ballista", &[FACADE, "tdb-arrow", "tdb-datafusion"]),
    // The wheel has the command.
    (
        "tdb-python",
        &[FACADE, "tdb-object-store", "tdb-text", "tdb-zarr", "tdb-arrow", "tdb-datafusion", "tdb-cli"],
    ),
    ("tdb-capi", &[FACADE, "tdb-object-store"]),
    // It draws plain numbers.
    ("tdb-draw", &[]),
];

/// The packages of the workspace, in stack order.
#[derive(Debug)]
pub(crate) struct Workspace {
    packages: Vec<Package>,
}

/// The facts about a package that the rules need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its folder relative to the repository.
    pub(crate) folder: String,
    /// Its description.
    pub(crate) description: String,
    /// Its version.
    pub(crate) version: String,
    /// The oldest toolchain that builds it.
    pub(crate) rust_version: String,
    /// Whether it has a binary to install.
    pub(crate) is_command: bool,
    /// Whether its manifest has features.
    pub(crate) has_features: bool,
    /// Whether it is published to a registry.
    pub(crate) is_published: bool,
    /// Names of its dependencies, without those of its tests.
    pub(crate) uses: Vec<String>,
    /// Names of all its dependencies, except the facade for examples, with their line in the
    /// manifest.
    dependencies: Vec<(String, usize)>,
}

impl Workspace {
    /// Runs `cargo metadata`.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let manifest = root.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).map_err(|error| format!("Cargo.toml: {error}"))?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
            .arg(&manifest)
            .output()
            .map_err(|error| format!("cargo metadata: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let metadata: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
        let mut known = Vec::new();
        for package in array(&metadata, "packages") {
            known.push(read_package(root, package)?);
        }
        Self::new(&members(&text), known)
    }

    /// Puts packages in the order of the member list.
    fn new(members: &[String], known: Vec<Package>) -> Result<Self, String> {
        let find = |folder: &String| known.iter().find(|package| package.folder == *folder).cloned();
        let packages: Vec<Package> = members.iter().filter_map(find).collect();
        match known.iter().find(|package| !packages.contains(package)) {
            Some(package) => Err(format!("Cargo.toml: members do not list {}", package.folder)),
            None => Ok(Self { packages }),
        }
    }

    /// The packages, lowest first.
    pub(crate) fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter()
    }

    /// Packages with these names and all that they are built on, lowest first.
    pub(crate) fn below(&self, names: &[&str]) -> Vec<String> {
        let mut wanted: BTreeSet<&str> = names.iter().copied().collect();
        for package in self.packages.iter().rev() {
            if wanted.contains(package.name.as_str()) {
                wanted.extend(package.uses.iter().map(String::as_str));
            }
        }
        let names = self.packages.iter().map(|package| &package.name);
        names.filter(|name| wanted.contains(name.as_str())).cloned().collect()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.packages.iter().position(|package| package.name == name)
    }

    /// Whether package `name` is before package `other`.
    pub(super) fn is_below(&self, name: &str, other: &str) -> bool {
        match (self.position(name), self.position(other)) {
            (Some(name), Some(other)) => name < other,
            _ => false,
        }
    }

    /// Dependencies of any kind on packages that are not before their user in the list, or that the
    /// table does not list.
    pub(super) fn wrong_dependencies(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for package in &self.packages {
            let allowed = MAY_USE.iter().find(|(name, _)| *name == package.name).map(|(_, allowed)| *allowed);
            for (name, line) in &package.dependencies {
                let file = format!("{}/Cargo.toml", package.folder);
                if self.position(name).is_none() {
                    continue;
                }
                if !self.is_below(name, &package.name) {
                    let what = format!("{} depends on {name}, which is not below it", package.name);
                    violations.push(Violation::new(&file, *line, what));
                } else if allowed.is_some_and(|allowed| !allowed.contains(&name.as_str())) {
                    let what = format!("{} may not use {name}", package.name);
                    violations.push(Violation::new(&file, *line, what));
                }
            }
        }
        violations
    }

    /// Rows of the table that no manifest needs any more.
    pub(super) fn unused_permissions(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for package in &self.packages {
            let allowed = MAY_USE.iter().find(|(name, _)| *name == package.name);
            let allowed = allowed.iter().flat_map(|(_, allowed)| allowed.iter());
            for name in allowed {
                if !package.dependencies.iter().any(|(used, _)| used == name) {
                    let what = format!("{} no longer uses {name}: remove it from the table", package.name);
                    violations.push(Violation::new(FILE, 1, what));
                }
            }
        }
        violations
    }
}

fn array<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn read_package(root: &Path, package: &Value) -> Result<Package, String> {
    let manifest = Path::new(text(package, "manifest_path"));
    let source = fs::read_to_string(manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let line_of = |name: &str| {
        let begins =
            |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
        source.lines().position(begins).map_or(1, |line| line.saturating_add(1))
    };
    let uses = array(package, "dependencies")
        .filter(|dependency| dependency.get("kind").is_none_or(Value::is_null))
        .map(|dependency| text(dependency, "name").to_owned())
        .collect();
    let for_examples =
        |dependency: &&Value| text(dependency, "kind") == "dev" && text(dependency, "name") == FACADE;
    let names = array(package, "dependencies").filter(|dependency| !for_examples(dependency));
    let names = names.map(|dependency| text(dependency, "name").to_owned());
    Ok(Package {
        name: text(package, "name").to_owned(),
        folder: manifest.parent().map(|folder| relative(root, folder)).unwrap_or_default(),
        description: text(package, "description").to_owned(),
        version: text(package, "version").to_owned(),
        rust_version: text(package, "rust_version").to_owned(),
        is_command: array(package, "targets").any(|target| array(target, "kind").any(|kind| kind == "bin")),
        has_features: package.get("features").and_then(Value::as_object).is_some_and(|all| !all.is_empty()),
        // Null means every registry, an empty list means none.
        is_published: package.get("publish").is_none_or(Value::is_null),
        uses,
        dependencies: names.map(|name| (name.clone(), line_of(&name))).collect(),
    })
}

/// The folders of `members = [ … ]`, in order.
fn members(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.starts_with("members"))
        .skip(1)
        .take_while(|line| !line.starts_with(']'))
        .filter_map(|line| line.strip_prefix('"')?.split('"').next().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str =
        "[workspace]\nmembers = [\n  \"a\", # low\n#  \"x\",\n  \"b\",\n]\nexclude = [\"c\"]\n";

    fn package(name: &str, dependencies: &[(&str, usize)]) -> Package {
        let dependencies = dependencies.iter().map(|(name, line)| ((*name).to_owned(), *line)).collect();
        Package { name: name.to_owned(), folder: name.to_owned(), dependencies, ..Package::default() }
    }

    #[test]
    fn the_stack_is_the_member_list_in_its_order_without_comments() {
        assert_eq!(members(MANIFEST), ["a", "b"]);
    }

    #[test]
    fn a_dependency_down_the_stack_or_outside_it_is_allowed() {
        let known = vec![package("b", &[("a", 5), ("serde", 6)]), package("a", &[("bytes", 3)])];
        let workspace = Workspace::new(&members(MANIFEST), known).unwrap();
        assert_eq!(workspace.wrong_dependencies(), []);
        assert!(workspace.is_below("a", "b") && !workspace.is_below("b", "b"));
    }

    #[test]
    fn packages_below_others_are_found_through_all_between() {
        let uses = |name: &str, uses: &[&str]| Package {
            uses: uses.iter().map(|name| (*name).to_owned()).collect(),
            ..package(name, &[])
        };
        let members = ["a", "b", "c", "d"].map(str::to_owned);
        let known = vec![uses("a", &[]), uses("b", &["a", "bytes"]), uses("c", &["b"]), uses("d", &["a"])];
        let workspace = Workspace::new(&members, known).unwrap();
        assert_eq!(workspace.below(&["c"]), ["a", "b", "c"]);
    }

    #[test]
    fn a_dependency_up_the_stack_is_refused_with_its_line() {
        let known = vec![package("a", &[("b", 7)]), package("b", &[])];
        let workspace = Workspace::new(&members(MANIFEST), known).unwrap();
        let expected = Violation::new("a/Cargo.toml", 7, "a depends on b, which is not below it");
        assert_eq!(workspace.wrong_dependencies(), [expected]);
    }

    #[test]
    fn a_crate_of_the_table_uses_what_it_lists_and_no_more() {
        let members = ["tdb-codec", "tdb-cells", "tdb-storage"].map(str::to_owned);
        let storage = package("tdb-storage", &[("tdb-codec", 3), ("bytes", 4), ("tdb-cells", 5)]);
        let known = vec![package("tdb-codec", &[]), package("tdb-cells", &[("tdb-codec", 2)]), storage];
        let expected = Violation::new("tdb-storage/Cargo.toml", 5, "tdb-storage may not use tdb-cells");
        assert_eq!(Workspace::new(&members, known).unwrap().wrong_dependencies(), [expected]);
    }

    #[test]
    fn what_the_table_lists_is_allowed_until_no_manifest_has_it() {
        let members = ["tdb-codec", "tdb-storage"].map(str::to_owned);
        let unused = |dependencies: &[(&str, usize)]| {
            let known = vec![package("tdb-codec", &[]), package("tdb-storage", dependencies)];
            Workspace::new(&members, known).unwrap().unused_permissions()
        };
        assert_eq!(unused(&[("tdb-codec", 3)]), []);
        let expected = "tdb-storage no longer uses tdb-codec: remove it from the table";
        assert_eq!(unused(&[]), [Violation::new(FILE, 1, expected)]);
    }

    #[test]
    fn a_package_that_the_member_list_does_not_order_is_refused() {
        assert!(Workspace::new(&members(MANIFEST), vec![package("c", &[])]).is_err());
    }
}
