//! A search as a page that grows while it runs: served on this machine only, to whoever has its address.
//!
//! The page asks twice a second for what has happened since it last asked ([`feed`]); so one that is opened late, or comes
//! back, shows the present state, and one that is closed changes nothing. Who may ask at all is decided in [`guard`].

mod feed;
mod guard;
mod recorded;
mod server;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use pitchpipe_automl::{Event, Watch};
use serde::Serialize;

use feed::{Entry, Feed, Pace};
use guard::Token;
pub use recorded::{Recorded, UnreadableEvents};
use server::Site;

use crate::page::{LIVE_SCRIPTS, Reaches, page_that};

/// What the page is told once.
#[derive(Clone, Debug, Serialize)]
pub struct LivePage {
    /// What is searched: the table's name.
    pub title: String,
    /// The time budget in seconds, as far as it is known beforehand.
    pub budget_secs: f64,
}

#[derive(Serialize)]
struct PageData<'a> {
    version: &'static str,
    is_replay: bool,
    #[serde(flatten)]
    page: &'a LivePage,
}

/// A page that is being served.
#[derive(Debug)]
pub struct Live {
    feed: Arc<Feed>,
    url: String,
}

/// How often it is looked whether everybody has the report.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

impl Live {
    /// Serves a search that began at `started`, on a port of this machine; on any free one where it is 0. The page's stop
    /// button raises `stop`.
    pub fn of_search(
        port: u16,
        page: &LivePage,
        started: Instant,
        stop: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        Self::serve(port, page, Feed::new(Pace::Clock(started), Some(stop), Vec::new()))
    }

    /// Serves a recorded run, `speed` times as fast as it was; `report` is shown at its end.
    pub fn of_recording(
        port: u16,
        page: &LivePage,
        recorded: Recorded,
        speed: f64,
        report: Option<String>,
    ) -> io::Result<Self> {
        let pace = Pace::Replay { since: Instant::now(), speed, end_secs: recorded.end_secs };
        let feed = Feed::new(pace, None, recorded.entries);
        feed.end_with(report, None);
        Self::serve(port, page, feed)
    }

    fn serve(port: u16, page: &LivePage, feed: Feed) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let (token, address) = (Token::random()?, listener.local_addr()?);
        let url = format!("http://{address}/{token}/");
        let (version, is_replay) = (env!("CARGO_PKG_VERSION"), feed.is_replay());
        let html =
            page_that(Reaches::ItsServer, &PageData { version, is_replay, page }, &LIVE_SCRIPTS);
        let feed = Arc::new(feed);
        let site = Site { feed: Arc::clone(&feed), token, page: html };
        server::start(listener, site)?;
        Ok(Self { feed, url })
    }

    /// Where the page is, with the token that it asks for.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Through which the page sees what each thread is at.
    pub fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.feed.watch)
    }

    /// Takes in an event.
    pub fn tell(&self, event: &Event) {
        self.feed.push(Entry::Event(event.clone()));
    }

    /// The search is over and its report is there. Waits until the pages that are open have it, but no longer than
    /// `patience`.
    pub fn finish(&self, report: String, patience: Duration) {
        self.feed.end_with(Some(report), None);
        self.wait_for_viewers(patience);
    }

    /// There is no model, and this is why.
    pub fn fail(&self, why: String, patience: Duration) {
        self.feed.end_with(None, Some(why));
        self.wait_for_viewers(patience);
    }

    fn wait_for_viewers(&self, patience: Duration) {
        let end = Instant::now() + patience;
        while self.feed.is_awaited() && Instant::now() < end {
            thread::sleep(BETWEEN_LOOKS);
        }
    }
}

#[cfg(test)]
mod tests;
