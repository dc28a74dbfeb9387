//! Places that are not paths: URLs of files and of stores. Tests with servers are in `cargo xtask conform stores`.

use crate::common::{fixture, tdb};

#[test]
fn a_url_of_a_file_is_its_path() {
    let path = fixture("2.30.0/quickstart");
    let url = format!("file://{}", std::path::absolute(&path).unwrap().display());
    for command in [&["read"][..], &["verify"], &["explain"], &["meta"]] {
        let by = |place: &str| tdb(&[command, &[place]].concat());
        let (by_path, by_url) = (by(path.to_str().unwrap()), by(&url));
        assert_eq!((by_path.code, by_path.out), (by_url.code, by_url.out), "{command:?}");
    }
}

#[test]
fn stores_that_are_not_known_are_refused_by_name() {
    for command in [&["info"][..], &["read"], &["verify"], &["log"], &["vacuum"], &["group"], &["dump"]] {
        let refused = tdb(&[command, &["ftp://host/array"]].concat());
        assert_eq!(refused.code, 1, "{command:?}");
        assert!(refused.err.contains("ftp"), "{command:?}: {}", refused.err);
    }
}

#[test]
#[cfg(feature = "object-store")]
fn options_of_stores_are_checked_and_their_values_not_shown() {
    for (option, shown) in [("aws_regoin=hidden", "aws_regoin"), ("hidden", "KEY=VALUE")] {
        let refused = tdb(&["info", "s3://bucket/a", "--store-option", option]);
        assert_eq!(refused.code, 2);
        assert!(refused.err.contains(shown), "{}", refused.err);
        assert!(shown != "aws_regoin" || !refused.err.contains("hidden"), "{}", refused.err);
    }
}

#[test]
fn a_cache_is_for_stores_and_makes_no_folder_for_paths() {
    let path = fixture("2.30.0/quickstart");
    let path = path.to_str().unwrap();
    let folder = std::env::temp_dir().join(format!("tdb-cli-cache-{}", std::process::id()));
    let with =
        tdb(&["read", path, "--cache", folder.to_str().unwrap(), "--cache-size", "1MiB", "--cache-tiles"]);
    let without = tdb(&["read", path]);
    assert_eq!((with.code, with.out), (0, without.out));
    assert!(!folder.exists());
}

#[test]
fn a_size_of_the_cache_that_is_no_size_is_a_mistake_in_the_command_line() {
    let refused = tdb(&["info", "s3://bucket/a", "--cache", "folder", "--cache-size", "much"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("much"), "{}", refused.err);
}
