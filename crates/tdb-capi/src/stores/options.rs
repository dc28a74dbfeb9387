//! Configurations as options of object stores.
#![cfg(feature = "stores")]

use tdb_object_store::Locations;

use crate::config::Config;

/// The beginnings of URIs of object stores.
pub(super) const SCHEMES: [&str; 5] = ["s3", "azure", "gcs", "gs", "az"];

/// Keys whose values are options as they are, unless they are empty.
const SAME: [(&str, &str); 11] = [
    ("vfs.s3.region", "aws_region"),
    ("vfs.s3.aws_access_key_id", "aws_access_key_id"),
    ("vfs.s3.aws_secret_access_key", "aws_secret_access_key"),
    ("vfs.s3.aws_session_token", "aws_session_token"),
    ("vfs.s3.sse_kms_key_id", "aws_sse_kms_key_id"),
    ("vfs.azure.storage_account_name", "azure_storage_account_name"),
    ("vfs.azure.storage_account_key", "azure_storage_account_key"),
    ("vfs.azure.storage_sas_token", "azure_storage_sas_token"),
    ("vfs.azure.blob_endpoint", "azure_storage_endpoint"),
    ("vfs.gcs.endpoint", "google_base_url"),
    ("vfs.gcs.service_account_key", "google_service_account_key"),
];

/// Keys that cannot be followed if they have another value than this one.
const REFUSED: [(&str, &str); 10] = [
    ("vfs.s3.ca_file", ""),
    ("vfs.s3.ca_path", ""),
    ("vfs.s3.aws_role_arn", ""),
    ("vfs.s3.aws_external_id", ""),
    ("vfs.s3.aws_session_name", ""),
    ("vfs.s3.aws_load_frequency", ""),
    ("vfs.s3.bucket_canned_acl", "NOT_SET"),
    ("vfs.s3.object_canned_acl", "NOT_SET"),
    ("vfs.s3.storage_class", "NOT_SET"),
    ("vfs.s3.proxy_password", ""),
];

/// Keys of headers that are sent with each request. Of these, one can be followed.
const HEADERS: &str = "vfs.s3.custom_headers.";
const USER_AGENT: &str = "user-agent";

/// Object stores with the options of a configuration; others come from the environment.
pub(super) fn locations(config: &Config) -> Locations {
    let mut locations = Locations::new();
    for (name, value) in options(config) {
        // A build without one kind of store has no options of it.
        if let Ok(with) = locations.clone().option(name, value) {
            locations = with;
        }
    }
    locations
}

/// What is set, and cannot be followed.
pub(super) fn refused(config: &Config) -> Vec<String> {
    let is_other = |(key, usual): &&(&str, &str)| config.get(key).is_some_and(|value| value != *usual);
    let keys = REFUSED.iter().filter(is_other).map(|(key, _)| *key);
    let headers = config.below(HEADERS).filter(|key| !is_user_agent(key));
    keys.chain(headers).map(str::to_owned).collect()
}

fn is_user_agent(key: &str) -> bool {
    key.strip_prefix(HEADERS).is_some_and(|name| name.eq_ignore_ascii_case(USER_AGENT))
}

fn options(config: &Config) -> Vec<(&'static str, String)> {
    let set = |key: &str| config.get(key).filter(|value| !value.is_empty());
    let is = |key: &str, value: &str| config.get(key).as_deref() == Some(value);
    let mut options: Vec<(&str, String)> =
        SAME.iter().filter_map(|(key, option)| Some((*option, set(key)?))).collect();
    if let Some(endpoint) = set("vfs.s3.endpoint_override") {
        let scheme = set("vfs.s3.scheme").unwrap_or_else(|| "https".to_owned());
        let has_scheme = endpoint.contains("://");
        let url = if has_scheme { endpoint } else { format!("{scheme}://{endpoint}") };
        options.push(("aws_endpoint", url));
    }
    if is("vfs.s3.no_sign_request", "true") {
        options.push(("aws_skip_signature", "true".to_owned()));
    }
    if is("vfs.s3.requester_pays", "true") {
        options.push(("aws_request_payer", "true".to_owned()));
    }
    if is("vfs.s3.verify_ssl", "false") {
        options.push(("allow_invalid_certificates", "true".to_owned()));
    }
    let agent = config.below(HEADERS).find(|key| is_user_agent(key)).and_then(set);
    options.extend(agent.map(|agent| ("user_agent", agent)));
    match config.get("vfs.s3.sse").as_deref() {
        Some("aes256") => options.push(("aws_server_side_encryption", "AES256".to_owned())),
        Some("kms") => options.push(("aws_server_side_encryption", "aws:kms".to_owned())),
        _ => {}
    }
    if let Some(host) = set("vfs.s3.proxy_host") {
        let scheme = set("vfs.s3.proxy_scheme").unwrap_or_else(|| "http".to_owned());
        let port = set("vfs.s3.proxy_port").filter(|port| port != "0");
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        options.push(("proxy_url", format!("{scheme}://{host}{port}")));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options_of(settings: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let mut config = Config::default();
        settings.iter().for_each(|(key, value)| config.set(key, value).unwrap());
        options(&config)
    }

    #[test]
    fn a_server_of_ones_own_is_an_endpoint_with_a_scheme() {
        let found = options_of(&[
            ("vfs.s3.endpoint_override", "localhost:9000"),
            ("vfs.s3.scheme", "http"),
            ("vfs.s3.aws_access_key_id", "key"),
        ]);
        let expected = [("aws_access_key_id", "key"), ("aws_endpoint", "http://localhost:9000")];
        assert_eq!(found, expected.map(|(name, value)| (name, value.to_owned())));
        let found = options_of(&[("vfs.s3.endpoint_override", "https://host")]);
        assert_eq!(found, [("aws_endpoint", "https://host".to_owned())]);
    }

    #[test]
    fn every_option_is_known_to_the_stores_and_every_key_to_configurations() {
        let all = [
            ("vfs.s3.region", "x"),
            ("vfs.s3.no_sign_request", "true"),
            ("vfs.s3.requester_pays", "true"),
            ("vfs.s3.verify_ssl", "false"),
            ("vfs.s3.sse", "kms"),
            ("vfs.s3.proxy_host", "proxy"),
            ("vfs.s3.endpoint_override", "host"),
            ("vfs.s3.custom_headers.User-Agent", "me"),
        ];
        let names = options_of(&all).into_iter().map(|(name, _)| name);
        for name in names.chain(SAME.iter().map(|(_, option)| *option)) {
            assert!(Locations::new().option(name, "x").is_ok(), "{name}");
        }
        let config = Config::default();
        let keys = SAME.iter().map(|(key, _)| key).chain(REFUSED.iter().map(|(key, _)| key));
        for key in keys.chain(all.iter().map(|(key, _)| key)) {
            assert!(config.get(key).is_some() || key.starts_with(HEADERS), "{key}");
        }
        assert_eq!(refused(&config), Vec::<String>::new());
        assert_eq!(options(&config), Vec::new());
    }

    #[test]
    fn of_headers_the_name_of_the_program_is_followed_and_others_are_refused() {
        let mut config = Config::default();
        config.set("vfs.s3.custom_headers.User-Agent", "me/1").unwrap();
        assert_eq!(options(&config), [("user_agent", "me/1".to_owned())]);
        assert!(refused(&config).is_empty());
        config.set("vfs.s3.custom_headers.X-Own", "1").unwrap();
        assert_eq!(refused(&config), ["vfs.s3.custom_headers.X-Own"]);
    }
}
