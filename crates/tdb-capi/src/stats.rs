//! Statistics of the process: whether they are on, and their text.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::ffi::{Out, OutText};

/// Whether statistics are collected.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// The text where nothing was collected.
const NOTHING: &str = "[\n  \n]\n";

exported! {
    fn tiledb_stats_enable() -> Code for nobody {
        ENABLED.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn tiledb_stats_disable() -> Code for nobody {
        ENABLED.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn tiledb_stats_is_enabled(enabled: Out<u8>) -> Code for nobody {
        enabled.set(u8::from(ENABLED.load(Ordering::Relaxed)))
    }

    fn tiledb_stats_reset() -> Code for nobody {
        Ok(())
    }

    fn tiledb_stats_dump_str(text: OutText) -> Code for nobody {
        text.give(NOTHING)
    }

    fn tiledb_stats_raw_dump_str(text: OutText) -> Code for nobody {
        text.give(NOTHING)
    }

    fn tiledb_stats_free_str(text: OutText) -> Code for nobody {
        text.take_back();
        Ok(())
    }
}
