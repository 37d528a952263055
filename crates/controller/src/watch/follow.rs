//! Keeps the objects of one kind as the API server has them: all of them once, then every change.
//!
//! The states of the road: no version known -> stream (or list) everything -> watch from there; a
//! stream that ends is taken up where it ended; a version that the server does not know any more
//! (410) leads back to the start, over the objects that are there.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep};

use super::Shared;
use super::event::{Event, Lines, Mark, TooLong};
use super::kinds::Resource;
use crate::api::{Api, CallError, Status};

/// Objects in one page of a list, as in client-go.
const PAGE: usize = 500;
/// A server that sends bookmarks does so each minute; one that is silent for longer has lost us.
const SILENCE: Duration = Duration::from_secs(75);
/// How long a watch lasts, before the server ends it in an orderly way. Kinds differ a little, so
/// that not all of them begin anew at once.
const WATCH_SECONDS: usize = 300;
/// When to try again after a first failure, and at most; doubled in between, as in client-go.
const BACKOFF: Duration = Duration::from_millis(800);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// When to ask again for a kind that we may not read, or that is not there.
const ABSENT_RETRY: Duration = Duration::from_secs(300);
/// How often to ask for what cannot be watched.
const POLL: Duration = Duration::from_secs(60);
/// After so many answers in a row that may be about the version, it is given up.
const RESUMES_MAX: u32 = 3;

/// What stands for something else in a query.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What follows one kind.
pub(super) struct Follower {
    pub(super) api: Api,
    pub(super) resource: &'static Resource,
    pub(super) shared: Shared,
    /// The place of the kind among all.
    pub(super) number: usize,
    /// Up to where everything is known; empty before all of it has been seen once.
    pub(super) version: String,
}

/// Why a step did not succeed.
enum Failure {
    Call(CallError),
    /// A watch from the start does not say where the start ends.
    NoEnd,
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl Follower {
    /// Goes on for ever.
    pub(super) async fn run(mut self) {
        let mut failures = 0;
        loop {
            match self.step().await {
                Ok(()) => failures = 0,
                Err(failure) => {
                    failures += 1;
                    let pause = self.after(failure, failures).await;
                    sleep(pause).await;
                }
            }
        }
    }

    /// One request, or one list of them.
    async fn step(&mut self) -> Result<(), Failure> {
        if !self.resource.watched {
            self.list().await?;
            sleep(POLL).await;
            return Ok(());
        }
        if !self.version.is_empty() {
            return self.watch().await;
        }
        if self.shared.may_stream() {
            match self.stream().await {
                // Servers before 1.27 and those with the feature off say 422, others 400; a server
                // that ignores what it does not know never ends the list.
                Err(Failure::Call(CallError::Status { code: 400 | 422, .. }) | Failure::NoEnd) => {
                    self.shared.refuse_stream();
                }
                done => return done,
            }
        }
        self.list().await
    }

    /// Says what went wrong, and how long to wait before the next try.
    async fn after(&mut self, failure: Failure, failures: u32) -> Duration {
        let error = match failure {
            Failure::Call(error) => error,
            Failure::NoEnd => self.api.odd(&"the list has no end"),
        };
        let code = error.code();
        let may_be_absent = matches!(code, Some(403..=405)) || !self.resource.watched;
        if may_be_absent && !self.resource.required {
            self.version.clear();
            self.shared.absent(self.resource, &error).await;
            return if self.resource.watched { ABSENT_RETRY } else { POLL };
        }
        // A server that is away or overloaded knows the version all the same. One that was restored
        // from a copy has never heard of it and says 504, as one does that is a little behind.
        let is_doubtful = matches!(code, Some(400 | 422 | 504)) && failures > RESUMES_MAX;
        if code == Some(410) || is_doubtful {
            self.version.clear();
        }
        self.shared.failed(self.resource, &error, failures).await;
        if code == Some(410) && failures == 1 {
            return Duration::ZERO;
        }
        let doubled = BACKOFF.saturating_mul(1 << failures.saturating_sub(1).min(16));
        let asked = match error {
            CallError::Status { retry_after: Some(pause), .. } => pause,
            _ => Duration::ZERO,
        };
        // Kinds fail together, and should not ask again together.
        let apart = Duration::from_millis(37 * self.number as u64);
        doubled.min(BACKOFF_MAX).max(asked.min(ABSENT_RETRY)) + apart
    }

    /// Everything, and then changes, in one stream (`sendInitialEvents`).
    async fn stream(&mut self) -> Result<(), Failure> {
        let target = format!(
            "{}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&timeoutSeconds={}",
            self.resource.path,
            self.seconds(),
        );
        let mut answer = self.api.stream(&target).await?;
        self.shared.begin_list(self.resource).await;
        match self.follow(&mut answer).await {
            Err(Failure::Call(CallError::Timeout { .. })) if self.version.is_empty() => {
                Err(Failure::NoEnd)
            }
            Ok(()) if self.version.is_empty() => {
                Err(self.api.odd(&"it ended before everything was sent").into())
            }
            done => done,
        }
    }

    /// Changes since the version that is known.
    async fn watch(&mut self) -> Result<(), Failure> {
        let target = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
            self.resource.path,
            self.version,
            self.seconds(),
        );
        let begun = Instant::now();
        let mut answer = self.api.stream(&target).await?;
        self.shared.heard(self.resource).await;
        let before = self.version.clone();
        self.follow(&mut answer).await?;
        // A server that ends every watch at once would be asked without a pause.
        match self.version == before && begun.elapsed() < BACKOFF {
            true => Err(self.api.odd(&"the watch ended at once").into()),
            false => Ok(()),
        }
    }

    /// Takes events until the stream ends or breaks, which is the same here: whatever has been
    /// taken stays, and the next watch begins after it.
    async fn follow(
        &mut self,
        answer: &mut http::Response<kube::client::Body>,
    ) -> Result<(), Failure> {
        let mut lines = Lines::default();
        loop {
            let chunk = match self.api.more(answer, SILENCE).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(()),
                // It was silent or cut off; as long as asking again helps nothing is wrong.
                Err(error) if self.version.is_empty() => return Err(error.into()),
                Err(_) => return Ok(()),
            };
            let mut inner = self.shared.lock().await;
            inner.heard(self.resource);
            let Self { resource, version, .. } = self;
            let taken = lines.feed(&chunk, |line| {
                match Event::read(line).map_err(Stop::odd)? {
                    Event::Put(object) => {
                        let put = inner.store.put(resource.kind, object);
                        keep(version, put.map_err(Stop::odd)?);
                    }
                    Event::Gone(object) => {
                        let gone = inner.store.delete(resource.kind, object);
                        keep(version, gone.map_err(Stop::odd)?);
                    }
                    Event::Bookmark { version: at, ends_list } => {
                        if ends_list {
                            inner.end_list(resource);
                        }
                        if ends_list || !version.is_empty() {
                            *version = at;
                        }
                    }
                    Event::Error { code, message } => return Err(Stop::Said(code, message)),
                    Event::Other => {}
                }
                Ok(())
            });
            drop(inner);
            self.shared.tell();
            match taken {
                Ok(()) => {}
                Err(Stop::Odd(problem)) => {
                    // What could not be read is lost, so everything has to be sent again.
                    self.version.clear();
                    return Err(self.api.odd(&problem).into());
                }
                Err(Stop::Said(code, message)) => {
                    let said = Status { code, message, ..Status::default() };
                    return Err(said.into_error(None).into());
                }
            }
        }
    }

    /// Everything, page by page.
    async fn list(&mut self) -> Result<(), Failure> {
        let (mut token, mut whole, mut begun) = (String::new(), false, false);
        loop {
            let target = match whole {
                true => self.resource.path.to_owned(),
                false => page_of(self.resource.path, &token),
            };
            let body = match self.api.get(&target).await {
                // The pages so far are of a version that the server does not know any more. What
                // was slow in pages is asked for at once, as client-go does.
                Err(CallError::Status { code: 410, .. }) if !token.is_empty() => {
                    token.clear();
                    (whole, begun) = (true, false);
                    continue;
                }
                answer => answer?,
            };
            let page: Page<'_> =
                serde_json::from_slice(&body).map_err(|error| self.api.odd(&error))?;
            if !std::mem::replace(&mut begun, true) {
                self.shared.begin_list(self.resource).await;
            }
            let mut inner = self.shared.lock().await;
            inner.heard(self.resource);
            for item in page.items.into_iter().flatten() {
                let put = inner.store.put(self.resource.kind, item.get().as_bytes());
                put.map_err(|error| self.api.odd(&error))?;
            }
            token = page.metadata.r#continue;
            if token.is_empty() {
                inner.end_list(self.resource);
                self.version = page.metadata.resource_version;
                drop(inner);
                self.shared.tell();
                return Ok(());
            }
        }
    }

    fn seconds(&self) -> usize {
        WATCH_SECONDS + 5 * self.number
    }
}

/// The request for the page of a list that a token leads to; without one the first.
pub(crate) fn page_of(path: &str, token: &str) -> String {
    let first = format!("{path}?limit={PAGE}");
    match token {
        "" => first,
        token => format!("{first}&continue={}", utf8_percent_encode(token, RESERVED)),
    }
}

/// One page of a list.
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: Mark,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// Why no more events are taken.
enum Stop {
    /// They cannot be read.
    Odd(String),
    /// The server says so.
    Said(u16, String),
}

impl Stop {
    fn odd(problem: impl std::fmt::Display) -> Self {
        Self::Odd(problem.to_string())
    }
}

impl From<TooLong> for Stop {
    fn from(_: TooLong) -> Self {
        Self::odd("a line does not end")
    }
}

/// Remembers the version of an event. While everything is being sent, the versions of the objects
/// say nothing about what has been sent; and an event without a version cannot be resumed from.
fn keep(version: &mut String, of_event: Option<std::num::NonZeroU64>) {
    if !version.is_empty()
        && let Some(of_event) = of_event
    {
        *version = of_event.to_string();
    }
}
