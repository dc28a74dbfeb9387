//! The session that the exports of the module call, without WebAssembly, by a host that reads
//! folders. `cargo xtask wasm` runs the modules themselves.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests: a panic is a failure")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tdb_array::Layout;
use tdb_array::publish::Manifest;
use tdb_wasm_reader::{Progress, Session, encode};
use tdb_web::message::{block, parts};
use tdb_zarr::{Hierarchy, Options, Span};

fn arrays() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays")
}

/// A host over one folder.
struct Host {
    session: Session,
    folder: PathBuf,
    array: u32,
    /// How often it fetched, and how many parts.
    rounds: usize,
    requests: usize,
}

fn add(manifest: &mut Manifest, folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let key = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            add(manifest, &path, &format!("{key}/"));
        } else {
            manifest.add_file(key, fs::metadata(&path).unwrap().len()).unwrap();
        }
    }
}

impl Host {
    fn new(folder: PathBuf) -> Self {
        Self { session: Session::default(), folder, array: 0, rounds: 0, requests: 0 }
    }

    fn open_with(&mut self, more: &Value) -> Result<Value, Value> {
        let mut manifest = Manifest::new(1);
        add(&mut manifest, &self.folder, "");
        let mut request =
            json!({"op": "open", "url": "http://host/a", "start": "0", "end": u64::MAX.to_string()});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let task = self.begin(&request, &manifest.to_bytes());
        let document = self.finish(task).map(|answer| parts(&answer).unwrap().0)?;
        self.array = u32::try_from(document["handle"].as_u64().unwrap_or(0)).unwrap();
        Ok(document)
    }

    fn open(name: &str) -> Self {
        let mut host = Self::new(arrays().join("2.30.0").join(name));
        host.open_with(&json!({})).unwrap();
        host
    }

    fn begin(&mut self, request: &Value, bytes: &[u8]) -> u32 {
        let document = request.to_string();
        let input = self.session.input(document.len() + bytes.len()).unwrap();
        input.copy_from_slice(&[document.as_bytes(), bytes].concat());
        self.session.begin(document.len())
    }

    /// Polls until there is an answer.
    fn next(&mut self, task: u32) -> Option<Result<Vec<u8>, Value>> {
        loop {
            match self.session.poll(task) {
                Progress::Done => return Some(Ok(self.session.output().to_vec())),
                Progress::Failed => return Some(Err(parts(self.session.output()).unwrap().0)),
                Progress::Ended => return None,
                Progress::Waits => {}
            }
            let wanted = parts(self.session.output()).unwrap().0;
            self.rounds += usize::from(wanted != json!([]));
            for part in wanted.as_array().unwrap() {
                self.requests += 1;
                self.fetch(part);
            }
        }
    }

    fn fetch(&mut self, part: &Value) {
        let number = |at: usize| usize::try_from(part[at].as_u64().unwrap()).unwrap();
        let id = u32::try_from(number(0)).unwrap();
        match fs::read(self.folder.join(part[1].as_str().unwrap())) {
            Ok(file) => {
                let bytes = &file[number(2)..number(3).min(file.len())];
                self.session.input(bytes.len()).unwrap().copy_from_slice(bytes);
                self.session.give(id, Some(file.len().try_into().unwrap()));
            }
            Err(_) => self.session.fail(id, true),
        }
    }

    fn finish(&mut self, task: u32) -> Result<Vec<u8>, Value> {
        let answer = self.next(task).unwrap();
        self.session.end(task);
        answer
    }

    fn ask(&mut self, mut request: Value) -> Result<Vec<u8>, Value> {
        request["array"] = json!(self.array);
        let task = self.begin(&request, &[]);
        self.finish(task)
    }

    fn document(&mut self, request: Value) -> Value {
        parts(&self.ask(request).unwrap()).unwrap().0
    }

    fn failure(&mut self, request: Value) -> (String, String) {
        let failure = self.ask(request).unwrap_err();
        (failure["kind"].as_str().unwrap().to_owned(), failure["message"].as_str().unwrap().to_owned())
    }
}

const ORDERS: [Layout; 4] = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered];

#[test]
fn every_fixture_of_the_newest_release_is_read_as_natively_in_every_order() {
    let mut compared = 0;
    for entry in fs::read_dir(arrays().join("2.30.0")).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(array) = tdb_array::OpenOptions::new().window(tdb_array::TimeWindow::ALL).open(&folder) else {
            continue;
        };
        let mut host = Host::new(folder.clone());
        host.open_with(&json!({})).unwrap();
        for order in ORDERS {
            let native = array.read().order(order).collect();
            let ours = host.ask(json!({"op": "read", "order": order.name()}));
            match (native, ours) {
                (Ok(cells), Ok(ours)) => {
                    assert!(ours == encode(&cells, array.schema()).unwrap(), "{}, {order}", folder.display());
                    compared += 1;
                }
                (Err(native), Err(ours)) => {
                    let ours = ours["message"].as_str().unwrap().to_owned();
                    let native = native.to_string().replace(folder.to_str().unwrap(), "http://host/a");
                    assert_eq!(ours, native);
                }
                (native, ours) => panic!("{}, {order}: {native:?} but {ours:?}", folder.display()),
            }
        }
    }
    assert!(compared > 400, "{compared}");
}

#[test]
fn the_schema_says_what_an_array_is_and_values_are_blocks() {
    let mut host = Host::new(arrays().join("2.30.0/quickstart"));
    let opened = host.open_with(&json!({})).unwrap();
    assert_eq!(opened["kind"], "array");
    assert_eq!(opened["missing"], json!([]));
    let schema = &opened["schema"];
    assert_eq!(schema["type"], "dense");
    assert_eq!(schema["dimensions"][0]["name"], "rows");
    assert_eq!(schema["attributes"][0]["datatype"], "INT32");
    let answer = host.ask(json!({"op": "fragments"})).unwrap();
    let (document, blocks) = parts(&answer).unwrap();
    let high = &document["nonEmptyDomain"][1][1];
    assert_eq!(block(blocks, high), Some(&4i32.to_le_bytes()[..]));
    assert_eq!(document["fragments"].as_array().unwrap().len(), 1);
}

#[test]
fn a_window_of_a_dense_array_has_its_shape_and_its_cells() {
    let mut host = Host::open("quickstart");
    let request =
        json!({"op": "read", "fields": ["a"], "ranges": [["rows", [["1", "2"]]], ["cols", [["3", null]]]]});
    let answer = host.ask(request).unwrap();
    let (document, blocks) = parts(&answer).unwrap();
    assert_eq!((&document["length"], &document["shape"]), (&json!(4), &json!([2, 2])));
    let values = block(blocks, &document["columns"][0]["values"]).unwrap();
    assert_eq!(values, [3i32, 4, 7, 8].map(i32::to_le_bytes).concat());
}

#[test]
fn batches_are_the_cells_of_a_read() {
    let mut host = Host::open("rtree_3_levels");
    let length = host.document(json!({"op": "read"}))["length"].as_u64().unwrap();
    let array = host.array;
    let task =
        host.begin(&json!({"op": "batches", "array": array, "batchBytes": 16384, "order": "row-major"}), &[]);
    let (mut batches, mut cells) = (0, 0);
    while let Some(answer) = host.next(task) {
        cells += parts(&answer.unwrap()).unwrap().0["length"].as_u64().unwrap();
        batches += 1;
    }
    host.session.end(task);
    assert_eq!(cells, length);
    assert!(batches > 1, "{batches}");
}

#[test]
fn aggregates_and_groups_are_values() {
    let mut host = Host::open("quickstart");
    let asked = json!({"op": "aggregate", "aggregates": ["count", "sum(a)", "mean(a)"], "where": "a > 12"});
    let answer = host.ask(asked).unwrap();
    let (document, blocks) = parts(&answer).unwrap();
    let value = |at: usize| block(blocks, &document[at]["value"]).unwrap();
    assert_eq!((value(0), value(1)), (&4u64.to_le_bytes()[..], &58i64.to_le_bytes()[..]));
    assert_eq!(value(2), 14.5f64.to_le_bytes());

    let mut host = Host::open("sparse2d_rr");
    let cells = host.document(json!({"op": "read"}))["length"].as_u64().unwrap();
    let name = host.document(json!({"op": "read"}))["columns"][0]["name"].clone();
    let answer = host.ask(json!({"op": "aggregate", "aggregates": ["count"], "groupBy": [name]})).unwrap();
    let (document, blocks) = parts(&answer).unwrap();
    let counts = block(blocks, &document["columns"][1]["values"]).unwrap();
    let sum: u64 = counts.chunks(8).map(|count| u64::from_le_bytes(count.try_into().unwrap())).sum();
    assert_eq!(sum, cells);
    let (kind, message) =
        host.failure(json!({"op": "aggregate", "aggregates": [], "groupBy": [name], "maxGroups": 1}));
    assert_eq!(kind, "query");
    assert!(message.contains("more than 1 groups"), "{message}");
}

#[test]
fn a_request_that_does_not_fit_is_a_fault_of_the_query() {
    let mut host = Host::open("quickstart");
    for (request, expected) in [
        (json!({"op": "read", "fields": ["b"]}), "the array has no field \"b\""),
        (json!({"op": "read", "ranges": [["z", [["1", "2"]]]]}), "no dimension \"z\""),
        (json!({"op": "read", "ranges": [["rows", [["x", "2"]]]]}), "\"x\" is not an integer"),
        (json!({"op": "read", "ranges": [["rows", [["9", "2"]]]]}), "range of dimension \"rows\""),
        (json!({"op": "read", "ranges": [["rows", [["1"]]]]}), "two ends"),
        (json!({"op": "read", "where": "a >"}), "condition: "),
        (json!({"op": "read", "order": "sideways"}), "\"sideways\" is not a valid order"),
        (json!({"op": "read", "limit": 3}), "\"limit\" is not a known key"),
        (json!({"op": "aggregate", "aggregates": ["median(a)"]}), "aggregate: "),
        (json!({"op": "enumeration", "name": "e"}), "no enumeration \"e\""),
    ] {
        let (kind, message) = host.failure(request.clone());
        assert_eq!(kind, "query", "{request}: {message}");
        assert!(message.contains(expected), "{request}: {message}");
    }
    assert_eq!(host.failure(json!({"op": "fly"})).0, "internal");
    host.session.close(host.array);
    assert_eq!(host.failure(json!({"op": "fragments"})).0, "internal");
}

#[test]
fn an_encrypted_array_is_read_with_its_key_alone() {
    let mut host = Host::new(arrays().join("2.30.0/encrypted_dense"));
    let failure = host.open_with(&json!({})).unwrap_err();
    assert_eq!(failure["kind"], "unsupported");
    assert!(failure["message"].as_str().unwrap().contains("no key was given"), "{failure}");
    let key: String = b"0123456789abcdeF0123456789abcdeF".iter().map(|byte| format!("{byte:02x}")).collect();
    let mut host = Host::new(arrays().join("2.30.0/encrypted_dense"));
    host.open_with(&json!({"key": key})).unwrap();
    assert!(host.document(json!({"op": "read"}))["length"].as_u64().unwrap() > 0);
    let failure =
        Host::new(arrays().join("2.30.0/encrypted_dense")).open_with(&json!({"key": "00"})).unwrap_err();
    assert!(failure["message"].as_str().unwrap().contains("32 bytes, not 1"), "{failure}");
}

#[test]
fn what_was_written_after_the_window_is_not_seen() {
    let folder = arrays().join("2.30.0/fragments_sparse");
    let cells = |start: u64, end: u64| {
        let mut host = Host::new(folder.clone());
        host.open_with(&json!({"start": start.to_string(), "end": end.to_string()})).unwrap();
        host.document(json!({"op": "read"}))["length"].as_u64().unwrap()
    };
    assert_eq!((cells(0, 9), cells(0, 10), cells(20, u64::MAX)), (0, 9, 8));
}

#[test]
fn a_group_has_members_and_metadata() {
    let mut host = Host::new(arrays().join("2.30.0/group_flat"));
    let opened = host.open_with(&json!({})).unwrap();
    assert_eq!(opened["kind"], "group");
    assert!(!opened["members"].as_array().unwrap().is_empty());
}

#[test]
fn an_array_as_zarr_has_the_keys_that_tdb_zarr_makes() {
    for (name, keys) in [
        ("quickstart", ["zarr.json", "a/zarr.json", "a/.zarray", "a/c/1/0", ".zmetadata"]),
        ("rtree_3_levels", [".zattrs", "a/zarr.json", "a/.zarray", "a/c/0", "a/1"]),
    ] {
        let array = tdb_array::Array::open(arrays().join("2.30.0").join(name)).unwrap();
        let field = &array.schema().attributes[0].name;
        let hierarchy = Hierarchy::new(&array, &Options::new().rows(20)).unwrap();
        let mut host = Host::open(name);
        for key in keys.map(|key| key.replace("a/", &format!("{field}/"))) {
            let answer = host.ask(json!({"op": "zarr", "rows": 20, "key": key})).unwrap();
            let (document, blocks) = parts(&answer).unwrap();
            let expected = hierarchy.get(&key, Span::All).unwrap().unwrap();
            assert!(block(blocks, &document["bytes"]).unwrap() == expected, "{name}: {key}");
        }
        // What was counted is not counted again.
        let requests = host.requests;
        host.document(json!({"op": "zarr", "rows": 20, "key": format!("{field}/zarr.json")}));
        assert_eq!(host.requests, requests, "{name}");
        assert_eq!(host.document(json!({"op": "zarr", "key": "none"})), json!({"bytes": null}));
        assert_eq!(host.document(json!({"op": "zarr"})), json!({"refused": [], "members": []}));
    }
}

#[test]
fn a_part_of_a_key_and_one_version_can_be_asked_for() {
    let mut host = Host::open("quickstart");
    let mut numbers = |more: Value| {
        let mut request = json!({"op": "zarr", "key": "a/c/0/0"});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = host.ask(request).unwrap();
        let (document, blocks) = parts(&answer).unwrap();
        let bytes = block(blocks, &document["bytes"])?.to_vec();
        Some(bytes.chunks(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect::<Vec<_>>())
    };
    assert_eq!(numbers(json!({})), Some(vec![1, 2, 5, 6]));
    assert_eq!(numbers(json!({"between": [4, 12]})), Some(vec![2, 5]));
    assert_eq!(numbers(json!({"last": 4})), Some(vec![6]));
    assert_eq!((numbers(json!({"version": 3})).is_some(), numbers(json!({"version": 2}))), (true, None));
    for (more, expected) in [
        (json!({"version": 4}), "versions 2 and 3 of Zarr, not 4"),
        (json!({"between": [1]}), "two offsets"),
        (json!({"between": [1, 2], "last": 3}), "exclude each other"),
        (json!({"where": "a > 1"}), "\"where\" is not a known key"),
        (json!({"rows": -1}), "rows"),
    ] {
        let mut request = json!({"op": "zarr"});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (kind, message) = host.failure(request);
        assert_eq!(kind, "query", "{message}");
        assert!(message.contains(expected), "{more}: {message}");
    }
}

#[test]
fn a_group_as_zarr_has_its_own_documents_and_the_names_of_its_members() {
    let mut host = Host::new(arrays().join("2.30.0/group_flat"));
    let opened = host.open_with(&json!({})).unwrap();
    let count = opened["members"].as_array().unwrap().len();
    let answer = host.ask(json!({"op": "zarr", "key": "zarr.json"})).unwrap();
    let (document, blocks) = parts(&answer).unwrap();
    let bytes = block(blocks, &document["bytes"]).unwrap();
    assert!(bytes.starts_with(b"{\"zarr_format\":3,\"node_type\":\"group\""));
    let said = host.document(json!({"op": "zarr"}));
    assert_eq!((said["members"].as_array().unwrap().len(), &said["refused"]), (count, &json!([])));
    assert_eq!(host.failure(json!({"op": "read"})).0, "internal");
    host.session.close(host.array);
    assert_eq!(host.failure(json!({"op": "zarr"})).0, "internal");
}

#[test]
fn a_damaged_file_is_named_with_the_offset_and_a_missing_one_makes_the_listing_old() {
    let copy = std::env::temp_dir().join(format!("tdb-web-{}", std::process::id()));
    let _ = fs::remove_dir_all(&copy);
    let mut files = Vec::new();
    copy_folder(&arrays().join("2.30.0/quickstart"), &copy, &mut files);
    let data = files.iter().find(|file| file.ends_with("a0.tdb")).unwrap();
    let mut host = Host::new(copy.clone());
    host.open_with(&json!({})).unwrap();
    let whole = fs::read(data).unwrap();
    fs::write(data, whole.iter().map(|byte| byte ^ 0xff).collect::<Vec<u8>>()).unwrap();
    let failure = host.ask(json!({"op": "read"})).unwrap_err();
    assert_eq!(failure["kind"], "corrupt", "{failure}");
    assert!(
        failure["file"].as_str().unwrap().ends_with("/a0.tdb") && failure["offset"].is_u64(),
        "{failure}"
    );
    fs::write(data, &whole[1..]).unwrap();
    assert_eq!(host.failure(json!({"op": "read"})).0, "outdated");
    fs::remove_file(data).unwrap();
    assert_eq!(host.failure(json!({"op": "read"})).0, "outdated");
    fs::remove_dir_all(&copy).unwrap();
}

fn copy_folder(from: &Path, to: &Path, files: &mut Vec<PathBuf>) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &copy, files);
        } else {
            fs::copy(&path, &copy).unwrap();
            files.push(copy);
        }
    }
}

#[test]
fn a_query_that_is_left_leaves_nothing_and_others_go_on() {
    let mut host = Host::open("quickstart");
    let array = host.array;
    let left = host.begin(&json!({"op": "read", "array": array}), &[]);
    assert_eq!(host.session.poll(left), Progress::Waits);
    let wanted = parts(host.session.output()).unwrap().0;
    host.session.end(left);
    // An answer that comes too late is dropped.
    host.fetch(&wanted[0]);
    assert_eq!(host.session.poll(left), Progress::Failed);
    assert_eq!(host.document(json!({"op": "read"}))["length"], 16);
}

#[test]
fn an_array_is_opened_and_read_in_few_rounds() {
    let mut host = Host::open("quickstart");
    assert!(host.rounds <= 2 && host.requests <= 3, "{} rounds, {} requests", host.rounds, host.requests);
    let (rounds, requests) = (host.rounds, host.requests);
    host.ask(json!({"op": "read"})).unwrap();
    assert!(host.rounds - rounds <= 2 && host.requests - requests <= 2, "{} {}", host.rounds, host.requests);
}

#[test]
fn a_manifest_that_is_none_is_a_damaged_file() {
    let mut session = Session::default();
    let document = r#"{"op": "open", "url": "http://host/a", "start": "0", "end": "1"}"#;
    let bytes = [document.as_bytes(), b"<html>"].concat();
    session.input(bytes.len()).unwrap().copy_from_slice(&bytes);
    let task = session.begin(document.len());
    assert_eq!(session.poll(task), Progress::Failed);
    let failure = parts(session.output()).unwrap().0;
    assert_eq!(failure["kind"], "corrupt");
    assert_eq!(failure["file"], "http://host/a/tdb_manifest.txt");
    assert!(session.input(usize::MAX).is_none());
}
