//! Errors of object stores in the words of the command: what is wrong and what to do, and then the
//! cause as the client states it.

use std::borrow::Cow;

/// What clients write before an error.
const CLIENTS: [&str; 4] =
    ["Generic S3 error: ", "Generic MicrosoftAzure error: ", "Generic GCS error: ", "Generic HTTP error: "];

/// Characters of a cause that are shown.
const MAX_CAUSE: usize = 160;

/// What a cause contains, and what it means.
const MEANINGS: [(&[&str], &str); 8] = [
    (
        &[
            "169.254.169.254",
            "metadata.google.internal",
            "api/token",
            "getting credentials",
            "CredentialsProvider",
        ],
        "there are no credentials for the store: set those in the environment (AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, AZURE_… or GOOGLE_…), or read a public one with --store-option \
         aws_skip_signature=true",
    ),
    (&["NoSuchBucket", "ContainerNotFound", "bucket does not exist"], "there is no such bucket"),
    (
        &[
            "SignatureDoesNotMatch",
            "InvalidAccessKeyId",
            "AuthenticationFailed",
            "InvalidToken",
            "401 Unauthorized",
        ],
        "the store does not accept the credentials",
    ),
    (
        &["PermanentRedirect", "AuthorizationHeaderMalformed", "301 Moved"],
        "the bucket is in another region: --store-option aws_region=… names it",
    ),
    (&["AccessDenied", "403 Forbidden"], "the store refuses access"),
    (
        &["URL scheme is not allowed", "BadScheme"],
        "plain http is only used if it is asked for: --store-option allow_http=true",
    ),
    (&["timed out"], "the store does not answer in time (--store-option timeout=60s waits longer)"),
    (
        &["error sending request", "Connection refused", "dns error", "connection closed"],
        "the store cannot be reached: is its name, and an aws_endpoint, right?",
    ),
];

/// A message in which an error of a client is replaced by what it means; other messages as they
/// are.
pub(crate) fn in_words(message: &str) -> Cow<'_, str> {
    let client = CLIENTS.iter().find_map(|client| message.split_once(client));
    let Some((before, cause)) = client else { return message.into() };
    let means = |(signs, _): &&(&[&str], &str)| signs.iter().any(|sign| cause.contains(sign));
    let meaning = MEANINGS.iter().find(means).map_or("the store answered with an error", |(_, text)| text);
    format!("{before}{meaning} (the cause: {})", shortened(cause)).into()
}

/// A cause without the page of XML that a server may have sent and without the settings of retries,
/// and not too long.
fn shortened(cause: &str) -> String {
    let cause = cause.split_once("<?xml").map_or(cause, |(before, _)| before);
    let cause = match cause.split_once(", max_retries:") {
        Some((before, rest)) => {
            let behind = rest.split_once(" - ").map_or("", |(_, behind)| behind);
            format!("{before}: {behind}")
        }
        None => cause.to_owned(),
    };
    let cause = cause.trim_end_matches([' ', ':', '-', ',']);
    let cut = cause.char_indices().nth(MAX_CAUSE).map(|(at, _)| at);
    match cut {
        Some(at) => format!("{}…", cause.get(..at).unwrap_or_default()),
        None => cause.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_says_gets_a_meaning_and_stays_as_the_cause() {
        let told = |cause: &str| in_words(&format!("s3://b/a: Generic S3 error: {cause}")).into_owned();
        for (cause, meaning) in [
            (
                "Error performing PUT http://169.254.169.254/latest/api/token in 1ms - 403 Forbidden",
                "no credentials",
            ),
            (
                "404 Not Found: <?xml version=\"1.0\"?><Code>NoSuchBucket</Code>",
                "there is no such bucket (the cause: 404 Not Found)",
            ),
            ("SignatureDoesNotMatch", "does not accept the credentials"),
            ("403 Forbidden: AccessDenied", "refuses access"),
            ("301 Moved Permanently", "another region"),
            ("error sending request for url (http://127.0.0.1:9/b)", "cannot be reached"),
            ("operation timed out", "does not answer in time"),
            (
                "GET x in 5s, after 10 retries, max_retries: 10, retry_timeout: 180s  - HTTP error: error sending request",
                "cannot be reached: is its name, and an aws_endpoint, right? (the cause: GET x in 5s, after 10 retries: HTTP error",
            ),
            ("500 Internal Server Error", "answered with an error (the cause: 500 Internal Server Error)"),
        ] {
            let told = told(cause);
            assert!(told.starts_with("s3://b/a: ") && told.contains(meaning), "{told}");
            assert!(!told.contains("Generic") && !told.contains("<?xml"), "{told}");
        }
        let long = told(&"x".repeat(500));
        assert!(long.contains("x…)") && long.chars().count() < 240, "{long}");
    }

    #[test]
    fn other_messages_are_as_they_are() {
        assert!(matches!(in_words("fl: no such file"), Cow::Borrowed("fl: no such file")));
    }
}
