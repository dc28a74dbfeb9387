//! URLs of stores, and the options of each.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreScheme};
#[cfg(feature = "http")]
use object_store::{RetryConfig, http::HttpBuilder};
use tdb_cache::Origin;
use tdb_storage::without_secrets;
use thiserror::Error;
use url::{Position, Url};

use crate::error::io_error;
use crate::folder::Client;
use crate::store::ObjectStorage;
use crate::uploads::{self, Uploads};
#[cfg(any(feature = "aws", feature = "azure", feature = "gcp", feature = "http"))]
use crate::watched::Watching;

/// A fault of the location of an array in a store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LocationError {
    /// Not a URL.
    #[error("\"{location}\" is not a URL: {source}")]
    Url {
        /// The given text.
        location: String,
        /// The fault.
        source: url::ParseError,
    },
    /// A URL of a kind that no store of this build supports.
    #[error("no store supports {scheme}:// URLs; supported are s3://, az://, gs://, http:// and https://")]
    Scheme {
        /// The scheme of the URL.
        scheme: String,
    },
    /// A URL of a store that names no place in it.
    #[error(
        "{location} is not a place in a store ({why}): give a bucket, container or host, and a path whose parts are separated \
         by single slashes"
    )]
    Place {
        /// The URL, without credentials.
        location: String,
        /// The fault.
        why: String,
    },
    /// An option that the store does not have.
    #[error("the store of {scheme}:// URLs has no option \"{key}\"")]
    Option {
        /// The scheme of the URL.
        scheme: String,
        /// The option's name.
        key: String,
    },
    /// A URL of a web server with a query. It would have to be sent with the name of every file,
    /// which no client does.
    #[error(
        "{location} has a query (the part from \"?\" on), which cannot be sent with each of an array's files: give what it \
         grants as options of the store, or use a URL without it"
    )]
    Query {
        /// The URL, without its query.
        location: String,
    },
    /// An option that no store of this build has.
    #[error("no store has the option \"{key}\"")]
    UnknownOption {
        /// The option's name.
        key: String,
    },
    /// The store cannot be used as requested, for instance because credentials or a region are
    /// missing.
    #[error("cannot use the store of {location}: {source}")]
    Store {
        /// The URL, without credentials.
        location: String,
        /// The error of the store.
        source: io::Error,
    },
}

/// How often a failed listing request to a web server is repeated.
#[cfg(feature = "http")]
const LISTING_RETRIES: usize = 2;

/// Schemes that libtiledb and other programs spell differently.
const SPELLINGS: [(&str, &str); 3] = [("gcs", "gs"), ("azure", "az"), ("s3n", "s3")];

/// Whether a location is a URL, and not a path of the local file system: it has a scheme of at
/// least two letters, so `C:\data` is a path.
#[must_use]
pub fn is_url(location: &str) -> bool {
    location.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// The storage of the array at a URL: `s3://bucket/path`, `az://container/path`,
/// `gs://bucket/path`, `https://host/path`.
///
/// In buckets and containers, `?`, `#` and `%` are characters of names, as libtiledb takes them.
/// URLs of web servers are percent-encoded. The query of an `https://` URL of Azure is a shared
/// access signature; other servers' URLs have none.
///
/// Options are those of the `object_store` crate (`aws_region`, `aws_endpoint`,
/// `azure_storage_account_name`, `google_service_account`…); options that are not given are taken
/// from the environment (`AWS_…`, `AZURE_…`, `GOOGLE_…`). Public buckets need
/// `aws_skip_signature=true` or the corresponding option. An endpoint with plain HTTP is allowed if
/// it is given explicitly.
///
/// # Errors
/// A URL that no store of this build supports, an option that the store does not have, or missing
/// credentials.
pub fn open<K: AsRef<str>, V: Into<String>>(
    location: &str,
    options: impl IntoIterator<Item = (K, V)>,
) -> Result<ObjectStorage, LocationError> {
    resolve(location, options)?.storage()
}

/// The option for the time limit of requests, with the prefixes that it may have.
const TIMEOUTS: [&str; 4] = ["timeout", "aws_timeout", "azure_timeout", "google_timeout"];

/// A parsed location, and all options of its store.
#[derive(Clone)]
pub(crate) struct Resolved {
    url: Url,
    kind: ObjectStoreScheme,
    path: Path,
    /// The URL, without credentials.
    shown: String,
    /// First those from the environment, then those that were given.
    options: Vec<(String, String)>,
}

/// Parses a location and collects its options.
pub(crate) fn resolve<K: AsRef<str>, V: Into<String>>(
    location: &str,
    options: impl IntoIterator<Item = (K, V)>,
) -> Result<Resolved, LocationError> {
    let location = &*spelled(location);
    let shown = without_secrets(location).into_owned();
    let url = Url::parse(&escaped(location))
        .map_err(|source| LocationError::Url { location: shown.clone(), source })?;
    let scheme = || url.scheme().to_owned();
    let (kind, path) =
        ObjectStoreScheme::parse(&url).map_err(|error| no_place(&url, shown.clone(), &error))?;
    let options: Vec<(String, String)> =
        options.into_iter().map(|(key, value)| (key.as_ref().to_ascii_lowercase(), value.into())).collect();
    for (key, _) in &options {
        if !knows(&kind, key) {
            return Err(LocationError::Option { scheme: scheme(), key: key.clone() });
        }
    }
    let environment = std::env::vars_os().filter_map(|(key, value)| {
        Some((key.into_string().ok()?.to_ascii_lowercase(), value.into_string().ok()?))
    });
    let prefix = match kind {
        ObjectStoreScheme::AmazonS3 => "aws_",
        ObjectStoreScheme::MicrosoftAzure => "azure_",
        ObjectStoreScheme::GoogleCloudStorage => "google_",
        _ => "\0",
    };
    let mut all: Vec<(String, String)> = environment.filter(|(key, _)| key.starts_with(prefix)).collect();
    match (url.query(), &kind) {
        (None, _) => {}
        (Some(signature), ObjectStoreScheme::MicrosoftAzure) => {
            all.push(("azure_storage_sas_key".to_owned(), signature.to_owned()));
        }
        (Some(_), _) => return Err(LocationError::Query { location: shown }),
    }
    // Options given by the caller come last, so they win.
    all.extend(options);
    // An endpoint that somebody gave with plain HTTP is intended.
    let is_plain = |(key, value): &(String, String)| is_endpoint(&kind, key) && is_plain_http(value);
    if all.iter().any(is_plain) || url.scheme() == "http" {
        all.push(("allow_http".to_owned(), "true".to_owned()));
    }
    Ok(Resolved { url, kind, path, shown, options: all })
}

/// Why a URL does not lead into a store.
fn no_place(url: &Url, location: String, error: &dyn core::fmt::Display) -> LocationError {
    let scheme = url.scheme().to_owned();
    let mut known = Url::parse(&format!("{scheme}://host/")).into_iter();
    if !known.any(|url| ObjectStoreScheme::parse(&url).is_ok()) {
        return LocationError::Scheme { scheme };
    }
    // The error about a path names the path alone; the other one names the whole URL, with its
    // secrets.
    let why = if url.has_host() { error.to_string() } else { "it names no bucket".to_owned() };
    LocationError::Place { location, why }
}

impl Resolved {
    /// The storage, with a new client.
    pub(crate) fn storage(&self) -> Result<ObjectStorage, LocationError> {
        let failed = |error| LocationError::Store { location: self.shown.clone(), source: io_error(error) };
        let client = self.client().map_err(failed)?;
        let (root, shown) = (self.path.as_ref().to_owned(), self.shown.trim_end_matches('/').to_owned());
        let storage = ObjectStorage::shown_as(client, root, shown).with_uploads(self.uploads());
        let is_web = self.kind == ObjectStoreScheme::Http;
        Ok(match if is_web { lister(&self.url, &self.options).map_err(failed)? } else { None } {
            Some(lister) => storage.on_web(lister),
            None => storage,
        })
    }

    /// The client for uploads. If somebody chose a time limit, it holds for all requests.
    fn uploads(&self) -> Uploads {
        let is_chosen = self.options.iter().any(|(key, _)| TIMEOUTS.contains(&&**key));
        // Another client of a store in memory is another store.
        use ObjectStoreScheme::{AmazonS3, GoogleCloudStorage, MicrosoftAzure};
        let is_cloud = [AmazonS3, MicrosoftAzure, GoogleCloudStorage].contains(&self.kind);
        if is_chosen || !is_cloud {
            return Uploads::default();
        }
        let patient = self.patient();
        Uploads::new(Box::new(move || patient.client().map(|client| client.store)))
    }

    /// The same with the time limit of uploads.
    fn patient(&self) -> Self {
        let mut patient = self.clone();
        patient.options.push(("timeout".to_owned(), uploads::TIMEOUT.to_owned()));
        patient
    }

    /// The client of the store, whose attempts are counted.
    fn client(&self) -> object_store::Result<Client> {
        // As `object_store::parse_url_opts`, which takes no connector.
        #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
        macro_rules! built {
            ($builder:ty) => {{
                let builder = <$builder>::new().with_url(self.url.as_str()).with_http_connector(Watching);
                let with = |builder: $builder, (key, value): &(String, String)| match key.parse() {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                };
                let store = Arc::new(self.options.iter().fold(builder, with).build()?);
                return Ok(Client { pages: Some(store.clone()), store });
            }};
        }
        let store = match self.kind {
            #[cfg(feature = "aws")]
            ObjectStoreScheme::AmazonS3 => built!(object_store::aws::AmazonS3Builder),
            #[cfg(feature = "azure")]
            ObjectStoreScheme::MicrosoftAzure => built!(object_store::azure::MicrosoftAzureBuilder),
            #[cfg(feature = "gcp")]
            ObjectStoreScheme::GoogleCloudStorage => built!(object_store::gcp::GoogleCloudStorageBuilder),
            #[cfg(feature = "http")]
            ObjectStoreScheme::Http => web_server(&self.url, &self.options, RetryConfig::default())?,
            // Says what is missing.
            _ => Arc::from(object_store::parse_url(&self.url)?.0),
        };
        Ok(Client { store, pages: None })
    }

    /// The origin of the files: the store, the folder, and all options, so that other endpoints and
    /// other credentials are different origins, too. It contains only a hash of these.
    pub(crate) fn origin(&self) -> Origin {
        // If an option is given twice, the last value is used; the order of options has no meaning.
        let known = self.options.iter().filter(|(key, _)| knows(&self.kind, key));
        let options: BTreeMap<&str, &str> = known.map(|(key, value)| (&**key, &**value)).collect();
        let store = &self.url[..Position::BeforePath];
        let place = ["tdb-object-store", store, self.path.as_ref(), self.url.query().unwrap_or_default()];
        Origin::of(place.into_iter().chain(options.into_iter().flat_map(|(key, value)| [key, value])))
    }
}

/// The client for listings of a web server. Servers that cannot list answer as if they had failed;
/// the few retries avoid repeating such requests for minutes.
#[cfg(feature = "http")]
fn lister(url: &Url, options: &[(String, String)]) -> object_store::Result<Option<Arc<dyn ObjectStore>>> {
    let retry = RetryConfig { max_retries: LISTING_RETRIES, ..RetryConfig::default() };
    web_server(url, options, retry).map(Some)
}

/// The client of a web server.
#[cfg(feature = "http")]
fn web_server(
    url: &Url,
    options: &[(String, String)],
    retry: RetryConfig,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let server = &url[..Position::BeforePath];
    let builder = HttpBuilder::new().with_url(server).with_retry(retry).with_http_connector(Watching);
    let builder = options.iter().fold(builder, |builder, (key, value)| match key.parse() {
        Ok(key) => builder.with_config(key, value),
        Err(_) => builder,
    });
    Ok(Arc::new(builder.build()?))
}

#[cfg(not(feature = "http"))]
fn lister(_: &Url, _: &[(String, String)]) -> object_store::Result<Option<Arc<dyn ObjectStore>>> {
    Ok(None)
}

/// A URL with the spelling that `object_store` knows.
fn spelled(location: &str) -> Cow<'_, str> {
    let own = SPELLINGS.iter().find_map(|(other, own)| {
        let rest = location.strip_prefix(other)?;
        rest.starts_with("://").then(|| Cow::Owned(format!("{own}{rest}")))
    });
    own.unwrap_or(Cow::Borrowed(location))
}

/// Whether a URL is one of a web server, which may have a query.
fn is_web(location: &str) -> bool {
    let scheme = location.split_once("://").map_or("", |(scheme, _)| scheme);
    ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web))
}

/// A URL in which the characters of names stand for themselves: only those of web servers have
/// queries, fragments and percent-encoded characters. A parser of URLs also drops tabs and
/// newlines, and spaces at the end.
fn escaped(location: &str) -> Cow<'_, str> {
    let is_special = |c: char| matches!(c, '%' | '?' | '#' | ' ') || c.is_ascii_control();
    if is_web(location) || !location.contains(is_special) {
        return Cow::Borrowed(location);
    }
    let mut url = String::with_capacity(location.len());
    for c in location.chars() {
        if is_special(c) {
            url.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            url.push(c);
        }
    }
    Cow::Owned(url)
}

/// Whether an option of a store says at which server the store, or one of its services, is: it has
/// many names, such as `aws_endpoint`, `endpoint_url`, `aws_endpoint_url_s3` and `google_base_url`.
fn is_endpoint(kind: &ObjectStoreScheme, key: &str) -> bool {
    (key.contains("endpoint") || key.ends_with("base_url")) && knows(kind, key)
}

fn is_plain_http(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("http"))
}

/// Whether the store of a URL has an option.
pub(crate) fn has_option(location: &str, key: &str) -> bool {
    let kind =
        Url::parse(&escaped(&spelled(location))).ok().and_then(|url| ObjectStoreScheme::parse(&url).ok());
    kind.is_some_and(|(kind, _)| knows(&kind, key))
}

/// Whether any store has an option.
pub(crate) fn is_option(key: &str) -> bool {
    use ObjectStoreScheme::{AmazonS3, GoogleCloudStorage, Http, MicrosoftAzure};
    [AmazonS3, MicrosoftAzure, GoogleCloudStorage, Http].iter().any(|kind| knows(kind, key))
}

/// Whether a store has an option.
fn knows(kind: &ObjectStoreScheme, key: &str) -> bool {
    match kind {
        #[cfg(feature = "aws")]
        ObjectStoreScheme::AmazonS3 => key.parse::<object_store::aws::AmazonS3ConfigKey>().is_ok(),
        #[cfg(feature = "azure")]
        ObjectStoreScheme::MicrosoftAzure => key.parse::<object_store::azure::AzureConfigKey>().is_ok(),
        #[cfg(feature = "gcp")]
        ObjectStoreScheme::GoogleCloudStorage => key.parse::<object_store::gcp::GoogleConfigKey>().is_ok(),
        _ => key.parse::<object_store::ClientConfigKey>().is_ok(),
    }
}

#[cfg(test)]
mod tests;
