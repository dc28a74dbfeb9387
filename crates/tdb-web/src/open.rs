//! Opens what is at a URL: an array or a group.

use std::sync::Arc;

use serde_json::json;
use tdb_array::group::{Group, ObjectType, Places, object_type};
use tdb_array::publish::{Manifest, Published};
use tdb_array::schema::ArrayMetadata;
use tdb_array::storage::{FetchHints, MemoryStorage, Storage};
use tdb_array::{Array, Error, Key, OpenOptions, TimeWindow};
use tdb_storage::replay::{Exchange, HostStorage, ReplayStorage, replay};
use tdb_text::schema::At;

use crate::describe;
use crate::failure::Failure;
use crate::message::Blocks;
use crate::query::bytes_of_hex;
use crate::thresholds::{MAX_GAP, MAX_REQUEST};

const HINTS: FetchHints = FetchHints::OBJECT_STORE.with_gap(MAX_GAP).with_largest(MAX_REQUEST);

/// What is opened, and how.
pub struct Opening {
    storage: HostStorage,
    manifest: Arc<Manifest>,
    url: Arc<str>,
    options: OpenOptions,
}

/// What was opened, if anything, and what the host gets.
pub struct Opened {
    /// The array or the group.
    pub object: Option<Object>,
    /// What the host gets.
    pub answer: Vec<u8>,
}

/// What later requests are about.
pub enum Object {
    /// An array.
    Array(Array),
    /// What is needed of a group.
    Group(Arc<Described>),
}

/// A group: its metadata, and the names of its members.
pub struct Described {
    /// The metadata.
    pub metadata: ArrayMetadata,
    /// The name of each member, or its URI where it has none.
    pub names: Vec<String>,
    /// The window in which it was opened.
    pub window: TimeWindow,
}

impl Opening {
    /// The request `open`, with the manifest as its bytes, or with the files in its document.
    ///
    /// # Errors
    /// A damaged manifest, or a request that is not understood.
    pub fn new(request: &At<'_>, bytes: &[u8], exchange: Arc<Exchange>) -> Result<Self, Failure> {
        request.object(&["op", "url", "start", "end", "key", "files"])?;
        let url: Arc<str> = request.need("url")?.text()?.into();
        let manifest = Arc::new(listing(request, bytes, &url)?);
        let time = |key| {
            request.need(key).and_then(|time| {
                time.understood(|text| text.parse().map_err(|_| format!("{text:?} is no time")))
            })
        };
        let window = TimeWindow::between(time("start")?, time("end")?);
        let mut options = OpenOptions::new().window(window).threads(1);
        if let Some(key) = request.get("key") {
            options = options.key(Key::new(key.understood(key_bytes)?));
        }
        Ok(Self {
            storage: HostStorage::new(exchange, manifest.clone(), url.clone(), HINTS),
            manifest,
            url,
            options,
        })
    }

    /// Opens it. The number is that of the array or the group, for later requests.
    pub async fn run(self, handle: u32) -> Result<Opened, Failure> {
        // Only its folders are looked at.
        let listed = Published::new(MemoryStorage::default(), (*self.manifest).clone());
        let kind = object_type(&listed).map_err(|error| Failure::internal(error.to_string()))?;
        if kind == ObjectType::Group {
            return self.group(handle).await;
        }
        let array = self.options.open_async(self.storage).await?;
        let mut blocks = Blocks::default();
        let document = json!({
            "kind": "array",
            "handle": handle,
            "timeRange": [array.window().start.to_string(), array.window().end.to_string()],
            "schema": describe::schema(array.schema(), &mut blocks),
            "missing": describe::missing_codecs(&array),
        });
        Ok(Opened { answer: blocks.with(&document), object: Some(Object::Array(array)) })
    }

    async fn group(self, handle: u32) -> Result<Opened, Failure> {
        let counters = Arc::default();
        let storage = Arc::new(ReplayStorage::new(Arc::new(self.storage), counters));
        let place = OnePlace { storage: storage.clone(), url: self.url.clone() };
        let asked = (self.options, Arc::new(place) as Arc<dyn Places>, self.url.clone());
        let done = replay(&storage, None, asked, |(options, places, url)| {
            let group = options.clone().open_group_in(places.clone(), &**url)?;
            let metadata = group.metadata()?;
            Ok::<(Group, ArrayMetadata), Error>((group, metadata))
        });
        let (group, metadata) = done.await.map_err(|error| Failure::internal(error.to_string()))?.1?;
        let mut blocks = Blocks::default();
        let members = group.members().map(|member| {
            let kind = match member.object {
                ObjectType::Array => "array",
                ObjectType::Group => "group",
                _ => "unknown",
            };
            json!({"name": member.name, "type": kind, "uri": member.uri, "relative": member.relative})
        });
        let document = json!({
            "kind": "group",
            "handle": handle,
            "timeRange": [group.window().start.to_string(), group.window().end.to_string()],
            "members": members.collect::<Vec<_>>(),
            "metadata": describe::metadata(&metadata, &mut blocks),
        });
        let names = group.members().map(|member| member.key().to_owned()).collect();
        let described = Described { metadata, names, window: group.window() };
        Ok(Opened { answer: blocks.with(&document), object: Some(Object::Group(Arc::new(described))) })
    }
}

/// The files that there are.
fn listing(request: &At<'_>, bytes: &[u8], url: &str) -> Result<Manifest, Failure> {
    let damaged = |message: String| Failure {
        kind: "corrupt",
        message: format!("{url}/{}: {message}", tdb_array::publish::MANIFEST),
        file: Some(format!("{url}/{}", tdb_array::publish::MANIFEST)),
        offset: None,
    };
    let Some(files) = request.get("files") else {
        return Manifest::parse(bytes).map_err(|error| damaged(error.to_string()));
    };
    let mut manifest = Manifest::new(0);
    for file in files.items()? {
        let [key, size] = &file.items()?[..] else {
            return Err(file.error("a key and a size are expected").into());
        };
        let added = if size.value.is_null() {
            manifest.add_folder(key.text()?)
        } else {
            manifest.add_file(key.text()?, size.whole()?)
        };
        // Objects whose keys no array has are none of its files.
        added.unwrap_or(());
    }
    Ok(manifest)
}

/// The bytes of a key in hexadecimal.
fn key_bytes(text: &str) -> Result<[u8; 32], String> {
    let bytes = bytes_of_hex(text)?;
    let found = bytes.len();
    bytes.try_into().map_err(|_| format!("the key of an encrypted array has 32 bytes, not {found}"))
}

/// The folder of a group. Its members are opened by the host.
#[derive(Debug)]
struct OnePlace {
    storage: Arc<ReplayStorage>,
    url: Arc<str>,
}

impl Places for OnePlace {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        (location == &*self.url).then(|| Box::new(self.storage.clone()) as Box<dyn Storage>)
    }

    fn identity(&self, location: &str) -> String {
        location.to_owned()
    }
}
