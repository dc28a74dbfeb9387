//! The session that the exports of the module call, without WebAssembly. `cargo xtask wasm` runs
//! the module itself.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests: a panic is a failure")]

use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::TimeWindow;
use tdb_wasm_reader::{Session, SessionError};

fn array(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0").join(name)
}

fn give(session: &mut Session, key: &str, content: &[u8]) -> Result<(), SessionError> {
    let input = session.input(key.len() + content.len()).unwrap();
    input[..key.len()].copy_from_slice(key.as_bytes());
    input[key.len()..].copy_from_slice(content);
    session.file(key.len())
}

fn give_folder(session: &mut Session, folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let key = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            give_folder(session, &path, &format!("{key}/"));
        } else {
            give(session, &key, &fs::read(path).unwrap()).unwrap();
        }
    }
}

fn with(name: &str) -> Session {
    let mut session = Session::default();
    give_folder(&mut session, &array(name), "");
    session
}

#[test]
fn the_cells_of_a_dense_array_have_the_documented_bytes() {
    let mut session = with("quickstart");
    assert!(session.answer(|session| session.read(TimeWindow::ALL, 1)));
    let mut expected = Vec::new();
    expected.extend(16u64.to_le_bytes());
    expected.extend(2u32.to_le_bytes());
    expected.extend([4u64, 4].map(u64::to_le_bytes).concat());
    expected.extend(1u32.to_le_bytes());
    expected.extend(1u32.to_le_bytes());
    expected.extend(b"a");
    expected.push(0);
    expected.extend(1u32.to_le_bytes());
    expected.push(0);
    expected.extend(64u64.to_le_bytes());
    let columns = (1i32..=4).flat_map(|column| [column, column + 4, column + 8, column + 12]);
    expected.extend(columns.flat_map(i32::to_le_bytes));
    assert_eq!(session.output(), expected);
}

#[test]
fn strings_have_one_offset_more_than_cells_and_nullable_cells_a_byte_each() {
    let mut session = with("single_sparse");
    session.read(TimeWindow::ALL, 3).unwrap();
    let one_cell = session.output().to_vec();
    assert_eq!(one_cell[..8], 1u64.to_le_bytes());
    assert_eq!(one_cell[8..12], 0u32.to_le_bytes(), "sparse cells are no box");

    let mut session = with("all_null");
    session.read(TimeWindow::ALL, 0).unwrap();
    let output = session.output();
    let cells = usize::try_from(u64::from_le_bytes(output[..8].try_into().unwrap())).unwrap();
    assert!(cells > 0 && output[output.len() - cells..].iter().all(|valid| *valid == 0));
}

#[test]
fn what_was_written_after_the_window_is_not_seen() {
    let mut session = with("fragments_sparse");
    let mut cells = |window| {
        session.read(window, 3).unwrap();
        u64::from_le_bytes(session.output()[..8].try_into().unwrap())
    };
    assert_eq!(cells(TimeWindow::until(9)), 0);
    assert_eq!(cells(TimeWindow::until(10)), 9);
    assert_eq!(cells(TimeWindow::between(20, u64::MAX)), 8);
}

#[test]
fn an_encrypted_array_is_read_with_its_key_alone() {
    let mut session = with("encrypted_dense");
    assert!(!session.answer(|session| session.read(TimeWindow::ALL, 0)));
    assert!(String::from_utf8_lossy(session.output()).contains("no key was given"));
    session.input(32).unwrap().copy_from_slice(b"0123456789abcdeF0123456789abcdeF");
    assert!(session.answer(Session::key));
    assert!(session.answer(|session| session.read(TimeWindow::ALL, 0)));
}

#[test]
fn a_failure_leaves_its_message_and_the_session_goes_on() {
    let mut session = with("quickstart");
    let mut message = |request: fn(&mut Session) -> Result<(), SessionError>| {
        assert!(!session.answer(request));
        String::from_utf8(session.output().to_vec()).unwrap()
    };
    assert_eq!(message(|session| session.read(TimeWindow::ALL, 9)), "there is no order with the number 9");
    assert_eq!(
        message(|session| session.read(TimeWindow::ALL, 256)),
        "there is no order with the number 256"
    );
    assert_eq!(message(Session::key), "the key of an encrypted array has 32 bytes, not 0");
    assert_eq!(message(|session| session.file(1)), "a key of 1 bytes in an input of 0 bytes");
    session.input(1).unwrap()[0] = 0xff;
    assert!(!session.answer(|session| session.file(1)));
    assert!(session.input(usize::MAX).is_none());
    assert!(session.answer(|session| session.read(TimeWindow::ALL, 0)));
}

#[test]
fn no_array_is_refused_by_name() {
    let mut session = Session::default();
    give(&mut session, "readme.txt", b"no array").unwrap();
    let error = session.read(TimeWindow::ALL, 0).unwrap_err().to_string();
    assert!(error.contains("not a TileDB array"), "{error}");
}
