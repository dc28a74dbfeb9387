//! Profiles: parameters with a name, in a file in the user's home folder or in another one.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use crate::error::OutError;
use crate::ffi::{Failure, Freed, In, Object, OutHandle, Outcome, Text};
use crate::shared::Shared;
use crate::string::StringObject;

/// The name of a profile that has none.
const DEFAULT_NAME: &str = "default";
/// The folder for the file, in the home folder.
const FOLDER: &str = ".tiledb";
/// The file, which has all profiles of a folder.
const FILE: &str = "profiles.json";
/// The environment variable that may name another folder.
const FOLDER_VARIABLE: &str = "TILEDB_PROFILE_DIR";
/// The key of the version of the file, and that version.
const VERSION: (&str, u64) = ("version", 1);

/// The parameters of a profile.
pub(crate) type Parameters = BTreeMap<String, String>;

/// A profile behind a pointer.
pub(crate) struct ProfileObject {
    name: String,
    /// With a slash at its end.
    folder: String,
    parameters: Shared<Parameters>,
}

impl Object for ProfileObject {
    const NAME: &'static str = "profile";
}

fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("RestProfile", text)
}

fn home() -> Result<String, Failure> {
    let home = env::var("HOME").ok().filter(|home| !home.is_empty());
    let home = home.ok_or_else(|| failure("Failed to create RestProfile; $HOME is not set."))?;
    Ok(format!("{}/{FOLDER}/", home.trim_end_matches('/')))
}

fn with_slash(folder: &str) -> String {
    format!("{}/", folder.trim_end_matches('/'))
}

/// The folder of a profile: the given one, or that of the environment, or one in the home folder.
fn folder_of(given: Option<&str>) -> Result<String, Failure> {
    match given.filter(|given| !given.is_empty()) {
        Some(given) => Ok(with_slash(given)),
        None => env::var(FOLDER_VARIABLE).map_or_else(|_| home(), |folder| Ok(with_slash(&folder))),
    }
}

fn name_of(given: Option<&str>) -> String {
    given.filter(|given| !given.is_empty()).unwrap_or(DEFAULT_NAME).to_owned()
}

/// The profiles of a file and its version, by name.
type Profiles = BTreeMap<String, Value>;

fn read(path: &str) -> Result<Profiles, Failure> {
    let broken = || failure(format!("Error parsing file '{path}'."));
    let text = fs::read_to_string(path).map_err(|_| broken())?;
    let found: Option<Profiles> = serde_json::from_str(&text).map_err(|_| broken())?;
    Ok(found.unwrap_or_default())
}

fn pretty(profiles: &Profiles) -> Result<String, Failure> {
    serde_json::to_string_pretty(profiles).map_err(failure)
}

/// Replaces the file at once.
fn write(path: &str, profiles: &Profiles) -> Outcome {
    let (temporary, text) = (format!("{path}.{}", std::process::id()), pretty(profiles)?);
    let done = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    done.map_err(|error| failure(format!("Failed to write file '{path}' due to an error: {error}")))
}

/// Loads the parameters of a profile, as a configuration that names it does; nothing if there is no
/// file and the caller named no profile.
///
/// # Errors
/// The caller named a profile or a folder, and there is no such profile.
pub(crate) fn load_for_config(
    name: Option<&str>,
    folder: Option<&str>,
) -> Result<Option<Parameters>, Failure> {
    let is_named = [name, folder].into_iter().flatten().any(|given| !given.is_empty());
    let load = || {
        let folder = folder_of(folder)?;
        if !is_named && !Path::new(&format!("{folder}{FILE}")).exists() {
            return Ok(None);
        }
        let profile = ProfileObject { name: name_of(name), folder, parameters: Shared::default() };
        profile.load()?;
        Ok(Some(profile.parameters.copy()))
    };
    match load() {
        // A default profile may be there for something else.
        Err(_) if !is_named => Ok(None),
        Err(_) => Err(Failure::of(
            "Config",
            "Failed to load the REST profile. Please check the profile name and directory parameters.",
        )),
        loaded => loaded,
    }
}

impl ProfileObject {
    fn path(&self) -> String {
        format!("{}{FILE}", self.folder)
    }

    /// The parameters as they are stored: null if there are none.
    fn json(&self) -> Value {
        let parameters = self.parameters.copy();
        if parameters.is_empty() {
            return Value::Null;
        }
        Value::Object(parameters.into_iter().map(|(key, value)| (key, Value::String(value))).collect())
    }

    fn load(&self) -> Outcome {
        let path = self.path();
        if !Path::new(&path).exists() {
            return Err(failure("Failed to load profile; file does not exist."));
        }
        let mut profiles = read(&path)?;
        let name = &self.name;
        let found = profiles.remove(name);
        let found = found
            .ok_or_else(|| failure(format!("Failed to load profile; profile '{name}' does not exist.")))?;
        let Value::Object(values) = found else { return Ok(()) };
        let mut parameters = self.parameters.lock();
        for (key, value) in values {
            let Value::String(value) = value else {
                return Err(failure(format!("Failed to load profile; parameter '{key}' is no string.")));
            };
            parameters.insert(key, value);
        }
        Ok(())
    }

    fn save(&self, overwrite: bool) -> Outcome {
        {
            let parameters = self.parameters.lock();
            if parameters.contains_key("rest.username") != parameters.contains_key("rest.password") {
                return Err(failure(
                    "Failed to save profile: 'rest.username' and 'rest.password' must either both be set or both \
                     remain unset. Mixing a default username with a custom password (or vice versa) is not allowed.",
                ));
            }
        }
        fs::create_dir_all(&self.folder)?;
        let (path, name) = (self.path(), &self.name);
        let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let mut profiles = if size == 0 { BTreeMap::new() } else { read(&path)? };
        let (key, newest) = VERSION;
        if profiles.is_empty() {
            profiles.insert(key.to_owned(), Value::from(newest));
        } else {
            let version = profiles.get(key).and_then(Value::as_u64);
            if version.is_none_or(|version| version < newest) {
                return Err(failure("The version of your local profile.json file is out of date."));
            }
            if profiles.contains_key(name) && !overwrite {
                return Err(failure(format!(
                    "Failed to save '{name}'; This profile already exists. Use the overwrite parameter to replace it."
                )));
            }
        }
        profiles.insert(name.clone(), self.json());
        write(&path, &profiles)
    }
}

fn remove(name: &str, folder: Option<&str>) -> Outcome {
    let folder = match folder.filter(|given| !given.is_empty()) {
        Some(folder) => with_slash(folder),
        None => home()?,
    };
    let path = format!("{folder}{FILE}");
    if !Path::new(&path).exists() {
        return Err(failure("Failed to remove profile; file does not exist."));
    }
    let mut profiles = read(&path)?;
    if profiles.remove(name).is_none() {
        return Err(failure("Failed to remove profile; profile does not exist."));
    }
    write(&path, &profiles)
}

exported! {
    fn tiledb_profile_alloc(name: Text, dir: Text, profile: OutHandle<ProfileObject>, error: OutError) -> Code for error {
        let (name, folder) = (name_of(name.optional("name")?), folder_of(dir.optional("dir")?)?);
        profile.put(ProfileObject { name, folder, parameters: Shared::default() })
    }

    fn tiledb_profile_free(profile: Freed<ProfileObject>) {
        profile.free();
    }

    fn tiledb_profile_get_name(profile: In<ProfileObject>, name: OutHandle<StringObject>, error: OutError) -> Code for error {
        name.put(StringObject(profile.get()?.name.clone()))
    }

    fn tiledb_profile_get_dir(profile: In<ProfileObject>, dir: OutHandle<StringObject>, error: OutError) -> Code for error {
        dir.put(StringObject(profile.get()?.folder.clone()))
    }

    fn tiledb_profile_set_param(profile: In<ProfileObject>, param: Text, value: Text, error: OutError) -> Code for error {
        let profile = profile.get()?;
        let param = param.optional("param")?.ok_or("[tiledb_profile_set_param] Parameter cannot be null.")?;
        if param.is_empty() {
            return Err(failure("Failed to set parameter; parameter name must not be empty."));
        }
        let value = value.optional("value")?.unwrap_or("");
        profile.parameters.lock().insert(param.to_owned(), value.to_owned());
        Ok(())
    }

    fn tiledb_profile_get_param(profile: In<ProfileObject>, param: Text, value: OutHandle<StringObject>, error: OutError) -> Code for error {
        let profile = profile.get()?;
        let param = param.optional("param")?.ok_or("[tiledb_profile_get_param] Parameter cannot be null.")?;
        let found = profile.parameters.lock().get(param).cloned();
        found.map_or_else(|| value.put_null(), |found| value.put(StringObject(found)))
    }

    fn tiledb_profile_save(profile: In<ProfileObject>, overwrite: u8, error: OutError) -> Code for error {
        profile.get()?.save(overwrite != 0)
    }

    fn tiledb_profile_load(profile: In<ProfileObject>, error: OutError) -> Code for error {
        profile.get()?.load()
    }

    fn tiledb_profile_remove(name: Text, dir: Text, error: OutError) -> Code for error {
        remove(name.optional("name")?.unwrap_or(DEFAULT_NAME), dir.optional("dir")?)
    }

    fn tiledb_profile_dump_str(profile: In<ProfileObject>, text: OutHandle<StringObject>, error: OutError) -> Code for error {
        let profile = profile.get()?;
        let all = BTreeMap::from([(profile.name.clone(), profile.json())]);
        text.put(StringObject(pretty(&all)?))
    }
}
