//! Object stores on the loopback interface: moto for S3, azurite for Azure. The command starts
//! them, and they end with it.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tdb_array::storage::{Durability, WriteStorage};
use tdb_object_store::Locations;

use crate::peer::{cache, environment, install};

/// The servers' programs are stored next to the libraries of the peers, in these versions.
const MOTO: &str = "moto[server]==5.2.5";
const AZURITE: &str = "azurite@3.35.0";
/// Anybody may read the objects of the bucket, who knows their names.
const PUBLIC: &str = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::bucket/*"}]}"#;
/// The account of azurite and its key, which is public.
const ACCOUNT: &str = "devstoreaccount1";
const ACCOUNT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// The protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    S3,
    Azure,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::S3, Self::Azure];

    /// The name of its program.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::S3 => "moto",
            Self::Azure => "azurite",
        }
    }
}

/// A server that ends when it is dropped.
pub(crate) struct Server {
    process: Child,
    port: u16,
    kind: Kind,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts a server with an empty bucket or container, `bucket`; its program is installed if it
    /// is missing.
    pub(crate) fn start(kind: Kind, folder: &Path) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(text)?;
        let port = listener.local_addr().map_err(text)?.port();
        drop(listener);
        let mut command = match kind {
            Kind::S3 => moto(port)?,
            Kind::Azure => azurite(port, folder)?,
        };
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut server = Self { process: process.map_err(text)?, port, kind };
        let begun = Instant::now();
        while !server.make_bucket() {
            if let Ok(Some(status)) = server.process.try_wait() {
                return Err(format!("{} ended: {status}", kind.name()));
            }
            if begun.elapsed() > Duration::from_secs(60) {
                return Err(format!("{} does not answer", kind.name()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    /// Creates the bucket; returns `false` as long as the server does not answer.
    fn make_bucket(&self) -> bool {
        match self.kind {
            Kind::S3 => [("/bucket", ""), ("/bucket?policy", PUBLIC)]
                .into_iter()
                .all(|(path, body)| self.put(path, body).is_some_and(|answer| answer.contains("200"))),
            // Creating a container needs a signature, which its client computes.
            Kind::Azure => {
                let script = Path::new("xtask/peer/azure_container.py");
                let mut command = Command::new("python3");
                command.arg(script).args([&self.endpoint(), ACCOUNT, ACCOUNT_KEY, "bucket"]);
                command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
            }
        }
    }

    /// Sends a plain PUT and returns the first line of the response.
    fn put(&self, path: &str, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.lines().next().map(str::to_owned)
    }

    /// Its address and port.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// The URL at which it listens.
    pub(crate) fn endpoint(&self) -> String {
        match self.kind {
            Kind::S3 => format!("http://127.0.0.1:{}", self.port),
            Kind::Azure => format!("http://127.0.0.1:{}/{ACCOUNT}", self.port),
        }
    }

    /// The options of a store, in the form of `--store-option`.
    pub(crate) fn options(&self) -> Vec<(&'static str, String)> {
        match self.kind {
            Kind::S3 => vec![
                ("aws_endpoint", self.endpoint()),
                ("aws_region", "us-east-1".to_owned()),
                ("aws_access_key_id", "somebody".to_owned()),
                ("aws_secret_access_key", "whatever".to_owned()),
            ],
            Kind::Azure => vec![
                ("azure_storage_account_name", ACCOUNT.to_owned()),
                ("azure_storage_account_key", ACCOUNT_KEY.to_owned()),
                ("azure_storage_endpoint", self.endpoint()),
            ],
        }
    }

    /// Locations with these options.
    pub(crate) fn locations(&self) -> Result<Locations, String> {
        self.options()
            .into_iter()
            .try_fold(Locations::new(), |all, (key, value)| all.option(key, value).map_err(text))
    }

    /// The URL at which anybody reads something in the bucket, if the server allows that.
    pub(crate) fn public_url(&self, path: &str) -> Option<String> {
        (self.kind == Kind::S3).then(|| format!("{}/bucket/{path}", self.endpoint()))
    }

    /// The URL of something in the bucket.
    pub(crate) fn url(&self, path: &str) -> String {
        match self.kind {
            Kind::S3 => format!("s3://bucket/{path}"),
            Kind::Azure => format!("az://bucket/{path}"),
        }
    }
}

/// Copies a folder into a storage.
pub(crate) fn upload(from: &Path, to: &dyn WriteStorage) -> Result<(), String> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(from.join(&folder)).map_err(text)? {
            let entry = entry.map_err(text)?;
            let key = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(key);
                continue;
            }
            let name = key.to_str().ok_or("a name is not UTF-8")?;
            let content = fs::read(entry.path()).map_err(text)?;
            to.replace_file(name, &content, Durability::Synced)
                .map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

/// moto's program: the one in `TDB_MOTO`, or one installed with pip.
fn moto(port: u16) -> Result<Command, String> {
    let program = match std::env::var_os("TDB_MOTO") {
        Some(program) => PathBuf::from(program),
        None => environment("moto", "bin/moto_server", &[MOTO])?,
    };
    let mut command = Command::new(program);
    command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
    Ok(command)
}

/// azurite's program, installed with npm, with its files in a folder.
fn azurite(port: u16, folder: &Path) -> Result<Command, String> {
    let home = cache()?.join("azurite");
    let program = home.join("node_modules/.bin/azurite-blob");
    if !program.exists() {
        fs::create_dir_all(&home).map_err(text)?;
        install(
            Command::new("npm")
                .args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"])
                .arg(&home)
                .arg(AZURITE),
        )?;
    }
    let mut command = Command::new(program);
    command.args([
        "--silent",
        "--disableTelemetry",
        "--skipApiVersionCheck",
        "--blobHost",
        "127.0.0.1",
        "--blobPort",
    ]);
    command.arg(port.to_string()).arg("--location").arg(folder);
    Ok(command)
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}
