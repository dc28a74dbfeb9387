//! The head of a request, parsed strictly: what is not exactly a request is refused.

use std::path::{Component, Path};

/// The most bytes of a head.
pub(super) const MOST_HEAD: usize = 16 << 10;

/// A request without a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// The method, in its own case.
    pub(super) method: String,
    /// The parts of the path, decoded; the last one is empty if the path ends with a slash.
    pub(super) path: Vec<String>,
    /// The headers, with names in lower case. Each name is there once.
    headers: Vec<(String, String)>,
}

/// Why a head is no request: a status, and a text.
pub(super) type Refused = (u16, &'static str);

impl Request {
    /// Parses a head, without the empty line at its end.
    pub(super) fn parse(head: &[u8]) -> Result<Self, Refused> {
        let head = core::str::from_utf8(head).map_err(|_| (400, "the head is not text"))?;
        let mut lines = head.split("\r\n");
        let first = lines.next().ok_or((400, "there is no request line"))?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err((400, "the request line is not method, path and version"));
        };
        if version != "HTTP/1.1" {
            return Err((505, "the version is not HTTP/1.1"));
        }
        if method.is_empty() || !method.bytes().all(is_token) {
            return Err((400, "the method is no word"));
        }
        let mut request = Self { method: method.to_owned(), path: path(target)?, headers: Vec::new() };
        for line in lines {
            let (name, value) = line.split_once(':').ok_or((400, "a header has no colon"))?;
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err((400, "the name of a header is no word"));
            }
            if value.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f) {
                return Err((400, "a header has control characters"));
            }
            let name = name.to_ascii_lowercase();
            if request.header(&name).is_some() {
                return Err((400, "a header is given twice"));
            }
            request.headers.push((name, value.trim_matches([' ', '\t']).to_owned()));
        }
        let body = request.header("content-length").is_some_and(|length| length != "0");
        if body || request.header("transfer-encoding").is_some() {
            return Err((400, "a request to read has no body"));
        }
        Ok(request)
    }

    /// The value of a header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether the connection stays open.
    pub(super) fn keeps_alive(&self) -> bool {
        !self.header("connection").is_some_and(|value| value.to_ascii_lowercase().contains("close"))
    }
}

/// A character of a word of HTTP.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'_'
                | b'.'
                | b'!'
                | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'^'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// The parts of a path. Parts that could lead elsewhere are refused, in whatever way they are
/// written.
fn path(target: &str) -> Result<Vec<String>, Refused> {
    let rest = target.strip_prefix('/').ok_or((400, "the path does not begin with a slash"))?;
    if rest.contains(['?', '#']) {
        return Err((400, "the path has a query"));
    }
    let parts: Vec<&str> = rest.split('/').collect();
    let last = parts.len().saturating_sub(1);
    let part = |(at, part): (usize, &&str)| {
        let part = decoded(part).ok_or((400, "the path is not encoded text"))?;
        let leads_elsewhere = matches!(part.as_str(), "." | "..")
            || part.contains(['/', '\\'])
            || part.chars().any(char::is_control)
            || part.is_empty() && at != last
            || !part.is_empty() && !is_name(&part);
        if leads_elsewhere { Err((400, "the path has a part that is no name")) } else { Ok(part) }
    };
    parts.iter().enumerate().map(part).collect()
}

/// Whether a part is one name to the system: `C:` is a disk on Windows.
fn is_name(part: &str) -> bool {
    let mut parts = Path::new(part).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == part)
}

/// A part of a path without its percent signs.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = part.bytes();
    let mut text = Vec::with_capacity(part.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        text.push(digit(bytes.next()?)? << 4 | digit(bytes.next()?)?);
    }
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Result<Request, Refused> {
        Request::parse(head.as_bytes())
    }

    #[test]
    fn a_request_is_a_method_a_path_and_headers() {
        let request = parse("GET /t/files/a%20b/ HTTP/1.1\r\nHost: x:1\r\nRange:\t bytes=0-1 ").unwrap();
        assert_eq!((request.method.as_str(), request.path.join("|").as_str()), ("GET", "t|files|a b|"));
        assert_eq!((request.header("host"), request.header("range")), (Some("x:1"), Some("bytes=0-1")));
        assert!(request.keeps_alive());
        assert!(!parse("GET / HTTP/1.1\r\nConnection: Close").unwrap().keeps_alive());
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused_however_they_are_written() {
        for path in [
            "/a/../b",
            "/..",
            "/a/%2e%2e/b",
            "/a/.%2E/b",
            "/a/./b",
            "/a//b",
            "/a/..%2fb",
            "/a%2fb",
            "/a%5cb",
            "/a\\b",
            "/a%00",
            "/a%0a",
            "a",
            "http://x/a",
            "*",
            "",
            "/a?b",
            "/a#b",
            "/%",
            "/%4",
            "/%zz",
            "/%ff",
        ] {
            assert_eq!(parse(&format!("GET {path} HTTP/1.1\r\nHost: x")).unwrap_err().0, 400, "{path}");
        }
        assert_eq!(parse("GET /a/...b/.c HTTP/1.1").unwrap().path, ["a", "...b", ".c"]);
    }

    #[test]
    fn what_is_not_exactly_a_request_is_refused() {
        for (head, status) in [
            ("", 400),
            ("GET /", 400),
            ("GET / HTTP/1.0", 505),
            ("GET / HTTP/2", 505),
            ("GET  / HTTP/1.1", 400),
            ("G(T / HTTP/1.1", 400),
            ("GET / HTTP/1.1\r\nHost", 400),
            ("GET / HTTP/1.1\r\nHost : x", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\n folded", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\nhost: y", 400),
            ("GET / HTTP/1.1\r\nHost: x\ny", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 1", 400),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked", 400),
        ] {
            assert_eq!(parse(head).unwrap_err().0, status, "{head:?}");
        }
        assert_eq!(Request::parse(b"GET /\xff HTTP/1.1").unwrap_err().0, 400);
        assert!(parse("GET / HTTP/1.1\r\nContent-Length: 0").is_ok());
    }
}
