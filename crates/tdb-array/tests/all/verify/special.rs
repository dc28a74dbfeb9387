//! Special files in place of regular ones: reads return an error, and do not wait.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tdb_array::maintain::verify;
use tdb_array::storage::{LocalStorage, Storage};
use tdb_array::{Array, Error, WriteOptions};

/// A copy of a fixture in a separate folder.
fn copy(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tdb-special-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let storage = crate::verify::load(&crate::common::fixtures().join("arrays/2.30.0/base_meta"));
    for key in storage.keys() {
        let path = folder.join(&key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, storage.read_tail(&key, u64::MAX).unwrap().1).unwrap();
    }
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Runs something that must not wait.
fn soon<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(run()));
    receiver.recv_timeout(Duration::from_secs(60)).unwrap()
}

/// Reads everything of an array.
fn read(folder: &Path) -> Result<(), Error> {
    let array = Array::open(folder)?;
    array.metadata()?;
    array.read().collect().map(|_| ())
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_special_file_in_place_of_any_file_is_an_error_and_no_wait() {
    type Make = fn(&Path);
    let kinds: [(&str, Make); 4] = [
        ("a named pipe", make_pipe),
        ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
        ("a device", |path| symlink("/dev/zero", path).unwrap()),
        ("a folder", |path| fs::create_dir(path).unwrap()),
    ];
    for (what, make) in kinds {
        let folder = copy(what);
        for file in files(&folder) {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            let bytes = fs::read(&file).unwrap();
            fs::remove_file(&file).unwrap();
            // Paths of sockets are short.
            let place = folder.join("s");
            make(&place);
            fs::rename(&place, &file).unwrap();
            let at = folder.clone();
            let (result, found) = soon(move || (read(&at), verify(LocalStorage::new(at))));
            let shown = format!("it is {what}, not a regular file");
            // Readers never open commit files, and a folder in place of a file is still listed as a
            // folder.
            let listed = what == "a folder" && !file.to_str().unwrap().contains("__fragments/");
            if !name.ends_with(".wrt") && !listed {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(&name) && error.contains(&shown), "{name}: {error}");
            }
            if !listed {
                let named = |problem: &&tdb_array::maintain::Problem| {
                    problem.path.ends_with(&name) && problem.what.contains(&shown)
                };
                assert!(found.problems.iter().any(|problem| named(&problem)), "{name}, {what}: {found:?}");
            }
            if what == "a folder" {
                fs::remove_dir(&file).unwrap();
            } else {
                fs::remove_file(&file).unwrap();
            }
            fs::write(&file, bytes).unwrap();
        }
        assert!(verify(LocalStorage::new(&folder)).is_clean());
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_symbolic_link_to_a_regular_file_is_one() {
    let folder = copy("links");
    for file in files(&folder) {
        let target =
            folder.join("..").join(format!("{}-{}", folder.display(), file.file_name().unwrap().display()));
        fs::rename(&file, &target).unwrap();
        symlink(fs::canonicalize(&target).unwrap(), &file).unwrap();
    }
    read(&folder).unwrap();
    assert!(verify(LocalStorage::new(&folder)).is_clean());
    for file in files(&folder) {
        fs::remove_file(fs::canonicalize(file).unwrap()).unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_named_pipe_in_place_of_the_array_itself_is_an_error_for_writers_too() {
    let pipe = std::env::temp_dir().join(format!("tdb-special-{}-root", std::process::id()));
    let _ = fs::remove_file(&pipe);
    make_pipe(&pipe);
    let at = pipe.clone();
    soon(move || {
        assert!(Array::open(&at).is_err());
        assert!(WriteOptions::new().open(&at).is_err());
        assert!(!verify(LocalStorage::new(&at)).is_clean());
    });
    fs::remove_file(pipe).unwrap();
}
