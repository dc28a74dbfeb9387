use core::time::Duration;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread;

use tdb_storage::WriteStorage;

use super::*;

/// The reply of a server to the first put, which it stores.
#[derive(Clone, Copy, Debug)]
enum First {
    /// It closes the connection instead of an answer.
    Closes,
    /// It says nothing for longer than the client waits.
    Waits,
    /// It refuses it: the object was there before.
    Refuses,
}

/// A server of one object, which has `size` bytes; returns its URL and the methods of all requests.
fn serve(first: First, size: usize) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let log = asked.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let log = log.clone();
            thread::spawn(move || answer(&stream.unwrap(), first, size, &log));
        }
    });
    (url, asked)
}

/// Answers the requests of a connection.
fn answer(stream: &TcpStream, first: First, size: usize, log: &Mutex<Vec<String>>) {
    let mut from = BufReader::new(stream);
    loop {
        let (mut line, mut head) = (String::new(), Vec::new());
        while from.read_line(&mut line).unwrap_or(0) > 0 && !line.trim().is_empty() {
            head.push(core::mem::take(&mut line).to_ascii_lowercase());
        }
        let Some(request) = head.first() else { return };
        let length = head.iter().find_map(|line| line.strip_prefix("content-length:"));
        let length = length.map_or(0, |length| length.trim().parse().unwrap());
        let method = request.split(' ').next().unwrap().to_owned();
        if method == "put" {
            from.read_exact(&mut vec![0; length]).unwrap();
        }
        let is_first = {
            let mut log = log.lock().unwrap();
            log.push(method.clone());
            log.len() == 1
        };
        let head = match (&*method, first) {
            ("put", First::Closes) if is_first => return,
            ("put", First::Waits) if is_first => return thread::sleep(Duration::from_secs(3)),
            ("put", _) => "412 Precondition Failed\r\nContent-Length: 0".to_owned(),
            _ => format!(
                "200 OK\r\nETag: \"1\"\r\nLast-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\nContent-Length: {size}"
            ),
        };
        let mut out = stream;
        out.write_all(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes()).unwrap();
    }
}

fn storage(url: &str) -> crate::ObjectStorage {
    let options = [
        ("aws_endpoint_url", url),
        ("aws_region", "x"),
        ("aws_skip_signature", "true"),
        ("timeout", "500ms"),
    ];
    crate::open("s3://bucket/a", options).unwrap()
}

#[test]
fn a_data_file_whose_put_got_no_answer_is_put_again_and_known_by_its_size() {
    for (first, size, kind) in [
        (First::Closes, 3, None),
        (First::Waits, 3, None),
        (First::Waits, 4, Some(io::ErrorKind::AlreadyExists)),
        (First::Refuses, 3, Some(io::ErrorKind::AlreadyExists)),
    ] {
        let (url, asked) = serve(first, size);
        let storage = storage(&url);
        let mut file = storage.create_file("b").unwrap();
        file.append(b"abc").unwrap();
        let done = file.finish(Durability::Synced);
        let asked = asked.lock().unwrap().clone();
        assert_eq!(done.as_ref().err().map(io::Error::kind), kind, "{first:?}: {done:?} {asked:?}");
        let expected = if matches!(first, First::Refuses) { vec!["put"] } else { vec!["put", "put", "head"] };
        assert_eq!(asked, expected, "{first:?}");
    }
}

#[test]
fn a_file_that_several_may_create_is_never_taken_for_our_own() {
    for first in [First::Closes, First::Waits, First::Refuses] {
        let (url, _) = serve(first, 3);
        assert!(storage(&url).put_file("b", b"abc", Durability::Synced).is_err(), "{first:?}");
    }
}
