//! A proxy on the loopback interface that simulates a remote server: it delays and counts each
//! request.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The largest head of a message that is forwarded.
const HEAD: usize = 64 << 10;

/// Forwards requests to a server until it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// The data that the threads of a proxy share.
struct Shared {
    server: SocketAddr,
    delay: Duration,
    requests: AtomicU64,
    bytes: AtomicU64,
    ended: AtomicBool,
    /// Whether each request's first line is printed.
    shown: bool,
}

/// The traffic since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Requests of all methods.
    pub(crate) requests: u64,
    /// Number of bytes of bodies in both directions.
    pub(crate) bytes: u64,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // The thread that accepts connections checks the flag only when a connection arrives.
        drop(TcpStream::connect(self.address));
    }
}

impl Proxy {
    /// Starts a proxy in front of a server; each request is delayed by this time and, if `shown`,
    /// printed on standard error.
    pub(crate) fn start(server: SocketAddr, delay: Duration, shown: bool) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            server,
            delay,
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            shown,
        });
        let proxy = Self { address, shared: shared.clone() };
        thread::spawn(move || {
            for client in listener.incoming() {
                if shared.ended.load(Ordering::Relaxed) {
                    break;
                }
                let shared = shared.clone();
                // A client that disconnects in the middle is not an error of the proxy.
                thread::spawn(move || client.and_then(|client| serve(&client, &shared)));
            }
        });
        Ok(proxy)
    }

    /// The address at which it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The traffic since the last call of this function.
    pub(crate) fn take(&self) -> Traffic {
        Traffic {
            requests: self.shared.requests.swap(0, Ordering::Relaxed),
            bytes: self.shared.bytes.swap(0, Ordering::Relaxed),
        }
    }
}

/// Answers the requests of one connection. Each request uses a new connection to the server,
/// because servers may close connections at any time.
fn serve(client: &TcpStream, shared: &Shared) -> io::Result<()> {
    client.set_nodelay(true)?;
    let (mut from_client, mut to_client) = (BufReader::new(client.try_clone()?), client.try_clone()?);
    while let Some(request) = Head::read(&mut from_client)? {
        shared.requests.fetch_add(1, Ordering::Relaxed);
        if shared.shown {
            eprintln!("  {} {}", request.line(), request.value("range").unwrap_or_default());
        }
        thread::sleep(shared.delay);
        if request.value("expect").is_some() {
            to_client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let server = TcpStream::connect(shared.server)?;
        server.set_nodelay(true)?;
        let (mut from_server, mut to_server) = (BufReader::new(server.try_clone()?), server);
        to_server.write_all(&request.without(&["expect", "connection"], "Connection: close"))?;
        let sent = request.copy_body(&mut from_client, &mut to_server, false)?;
        let mut answer = Head::read(&mut from_server)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        while answer.status() == Some(100) {
            answer = Head::read(&mut from_server)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        }
        let bodiless = request.line().starts_with("HEAD ") || matches!(answer.status(), Some(204 | 304));
        let until_end = !bodiless && !answer.has_length();
        let connection = if until_end { "Connection: close" } else { "Connection: keep-alive" };
        to_client.write_all(&answer.without(&["connection", "keep-alive"], connection))?;
        let received =
            if bodiless { 0 } else { answer.copy_body(&mut from_server, &mut to_client, until_end)? };
        shared.bytes.fetch_add(sent.saturating_add(received), Ordering::Relaxed);
        if until_end {
            break;
        }
    }
    Ok(())
}

/// The first line and the fields of a request or an answer.
struct Head(Vec<String>);

impl Head {
    /// Reads a head; `None` at the end of the connection.
    fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let (mut lines, mut left) = (Vec::new(), HEAD);
        loop {
            let mut line = String::new();
            let read = from.by_ref().take(u64::try_from(left).unwrap_or(0)).read_line(&mut line)?;
            if read == 0 && lines.is_empty() {
                return Ok(None);
            }
            if !line.ends_with('\n') {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the head of a message is cut off"));
            }
            left = left.saturating_sub(read);
            match line.trim_end() {
                "" => return Ok(Some(Self(lines))),
                line => lines.push(line.to_owned()),
            }
        }
    }

    fn line(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    fn status(&self) -> Option<u16> {
        self.line().split(' ').nth(1)?.parse().ok()
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    fn is_chunked(&self) -> bool {
        self.value("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
    }

    fn has_length(&self) -> bool {
        self.is_chunked() || self.value("content-length").is_some()
    }

    /// The bytes of the head without some fields and with an additional one.
    fn without(&self, names: &[&str], more: &str) -> Vec<u8> {
        let is_left_out = |line: &str| {
            let key = line.split(':').next().unwrap_or_default();
            names.iter().any(|name| key.eq_ignore_ascii_case(name))
        };
        let mut lines = self.0.iter();
        let first = lines.next().map_or("", String::as_str);
        let kept = lines.map(String::as_str).filter(|line| !is_left_out(line));
        let text: String =
            core::iter::once(first).chain(kept).chain([more, ""]).map(|line| format!("{line}\r\n")).collect();
        text.into_bytes()
    }

    /// Copies the body that follows, with its framing; returns its number of bytes.
    fn copy_body(&self, from: &mut impl BufRead, to: &mut impl Write, until_end: bool) -> io::Result<u64> {
        if self.is_chunked() {
            return copy_chunks(from, to);
        }
        let length = match self.value("content-length") {
            Some(length) => length.parse().map_err(|_| {
                io::Error::new(io::ErrorKind::InvalidData, "the length of a body is not a number")
            })?,
            None if until_end => u64::MAX,
            None => 0,
        };
        let copied = io::copy(&mut from.take(length), to)?;
        if copied < length && !until_end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(copied)
    }
}

/// Copies a body in chunks, with their framing.
fn copy_chunks(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<u64> {
    let mut copied = 0u64;
    loop {
        let mut line = String::new();
        from.by_ref().take(1024).read_line(&mut line)?;
        to.write_all(line.as_bytes())?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = u64::from_str_radix(digits, 16).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidData, "the length of a chunk is not a number")
        })?;
        if length == 0 {
            break;
        }
        // The line end belongs to the chunk.
        let framed = length.saturating_add(2);
        if io::copy(&mut from.by_ref().take(framed), to)? < framed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        copied = copied.saturating_add(length);
    }
    // Trailers, up to an empty line.
    loop {
        let mut line = String::new();
        from.by_ref().take(1024).read_line(&mut line)?;
        to.write_all(line.as_bytes())?;
        if line.trim_end().is_empty() {
            return Ok(copied);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A server that answers each request with its contents: the first line, and the body without
    /// its framing.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let mut reader = BufReader::new(client.try_clone().unwrap());
                let Some(head) = Head::read(&mut reader).unwrap() else { continue };
                let mut body = Vec::new();
                head.copy_body(&mut reader, &mut body, false).unwrap();
                let text = format!("{} {}", head.line(), String::from_utf8_lossy(&body).replace("\r\n", "|"));
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len());
                client.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    fn ask(stream: &mut TcpStream, request: &str) -> String {
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let head = Head::read(&mut reader).unwrap().unwrap();
        assert_eq!(head.status(), Some(200));
        let mut body = Vec::new();
        head.copy_body(&mut reader, &mut body, false).unwrap();
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn requests_of_every_framing_are_passed_on_late_and_counted() {
        let proxy = Proxy::start(echo(), Duration::from_millis(20), false).unwrap();
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        let begun = Instant::now();
        assert_eq!(ask(&mut stream, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"), "GET /a HTTP/1.1 ");
        assert_eq!(
            ask(&mut stream, "PUT /b HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc"),
            "PUT /b HTTP/1.1 abc"
        );
        let chunked = "PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        assert_eq!(ask(&mut stream, chunked), "PUT /c HTTP/1.1 2|ab|1|c|0||");
        assert!(begun.elapsed() >= Duration::from_millis(60));
        let answers = ["GET /a HTTP/1.1 ", "PUT /b HTTP/1.1 abc", "PUT /c HTTP/1.1 2|ab|1|c|0||"];
        let answered: usize = answers.iter().map(|answer| answer.len()).sum();
        // The last counts are made after the client has received its answer.
        thread::sleep(Duration::from_millis(20));
        let expected = Traffic { requests: 3, bytes: u64::try_from(answered + 6).unwrap() };
        assert_eq!(proxy.take(), expected);
        assert_eq!(proxy.take(), Traffic::default());
    }
}
