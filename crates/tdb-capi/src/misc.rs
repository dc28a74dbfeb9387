//! Functions that belong to no object: sizes, numbers with a meaning, the clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tdb_array::schema::CellValNum;

use crate::codes;
use crate::context::Ctx;
use crate::ffi::{OutHandle, StaticText, Text};
use crate::string::StringObject;

/// The most bytes of a path.
const MAX_PATH: u32 = 4096;

/// The present time in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.ok().and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or(0)
}

/// The last millisecond in which a write of this process may have been committed.
static LAST_WRITE: AtomicU64 = AtomicU64::new(0);

/// Waits for a millisecond behind that of the last write, at most for one: programs that write
/// twice, one after the other, open the array at the time of the first write. libtiledb is slower.
pub(crate) fn wait_for_a_time_of_its_own() {
    let last = LAST_WRITE.load(Ordering::Relaxed);
    // If the clock was set back, nothing waits for it.
    while now() == last {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Notes that a write has been committed.
pub(crate) fn note_write() {
    LAST_WRITE.fetch_max(now(), Ordering::Relaxed);
}

exported! {
    fn tiledb_datatype_size(datatype: u32) -> u64 {
        codes::datatype(datatype).map_or(0, |datatype| crate::number(datatype.size()))
    }

    fn tiledb_offset_size() -> u64 {
        8
    }

    fn tiledb_var_num() -> u32 {
        CellValNum::VAR_CODE
    }

    fn tiledb_max_path() -> u32 {
        MAX_PATH
    }

    fn tiledb_timestamps() -> StaticText {
        StaticText::new(c"__timestamps")
    }

    fn tiledb_timestamp_now_ms() -> u64 {
        now()
    }

    fn tiledb_status_code(code: i32) -> i32 {
        code
    }

    fn tiledb_log_warn(ctx: Ctx, message: Text) -> Code for ctx {
        // There is no log.
        message.get("message").map(|_| ())
    }

    fn tiledb_as_built_dump(out: OutHandle<StringObject>) -> Code for nobody {
        let enabled = |is: bool| serde_json::json!({ "enabled": is });
        let stores = cfg!(feature = "stores");
        let backends = ["azure", "gcs", "s3"].map(|name| (name.to_owned(), enabled(stores)));
        let built = serde_json::json!({
            "as_built": {
                "parameters": {
                    "storage_backends": backends.into_iter().collect::<serde_json::Map<_, _>>(),
                    "support": { "serialization": enabled(false) },
                },
            },
        });
        out.put(StringObject(serde_json::to_string_pretty(&built).map_err(|error| error.to_string())?))
    }
}
