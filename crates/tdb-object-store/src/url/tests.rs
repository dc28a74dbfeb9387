use super::*;

#[test]
fn urls_are_told_from_paths() {
    for url in ["s3://b/a", "gcs://b/a", "https://host/a", "abfs+x://c@a/b"] {
        assert!(is_url(url), "{url}");
    }
    for path in ["data/array", "/data/a://b", "C:\\data", "C://data", "a b://x", "://x"] {
        assert!(!is_url(path), "{path}");
    }
}

#[test]
fn what_no_store_has_is_refused_by_name() {
    let none: [(&str, &str); 0] = [];
    assert!(matches!(open("ftp://host/a", none), Err(LocationError::Scheme { scheme }) if scheme == "ftp"));
    let error = open("s3://bucket/a", [("aws_regoin", "x")]).unwrap_err();
    assert!(error.to_string().contains("aws_regoin"), "{error}");
}

#[test]
fn other_stores_folders_endpoints_and_credentials_are_other_origins() {
    let given = [("aws_region", "eu-west-1"), ("aws_access_key_id", "a"), ("aws_secret_access_key", "b")];
    let origin = |location: &str, options: &[(&str, &str)]| {
        resolve(location, options.iter().copied()).unwrap().origin()
    };
    let own = origin("s3://bucket/a/b", &given);
    let [region, id, secret] = given;
    for (location, options) in [
        ("s3://bucket/a/b/", vec![region, id, secret]),
        ("s3://bucket/a/b", vec![secret, id, region]),
        ("s3://bucket/a/b", vec![region, id, ("aws_secret_access_key", "c"), secret]),
    ] {
        assert!(origin(location, &options) == own, "{location} {options:?}");
    }
    let endpoint = ("aws_endpoint", "http://127.0.0.1:9");
    for (location, options) in [
        ("s3://bucket/a", vec![region, id, secret]),
        ("s3://bucket2/a/b", vec![region, id, secret]),
        ("gs://bucket/a/b", vec![]),
        ("s3://bucket/a/b", vec![region, id, secret, endpoint]),
        ("s3://bucket/a/b", vec![region, id, ("aws_secret_access_key", "c")]),
        ("s3://bucket/a/b", vec![region, ("aws_access_key_id", "c"), secret]),
        ("s3://bucket/a/b", vec![region, id, secret, ("aws_session_token", "c")]),
    ] {
        assert!(origin(location, &options) != own, "{location} {options:?}");
    }
    let none: [(&str, &str); 0] = [];
    assert!(origin("http://u:p@host/a", &none) != origin("http://u:q@host/a", &none));
}

#[test]
fn question_marks_are_characters_of_names_but_in_urls_of_web_servers() {
    let public = [("aws_region", "eu-west-1"), ("aws_skip_signature", "true")];
    let resolved = resolve("s3://bucket/a?b/c#d", public).unwrap();
    assert_eq!((resolved.path.as_ref(), &*resolved.shown), ("a?b/c#d", "s3://bucket/a?b/c#d"));

    let none: [(&str, &str); 0] = [];
    let error = open("https://host/a?token=secret", none).unwrap_err();
    assert!(matches!(&error, LocationError::Query { location } if location == "https://host/a"), "{error:?}");
    assert!(!error.to_string().contains("secret"), "{error}");

    let signed = "https://account.blob.core.windows.net/container/a?sv=2024-11-04&sig=secret%3D";
    let resolved = resolve(signed, none).unwrap();
    assert_eq!((resolved.path.as_ref(), resolved.kind == ObjectStoreScheme::MicrosoftAzure), ("a", true));
    assert_eq!(resolved.shown, "https://account.blob.core.windows.net/container/a");
    let signature = ("azure_storage_sas_key".to_owned(), "sv=2024-11-04&sig=secret%3D".to_owned());
    assert!(resolved.options.contains(&signature));
    let storage = resolved.storage().unwrap();
    assert!(!format!("{storage:?}").contains("secret"), "{storage:?}");
}

#[test]
fn the_path_in_a_bucket_is_taken_as_it_is_and_that_on_a_web_server_is_decoded() {
    use tdb_storage::Storage;
    let options = [("aws_region", "eu-west-1"), ("aws_skip_signature", "true")];
    for path in ["a%20b/50%25+x", "a b", "%ff", "%2e%2e/a", "50%", "a%2Fb", "a?b#c%3F", "ü%C3", "a "] {
        let storage = open(&format!("s3://bucket/{path}"), options).unwrap();
        assert_eq!(storage.path("k").unwrap().as_ref(), format!("{path}/k"));
        assert_eq!(storage.describe("k"), format!("s3://bucket/{path}/k"));
    }
    let none: [(&str, &str); 0] = [];
    for (url, path) in [
        ("https://host/a%20b/50%25+x", "a b/50%+x"),
        ("HTTPS://host/a%20b", "a b"),
        ("https://account.blob.core.windows.net/container/a%20b", "a b"),
    ] {
        assert_eq!(resolve(url, none).unwrap().path.as_ref(), path);
    }
}

#[test]
fn uploads_take_longer_unless_somebody_chose_a_time_limit() {
    let none: [(&str, &str); 0] = [];
    for location in ["s3://b/a", "az://c@account/a", "gs://b/a"] {
        let resolved = resolve(location, none).unwrap();
        assert!(knows(&resolved.kind, "timeout"), "{location}");
        let store: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
        let own = resolved.uploads().client(&store);
        assert!(own.is_err() || own.is_ok_and(|own| !Arc::ptr_eq(&own, &store)), "{location}");
        let chosen = resolve(location, [("timeout", "5 seconds")]).unwrap();
        assert!(Arc::ptr_eq(&chosen.uploads().client(&store).unwrap(), &store), "{location}");
    }
    // The client understands the limit.
    let options = [("aws_region", "x"), ("aws_skip_signature", "true")];
    let patient = resolve("s3://b/a", options).unwrap().patient();
    assert!(patient.client().is_ok());
    assert_eq!(patient.options.last().unwrap().1, uploads::TIMEOUT);
}

#[test]
fn every_option_for_an_endpoint_may_name_one_of_plain_http() {
    let allows = |location: &str, key: &str, value: &str| {
        let resolved = resolve(location, [(key, value)]).unwrap();
        resolved.options.contains(&("allow_http".to_owned(), "true".to_owned()))
    };
    for (location, keys) in [
        (
            "s3://b/a",
            &[
                "aws_endpoint",
                "aws_endpoint_url",
                "endpoint",
                "endpoint_url",
                "AWS_ENDPOINT_URL_S3",
                "aws_endpoint_url_sts",
            ][..],
        ),
        ("az://c/a", &["azure_storage_endpoint", "azure_endpoint", "endpoint"]),
        ("gs://b/a", &["google_base_url", "base_url"]),
    ] {
        for key in keys {
            assert!(allows(location, key, "http://127.0.0.1:9000"), "{key}");
            assert!(allows(location, key, "HTTP://host"), "{key}");
            assert!(!allows(location, key, "https://host"), "{key}");
        }
    }
    assert!(!allows("s3://b/a", "aws_region", "http://host"));
}

#[test]
fn what_is_wrong_with_a_path_is_said() {
    let none: [(&str, &str); 0] = [];
    for (url, why) in [
        ("s3://bucket//a", "empty path segment"),
        ("s3://bucket/a\tb", "a\tb"),
        ("az://container/a\n", "a\n"),
        ("https://user:word@host/%ff?sig=secret", "non-unicode"),
        ("s3:///a", "no bucket"),
        ("s3:", "no bucket"),
    ] {
        let error = open(url, none).unwrap_err();
        assert!(matches!(&error, LocationError::Place { why: said, .. } if said.contains(why)), "{error:?}");
        let said = error.to_string();
        assert!(!said.contains("secret") && !said.contains("word"), "{said}");
    }
}

#[test]
fn spellings_of_libtiledb_are_understood() {
    let none: [(&str, &str); 0] = [];
    assert!(open("gcs://bucket/a", [("google_skip_signature", "true")]).is_ok());
    assert!(open("http://127.0.0.1:1/a", none).is_ok());
}
