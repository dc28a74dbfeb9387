//! Installs the library where C programs look for it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CONSTANTS, SIGNATURES, header};
use crate::conform::capi;
use crate::peer;

/// The release whose functions the library has.
const RELEASE: &str = "2.30.0";
/// The name by which programs ask for the library.
const SONAME: &str = "libtiledb.so.2.30";

const EXPERIMENTAL: &str = "/* All functions are in one header. */\n#include \"tiledb.h\"\n";

/// For CMake: `find_package(TileDB)` and the target `TileDB::tiledb`.
const CONFIG: &str = "\
get_filename_component(TILEDB_PREFIX \"${CMAKE_CURRENT_LIST_DIR}/../../..\" ABSOLUTE)
if(NOT TARGET TileDB::tiledb_shared)
  add_library(TileDB::tiledb_shared SHARED IMPORTED)
  set_target_properties(TileDB::tiledb_shared PROPERTIES
    IMPORTED_LOCATION \"${TILEDB_PREFIX}/lib/libtiledb.so.2.30\"
    IMPORTED_SONAME libtiledb.so.2.30
    INTERFACE_INCLUDE_DIRECTORIES \"${TILEDB_PREFIX}/include\")
  add_library(TileDB::tiledb INTERFACE IMPORTED)
  set_target_properties(TileDB::tiledb PROPERTIES INTERFACE_LINK_LIBRARIES TileDB::tiledb_shared)
endif()
set(TileDB_FOUND TRUE)
";

/// CMake asks this file whether the release is the one that is wanted.
const CONFIG_VERSION: &str = "\
set(PACKAGE_VERSION 2.30.0)
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
";

/// Installs a library, or one that is built with optimisation, below a folder.
pub(super) fn run(prefix: &Path, library: Option<&Path>) -> Result<(), String> {
    let root = peer::repository_root()?;
    let library = match library {
        Some(library) => library.to_owned(),
        None => capi::built(&root)?,
    };
    let table = |name: &str| {
        let path = root.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let header = header::text(&table(SIGNATURES)?, &table(CONSTANTS)?)?;
    fs::create_dir_all(prefix).map_err(|error| format!("{}: {error}", prefix.display()))?;
    let prefix = prefix.canonicalize().map_err(|error| format!("{}: {error}", prefix.display()))?;
    for (name, text) in texts(&prefix, header) {
        write(&prefix.join(name), &text)?;
    }
    let place = prefix.join("lib").join(SONAME);
    fs::copy(&library, &place).map_err(|error| format!("{}: {error}", library.display()))?;
    link(&prefix.join("lib/libtiledb.so"))?;
    println!("installed {}", place.display());
    Ok(())
}

/// The files beside the library, by their places.
fn texts(prefix: &Path, header: String) -> Vec<(&'static str, String)> {
    let pkg_config = format!(
        "prefix={}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\nName: TileDB\n\
         Description: TileDB's C functions, by tdb\nVersion: {RELEASE}\nLibs: -L${{libdir}} -ltiledb\n\
         Cflags: -I${{includedir}}\n",
        prefix.display()
    );
    vec![
        ("include/tiledb/tiledb.h", header),
        ("include/tiledb/tiledb_experimental.h", EXPERIMENTAL.to_owned()),
        ("lib/pkgconfig/tiledb.pc", pkg_config),
        ("lib/cmake/TileDB/TileDBConfig.cmake", CONFIG.to_owned()),
        ("lib/cmake/TileDB/TileDBConfigVersion.cmake", CONFIG_VERSION.to_owned()),
    ]
}

fn write(path: &PathBuf, text: &str) -> Result<(), String> {
    let wrong = |error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(wrong)?;
    }
    fs::write(path, text).map_err(wrong)
}

/// Gives the library the name that linkers look for.
fn link(place: &Path) -> Result<(), String> {
    let wrong = |error| format!("{}: {error}", place.display());
    if place.is_symlink() {
        fs::remove_file(place).map_err(wrong)?;
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(SONAME, place).map_err(wrong);
    #[cfg(not(unix))]
    Err("the library is installed on Unix alone".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_names_the_same_release_and_library() {
        for (name, text) in texts(Path::new("/opt/tdb"), String::new()) {
            let expected = match name.rsplit('/').next() {
                Some("tiledb.pc") => "prefix=/opt/tdb\n",
                Some("TileDBConfig.cmake") => SONAME,
                Some("TileDBConfigVersion.cmake") => RELEASE,
                _ => "",
            };
            assert!(text.contains(expected), "{name}");
        }
    }

    #[test]
    fn a_prefix_gets_the_library_under_both_of_its_names() {
        let folder = std::env::temp_dir().join(format!("tdb-prefix-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let library = folder.join("built.so");
        fs::write(&library, "bytes").unwrap();
        for _ in 0..2 {
            run(&folder.join("prefix"), Some(&library)).unwrap();
        }
        assert_eq!(fs::read_to_string(folder.join("prefix/lib/libtiledb.so")).unwrap(), "bytes");
        assert!(folder.join("prefix/include/tiledb/tiledb.h").is_file());
        fs::remove_dir_all(&folder).unwrap();
    }
}
