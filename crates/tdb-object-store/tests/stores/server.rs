//! A small web server on the loopback interface, which returns files of a storage in memory and
//! does little else.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tdb_array::storage::{MemoryStorage, Storage};

/// The behaviour of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manners {
    /// It sends whole files, whatever range is requested.
    pub(crate) ignores_ranges: bool,
    /// It does not have files whose keys end like this.
    pub(crate) lacks: Vec<String>,
    /// It closes the connection in the middle of files whose keys end like this.
    pub(crate) cuts: Vec<String>,
    /// It returns a web page if it does not have a file.
    pub(crate) has_a_page: bool,
    /// So many requests are refused first, because it is too busy.
    pub(crate) busy: u64,
}

/// A server that runs until the test ends.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) manners: Arc<Mutex<Manners>>,
    /// Each request: its method and its path.
    pub(crate) asked: Arc<Mutex<Vec<(String, String)>>>,
}

impl Server {
    /// Serves `files` below `/data/50%25 of it/`, a path prefix with unusual characters.
    pub(crate) fn start(files: MemoryStorage, manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/data/50%25%20of%20it", listener.local_addr().unwrap());
        let (manners, asked) = (Arc::new(Mutex::new(manners)), Arc::<Mutex<Vec<_>>>::default());
        let (kept, seen) = (manners.clone(), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (files, kept, seen) = (files.clone(), kept.clone(), seen.clone());
                std::thread::spawn(move || serve(stream.unwrap(), &files, &kept, &seen));
            }
        });
        Self { url, manners, asked }
    }

    /// The methods of all requests.
    pub(crate) fn methods(&self) -> Vec<String> {
        let mut methods: Vec<String> =
            self.asked.lock().unwrap().iter().map(|(method, _)| method.clone()).collect();
        methods.sort_unstable();
        methods.dedup();
        methods
    }
}

/// Answers the requests of a connection.
fn serve(
    stream: TcpStream,
    files: &MemoryStorage,
    manners: &Mutex<Manners>,
    asked: &Mutex<Vec<(String, String)>>,
) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while let Some(Ok(first)) = lines.next() {
        let mut range = None;
        for line in lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()) {
            if let Some(("range", bounds)) = line.to_ascii_lowercase().split_once(": ") {
                let (low, high) = bounds.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
                range = Some((low.parse::<usize>().unwrap(), high.parse::<usize>().unwrap()));
            }
        }
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap().to_owned(), decoded(words.next().unwrap()));
        asked.lock().unwrap().push((method.clone(), path.clone()));
        let manners = {
            let mut manners = manners.lock().unwrap();
            let now = manners.clone();
            manners.busy = now.busy.saturating_sub(1);
            now
        };
        let key = path.strip_prefix("/data/50% of it/").unwrap_or("").to_owned();
        let has_end = |ends: &[String]| ends.iter().any(|end| key.ends_with(end));
        let file = files.read(&key).ok().filter(|_| !has_end(&manners.lacks));
        let page = manners.has_a_page.then(|| b"<html>welcome</html>"[..].to_vec().into());
        let (head, body) = match (method.as_str(), file.or(page), range) {
            _ if manners.busy > 0 => ("503 Slow Down".to_owned(), Vec::new()),
            ("GET", None, _) => ("404 Not Found".to_owned(), Vec::new()),
            ("GET", Some(file), Some((low, _))) if !manners.ignores_ranges && low >= file.len() => {
                ("416 Range Not Satisfiable".to_owned(), Vec::new())
            }
            ("GET", Some(file), Some((low, high))) if !manners.ignores_ranges => {
                let (end, all) = (file.len().min(high + 1), file.len());
                let head = format!("206 Partial Content\r\nContent-Range: bytes {low}-{}/{all}", end - 1);
                (head, file[low..end].to_vec())
            }
            ("GET", Some(file), _) => ("200 OK".to_owned(), file.to_vec()),
            _ => ("501 Unsupported method".to_owned(), Vec::new()),
        };
        let sent = if has_end(&manners.cuts) { body.len() / 2 } else { body.len() };
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len());
        let mut out = &stream;
        if out.write_all(head.as_bytes()).and_then(|()| out.write_all(&body[..sent])).is_err()
            || sent < body.len()
        {
            return;
        }
    }
}

/// A percent-decoded path.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        if *first == b'%' {
            let code = std::str::from_utf8(&behind[..2]).unwrap();
            bytes.push(u8::from_str_radix(code, 16).unwrap());
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).unwrap()
}
