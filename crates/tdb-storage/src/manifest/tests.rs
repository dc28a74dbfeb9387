use super::*;

fn example() -> Manifest {
    let mut manifest = Manifest::new(1_763_863_200_000);
    for (key, size) in
        [("__schema/__1_1_ab", 120), ("__commits/__1_1_c.wrt", 0), ("a b/50%\n ü.tdb", 7), ("a b-c", 1)]
    {
        manifest.add_file(key, size).unwrap();
    }
    manifest.add_folder("__meta").unwrap();
    manifest
}

/// The lines of the example with one text replaced by another, and a correct checksum.
fn changed(from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(example().to_bytes()).unwrap();
    assert!(text.contains(from), "{text}");
    let text = text.replacen(from, to, 1);
    let (lines, _) = text.rsplit_once("end ").unwrap();
    Manifest::sealed(lines.as_bytes().to_vec())
}

fn kind(bytes: &[u8]) -> (u64, ManifestErrorKind) {
    let error = Manifest::parse(bytes).unwrap_err();
    (error.line, error.kind)
}

#[test]
fn a_manifest_is_text_that_people_can_read_and_reads_as_it_was() {
    let bytes = example().to_bytes();
    let text = "tdb manifest 1\ntime 1763863200000\n0 __commits/__1_1_c.wrt\n- __meta\n120 __schema/__1_1_ab\n\
                1 a b-c\n7 a b/50%25%0a ü.tdb\nend 5 ";
    assert!(String::from_utf8(bytes.clone()).unwrap().starts_with(text));
    assert_eq!(Manifest::parse(&bytes), Ok(example()));
}

#[test]
fn folders_list_what_is_in_them_the_empty_one_too() {
    let manifest = example();
    let root = ["__commits", "__meta", "__schema"].map(Entry::folder);
    let rest = [Entry::sized("a b-c", 1), Entry::folder("a b")];
    assert_eq!(manifest.list(""), Some(root.into_iter().chain(rest).collect()));
    assert_eq!(manifest.list("__meta"), Some(Vec::new()));
    assert_eq!(manifest.list("a b"), Some(vec![Entry::sized("50%\n ü.tdb", 7)]));
    for none in ["__none", "a", "a b-c", "__schema/__1_1_ab"] {
        assert_eq!(manifest.list(none), None, "{none}");
    }
    assert_eq!(Manifest::new(0).list(""), Some(Vec::new()));
    assert_eq!(
        (manifest.size("a b-c"), manifest.size("a b"), manifest.size("__meta")),
        (Some(1), None, None)
    );
}

#[test]
fn what_is_removed_leaves_its_folder_empty() {
    let mut manifest = example();
    manifest.remove("__schema/__1_1_ab");
    manifest.remove("a b");
    manifest.remove("not/there");
    assert_eq!(manifest.list("__schema"), Some(Vec::new()));
    assert_eq!((manifest.list("a b"), manifest.list("not"), manifest.size("a b-c")), (None, None, Some(1)));
}

#[test]
fn every_truncation_is_noticed_and_so_is_every_other_byte() {
    let bytes = example().to_bytes();
    for len in 0..bytes.len() {
        assert!(Manifest::parse(&bytes[..len]).is_err(), "{len} bytes");
    }
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert!(Manifest::parse(&other).is_err(), "byte {at}");
    }
    let more = [&bytes[..], b"\n"].concat();
    assert_eq!(kind(&more), (8, ManifestErrorKind::Trailing));
    assert_eq!(kind(&bytes[..bytes.len() - 1]), (8, ManifestErrorKind::CutOff));
}

#[test]
fn what_is_no_manifest_or_of_another_version_says_so() {
    assert_eq!(kind(b"<html>no such page</html>"), (1, ManifestErrorKind::NotAManifest));
    assert_eq!(kind(b""), (1, ManifestErrorKind::NotAManifest));
    assert_eq!(kind(&changed("manifest 1", "manifest 2")), (1, ManifestErrorKind::Version("2".to_owned())));
}

#[test]
fn lines_that_lie_are_refused_where_they_stand() {
    use ManifestErrorKind::{Count, Key, Line, Order};
    for (from, to, line, kind_of_it) in [
        ("time 17", "time -17", 2, Line),
        ("120 __schema", "0120 __schema", 5, Line),
        ("120 __schema", "99999999999999999999 __schema", 5, Line),
        ("120 __schema", "120__schema", 5, Line),
        ("__schema/", "../", 5, Key),
        ("__schema/", "/", 5, Key),
        ("__schema/", "__schema//", 5, Key),
        ("__schema/", "__a/", 5, Order),
        ("__meta", "__commits/__1_1_c.wrt/x", 4, Order),
        ("%0a", "%0A", 7, Key),
        ("%0a", "%41", 7, Key),
        ("%0a", "%ü", 7, Key),
    ] {
        assert_eq!(kind(&changed(from, to)), (line, kind_of_it), "{from} as {to}");
    }
    let text = String::from_utf8(example().to_bytes()).unwrap().replace("end 5", "end 6");
    assert_eq!(kind(text.as_bytes()), (8, Count { stated: 6, found: 5 }));
    let deep = format!("120 {}x", "y/".repeat(KEY_PARTS));
    assert_eq!(kind(&changed("120 __schema/__1_1_ab", &deep)), (5, Key));
}

#[test]
fn keys_that_lead_elsewhere_or_into_a_file_are_not_added() {
    let mut manifest = example();
    for (key, expected) in [
        ("", ManifestErrorKind::Key),
        ("../x", ManifestErrorKind::Key),
        ("a//b", ManifestErrorKind::Key),
        ("a b-c/x", ManifestErrorKind::Order),
    ] {
        assert_eq!(manifest.add_file(key, 1).unwrap_err().kind, expected, "{key}");
    }
    assert_eq!(manifest, example());
}
