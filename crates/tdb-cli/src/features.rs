//! The features that this build has, and the errors of those that it lacks.

/// The features of the crate, and whether this build has them.
pub(crate) const FEATURES: [(&str, bool); 15] = [
    ("gzip", cfg!(feature = "gzip")),
    ("zstd", cfg!(feature = "zstd")),
    ("zstd-rust", cfg!(feature = "zstd-rust")),
    ("lz4", cfg!(feature = "lz4")),
    ("bzip2", cfg!(feature = "bzip2")),
    ("checksum", cfg!(feature = "checksum")),
    ("encryption", cfg!(feature = "encryption")),
    ("webp", cfg!(feature = "webp")),
    ("webp-lossy", cfg!(feature = "webp-lossy")),
    ("large-pages", cfg!(feature = "large-pages")),
    ("object-store", cfg!(feature = "object-store")),
    ("browse", cfg!(feature = "browse")),
    ("convert", cfg!(feature = "convert")),
    ("sql", cfg!(feature = "sql")),
    ("cluster", cfg!(feature = "cluster")),
];

/// The error of the command that needs the feature `browse`.
#[cfg(not(feature = "browse"))]
pub(crate) const NO_BROWSE: &str = "this build of tdb does not support browsing (the feature browse): cargo install tdb-cli --features browse";

/// The error of commands that need the feature `convert`.
#[cfg(not(feature = "convert"))]
pub(crate) const NO_CONVERT: &str = "this build of tdb does not support Parquet and Arrow files (the feature convert): cargo install tdb-cli --features convert";

/// The error of commands that need the feature `sql`.
#[cfg(not(feature = "sql"))]
pub(crate) const NO_SQL: &str =
    "this build of tdb does not support SQL (the feature sql): cargo install tdb-cli --features sql";

/// The error of commands that need the feature `cluster`.
#[cfg(not(feature = "cluster"))]
pub(crate) const NO_CLUSTER: &str = "this build of tdb does not support clusters (the feature cluster): cargo install tdb-cli --features cluster";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_the_manifest_is_listed() {
        let manifest = include_str!("../Cargo.toml");
        let (_, features) = manifest.split_once("[features]").unwrap();
        let (features, _) = features.split_once("\n[").unwrap();
        let names = features.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
        let names: Vec<&str> = names.filter(|name| *name != "default" && !name.starts_with('#')).collect();
        let mut listed = FEATURES.map(|(name, _)| name).to_vec();
        let mut sorted = names.clone();
        listed.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(listed, sorted);
    }
}
