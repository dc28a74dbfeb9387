//! Arrays on an S3 server: moto (`pip install 'moto[server]'`), which the test starts on the loopback interface and stops.
//!
//! `TDB_MOTO` names its program, if that is not `moto_server` on the path. Without it the test is skipped, and says so.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{bytes, fixtures, upload};
use object_store::ObjectStore;
use object_store::limit::LimitStore;
use tdb_array::schema::{Attribute, Dimension};
use tdb_array::testing::conformance::{check_openings, check_write_storage};
use tdb_array::{
    Array, ArraySchema, CellValNum, Datatype, Durability, Layout, OpenOptions, Storage, TimeWindow,
    WriteColumn, WriteOptions, WriteStorage,
};
use tdb_object_store::{ObjectStorage, open};

/// A server that ends with the test.
struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts it with an empty bucket; the reason if there is none.
    fn start() -> Result<Self, String> {
        let program = std::env::var("TDB_MOTO").unwrap_or_else(|_| "moto_server".to_owned());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(&program);
        command
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let mut server = Self { process, port };
        let begun = Instant::now();
        while server.request("PUT /bucket").is_none() {
            if let Ok(Some(status)) = server.process.try_wait() {
                return Err(format!("{program} ended: {status}"));
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{program} does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    /// The first line of the answer to a plain request.
    fn request(&self, line: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.lines().next().map(str::to_owned)
    }

    fn options(&self) -> [(&str, String); 4] {
        [
            ("aws_endpoint", format!("http://127.0.0.1:{}", self.port)),
            ("aws_region", "us-east-1".to_owned()),
            ("aws_access_key_id", "somebody".to_owned()),
            ("aws_secret_access_key", "whatever".to_owned()),
        ]
    }

    fn storage(&self, path: &str) -> ObjectStorage {
        open(&format!("s3://bucket/{path}"), self.options()).unwrap()
    }

    /// The whole bucket.
    fn store(&self) -> Box<dyn ObjectStore> {
        let mut options = self.options().to_vec();
        options.push(("aws_allow_http", "true".to_owned()));
        let url = url::Url::parse("s3://bucket").unwrap();
        object_store::parse_url_opts(&url, options).unwrap().0
    }
}

fn fixtures_read_as_from_a_folder(server: &Server) {
    for name in [
        "2.30.0/quickstart",
        "2.30.0/sparse2d_rr",
        "2.30.0/deletes",
        "2.12.3/deletes_processed",
        "1.6.3/base_sparse",
    ] {
        let storage = server.storage(&format!("fixtures/{name}"));
        upload(&fixtures().join(name), &storage);
        let near = Array::open(fixtures().join(name)).unwrap();
        let far = OpenOptions::new().open_storage(storage).unwrap();
        for order in [Layout::RowMajor, Layout::GlobalOrder] {
            let (near, far) = (near.read().order(order).collect(), far.read().order(order).collect());
            assert_eq!(bytes(&near.unwrap()), bytes(&far.unwrap()), "{name}");
        }
        let stats = far.stats();
        assert!(stats.rounds <= 8, "{name}: {stats:?}");
    }
}

fn writers_at_once_lose_nothing(server: &Server) {
    let storage = server.storage("made here/50% + x");
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("i", 0i32..=9999).with_tile(100i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let write = |writer: i32| {
        for turn in 0..3 {
            let keys: Vec<i32> = (0..10).map(|cell| writer * 1000 + turn * 10 + cell).collect();
            let values: Vec<i64> = keys.iter().map(|key| i64::from(*key) * 7).collect();
            let array =
                WriteOptions::new().timestamp(10).open_storage(server.storage("made here/50% + x")).unwrap();
            let write = array.write().column(WriteColumn::fixed("i", &keys));
            write.column(WriteColumn::fixed("a", &values)).commit().unwrap();
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|writer| drop(scope.spawn(move || write(writer)))));
    let array = OpenOptions::new().window(TimeWindow::ALL).open_storage(storage).unwrap();
    let cells = array.read().order(Layout::RowMajor).collect().unwrap();
    let keys: &[i32] = cells.field("i").unwrap().values().unwrap();
    let values: &[i64] = cells.field("a").unwrap().values().unwrap();
    assert_eq!(keys.len(), 4 * 3 * 10);
    assert!(keys.iter().zip(values).all(|(key, value)| i64::from(*key) * 7 == *value));
}

fn one_of_many_makes_a_file(server: &Server) {
    let made = |_: usize| server.storage("race").put_file("x", b"mine", Durability::Synced).is_ok();
    let count = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|racer| scope.spawn(move || made(racer))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|made| *made).count()
    });
    assert_eq!(count, 1);
}

/// One request at a time: moto looks whether there is an object and puts one in two steps, between which other threads of it may do
/// the same. S3 does both in one.
fn all_rules_of_storages_are_kept(server: &Server) {
    let store: Arc<dyn ObjectStore> = Arc::new(LimitStore::new(server.store(), 1));
    let places = AtomicUsize::new(0);
    let next = || format!("rules/{}", places.fetch_add(1, Ordering::Relaxed));
    let open = |place: &str| ObjectStorage::new(store.clone(), place).unwrap();
    let checked = check_write_storage(|| open(&next())).unwrap();
    assert_eq!(checked.not_offered, [""; 0]);
    let checked = check_openings(|| {
        let place = next();
        (open(&place), open(&place))
    });
    assert_eq!(checked.unwrap().not_offered, [""; 0]);
}

fn the_lease_is_held_by_one(server: &Server) {
    let lock = server.storage("leased").lock().unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _lock = server.storage("leased").lock().unwrap();
            told.send(()).unwrap();
        });
        assert!(heard.recv_timeout(Duration::from_millis(600)).is_err(), "two hold it");
        drop(lock);
        heard.recv_timeout(Duration::from_secs(20)).unwrap();
    });
    assert!(server.storage("leased").list("").unwrap().is_empty());
}

#[test]
fn arrays_on_a_server_are_read_written_and_guarded_as_in_folders() {
    let server = match Server::start() {
        Ok(server) => server,
        Err(why) => return println!("skipped: there is no S3 server: {why}"),
    };
    fixtures_read_as_from_a_folder(&server);
    one_of_many_makes_a_file(&server);
    writers_at_once_lose_nothing(&server);
    the_lease_is_held_by_one(&server);
    all_rules_of_storages_are_kept(&server);
}
