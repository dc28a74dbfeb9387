//! Plans as bytes and back.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use ballista_core::extension::SessionConfigExt;
use ballista_scheduler::state::task_builder::restrict_plan_to_partitions;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::physical_plan::{ExecutionPlanProperties, collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::bytes::{
    logical_plan_from_bytes_with_extension_codec, logical_plan_to_bytes_with_extension_codec,
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline};
use tdb_array::storage::{LocalStorage, WriteStorage};
use tdb_array::{Key, WriteColumn, WriteOptions};
use tdb_datafusion::{LocalFolders, Locate, TableOptions};

use super::*;

/// A folder that is removed when the value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("tdb-ballista-codec-{}-{number}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn schema() -> ArraySchema {
    let filters = Pipeline::new(vec![Filter::zstd(1).unwrap()]);
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i64..=1_000_000).with_tile(1000i64))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE).with_filters(filters))
        .capacity(10)
        .build();
    schema.unwrap()
}

fn options(key: Option<&Key>) -> WriteOptions {
    match key {
        Some(key) => WriteOptions::new().key(key.clone()),
        None => WriteOptions::new(),
    }
}

/// A sparse array with some cells.
fn array(folder: &Folder, key: Option<&Key>, cells: core::ops::Range<i64>) {
    if !folder.0.exists() {
        options(key).create(&folder.0, &schema()).unwrap();
    }
    let xs: Vec<i64> = cells.collect();
    let squares: Vec<i64> = xs.iter().map(|x| x * x).collect();
    let writer = options(key).open(&folder.0).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &xs));
    write.column(WriteColumn::fixed("a", &squares)).commit().unwrap();
}

fn session() -> SessionContext {
    let config = SessionConfig::new_with_ballista().with_target_partitions(4);
    SessionContext::new_with_state(crate::session::session(config).unwrap())
}

async fn plan(table: TdbTable, sql: &str) -> (SessionContext, Arc<dyn ExecutionPlan>) {
    let session = session();
    session.register_table("t", Arc::new(table)).unwrap();
    let plan = session.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    (session, plan)
}

fn encoded(table: TdbTable) -> Vec<u8> {
    let mut bytes = Vec::new();
    let codec = Codec::new(TdbTableFactory::new());
    codec.try_encode_table_provider(&"t".into(), Arc::new(table), &mut bytes).unwrap();
    bytes
}

fn decoded(bytes: &[u8], factory: TdbTableFactory, schema: SchemaRef) -> Result<Arc<dyn TableProvider>> {
    let context = session().task_ctx();
    Codec::new(factory).try_decode_table_provider(bytes, &"t".into(), schema, &context)
}

/// The rows as text, sorted.
fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let mut rows: Vec<String> = text.lines().skip(3).map(str::to_owned).collect();
    rows.sort();
    rows
}

async fn answer(table: Arc<dyn TableProvider>, sql: &str) -> Vec<String> {
    let session = SessionContext::new();
    session.register_table("t", table).unwrap();
    rows(&session.sql(sql).await.unwrap().collect().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_comes_back_in_the_state_that_it_was_described_in() {
    let folder = Folder::new();
    array(&folder, None, 0..100);
    let table = TdbTable::open(folder.path()).unwrap();
    let (schema, bytes) = (table.schema(), encoded(table));
    array(&folder, None, 50..300);
    let then = decoded(&bytes, TdbTableFactory::new(), schema.clone()).unwrap();
    let now = TdbTable::open(folder.path()).unwrap();
    let sql = "SELECT count(*), sum(a) FROM t";
    assert_eq!(answer(then.clone(), sql).await[1..], ["| 100      | 328350   |".to_owned()]);
    assert!(answer(Arc::new(now), sql).await.iter().any(|row| row.contains("300")));
    // It is described again as it is.
    let again = encoded(then.downcast_ref::<TdbTable>().unwrap().pinned(&session().state()));
    assert_eq!(again, bytes);
    let other = Arc::new(datafusion::arrow::datatypes::Schema::empty());
    assert!(decoded(&bytes, TdbTableFactory::new(), other).unwrap_err().to_string().contains("columns of t"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parts_of_a_plan_read_each_row_once() {
    let folder = Folder::new();
    array(&folder, None, 0..1000);
    let codec = Codec::new(TdbTableFactory::new());
    for sql in [
        "SELECT x, a FROM t",
        "SELECT a FROM t WHERE x BETWEEN 100 AND 899 AND a <> 40000",
        "SELECT x FROM t WHERE x IN (3, 500, 999)",
        "SELECT 1 FROM t WHERE a > 250000",
    ] {
        let (session, whole) = plan(TdbTable::open(folder.path()).unwrap(), sql).await;
        let expected = answer(Arc::new(TdbTable::open(folder.path()).unwrap()), sql).await;
        let count = whole.output_partitioning().partition_count();
        let mut found = Vec::new();
        for partition in 0..count {
            let part = restrict_plan_to_partitions(whole.clone(), &[partition]).unwrap();
            let bytes = physical_plan_to_bytes_with_extension_codec(part, &codec).unwrap();
            let context = session.task_ctx();
            let part = physical_plan_from_bytes_with_extension_codec(&bytes, &context, &codec).unwrap();
            assert_eq!(part.output_partitioning().partition_count(), 1, "{sql}");
            found.extend(collect(part, context).await.unwrap());
        }
        assert_eq!(rows(&found), expected, "{sql}");
        assert!(count > 1 || sql.contains("IN ("), "{sql} has {count} partitions");
        let none = restrict_plan_to_partitions(whole, &[]).unwrap();
        let bytes = physical_plan_to_bytes_with_extension_codec(none, &codec).unwrap();
        let none =
            physical_plan_from_bytes_with_extension_codec(&bytes, &session.task_ctx(), &codec).unwrap();
        assert_eq!(none.output_partitioning().partition_count(), 0, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_orders_and_selections_come_along() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    let codec = Codec::new(TdbTableFactory::new());
    for sql in [
        "SELECT rows, cols, a FROM t ORDER BY rows, cols",
        "SELECT a FROM t WHERE a > 3 AND a < 11",
        "SELECT cols FROM t WHERE rows = 2 LIMIT 2",
    ] {
        let (session, whole) = plan(TdbTable::open(path).unwrap(), sql).await;
        let bytes = physical_plan_to_bytes_with_extension_codec(whole.clone(), &codec).unwrap();
        let context = session.task_ctx();
        let again = physical_plan_from_bytes_with_extension_codec(&bytes, &context, &codec).unwrap();
        let shown = displayable(whole.as_ref()).indent(false).to_string();
        assert_eq!(again.output_ordering(), whole.output_ordering(), "{shown}");
        let found = collect(again, context).await.unwrap();
        let expected = answer(Arc::new(TdbTable::open(path).unwrap()), sql).await;
        assert_eq!(rows(&found), expected, "{shown}");
    }
}

#[test]
fn damaged_bytes_are_errors() {
    let folder = Folder::new();
    array(&folder, None, 0..10);
    let table = TdbTable::open(folder.path()).unwrap();
    let (schema, bytes) = (table.schema(), encoded(table));
    let read = |bytes: &[u8]| decoded(bytes, TdbTableFactory::new(), schema.clone());
    for len in 0..bytes.len() {
        assert!(read(&bytes[..len]).is_err(), "{len}");
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        // A changed byte of a time or of a path may name the same array; what counts is that
        // nothing panics.
        let _ = read(&damaged);
    }
    assert!(read(b"tdbtable\x02").is_err(), "another version");
    for bytes in [&b"tdbscan\0\x01"[..], b"tdbscan\0\x01\xff\xff\xff", b"tdbscan\0\x02", b""] {
        let context = session().task_ctx();
        let codec = Codec::new(TdbTableFactory::new());
        let decoded = PhysicalExtensionCodec::try_decode(
            &codec,
            bytes,
            &[],
            &context,
            &datafusion_proto::physical_plan::DefaultPhysicalProtoConverter {},
        );
        assert!(decoded.is_err(), "{bytes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_plan_contains_a_key_and_who_has_none_reads_nothing() {
    let folder = Folder::new();
    let raw = *b"0123456789abcdefFEDCBA9876543210";
    let hex: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
    let key = Key::from_hex(&hex).unwrap();
    array(&folder, Some(&key), 0..50);
    let with_key = TableOptions::new().key(key);
    let table = with_key.clone().open(folder.path()).unwrap();
    let (schema, bytes) = (table.schema(), encoded(table));
    let (session, whole) =
        plan(with_key.clone().open(folder.path()).unwrap(), "SELECT a FROM t WHERE x < 20").await;
    let codec = Codec::new(TdbTableFactory::new());
    let physical = physical_plan_to_bytes_with_extension_codec(whole, &codec).unwrap();
    for bytes in [&bytes[..], &physical] {
        let contains = |secret: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
        assert!(!contains(&raw) && !contains(hex.as_bytes()) && !contains(hex.to_uppercase().as_bytes()));
        assert!(contains(folder.path().as_bytes()), "the array is named");
    }
    assert!(decoded(&bytes, TdbTableFactory::new(), schema.clone()).is_err());
    let context = session.task_ctx();
    assert!(physical_plan_from_bytes_with_extension_codec(&physical, &context, &codec).is_err());
    let factory = TdbTableFactory::new().options(with_key);
    let table = decoded(&bytes, factory.clone(), schema).unwrap();
    assert_eq!(answer(table, "SELECT count(*) FROM t").await[1..], ["| 50       |".to_owned()]);
    let codec = Codec::new(factory);
    let again = physical_plan_from_bytes_with_extension_codec(&physical, &context, &codec).unwrap();
    assert_eq!(collect(again, context).await.unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 20);
}

/// A local folder under any name.
#[derive(Debug)]
struct Anywhere(PathBuf);

impl Locate for Anywhere {
    fn storage(&self, _: &str) -> Result<Arc<dyn WriteStorage>> {
        Ok(Arc::new(LocalStorage::new(&self.0)))
    }
}

#[tokio::test]
async fn locations_with_secrets_and_tables_without_one_are_refused() {
    let folder = Folder::new();
    array(&folder, None, 0..10);
    let codec = Codec::new(TdbTableFactory::new());
    let refused = |table: TdbTable| {
        let mut bytes = Vec::new();
        codec.try_encode_table_provider(&"t".into(), Arc::new(table), &mut bytes).unwrap_err().to_string()
    };
    let session = SessionContext::new();
    let factory = TdbTableFactory::new().locate(Arc::new(Anywhere(folder.0.clone())));
    factory.register(&session);
    for location in ["s3://user:hunter2@bucket/a", "https://host/a?sig=hunter2"] {
        let create = format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS TILEDB LOCATION '{location}'");
        session.sql(&create).await.unwrap();
        let provider = session.table_provider("t").await.unwrap();
        let said = refused(provider.downcast_ref::<TdbTable>().unwrap().pinned(&session.state()));
        assert!(said.contains("secret") && !said.contains("hunter2"), "{said}");
    }
    let open = TdbTable::new(tdb_array::Array::open(folder.path()).unwrap()).unwrap();
    assert!(refused(open).contains("location"));
    let memory = datafusion::catalog::MemTable::try_new(schema_of("a"), vec![vec![]]).unwrap();
    let said = codec.try_encode_table_provider(&"m".into(), Arc::new(memory), &mut Vec::new()).unwrap_err();
    assert!(said.to_string().contains("a cluster reads arrays only, but m is"), "{said}");
    assert_eq!(LocalFolders.absolute("s3://bucket/a"), "s3://bucket/a");
    assert!(LocalFolders.absolute("a").ends_with("/a"), "{}", LocalFolders.absolute("a"));
}

fn schema_of(name: &str) -> SchemaRef {
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    Arc::new(Schema::new(vec![Field::new(name, DataType::Int64, true)]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_that_is_not_cut_into_tasks_is_refused() {
    let folder = Folder::new();
    array(&folder, None, 0..10);
    let session = SessionContext::new();
    session.register_table("t", Arc::new(TdbTable::open(folder.path()).unwrap())).unwrap();
    let plan = session.sql("SELECT x FROM t").await.unwrap().create_physical_plan().await.unwrap();
    let codec = Codec::new(TdbTableFactory::new());
    let said = physical_plan_to_bytes_with_extension_codec(plan, &codec).unwrap_err().to_string();
    assert!(said.contains("cut scans into tasks"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn integers_that_do_not_fit_are_errors_on_executors_too() {
    let folder = Folder::new();
    array(&folder, None, 1..50);
    let (client, scheduler) = (session(), session());
    TdbTableFactory::new().register(&client);
    client.register_table("t", Arc::new(TdbTable::open(folder.path()).unwrap())).unwrap();
    let codec = Codec::new(TdbTableFactory::new());
    let context = scheduler.task_ctx();
    for (sql, fits) in [
        ("SELECT sum(a + 9223372036854775000) FROM t", false),
        ("SELECT x % 3, sum(a * 922337203685477) FROM t GROUP BY x % 3", false),
        ("SELECT sum(a * 4611686018427387904) FROM t WHERE x = 1", true),
        ("SELECT sum(DISTINCT a), sum(a), -min(a) FROM t", true),
    ] {
        let plan = client.sql(sql).await.unwrap().into_optimized_plan().unwrap();
        let bytes = logical_plan_to_bytes_with_extension_codec(&plan, &codec).unwrap();
        let plan = logical_plan_from_bytes_with_extension_codec(&bytes, &context, &codec).unwrap();
        let plan = scheduler.state().create_physical_plan(&plan).await.unwrap();
        let bytes = physical_plan_to_bytes_with_extension_codec(plan, &codec).unwrap();
        let plan = physical_plan_from_bytes_with_extension_codec(&bytes, &context, &codec).unwrap();
        match collect(plan, context.clone()).await {
            Ok(_) => assert!(fits, "{sql}"),
            Err(error) => assert!(!fits && error.to_string().contains("overflow"), "{sql}: {error}"),
        }
    }
}
