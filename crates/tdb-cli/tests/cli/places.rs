//! Places that are no paths: URLs of files and of stores. Servers are for `cargo xtask conform stores`.

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
