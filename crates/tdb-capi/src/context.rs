//! Contexts: a configuration, the last error, and what arrays of one program share.

use tdb_array::storage::MemoryStorage;

use crate::config::{Config, ConfigObject};
use crate::error::{ErrorText, OutError};
use crate::ffi::{Failure, Freed, INVALID_CONTEXT, In, Object, Out, OutHandle, OutText, Reporter, Text};
use crate::shared::Shared;
use crate::stats::Stats;
use crate::stores::Stores;

/// The stores that this build reads and writes, by their numbers in the C API: S3, Azure, Google,
/// `mem://`.
#[cfg(feature = "stores")]
const FILESYSTEMS: &[u32] = &[1, 2, 3, 4];
#[cfg(not(feature = "stores"))]
const FILESYSTEMS: &[u32] = &[4];

/// The first argument of most functions.
pub(crate) type Ctx = In<Context>;

/// What all calls with one context share. It may be used from any thread.
pub(crate) struct Context {
    config: Config,
    last_error: Shared<Option<String>>,
    tags: Shared<Vec<(String, String)>>,
    stores: Stores,
    stats: Stats,
}

impl Object for Context {
    const NAME: &'static str = "context";
}

impl Context {
    /// A context with a configuration.
    pub(crate) fn new(config: Config) -> Self {
        let stores = Stores::new(MemoryStorage::default(), &config);
        let (last_error, tags) = (Shared::default(), Shared::default());
        Self { config, last_error, tags, stores, stats: Stats::of_context() }
    }

    /// Its configuration, which never changes.
    pub(crate) const fn config(&self) -> &Config {
        &self.config
    }

    /// What its URIs lead to.
    pub(crate) const fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Its statistics.
    pub(crate) const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// How many threads a query may use.
    pub(crate) fn threads(&self) -> Option<usize> {
        self.config.parsed("sm.compute_concurrency_level").filter(|threads| *threads > 0)
    }
}

impl Reporter for Ctx {
    fn begin(&self) -> Result<(), i32> {
        self.get().map(|_| ()).map_err(|_| INVALID_CONTEXT)
    }

    fn keep(&self, failure: &Failure) {
        if let Ok(context) = self.get() {
            *context.last_error.lock() = Some(failure.text().to_owned());
        }
    }
}

fn alloc(config: In<ConfigObject>, context: OutHandle<Context>) -> Result<(), Failure> {
    let config = match config.optional()? {
        Some(config) => config.0.copy(),
        None => Config::default(),
    };
    context.put(Context::new(config))
}

exported! {
    fn tiledb_ctx_alloc(config: In<ConfigObject>, ctx: OutHandle<Context>) -> Code for nobody {
        alloc(config, ctx)
    }

    fn tiledb_ctx_alloc_with_error(config: In<ConfigObject>, ctx: OutHandle<Context>, error: OutError) -> Code for error {
        alloc(config, ctx)
    }

    fn tiledb_ctx_free(ctx: Freed<Context>) {
        ctx.free();
    }

    fn tiledb_ctx_get_stats(ctx: Ctx, stats: OutText) -> Code for ctx {
        stats.give(&ctx.get()?.stats().dump())
    }

    fn tiledb_ctx_get_config(ctx: Ctx, config: OutHandle<ConfigObject>) -> Code for ctx {
        config.put(ConfigObject::of(ctx.get()?.config().clone()))
    }

    fn tiledb_ctx_get_last_error(ctx: Ctx, error: OutHandle<ErrorText>) -> Code for ctx {
        match ctx.get()?.last_error.copy() {
            Some(text) => error.put(ErrorText(text)),
            None => error.put_null(),
        }
    }

    fn tiledb_ctx_is_supported_fs(ctx: Ctx, filesystem: u32, is_supported: Out<i32>) -> Code for ctx {
        is_supported.set(i32::from(FILESYSTEMS.contains(&filesystem)))
    }

    fn tiledb_ctx_cancel_tasks(ctx: Ctx) -> Code for ctx {
        // Nothing goes on between the calls of a context.
        Ok(())
    }

    fn tiledb_ctx_set_tag(ctx: Ctx, key: Text, value: Text) -> Code for ctx {
        let tag = (key.get("key")?.to_owned(), value.get("value")?.to_owned());
        ctx.get()?.tags.lock().push(tag);
        Ok(())
    }

    fn tiledb_ctx_get_data_protocol(ctx: Ctx, uri: Text, protocol: Out<u32>) -> Code for ctx {
        if uri.get("uri")?.starts_with("tiledb://") {
            return Err("Cannot get data protocol; REST client not configured".into());
        }
        protocol.set(0)
    }
}
