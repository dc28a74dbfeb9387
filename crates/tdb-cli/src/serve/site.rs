//! What is served, and to whom.

use std::path::PathBuf;
use std::sync::Arc;

use tdb_array::storage::WriteStorage;
use tdb_zarr::Hierarchy;

use super::request::{Refused, Request};
use crate::viewer::Viewer;

/// What is served, and to whom.
#[derive(Debug)]
pub(super) struct Site {
    /// The part of the address that nobody can guess.
    pub(super) token: String,
    /// The port on 127.0.0.1.
    pub(super) port: u16,
    /// The origins of pages that are answered, besides the server's own.
    pub(super) allowed: Vec<Origin>,
    /// The files. Only their reading is used.
    pub(super) storage: Arc<dyn WriteStorage>,
    /// Where the folder really is, if it is one of this machine.
    pub(super) root: Option<PathBuf>,
    /// The Zarr view, if it is served.
    pub(super) hierarchy: Option<Hierarchy>,
    /// The viewer, if it is served.
    pub(super) viewer: Option<Viewer>,
}

/// The origin of a page: `scheme://host` or `scheme://host:port`, as browsers write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin(String);

impl Origin {
    /// Parses an origin of the command line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not an origin such as https://example.org or http://localhost:8000");
        let lower = text.to_ascii_lowercase();
        let (scheme, host) = lower.split_once("://").ok_or_else(wrong)?;
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (host, None),
        };
        let is_host =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'[' | b']' | b':');
        let port_is_one =
            port.is_none_or(|port| port.parse::<u16>().is_ok_and(|number| number.to_string() == port));
        if !matches!(scheme, "http" | "https")
            || name.is_empty()
            || !name.bytes().all(is_host)
            || !port_is_one
        {
            return Err(wrong());
        }
        // Browsers leave out the scheme's own port.
        let own = matches!((scheme, port), ("http", Some("80")) | ("https", Some("443")));
        Ok(Self(if own { format!("{scheme}://{name}") } else { lower }))
    }
}

impl Site {
    /// The address below which all is, without a slash at its end.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}", self.port, self.token)
    }

    /// Whether a file is really below the folder: links lead anywhere.
    pub(super) fn is_inside(&self, key: &str) -> bool {
        let Some(root) = &self.root else { return true };
        root.join(key).canonicalize().is_ok_and(|real| real.starts_with(root))
    }

    /// Refuses what does not come from a program that knows the address or from a page that may
    /// ask; returns the origin that the answer allows.
    pub(super) fn admit<'r>(&self, request: &'r Request) -> Result<Option<&'r str>, Refused> {
        let own = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        // A page of another name that points to this machine sends that name.
        let host = request.header("host").ok_or((400, "the request names no host"))?;
        if !own.iter().any(|own| host.eq_ignore_ascii_case(own)) {
            return Err((421, "the request is for another host"));
        }
        let token = request.path.first().map_or("", String::as_str);
        if !equal(token.as_bytes(), self.token.as_bytes()) {
            return Err((404, "there is nothing here"));
        }
        let Some(origin) = request.header("origin") else {
            // Pages that load images or scripts send no origin, but browsers say where they are.
            return match request.header("sec-fetch-site") {
                None | Some("none" | "same-origin") => Ok(None),
                Some(_) => Err((403, "pages of other origins are refused")),
            };
        };
        let is_own = own.iter().any(|own| origin == format!("http://{own}"));
        let is_allowed = self.allowed.iter().any(|allowed| allowed.0 == origin);
        match is_own || is_allowed {
            true => Ok(Some(origin)),
            false => Err((403, "pages of this origin are refused: see --allow-origin")),
        }
    }
}

/// Whether two texts are equal, in a time that does not tell where they differ.
fn equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        let parse = |text| Origin::parse(text).map(|origin| origin.0);
        assert_eq!(parse("https://Example.org"), Ok("https://example.org".to_owned()));
        assert_eq!(parse("http://localhost:8000"), Ok("http://localhost:8000".to_owned()));
        assert_eq!(parse("https://example.org:443"), Ok("https://example.org".to_owned()));
        assert_eq!(parse("http://[::1]:8000"), Ok("http://[::1]:8000".to_owned()));
        for wrong in [
            "",
            "*",
            "null",
            "example.org",
            "https://",
            "https://a/",
            "https://a/b",
            "ftp://a",
            "https://a:x",
            "https://a:080",
            "https://a b",
            "https://u@a",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn texts_are_equal_if_all_their_bytes_are() {
        assert!(equal(b"abc", b"abc") && equal(b"", b""));
        assert!(!equal(b"abc", b"abd") && !equal(b"abc", b"ab") && !equal(b"", b"a"));
    }
}
