//! `tdb serve`: what it answers, and what it refuses.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tdb_array::publish::MANIFEST;

use crate::common::{Scratch, copy, files as files_of, fixture, refused, said, text};

const QUICKSTART: &str = "2.30.0/quickstart";

/// A server that runs until it is dropped.
struct Server {
    child: Child,
    port: u16,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// An answer: status, headers in lower case, body.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Server {
    fn start(object: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        command.arg("serve").arg(object).args(options).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = || lines.next().unwrap().unwrap();
        assert!(next().starts_with("serving "));
        let files = next();
        let address = files.strip_prefix("files: http://127.0.0.1:").unwrap();
        let (port, path) = address.split_once('/').unwrap();
        let token = path.strip_suffix("/files/").unwrap().to_owned();
        assert_eq!(next(), format!("zarr:  http://127.0.0.1:{port}/{token}/zarr/"));
        Self { port: port.parse().unwrap(), child, token }
    }

    /// A server of `tdb view`.
    fn view(object: &Path, viewer: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        command.arg("view").arg(object).args(["--no-browser", "--viewer-files"]).arg(viewer);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = || lines.next().unwrap().unwrap();
        assert_eq!(next(), format!("showing {} until Ctrl-C", object.display()));
        let address = next();
        let address = address.strip_prefix("viewer: http://127.0.0.1:").unwrap();
        let (port, path) = address.split_once('/').unwrap();
        Self { port: port.parse().unwrap(), token: path.strip_suffix("/viewer/").unwrap().to_owned(), child }
    }

    /// Sends bytes, and reads everything until the server ends the connection.
    fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut received = Vec::new();
        // A server that refuses a head before it has read all of it may reset the connection.
        let _ = stream.read_to_end(&mut received);
        received
    }

    /// The answer to a request for a path, with these headers and a right `Host` unless they have
    /// one.
    fn ask(&self, method: &str, path: &str, headers: &[&str]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|header| header.starts_with("Host:")) {
            head.push_str(&format!("Host: 127.0.0.1:{}\r\n", self.port));
        }
        headers.iter().for_each(|header| head.push_str(&format!("{header}\r\n")));
        answer(&self.send(format!("{head}\r\n").as_bytes()))
    }

    /// The answer to a request below the token.
    fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.ask("GET", &format!("/{}/{path}", self.token), headers)
    }
}

fn answer(received: &[u8]) -> Answer {
    let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
    let head = str::from_utf8(&received[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_lowercase(), value.to_owned())
    };
    Answer { status, headers: lines.map(header).collect(), body: received[end + 4..].to_vec() }
}

/// The path of a file below an array.
fn some_file(array: &Path) -> String {
    let fragments = array.join("__fragments");
    let fragment = fs::read_dir(fragments).unwrap().next().unwrap().unwrap().file_name();
    format!("__fragments/{}/a0.tdb", fragment.into_string().unwrap())
}

#[test]
fn files_are_served_with_ranges() {
    let array = fixture(QUICKSTART);
    let server = Server::start(&array, &[]);
    let key = some_file(&array);
    let bytes = fs::read(array.join(&key)).unwrap();
    let whole = server.get(&format!("files/{key}"), &[]);
    assert_eq!((whole.status, &whole.body), (200, &bytes));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let part = server.get(&format!("files/{key}"), &["Range: bytes=3-9"]);
    assert_eq!((part.status, &part.body[..]), (206, &bytes[3..10]));
    assert_eq!(part.header("content-range"), Some(format!("bytes 3-9/{}", bytes.len()).as_str()));
    let end = server.get(&format!("files/{key}"), &["Range: bytes=-5"]);
    assert_eq!((end.status, &end.body[..]), (206, &bytes[bytes.len() - 5..]));
    for wrong in ["bytes=1000000-", "bytes=0-1,4-5", "lines=0-1"] {
        assert_eq!(server.get(&format!("files/{key}"), &[&format!("Range: {wrong}")]).status, 416, "{wrong}");
    }
    let head = server.ask("HEAD", &format!("/{}/files/{key}", server.token), &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), Some(bytes.len().to_string().as_str()));
    for missing in ["files/", "files/__schema", "files/nothing", "", "other/x"] {
        assert_eq!(server.get(missing, &[]).status, 404, "{missing}");
    }
}

#[test]
fn what_is_not_published_has_a_manifest_that_is_not_written() {
    let array = fixture(QUICKSTART);
    let server = Server::start(&array, &[]);
    let answer = server.get("files/tdb_manifest.txt", &[]);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    let key = some_file(&array);
    let size = fs::metadata(array.join(&key)).unwrap().len();
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.starts_with("tdb manifest 1\n") && text.contains(&format!("\n{size} {key}\n")), "{text}");
    assert!(!array.join("tdb_manifest.txt").exists());
    // Folders that are neither array nor group have none.
    for other in
        ["files/__schema/tdb_manifest.txt", "files/nothing/tdb_manifest.txt", "files/xtdb_manifest.txt"]
    {
        assert_eq!(server.get(other, &[]).status, 404, "{other}");
    }
}

#[test]
#[cfg(unix)]
fn links_to_other_places_are_not_followed() {
    let (copy, outside) = (Scratch::copy_of(QUICKSTART), Scratch::new());
    let array = copy.path();
    fs::create_dir_all(outside.path()).unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), array.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path(), array.join("folder")).unwrap();
    std::os::unix::fs::symlink(array.join("__schema"), array.join("inside")).unwrap();
    let server = Server::start(array, &[]);
    for path in ["files/link", "files/folder/secret"] {
        let answer = server.get(path, &[]);
        assert_eq!(
            (answer.status, &answer.body[..]),
            (403, &b"the file is a link to another place\n"[..]),
            "{path}"
        );
    }
    let mut schema = fs::read_dir(array.join("__schema")).unwrap().map(Result::unwrap);
    let name = schema.find(|entry| entry.path().is_file()).unwrap().file_name().into_string().unwrap();
    assert_eq!(server.get(&format!("files/inside/{name}"), &[]).status, 200);
}

#[test]
fn what_cannot_be_read_says_why() {
    let copy = Scratch::copy_of(QUICKSTART);
    let array = copy.path();
    let tile = array.join(some_file(array));
    let bytes = fs::read(&tile).unwrap();
    fs::write(&tile, &bytes[..8]).unwrap();
    let server = Server::start(array, &[]);
    let answer = server.get("zarr/a/c/0/0", &[]);
    let why = String::from_utf8(answer.body).unwrap();
    assert!(answer.status == 500 && why.contains("a0.tdb"), "{} {why}", answer.status);
}

#[test]
fn the_zarr_view_has_documents_of_both_versions_and_chunks() {
    let server = Server::start(&fixture(QUICKSTART), &[]);
    let document = |path: &str| {
        let answer = server.get(path, &[]);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{path}");
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    assert_eq!(document("zarr/zarr.json")["node_type"], "group");
    assert_eq!(document("zarr/a/zarr.json")["shape"], serde_json::json!([4, 4]));
    assert_eq!(document("zarr/.zgroup")["zarr_format"], 2);
    assert_eq!(document("zarr/a/.zarray")["dtype"], "<i4");
    assert_eq!(document("zarr/.zmetadata")["metadata"]["a/.zarray"]["dtype"], "<i4");
    let chunk = server.get("zarr/a/c/0/1", &[]);
    assert_eq!((chunk.status, &chunk.body[..4]), (200, &3i32.to_le_bytes()[..]));
    let part = server.get("zarr/a/0.1", &["Range: bytes=4-7"]);
    assert_eq!((part.status, &part.body[..]), (206, &4i32.to_le_bytes()[..]));
    assert_eq!(server.get("zarr/a/c/9/9", &[]).status, 404);
}

#[test]
fn anndata_is_of_experiments_alone() {
    let refused = |id: &str, why: &str| refused(&["serve", text(&fixture(id)), "--anndata", "RNA"], 1, why);
    refused(QUICKSTART, "this is an array, and --anndata shows an experiment of SOMA");
    refused("2.30.0/group_flat", "it has no measurement \"RNA\"");
}

#[test]
fn nothing_is_answered_without_the_token_or_for_another_host() {
    let array = fixture(QUICKSTART);
    let server = Server::start(&array, &[]);
    let other = format!("{}0", &server.token[..31]);
    let other = if other == server.token { format!("{}1", &server.token[..31]) } else { other };
    for path in
        ["/", "/zarr/zarr.json", &format!("/{other}/zarr/zarr.json"), &format!("/{}", &server.token[..31])]
    {
        let answer = server.ask("GET", path, &[]);
        assert_eq!(answer.status, 404, "{path}");
        assert!(!String::from_utf8_lossy(&answer.body).contains("zarr_format"));
    }
    let port = server.port;
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
    ] {
        assert_eq!(server.get("zarr/zarr.json", &[&format!("Host: {host}")]).status, 421, "{host}");
    }
    assert_eq!(server.get("zarr/zarr.json", &[&format!("Host: LocalHost:{port}")]).status, 200);
    let nameless = format!("GET /{}/zarr/zarr.json HTTP/1.1\r\nConnection: close\r\n\r\n", server.token);
    assert_eq!(answer(&server.send(nameless.as_bytes())).status, 400);
}

#[test]
fn paths_that_lead_elsewhere_and_other_methods_are_refused() {
    let server = Server::start(&fixture(QUICKSTART), &[]);
    for path in [
        "files/../quickstart/__schema",
        "files/..%2f..%2fmanifest.json",
        "files/%2e%2e/x",
        "files/./x",
        "files//etc/passwd",
        "files/..\\x",
        "files/a%00",
        "files/__schema?x=1",
        "zarr/../files/x",
    ] {
        assert_eq!(server.get(path, &[]).status, 400, "{path}");
    }
    let path = format!("/{}/zarr/zarr.json", server.token);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "CONNECT"] {
        let answer = server.ask(method, &path, &[]);
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    let body = server.ask("POST", &path, &["Content-Length: 3"]);
    assert_eq!(body.status, 400);
    assert_eq!(answer(&server.send(b"GET / HTTP/1.0\r\n\r\n")).status, 505);
    let long = format!("GET {path} HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(40_000));
    let refused = server.send(long.as_bytes());
    assert!(refused.is_empty() || answer(&refused).status == 431);
    // It still answers.
    assert_eq!(server.ask("GET", &path, &[]).status, 200);
}

#[test]
fn pages_of_other_origins_are_refused_and_those_of_a_named_one_are_answered() {
    let named = "https://viewer.example";
    let array = fixture(QUICKSTART);
    let server = Server::start(&array, &["--allow-origin", named]);
    let path = "zarr/zarr.json";
    for origin in ["https://evil.example", "null", "https://viewer.example.evil", "http://viewer.example"] {
        let answer = server.get(path, &[&format!("Origin: {origin}")]);
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None), "{origin}");
    }
    for site in ["cross-site", "same-site"] {
        assert_eq!(server.get(path, &[&format!("Sec-Fetch-Site: {site}")]).status, 403, "{site}");
    }
    assert_eq!(server.get(path, &["Sec-Fetch-Site: none"]).status, 200);
    let own = format!("http://127.0.0.1:{}", server.port);
    assert_eq!(server.get(path, &[&format!("Origin: {own}")]).status, 200);

    let origin = format!("Origin: {named}");
    let key = some_file(&array);
    let answer =
        server.get(&format!("files/{key}"), &[&origin, "Range: bytes=0-3", "Sec-Fetch-Site: cross-site"]);
    assert_eq!((answer.status, answer.body.len()), (206, 4));
    assert_eq!(answer.header("access-control-allow-origin"), Some(named));
    assert!(answer.header("access-control-expose-headers").unwrap().contains("Content-Range"));
    assert_eq!(answer.header("vary"), Some("Origin"));

    let path = format!("/{}/{path}", server.token);
    let preflight = |origin: &str, method: &str| {
        let method = format!("Access-Control-Request-Method: {method}");
        server.ask("OPTIONS", &path, &[origin, &method, "Access-Control-Request-Headers: range"])
    };
    let answer = preflight(&origin, "GET");
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    assert_eq!(answer.header("access-control-allow-headers"), Some("Range"));
    assert_eq!(answer.header("access-control-allow-methods"), Some("GET, HEAD"));
    assert_eq!(preflight(&origin, "PUT").status, 403);
    assert_eq!(preflight("Origin: https://evil.example", "GET").status, 403);
}

#[test]
fn a_connection_takes_several_requests() {
    let server = Server::start(&fixture(QUICKSTART), &[]);
    let host = format!("Host: 127.0.0.1:{}", server.port);
    let one = format!("GET /{}/zarr/zarr.json HTTP/1.1\r\n{host}\r\n\r\n", server.token);
    let last = format!("GET /{}/zarr/x HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n", server.token);
    let received = String::from_utf8(server.send(format!("{one}{one}{last}").as_bytes())).unwrap();
    assert_eq!(received.matches("HTTP/1.1 200 OK").count(), 2);
    assert_eq!(received.matches("HTTP/1.1 404 Not Found").count(), 1);
}

#[test]
fn what_cannot_be_served_is_refused_at_once() {
    let array = fixture(QUICKSTART);
    refused(&["serve", "/no/such/array"], 1, "/no/such/array");
    refused(&["serve", text(&array), "--allow-origin", "example.org"], 2, "is not an origin");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(&["serve", text(&array), "--port", &port], 1, "of 127.0.0.1");
}

/// A folder that has what every folder of the viewer has, and more.
fn viewer(folder: &Path) -> PathBuf {
    let viewer = folder.join("viewer");
    fs::create_dir_all(viewer.join("tdb-arrays/deep")).unwrap();
    for (name, text) in [
        ("index.html", "<!doctype html>\n<html lang=\"en\">\n<p>page</p>\n</html>\n"),
        ("viewer.js", "import './tdb-arrays/index.js';\n"),
        ("viewer.css", "p { color: red }\n"),
        ("notes.txt", "not for browsers\n"),
        ("tdb-arrays/index.js", "export {};\n"),
        ("tdb-arrays/tdb-core.wasm", "\0asm"),
        ("tdb-arrays/deep/more.js", "export {};\n"),
    ] {
        fs::write(viewer.join(name), text).unwrap();
    }
    viewer
}

#[test]
fn the_viewer_is_shown_with_a_page_that_leads_to_the_array() {
    let scratch = Scratch::new();
    let array = fixture(QUICKSTART);
    let server = Server::view(&array, &viewer(scratch.path()));
    for path in ["viewer/", "viewer/index.html"] {
        let page = server.get(path, &[]);
        let text = String::from_utf8(page.body.clone()).unwrap();
        let root = r#"<html lang="en" data-url="../files" data-name="quickstart">"#;
        assert_eq!((page.status, text.lines().nth(1)), (200, Some(root)), "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(
            policy.contains("connect-src 'self'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
    }
    let kinds =
        [("viewer.js", "text/javascript; charset=utf-8"), ("tdb-arrays/tdb-core.wasm", "application/wasm")];
    for (name, kind) in kinds {
        assert_eq!(server.get(&format!("viewer/{name}"), &[]).header("content-type"), Some(kind), "{name}");
    }
    let key = some_file(&array);
    let file = server.get(&format!("files/{key}"), &["Sec-Fetch-Site: same-origin"]);
    assert_eq!((file.status, &file.body), (200, &fs::read(array.join(&key)).unwrap()));
    assert!(file.header("content-security-policy").unwrap().contains("sandbox"));
    assert!(server.get(&format!("files/{MANIFEST}"), &[]).body.starts_with(b"tdb"));
}

#[test]
fn nothing_but_the_viewer_and_the_array_is_shown() {
    let scratch = Scratch::new();
    let folder = viewer(scratch.path());
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/hostname", folder.join("link.js")).unwrap();
    let server = Server::view(&fixture(QUICKSTART), &folder);
    for path in ["", "zarr/zarr.json", "viewer/notes.txt", "viewer/link.js", "viewer/tdb-arrays/deep/more.js"]
    {
        assert_eq!(server.get(path, &[]).status, 404, "{path}");
    }
    assert_eq!(server.ask("GET", "/viewer/", &[]).status, 404);
    assert_eq!(server.get("viewer/", &["Sec-Fetch-Site: cross-site"]).status, 403);
    assert_eq!(server.get("viewer/", &["Host: elsewhere.example"]).status, 421);
    // Without `tdb view`, there is no page.
    assert_eq!(Server::start(&fixture(QUICKSTART), &[]).get("viewer/", &[]).status, 404);
}

#[test]
fn a_folder_without_the_viewer_is_refused_and_so_is_what_is_no_array() {
    let scratch = Scratch::new();
    let array = fixture(QUICKSTART);
    let empty = text(scratch.path());
    refused(&["view", text(&array), "--viewer-files", empty], 1, "it has no index.html");
    let folder = viewer(scratch.path());
    fs::remove_file(folder.join("tdb-arrays/index.js")).unwrap();
    refused(&["view", text(&array), "--viewer-files", text(&folder)], 1, "it has no tdb-arrays/index.js");
    fs::write(folder.join("tdb-arrays/index.js"), "").unwrap();
    fs::write(folder.join("index.html"), "<html>").unwrap();
    refused(&["view", text(&array), "--viewer-files", text(&folder)], 1, "not the page of the viewer");
    refused(&["view", empty, "--viewer-files", text(&folder)], 1, empty);
    // Tests have no viewer beside them.
    refused(&["view", text(&array)], 1, "releases of tdb have it as a folder named viewer");
}

#[test]
fn a_published_array_gets_a_page_that_leads_to_it() {
    let scratch = Scratch::new();
    let files = viewer(scratch.path());
    let (array, page) = (scratch.path().join("my array"), scratch.path().join("pages"));
    copy(&fixture(QUICKSTART), &array);
    let words = ["publish", text(&array), "--viewer", text(&page), "--viewer-files", text(&files)];
    let shown = said(&words);
    assert!(shown.ends_with(&format!("viewer: {}\n", page.join("index.html").display())), "{shown}");
    let index = fs::read_to_string(page.join("index.html")).unwrap();
    assert!(index.contains(r#"data-url="../my%20array" data-name="my array""#), "{index}");
    let mut there: Vec<_> = files_of(&page).into_iter().collect();
    there.sort();
    let there: Vec<_> = there.iter().map(|path| text(path.strip_prefix(&page).unwrap()).to_owned()).collect();
    assert_eq!(
        there,
        ["index.html", "tdb-arrays/index.js", "tdb-arrays/tdb-core.wasm", "viewer.css", "viewer.js"]
    );
    refused(&words, 1, "remove it, or name a new folder");
    refused(&["publish", text(&array), "--viewer", "s3://bucket/page"], 2, "a folder of this machine");
    refused(&["publish", text(&array), "--viewer", text(&array.join("page"))], 2, "a folder beside it");
    let nowhere = scratch.path().join("a/b");
    refused(&["publish", text(&array), "--viewer", text(&nowhere)], 1, text(nowhere.parent().unwrap()));
}
