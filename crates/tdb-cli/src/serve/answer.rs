//! Answers to requests.

use std::io;

use bytes::Bytes;
use tdb_array::WriteOptions;
use tdb_array::publish::MANIFEST;
use tdb_array::storage::Below;
use tdb_zarr::Span;

use super::range;
use super::request::{Refused, Request};
use super::site::Site;

/// An answer: a status, headers, and where its body comes from.
#[derive(Debug)]
pub(super) struct Answer {
    /// The status.
    pub(super) status: u16,
    /// Headers besides those that every answer has.
    pub(super) headers: Vec<(&'static str, String)>,
    /// The body; not sent if `HEAD` was asked.
    pub(super) body: Body,
    /// Whether it is of the viewer, whose scripts may run.
    pub(super) is_page: bool,
}

/// Where a body comes from.
#[derive(Debug)]
pub(super) enum Body {
    /// Memory.
    Bytes(Bytes),
    /// So many bytes of a file, from an offset on.
    File(String, u64, u64),
}

/// What is there to be sent, before a range is taken of it.
struct Found {
    size: u64,
    body: Body,
    kind: &'static str,
    is_page: bool,
}

/// Why what a path names cannot be given: a status, and a text.
type Failed = (u16, String);

impl Found {
    const fn new(size: u64, body: Body, kind: &'static str) -> Self {
        Self { size, body, kind, is_page: false }
    }

    fn memory(bytes: Bytes, kind: &'static str) -> Result<Self, Failed> {
        let size = u64::try_from(bytes.len()).map_err(|_| (500, "it is too large".to_owned()))?;
        Ok(Self::new(size, Body::Bytes(bytes), kind))
    }
}

impl Answer {
    /// A text about why there is nothing else.
    pub(super) fn refused((status, why): Refused) -> Self {
        Self::text(status, why)
    }

    fn text(status: u16, why: &str) -> Self {
        let headers = vec![("Content-Type", "text/plain; charset=utf-8".to_owned())];
        Self { status, headers, body: Body::Bytes(Bytes::from(format!("{why}\n"))), is_page: false }
    }

    /// The number of bytes of the body.
    pub(super) fn len(&self) -> u64 {
        match &self.body {
            Body::Bytes(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Body::File(_, _, len) => *len,
        }
    }

    /// The word for the status.
    pub(super) const fn reason(&self) -> &'static str {
        match self.status {
            200 => "OK",
            204 => "No Content",
            206 => "Partial Content",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            416 => "Range Not Satisfiable",
            421 => "Misdirected Request",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            505 => "HTTP Version Not Supported",
            _ => "Internal Server Error",
        }
    }
}

impl Site {
    /// The answer to a request.
    pub(super) fn answer(&self, request: &Request) -> Answer {
        let origin = match self.admit(request) {
            Ok(origin) => origin,
            Err(refused) => return Answer::refused(refused),
        };
        let mut answer = match request.method.as_str() {
            "GET" | "HEAD" => self.found(request).unwrap_or_else(Answer::refused),
            "OPTIONS" if origin.is_some() => preflight(request),
            _ => {
                let mut answer = Answer::refused((405, "arrays can only be read here"));
                answer.headers.push(("Allow", "GET, HEAD".to_owned()));
                answer
            }
        };
        answer.headers.push(("Vary", "Origin".to_owned()));
        if let Some(origin) = origin {
            answer.headers.push(("Access-Control-Allow-Origin", origin.to_owned()));
            answer.headers.push((
                "Access-Control-Expose-Headers",
                "Accept-Ranges, Content-Length, Content-Range".to_owned(),
            ));
        }
        answer
    }

    /// What a path names, or the range of it that is asked for.
    fn found(&self, request: &Request) -> Result<Answer, Refused> {
        let nothing = (404, "there is nothing here");
        let key = request.path.get(2..).map(|parts| parts.join("/")).ok_or(nothing)?;
        let found = match request.path.get(1).map(String::as_str) {
            Some("files") => self.file(key),
            Some("zarr") => self.shown(&key),
            Some("viewer") => self.viewer(&key),
            _ => return Err(nothing),
        };
        let found = match found {
            Ok(found) => found,
            Err((status, why)) => return Ok(Answer::text(status, &why)),
        };
        let mut headers =
            vec![("Content-Type", found.kind.to_owned()), ("Accept-Ranges", "bytes".to_owned())];
        let Some(asked) = request.header("range") else {
            return Ok(Answer { status: 200, headers, body: found.body, is_page: found.is_page });
        };
        let Some((start, len)) = range::parse(asked, found.size) else {
            let mut answer = Answer::refused((416, "this is not one range of bytes that there are"));
            answer.headers.push(("Content-Range", format!("bytes */{}", found.size)));
            return Ok(answer);
        };
        headers.push(("Content-Range", format!("bytes {start}-{}/{}", start + len - 1, found.size)));
        let body = match found.body {
            Body::Bytes(bytes) => {
                let end = usize::try_from(start + len).map_err(|_| nothing)?;
                Body::Bytes(bytes.slice(usize::try_from(start).map_err(|_| nothing)?..end))
            }
            Body::File(key, ..) => Body::File(key, start, len),
        };
        Ok(Answer { status: 206, headers, body, is_page: found.is_page })
    }

    /// A file of the array or group.
    fn file(&self, key: String) -> Result<Found, Failed> {
        match self.storage.size(&key) {
            Ok(_) if !self.is_inside(&key) => Err((403, "the file is a link to another place".to_owned())),
            Ok(size) => Ok(Found::new(size, Body::File(key, 0, size), "application/octet-stream")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.manifest(&key).ok_or_else(|| (404, "there is no such file".to_owned()))
            }
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                Err((404, "this is a folder".to_owned()))
            }
            Err(error) => Err((500, format!("the file cannot be read: {error}"))),
        }
    }

    /// The manifest of what is not published, so that a page can open it; `None` if the key is not
    /// that of an array's or a group's manifest.
    fn manifest(&self, key: &str) -> Option<Found> {
        let folder = key.strip_suffix(MANIFEST)?;
        let folder = if folder.is_empty() { folder } else { folder.strip_suffix('/')? };
        let own = Below::new(self.storage.as_ref(), folder);
        let bytes = Bytes::from(WriteOptions::new().manifest_of(&own).ok()?.to_bytes());
        Found::memory(bytes, "text/plain; charset=utf-8").ok()
    }

    /// A key of the Zarr view.
    fn shown(&self, key: &str) -> Result<Found, Failed> {
        let hierarchy = self.hierarchy.as_ref().ok_or_else(|| (404, "there is nothing here".to_owned()))?;
        let bytes = hierarchy.get(key, Span::All);
        let bytes =
            bytes.map_err(|error| (500, format!("the cells of this chunk cannot be read: {error}")))?;
        let bytes = bytes.ok_or_else(|| (404, "there is no such key".to_owned()))?;
        let name = key.rsplit('/').next().unwrap_or(key);
        let is_document = name == "zarr.json" || name.starts_with(".z");
        let kind = if is_document { "application/json" } else { "application/octet-stream" };
        Found::memory(bytes, kind)
    }

    /// A file of the viewer.
    fn viewer(&self, key: &str) -> Result<Found, Failed> {
        let viewer = self.viewer.as_ref().ok_or_else(|| (404, "there is nothing here".to_owned()))?;
        let (bytes, kind) =
            viewer.file(key).ok_or_else(|| (404, "the viewer has no such file".to_owned()))?;
        let bytes = bytes.map_err(|error| (500, format!("the file cannot be read: {error}")))?;
        Ok(Found { is_page: true, ..Found::memory(bytes, kind)? })
    }
}

/// The answer to a browser that asks what a page of an allowed origin may do.
fn preflight(request: &Request) -> Answer {
    let asked = request.header("access-control-request-method");
    if !matches!(asked, Some("GET" | "HEAD")) {
        return Answer::refused((403, "arrays can only be read here"));
    }
    let mut headers = vec![
        ("Access-Control-Allow-Methods", "GET, HEAD".to_owned()),
        ("Access-Control-Allow-Headers", "Range".to_owned()),
        ("Access-Control-Max-Age", "600".to_owned()),
    ];
    if request.header("access-control-request-private-network") == Some("true") {
        headers.push(("Access-Control-Allow-Private-Network", "true".to_owned()));
    }
    Answer { status: 204, headers, body: Body::Bytes(Bytes::new()), is_page: false }
}
