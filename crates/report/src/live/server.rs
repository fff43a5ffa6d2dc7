//! HTTP, as little of it as a page needs.

use std::io::{self, Cursor};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use tiny_http::{Header, Method, Request, Response, Server};

use super::feed::Feed;
use super::guard::{Asker, Token, asked, path_within};

/// What is served.
pub(super) struct Site {
    pub(super) feed: Arc<Feed>,
    pub(super) token: Token,
    pub(super) page: String,
}

/// The name of all threads that serve: the server's own ones take it from the one that makes them.
const THREAD: &str = "live";

/// Said to whoever lacks the token, or comes from elsewhere.
const REFUSED: &str = "This page is opened by the whole address that pitchpipe printed.\n";

/// No other site may frame, load or guess at anything; nothing is kept by the browser.
const HEADERS: [(&str, &str); 6] = [
    ("Cache-Control", "no-store"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
];

type Answer = Response<Cursor<Vec<u8>>>;

/// Serves from threads of its own until the process ends.
pub(super) fn start(listener: TcpListener, site: Site) -> io::Result<()> {
    let (tell, told) = mpsc::channel();
    let serve = move || {
        let server = match Server::from_listener(listener, None) {
            Ok(server) => server,
            Err(error) => return drop(tell.send(Err(io::Error::other(error.to_string())))),
        };
        let _ = tell.send(Ok(()));
        for request in server.incoming_requests() {
            site.serve(request);
        }
    };
    thread::Builder::new().name(THREAD.to_owned()).spawn(serve)?;
    told.recv().unwrap_or_else(|_| Err(io::Error::other("the server did not start")))
}

impl Site {
    fn serve(&self, request: Request) {
        let answer = self.answer(&request);
        // A browser that has gone away needs no answer.
        let _ = request.respond(answer);
    }

    fn answer(&self, request: &Request) -> Answer {
        let asker = asker_of(request);
        let Some((path, query)) = path_within(request.url(), &self.token) else {
            return refused();
        };
        let viewer = asked(query, "viewer");
        match (request.method(), path) {
            (Method::Get, "") if asker.may_open() => html(self.page.as_bytes().to_vec()),
            (Method::Get, "report") if asker.may_open() => match self.feed.report(viewer) {
                Some(report) => html(report.as_bytes().to_vec()),
                None => text(404, "The search is not over.\n"),
            },
            (Method::Get, "events") if asker.may_ask() => {
                let from = asked(query, "from").parse().unwrap_or(0);
                answer(200, "application/json", self.feed.since(from, viewer).into_bytes())
            }
            (Method::Post, "stop") if asker.may_ask() => {
                self.feed.stop();
                text(200, "The search ends, and the best so far is kept.\n")
            }
            (_, "" | "report" | "events" | "stop") => refused(),
            _ => text(404, "There is no such page.\n"),
        }
    }
}

fn asker_of(request: &Request) -> Asker<'_> {
    let header = |name: &'static str| {
        let found = request.headers().iter().find(|h| h.field.equiv(name));
        found.map(|header| header.value.as_str())
    };
    Asker { host: header("Host"), origin: header("Origin"), site: header("Sec-Fetch-Site") }
}

fn refused() -> Answer {
    text(403, REFUSED)
}

fn text(status: u16, words: &str) -> Answer {
    answer(status, "text/plain; charset=utf-8", words.as_bytes().to_vec())
}

fn html(page: Vec<u8>) -> Answer {
    answer(200, "text/html; charset=utf-8", page)
}

fn answer(status: u16, kind: &str, body: Vec<u8>) -> Answer {
    let header = |name: &str, value: &str| {
        Header::from_bytes(name.as_bytes(), value.as_bytes()).expect("plain letters")
    };
    let mut answer = Response::from_data(body).with_status_code(status);
    answer.add_header(header("Content-Type", kind));
    for (name, value) in HEADERS {
        answer.add_header(header(name, value));
    }
    answer
}
