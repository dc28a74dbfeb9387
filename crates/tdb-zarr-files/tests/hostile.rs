//! Folders that anybody made: nothing panics, nothing outside is read, and no memory is taken
//! because a file says so.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tdb_array::storage::{MemoryStorage, WriteStorage};
use tdb_zarr_files::{ImportOptions, import, schemas};

/// The error of an import.
fn refused(folder: &Path) -> String {
    let place = |_: &str| -> io::Result<Arc<dyn WriteStorage>> { Ok(Arc::new(MemoryStorage::default())) };
    import(folder, &place, &ImportOptions::new().memory(64 << 20)).unwrap_err().to_string()
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tdb-zarr-hostile-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn put(path: PathBuf, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn document(shape: &Value, chunk: &Value, codecs: Value) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "fill_value": 0, "codecs": codecs,
    })
}

#[test]
fn shapes_and_chunks_of_any_size_are_only_numbers() {
    let root = folder("sizes");
    let most = u64::MAX;
    let cases = [
        (json!([most]), json!([1]), "longer than the dimensions"),
        (json!([most, most]), json!([most, most]), "longer than the dimensions"),
        (json!([1u64 << 62, 2]), json!([1u64 << 62, 2]), "memory"),
        (json!([10]), json!([1u64 << 40]), "a chunk needs 1099511627776 bytes"),
        (json!([0]), json!([1]), "no positions"),
        (json!([10.5]), json!([1]), "shape"),
        (json!([1e300]), json!([1]), "shape"),
        (json!(vec![2; 64]), json!(vec![2; 64]), "memory"),
    ];
    for (shape, chunk, why) in cases {
        put(root.join("zarr.json"), document(&shape, &chunk, json!(["bytes"])).to_string());
        let error = refused(&root);
        assert!(error.contains(why), "{shape} {chunk}: {error}");
    }
    // Of a very large array with few chunks, nothing is made but these.
    put(root.join("zarr.json"), document(&json!([1u64 << 60]), &json!([1000]), json!(["bytes"])).to_string());
    assert_eq!(schemas(&root, &ImportOptions::new()).unwrap().len(), 1);
    // Texts that are empty are all written, but not so many.
    let mut texts = document(&json!([1u64 << 39]), &json!([1u64 << 19]), json!(["vlen-utf8"]));
    (texts["data_type"], texts["fill_value"]) = (json!("string"), json!(""));
    put(root.join("zarr.json"), texts.to_string());
    let error = refused(&root);
    assert!(error.contains("there are 1048576 chunks of texts"), "{error}");
    texts["shape"] = json!([1u64 << 38]);
    put(root.join("zarr.json"), texts.to_string());
    let error = refused(&root);
    assert!(error.contains("there are 274877906944 texts, of which at most 0"), "{error}");
    // A cell of a length that is only a number.
    let long = json!({
        "zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "<U4294967295", "order": "C", "fill_value": null,
        "filters": null, "compressor": null,
    });
    fs::remove_file(root.join("zarr.json")).unwrap();
    put(root.join(".zarray"), long.to_string());
    let error = refused(&root);
    assert!(error.contains("<U4294967295"), "{error}");
    fs::remove_file(root.join(".zarray")).unwrap();
    // An index of as many chunks as memory does not have.
    let codecs = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1], "codecs": ["bytes"], "index_codecs": ["bytes"],
    }}]);
    put(root.join("zarr.json"), document(&json!([1u64 << 60]), &json!([1u64 << 59]), codecs).to_string());
    put(root.join("c/0"), [0; 100]);
    let error = refused(&root);
    assert!(error.contains("index"), "{error}");
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn codecs_that_lie_are_found_before_their_bytes_are_made() {
    let root = folder("codecs");
    let (shape, chunk) = (json!([1000]), json!([1000]));
    // Frames that say that they have 2^60 bytes, or have a thousand times as many as the chunk.
    let zstd = [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..], &(1u64 << 60).to_le_bytes(), &[1, 0, 0]].concat();
    let bomb = zstd::bulk::compress(&vec![0; 1 << 20], 3).unwrap();
    let gzip = {
        use std::io::Read;
        let mut out = Vec::new();
        flate2::read::GzEncoder::new(io::repeat(0).take(1 << 24), flate2::Compression::best())
            .read_to_end(&mut out)
            .unwrap();
        out
    };
    let blosc = [
        &[2, 1, 0x13, 1][..],
        &[0xff, 0xff, 0xff, 0x7f],
        &[0xff, 0xff, 0xff, 0x7f],
        &[40, 0, 0, 0],
        &[0; 24],
    ]
    .concat();
    let lz4 = [&[0xff, 0xff, 0xff, 0x7f][..], &[0; 10]].concat();
    let cases = [
        ("zstd", zstd),
        ("zstd", bomb),
        ("gzip", gzip),
        ("blosc", blosc),
        ("numcodecs.lz4", lz4),
        ("gzip", Vec::new()),
        ("blosc", vec![2; 16]),
        ("crc32c", vec![0; 3]),
        ("numcodecs.fletcher32", vec![7; 1004]),
        ("numcodecs.shuffle", vec![0; 999]),
    ];
    for (name, stored) in cases {
        put(root.join("zarr.json"), document(&shape, &chunk, json!(["bytes", name])).to_string());
        put(root.join("c/0"), stored);
        let error = refused(&root);
        assert!(error.contains("c/0"), "{name}: {error}");
    }
    fs::remove_dir_all(&root).unwrap();
}

#[cfg(unix)]
#[test]
fn links_and_names_that_lead_out_of_the_folder_are_not_followed() {
    use std::os::unix::fs::symlink;

    let root = folder("links");
    let inside = root.join("x.zarr");
    put(root.join("secret"), [7; 10]);
    put(root.join("other/zarr.json"), document(&json!([10]), &json!([10]), json!(["bytes"])).to_string());
    put(inside.join("zarr.json"), document(&json!([10]), &json!([10]), json!(["bytes"])).to_string());
    fs::create_dir(inside.join("c")).unwrap();
    symlink(root.join("secret"), inside.join("c/0")).unwrap();
    assert!(refused(&inside).contains("links in a Zarr folder are not followed"));
    fs::remove_dir_all(inside.join("c")).unwrap();
    symlink(&root, inside.join("c")).unwrap();
    assert!(refused(&inside).contains("links"));
    fs::remove_file(inside.join("c")).unwrap();
    fs::remove_file(inside.join("zarr.json")).unwrap();
    symlink(root.join("other/zarr.json"), inside.join("zarr.json")).unwrap();
    assert!(refused(&inside).contains("links"));
    fs::remove_file(inside.join("zarr.json")).unwrap();
    put(inside.join("zarr.json"), json!({"zarr_format": 3, "node_type": "group"}).to_string());
    symlink(root.join("other"), inside.join("member")).unwrap();
    assert!(refused(&inside).contains("links"));
    // The folder that the caller names may be a link.
    symlink(root.join("other"), root.join("named")).unwrap();
    assert_eq!(schemas(&root.join("named"), &ImportOptions::new()).unwrap().len(), 1);
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn documents_that_are_cut_or_changed_never_panic() {
    let root = folder("documents");
    let codecs = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2], "codecs": [{"name": "transpose", "configuration": {"order": [0]}}, "bytes", {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 1}}],
        "index_codecs": ["bytes", "crc32c"],
    }}]);
    let text = document(&json!([10]), &json!([4]), codecs).to_string();
    let mut seed = 1u32;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(seed >> 8).unwrap() % below
    };
    let options = ImportOptions::new();
    let mut whole = 0;
    for case in 0..1500 {
        let mut bytes = text.clone().into_bytes();
        match case % 3 {
            0 => bytes.truncate(random(bytes.len())),
            1 => {
                let at = random(bytes.len());
                bytes[at] = b"0123456789\"[]{},:-x\0\xff"[random(21)];
            }
            _ => {
                let (from, to, len) = (random(bytes.len()), random(bytes.len()), random(30));
                let part: Vec<u8> = bytes.iter().skip(from).take(len).copied().collect();
                bytes.splice(to..to, part);
            }
        }
        fs::write(root.join("zarr.json"), &bytes).unwrap();
        whole += usize::from(schemas(&root, &options).is_ok());
    }
    assert!(whole > 10, "{whole}");
    fs::remove_dir_all(&root).unwrap();
}
