//! A client whose attempts are seen ([`crate::attempts`]).

use async_trait::async_trait;
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService, ReqwestConnector,
};
use tdb_storage::Tally;

use crate::attempts::current;

/// Connects clients whose attempts are seen.
#[derive(Debug)]
pub(crate) struct Watching;

impl HttpConnector for Watching {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Watched(ReqwestConnector::default().connect(options)?)))
    }
}

/// A client whose attempts are seen.
#[derive(Debug)]
struct Watched(HttpClient);

#[async_trait]
impl HttpService for Watched {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.0.execute(request).await;
        let Some(tally) = current() else { return answer };
        match answer {
            Ok(answer) if is_for_the_moment(answer.status().as_u16()) => {
                tally.retried();
                Ok(answer)
            }
            // The body may break off later.
            Ok(answer) => Ok(answer.map(|body| {
                HttpResponseBody::new(body.map_err(move |error| {
                    report(&*tally, &error);
                    error
                }))
            })),
            Err(error) => {
                report(&*tally, &error);
                Err(error)
            }
        }
    }
}

/// Whether a status says that the same request may succeed later: the ones that clients repeat.
const fn is_for_the_moment(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

/// Reports an error of a connection, if it is one after which clients repeat the request.
fn report(tally: &dyn Tally, error: &HttpError) {
    use HttpErrorKind::{Connect, Interrupted, Request, Timeout};
    if matches!(error.kind(), Connect | Request | Timeout | Interrupted) {
        tally.retried();
    }
}
