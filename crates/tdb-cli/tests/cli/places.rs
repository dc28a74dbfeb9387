//! Places that are not paths: URLs of files and of stores. Tests with servers are in
//! `cargo xtask conform stores`.

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

/// A web server that answers every request with this status, and its address.
#[cfg(feature = "object-store")]
fn server(status: &'static str) -> std::net::SocketAddr {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = write!(connection, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    address
}

#[test]
#[cfg(feature = "object-store")]
fn passwords_in_urls_are_in_no_message_and_no_report() {
    for status in ["400 Bad Request", "404 Not Found"] {
        let place = server(status);
        for user in ["user:secret@", "secret@"] {
            let url = format!("http://{user}{place}/a b");
            for command in [
                &["info"][..],
                &["read"],
                &["verify", "--json"],
                &["explain"],
                &["meta"],
                &["log", "--json"],
                &["dump"],
                &["show"],
                &["group"],
                &["fragments", "--json"],
                &["vacuum", "--json"],
                &["-vv", "info"],
            ] {
                let refused = std::process::Command::new(env!("CARGO_BIN_EXE_tdb"))
                    .args([command, &[url.as_str()]].concat())
                    .output()
                    .unwrap();
                let all =
                    [refused.stdout, refused.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
                assert!(!refused.status.success(), "{command:?}");
                assert!(all.contains(&place.to_string()) && !all.contains("secret"), "{command:?}: {all}");
            }
        }
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
