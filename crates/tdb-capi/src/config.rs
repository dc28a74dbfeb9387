//! Configurations: keys with values, and walks over them.

mod keys;
mod parse;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::{env, fs, thread};

use crate::error::OutError;
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle, OutText, Outcome, Text};
use crate::profile::{self, Parameters};
use crate::shared::Shared;
use keys::{CORES, KEYS};
pub(crate) use parse::Takes;

/// The word in errors.
const PART: &str = "Config";

/// The key whose value begins the names of environment variables.
const ENV_PREFIX: &str = "config.env_var_prefix";

/// The keys that say which profile is loaded.
const PROFILE_KEYS: [&str; 2] = ["profile_name", "profile_dir"];

/// Keys and values. A value that the caller did not set may come from the environment, or from a
/// profile.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    values: BTreeMap<String, String>,
    set: BTreeSet<String>,
    /// The parameters of the profile, or why it cannot be loaded, once they are asked for.
    profile: OnceLock<Result<Parameters, Failure>>,
}

impl Default for Config {
    fn default() -> Self {
        let values = KEYS.iter().map(|(key, value, _)| ((*key).to_owned(), default_text(value)));
        Self { values: values.collect(), set: BTreeSet::new(), profile: OnceLock::new() }
    }
}

fn default_text(text: &str) -> String {
    if text == CORES {
        return thread::available_parallelism().map_or(1, usize::from).to_string();
    }
    text.to_owned()
}

impl Config {
    /// The value of a key: what the caller set, or an environment variable, or that of the profile,
    /// or the default.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.look_up(key).unwrap_or_else(|_| self.values.get(key).cloned())
    }

    /// The value of a key, as of [`Self::get`].
    ///
    /// # Errors
    /// The profile that the configuration names cannot be loaded.
    fn look_up(&self, key: &str) -> Result<Option<String>, Failure> {
        let value = self.values.get(key);
        if value.is_some() && self.set.contains(key) {
            return Ok(value.cloned());
        }
        if let Ok(value) = env::var(self.variable(key)) {
            return Ok(Some(value));
        }
        if PROFILE_KEYS.contains(&key) {
            return Ok(value.cloned());
        }
        let profile = self.profile.get_or_init(|| {
            let [name, folder] = PROFILE_KEYS.map(|key| self.get(key));
            let loaded = profile::load_for_config(name.as_deref(), folder.as_deref());
            loaded.map(Option::unwrap_or_default)
        });
        Ok(profile.as_ref().map_err(Clone::clone)?.get(key).or(value).cloned())
    }

    /// The value of a key that has a type, as a number, or the default of the type.
    pub(crate) fn parsed<T: core::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.parse().ok()
    }

    /// The keys with a value that begin with these words.
    pub(crate) fn below(&self, prefix: &str) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str).filter(move |key| key.starts_with(prefix))
    }

    /// Sets a value. Unknown keys are kept, as libtiledb does.
    ///
    /// # Errors
    /// The key takes no such value.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Outcome {
        if let Some((_, _, takes)) = KEYS.iter().find(|(known, ..)| *known == key) {
            takes.check(key, value).map_err(|text| Failure::of(PART, text))?;
        }
        self.values.insert(key.to_owned(), value.to_owned());
        self.set.insert(key.to_owned());
        self.forget_profile(key);
        Ok(())
    }

    /// Gives a key its default, or removes it if it has none.
    pub(crate) fn unset(&mut self, key: &str) {
        match KEYS.iter().find(|(known, ..)| *known == key) {
            Some((_, value, _)) => self.values.insert(key.to_owned(), default_text(value)),
            None => self.values.remove(key),
        };
        self.set.remove(key);
        self.forget_profile(key);
    }

    /// The same keys with what `other` has set.
    pub(crate) fn inherit(&mut self, other: &Self) {
        for key in &other.set {
            if let Some(value) = other.values.get(key) {
                self.values.insert(key.clone(), value.clone());
                self.set.insert(key.clone());
                self.forget_profile(key);
            }
        }
    }

    /// After a change of a key: another profile may have to be loaded.
    fn forget_profile(&mut self, key: &str) {
        if PROFILE_KEYS.contains(&key) {
            self.profile = OnceLock::new();
        }
    }

    /// The same keys with what the configuration of a call has set, if it has one.
    ///
    /// # Errors
    /// The pointer is no configuration.
    pub(crate) fn with(&self, other: In<ConfigObject>) -> Result<Self, Failure> {
        let mut merged = self.clone();
        if let Some(other) = other.optional()? {
            merged.inherit(&other.0.copy());
        }
        Ok(merged)
    }

    /// The name of the environment variable for a key.
    fn variable(&self, key: &str) -> String {
        let prefix = self.values.get(ENV_PREFIX).map_or("", String::as_str);
        format!("{prefix}{}", key.replace('.', "_").to_uppercase())
    }

    fn load(&mut self, path: &str) -> Outcome {
        let failed = |why: String| Failure::of(PART, format!("Failed to parse config file '{path}'; {why}"));
        let text = fs::read_to_string(path)
            .map_err(|_| Failure::of(PART, format!("Failed to open config file '{path}'")))?;
        for (number, line) in text.lines().enumerate() {
            let mut words = line.split_whitespace();
            let Some(key) = words.next().filter(|word| !word.starts_with('#')) else { continue };
            let value =
                words.next().ok_or_else(|| failed(format!("Missing parameter value (line: {number})")))?;
            if words.next().is_some_and(|word| !word.starts_with('#')) {
                return Err(failed(format!("Invalid line format (line: {number})")));
            }
            self.values.insert(key.to_owned(), value.to_owned());
        }
        Ok(())
    }

    fn save(&self, path: &str) -> Outcome {
        let shown = |key: &str| !SECRET_KEYS.contains(&key);
        let lines = self.values.iter().filter(|(key, value)| shown(key) && !value.is_empty());
        let text: String = lines.map(|(key, value)| format!("{key} {value}\n")).collect();
        fs::write(path, text)
            .map_err(|_| Failure::of(PART, format!("Failed to open config file '{path}' for writing")))
    }
}

/// The same values, wherever they come from.
impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values && self.set == other.set
    }
}

/// Keys that are not written into files.
const SECRET_KEYS: [&str; 13] = [
    "vfs.azure.storage_account_name",
    "vfs.azure.storage_account_key",
    "vfs.azure.storage_sas_token",
    "vfs.s3.proxy_username",
    "vfs.s3.proxy_password",
    "vfs.s3.aws_access_key_id",
    "vfs.s3.aws_secret_access_key",
    "vfs.s3.aws_session_token",
    "vfs.s3.aws_role_arn",
    "vfs.s3.aws_external_id",
    "vfs.s3.aws_load_frequency",
    "vfs.s3.aws_session_name",
    "rest.token",
];

/// A configuration behind a pointer.
pub(crate) struct ConfigObject(pub(crate) Shared<Config>);

impl ConfigObject {
    /// A configuration, to give to the caller.
    pub(crate) const fn of(config: Config) -> Self {
        Self(Shared::new(config))
    }
}

impl Object for ConfigObject {
    const NAME: &'static str = "config";
}

/// A walk over the keys that begin with a prefix, as they were when it began.
pub(crate) struct ConfigIter(Shared<Walk>);

struct Walk {
    /// Keys without the prefix, and values; the next one is the last.
    rest: Vec<(String, String)>,
}

impl Walk {
    fn new(config: &Config, prefix: &str) -> Self {
        let found = config.values.iter().rev().filter_map(|(key, original)| {
            let short = key.strip_prefix(prefix)?;
            Some((short.to_owned(), config.get(key).unwrap_or_else(|| original.clone())))
        });
        Self { rest: found.collect() }
    }
}

impl Object for ConfigIter {
    const NAME: &'static str = "config iterator";
}

exported! {
    fn tiledb_config_alloc(config: OutHandle<ConfigObject>, error: OutError) -> Code for error {
        config.put(ConfigObject::of(Config::default()))
    }

    fn tiledb_config_free(config: Freed<ConfigObject>) {
        config.free();
    }

    fn tiledb_config_set(config: In<ConfigObject>, param: Text, value: Text, error: OutError) -> Code for error {
        let config = config.get()?;
        config.0.lock().set(param.get("param")?, value.get("value")?)
    }

    fn tiledb_config_get(config: In<ConfigObject>, param: Text, value: OutText, error: OutError) -> Code for error {
        let found = config.get()?.0.lock().look_up(param.get("param")?)?;
        match found {
            Some(found) => value.keep(config, &found),
            None => value.put_null(),
        }
    }

    fn tiledb_config_unset(config: In<ConfigObject>, param: Text, error: OutError) -> Code for error {
        config.get()?.0.lock().unset(param.get("param")?);
        Ok(())
    }

    fn tiledb_config_load_from_file(config: In<ConfigObject>, filename: Text, error: OutError) -> Code for error {
        let config = config.get()?;
        let filename = filename.optional("filename")?.ok_or("Cannot load from file; null filename")?;
        if filename.is_empty() {
            return Err(Failure::of(PART, "Cannot load from file; File path is empty"));
        }
        config.0.lock().load(filename)
    }

    fn tiledb_config_save_to_file(config: In<ConfigObject>, filename: Text, error: OutError) -> Code for error {
        let config = config.get()?;
        let filename = filename.optional("filename")?.ok_or("Cannot save to file; null filename")?;
        if filename.is_empty() {
            return Err(Failure::of(PART, "Cannot load from file; File path is empty"));
        }
        config.0.lock().save(filename)
    }

    fn tiledb_config_compare(lhs: In<ConfigObject>, rhs: In<ConfigObject>, equal: Out<u8>) -> Code for nobody {
        let left = lhs.get()?.0.copy();
        equal.set(u8::from(left.values == rhs.get()?.0.lock().values))
    }

    fn tiledb_config_iter_alloc(config: In<ConfigObject>, prefix: Text, iter: OutHandle<ConfigIter>, error: OutError) -> Code for error {
        let prefix = prefix.optional("prefix")?.unwrap_or("");
        let walk = Walk::new(&config.get()?.0.lock(), prefix);
        iter.put(ConfigIter(Shared::new(walk)))
    }

    fn tiledb_config_iter_reset(config: In<ConfigObject>, iter: In<ConfigIter>, prefix: Text, error: OutError) -> Code for error {
        let prefix = prefix.optional("prefix")?.unwrap_or("");
        let walk = Walk::new(&config.get()?.0.lock(), prefix);
        *iter.get()?.0.lock() = walk;
        Ok(())
    }

    fn tiledb_config_iter_free(iter: Freed<ConfigIter>) {
        iter.free();
    }

    fn tiledb_config_iter_here(iter: In<ConfigIter>, param: OutText, value: OutText, error: OutError) -> Code for error {
        let here = iter.get()?.0.lock().rest.last().cloned();
        let Some((key, found)) = here else {
            param.put_null()?;
            return value.put_null();
        };
        param.keep(iter, &key)?;
        value.keep(iter, &found)
    }

    fn tiledb_config_iter_next(iter: In<ConfigIter>, error: OutError) -> Code for error {
        iter.get()?.0.lock().rest.pop();
        Ok(())
    }

    fn tiledb_config_iter_done(iter: In<ConfigIter>, done: Out<i32>, error: OutError) -> Code for error {
        done.set(i32::from(iter.get()?.0.lock().rest.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_takes_values_of_its_type_only_and_unknown_keys_take_any() {
        let mut config = Config::default();
        assert!(config.set("sm.memory_budget", "12x").is_err());
        assert!(config.set("sm.var_offsets.mode", "words").is_err());
        assert_eq!(config.get("sm.memory_budget").as_deref(), Some("5368709120"));
        config.set("sm.memory_budget", "7").unwrap();
        config.set("my.key", "any thing").unwrap();
        assert_eq!(config.parsed::<u64>("sm.memory_budget"), Some(7));
        assert_eq!(config.get("my.key").as_deref(), Some("any thing"));
        config.unset("sm.memory_budget");
        config.unset("my.key");
        assert_eq!(config, Config::default());
    }

    #[test]
    fn a_walk_has_the_keys_of_its_prefix_in_order_without_it() {
        let mut config = Config::default();
        config.set("vfs.azure.zz", "1").unwrap();
        let walk = Walk::new(&config, "vfs.azure.");
        let keys: Vec<&str> = walk.rest.iter().rev().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys.first(), Some(&"blob_endpoint"));
        assert_eq!(keys.last(), Some(&"zz"));
        assert_eq!(keys.len(), 12);
    }
}
