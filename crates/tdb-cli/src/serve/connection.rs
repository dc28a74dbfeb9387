//! Connections: heads are read, and answers written.

use std::io::{self, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::answer::{Answer, Body};
use super::request::{MOST_HEAD, Refused, Request};
use super::site::Site;

/// The most connections at once; each has a thread. Browsers open six for one page.
const MOST_CONNECTIONS: usize = 64;
/// How long a connection may be silent, and how long a head may take: a page that is open longer
/// opens another.
const PATIENCE: Duration = Duration::from_secs(30);
/// The bytes of a file that are in memory at once.
const PIECE: u64 = 1 << 20;

/// Headers of every answer: nothing of it is taken for something else, or told to others.
const ALWAYS: &str = "Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n\
                      Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n";
/// Of data nothing is run.
const OF_DATA: &str = "default-src 'none'; sandbox";
/// The viewer runs its own scripts and modules, asks this server only, and is shown in no other
/// page.
const OF_PAGE: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                       img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; \
                       form-action 'none'; frame-ancestors 'none'";

/// Answers connections for ever.
pub(super) fn serve(listener: &TcpListener, site: &Arc<Site>) {
    let open = Arc::new(AtomicUsize::new(0));
    // What fails is one connection.
    for stream in listener.incoming().flatten() {
        if open.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
            open.fetch_sub(1, Ordering::AcqRel);
            refuse(&stream);
            continue;
        }
        let (site, counted) = (Arc::clone(site), Counted(Arc::clone(&open)));
        // A thread that the system does not give ends the connection.
        let _ = thread::Builder::new().spawn(move || {
            let _counted = counted;
            // Whoever asked has gone.
            let _ = converse(&stream, &site);
        });
    }
}

/// Counts a connection until it ends.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Refuses a connection without waiting for what it asks.
fn refuse(stream: &TcpStream) {
    let answer = Answer::refused((503, "there are too many connections"));
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    let _ = write_head(&mut &*stream, &answer, false);
}

/// Answers the requests of a connection, one after the other.
fn converse(stream: &TcpStream, site: &Site) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut buffered = Vec::new();
    loop {
        let head = match read_head(&mut &*stream, &mut buffered)? {
            Ok(head) => head,
            Err(Some(refused)) => return write(stream, site, &Answer::refused(refused), false, true),
            Err(None) => return Ok(()),
        };
        match Request::parse(&head) {
            Ok(request) => {
                let (answer, alive) = (site.answer(&request), request.keeps_alive());
                write(stream, site, &answer, alive, request.method != "HEAD")?;
                if !alive {
                    return Ok(());
                }
            }
            Err(refused) => return write(stream, site, &Answer::refused(refused), false, true),
        }
    }
}

/// The next head, without the empty line at its end; `Err(None)` at the end of the connection.
/// What follows the head stays in `buffered`.
fn read_head(stream: &mut dyn Read, buffered: &mut Vec<u8>) -> io::Result<Result<Vec<u8>, Option<Refused>>> {
    const END: &[u8] = b"\r\n\r\n";
    let begun = Instant::now();
    let mut piece = [0; 4096];
    loop {
        if let Some(at) = buffered.windows(END.len()).position(|bytes| bytes == END) {
            let rest = buffered.split_off(at + END.len());
            let mut head = core::mem::replace(buffered, rest);
            head.truncate(at);
            return Ok(Ok(head));
        }
        if buffered.len() > MOST_HEAD {
            return Ok(Err(Some((431, "the head is too long"))));
        }
        if begun.elapsed() > PATIENCE {
            return Ok(Err(None));
        }
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(Err(None));
        }
        buffered.extend(piece.iter().take(count));
    }
}

/// Writes the head of an answer.
fn write_head(out: &mut dyn Write, answer: &Answer, alive: bool) -> io::Result<()> {
    write!(out, "HTTP/1.1 {} {}\r\n{ALWAYS}", answer.status, answer.reason())?;
    write!(out, "Content-Security-Policy: {}\r\n", if answer.is_page { OF_PAGE } else { OF_DATA })?;
    for (name, value) in &answer.headers {
        write!(out, "{name}: {value}\r\n")?;
    }
    if answer.status != 204 {
        write!(out, "Content-Length: {}\r\n", answer.len())?;
    }
    write!(out, "Connection: {}\r\n\r\n", if alive { "keep-alive" } else { "close" })
}

/// Writes an answer, with its body unless only the head was asked for.
fn write(stream: &TcpStream, site: &Site, answer: &Answer, alive: bool, body: bool) -> io::Result<()> {
    let mut out = BufWriter::new(stream);
    write_head(&mut out, answer, alive)?;
    match &answer.body {
        _ if !body => {}
        Body::Bytes(bytes) => out.write_all(bytes)?,
        Body::File(key, start, len) => {
            let (mut at, end) = (*start, start + len);
            while at < end {
                let count = PIECE.min(end - at);
                let mut piece = vec![0; usize::try_from(count).map_err(io::Error::other)?];
                // A file that changes now ends the connection, so that nobody takes a part for all.
                site.storage.read_into(key, at, &mut piece)?;
                out.write_all(&piece)?;
                at += count;
            }
        }
    }
    out.flush()
}
