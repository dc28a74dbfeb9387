//! What is published.

use tdb_array::publish::Manifest;

use crate::assert_same;

/// Manifests of published arrays: read, written as the same bytes, all folders listed. The lines
/// are read once more with the last line that fits them, because hardly any change of a byte fits
/// the checksum.
pub fn manifest(data: &[u8]) {
    let lines = data.windows(5).rposition(|bytes| bytes == b"\nend ").map_or(data.len(), |at| at + 1);
    let sealed = Manifest::sealed(data.get(..lines).unwrap_or_default().to_vec());
    for bytes in [data, &sealed] {
        let Ok(manifest) = Manifest::parse(bytes) else { continue };
        assert_same(&manifest.to_bytes().as_slice(), &bytes);
        let mut folders = vec![String::new()];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            let listed = manifest.list(&folder);
            assert!(listed.is_some(), "{folder} was listed and is not there");
            for entry in listed.into_iter().flatten() {
                let key = if folder.is_empty() { entry.name } else { format!("{folder}/{}", entry.name) };
                if entry.is_folder {
                    folders.push(key);
                } else {
                    assert_eq!(manifest.size(&key), entry.size, "{key}");
                    files += 1;
                }
            }
        }
        assert_eq!(files, manifest.files().count(), "every file is in a folder");
    }
}
