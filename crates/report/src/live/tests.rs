use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

use pitchpipe_automl::Happened;
use serde_json::Value;

use super::guard::{Asker, asked, path_within};
use super::*;

fn page() -> LivePage {
    LivePage { title: "</script><b>table".to_owned(), budget_secs: 10.0 }
}

fn live() -> (Live, Arc<AtomicBool>) {
    let stop = Arc::new(AtomicBool::new(false));
    (Live::of_search(0, &page(), Instant::now(), Arc::clone(&stop)).unwrap(), stop)
}

/// The path of the page, and the address to ask at.
fn place(live: &Live) -> (&str, &str) {
    let rest = live.url().strip_prefix("http://").unwrap();
    let slash = rest.find('/').unwrap();
    (&rest[slash..], &rest[..slash])
}

/// The status and the body of an answer.
fn ask(address: &str, method: &str, path: &str, headers: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: 0\r\n\r\n"
    )
    .unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let text = String::from_utf8_lossy(&all).into_owned();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    (status, body.to_owned())
}

fn get(live: &Live, path: &str) -> (u16, String) {
    let (root, address) = place(live);
    ask(address, "GET", &format!("{root}{path}"), &format!("Host: {address}\r\n"))
}

fn events(live: &Live, from: usize) -> Value {
    let (status, body) = get(live, &format!("events?from={from}"));
    assert_eq!(status, 200);
    serde_json::from_str(&body).unwrap()
}

fn level(n_rows: usize) -> Event {
    Event { elapsed_secs: 0.5, what: Happened::Level { n_rows, of: 100 } }
}

#[test]
fn a_page_that_comes_late_hears_all_and_one_that_comes_back_only_what_is_new() {
    let (live, _) = live();
    live.tell(&level(10));
    live.tell(&level(20));
    let first = events(&live, 0);
    assert_eq!(first["events"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&first["events"][1]["event"], &first["phase"]),
        (&"level".into(), &"running".into())
    );
    live.tell(&level(30));
    let second = events(&live, first["next"].as_u64().unwrap() as usize);
    assert_eq!(second["events"].as_array().unwrap().len(), 1);
    assert_eq!(second["events"][0]["n_rows"], 30);
    assert_eq!(events(&live, 99)["events"].as_array().unwrap().len(), 0);
}

#[test]
fn a_visitor_without_the_token_is_refused_whatever_it_asks_for() {
    let (live, stop) = live();
    let (root, address) = place(&live);
    let host = format!("Host: {address}\r\n");
    for path in ["/", "/events", "/stop", "/00000000000000000000000000000000/", "//", "/../"] {
        for method in ["GET", "POST"] {
            assert_eq!(ask(address, method, path, &host).0, 403, "{method} {path}");
        }
    }
    let almost = format!("{}0/stop", &root[..root.len() - 2]);
    assert_eq!(ask(address, "POST", &almost, &host).0, 403);
    assert!(!stop.load(Ordering::Relaxed));
}

#[test]
fn another_origin_or_another_name_of_this_machine_is_refused() {
    let (live, stop) = live();
    let (root, address) = place(&live);
    let path = format!("{root}stop");
    for headers in [
        format!("Host: {address}\r\nOrigin: http://evil.example\r\n"),
        format!("Host: {address}\r\nOrigin: null\r\n"),
        format!("Host: {address}\r\nSec-Fetch-Site: cross-site\r\n"),
        "Host: evil.example\r\n".to_owned(),
        "Host: 127.0.0.1.evil.example:80\r\n".to_owned(),
        String::new(),
    ] {
        assert_eq!(ask(address, "POST", &path, &headers).0, 403, "{headers}");
    }
    assert_eq!(ask(address, "GET", &path, &format!("Host: {address}\r\n")).0, 403);
    assert!(!stop.load(Ordering::Relaxed));
    let own = format!("Host: {address}\r\nOrigin: http://{address}\r\n");
    assert_eq!(ask(address, "POST", &path, &own).0, 200);
    assert!(stop.load(Ordering::Relaxed));
    assert_eq!(events(&live, 0)["phase"], "stopping");
}

#[test]
fn the_report_is_there_at_the_end_and_those_who_look_are_waited_for() {
    let (live, _) = live();
    assert_eq!(get(&live, "report").0, 404);
    let begun = Instant::now();
    live.finish("the report".to_owned(), Duration::from_secs(30));
    assert!(begun.elapsed() < Duration::from_secs(10), "nobody was looking");
    assert_eq!(events(&live, 0)["has_report"], true);
    get(&live, "events?from=0&viewer=one");
    assert!(live.feed.is_awaited());
    assert!(get(&live, "report?viewer=one").1.contains("the report"));
    assert!(!live.feed.is_awaited());
}

#[test]
fn a_failure_is_told() {
    let (live, _) = live();
    live.fail("too few rows".to_owned(), Duration::ZERO);
    let told = events(&live, 0);
    assert_eq!((&told["phase"], &told["why"]), (&"failed".into(), &"too few rows".into()));
}

#[test]
fn the_page_may_ask_its_server_and_nobody_else_and_names_stay_text() {
    let (live, _) = live();
    let (status, html) = get(&live, "");
    assert_eq!(status, 200);
    assert!(html.contains("connect-src 'self'") && html.contains("default-src 'none'"));
    assert!(!html.contains("</script><b>"));
}

#[test]
fn a_recording_is_shown_as_its_time_comes() {
    let lines = "{\"event\":\"note\",\"text\":\"x\"}\n\
        {\"elapsed_secs\":0.0,\"event\":\"begun\",\"budget_secs\":60.0}\n\
        {\"elapsed_secs\":50.0,\"event\":\"level\",\"n_rows\":5,\"of\":5}\n\
        {\"elapsed_secs\":51.0,\"event\":\"saved\",\"out\":\"m.pp\"}\n{\"elapsed_se";
    let recorded = Recorded::read(lines.as_bytes()).unwrap();
    assert_eq!((recorded.budget_secs, recorded.model.as_deref()), (Some(60.0), Some("m.pp")));
    let slow = Live::of_recording(0, &page(), recorded, 1e-6, None).unwrap();
    let early = events(&slow, 0);
    assert_eq!((&early["next"], &early["phase"]), (&2.into(), &"running".into()));
    let recorded = Recorded::read(lines.as_bytes()).unwrap();
    let fast = Live::of_recording(0, &page(), recorded, 1e9, Some("r".to_owned())).unwrap();
    let late = events(&fast, 0);
    assert_eq!((&late["next"], &late["phase"]), (&4.into(), &"done".into()));
    assert_eq!(late["has_report"], true);
}

#[test]
fn a_file_that_is_no_recording_is_refused_with_the_line() {
    let said = |text: &str| Recorded::read(text.as_bytes()).unwrap_err().to_string();
    assert!(said("a,b\n1,2\n").starts_with("line 1 is no event"));
    assert!(said("{\"event\":\"x\"}\n[1]\n{\"event\":\"x\"}\n").starts_with("line 2 is no event"));
    assert_eq!(said("\n"), "holds no events of a search");
}

#[test]
fn who_may_ask() {
    let from = |host, origin, site| Asker { host: Some(host), origin, site };
    assert!(from("localhost:80", None, None).may_ask());
    // Through a tunnel the port is another.
    assert!(from("127.0.0.1:9", Some("http://127.0.0.1:9"), Some("same-origin")).may_ask());
    assert!(from("127.0.0.1:9", None, Some("cross-site")).may_open(), "a link that was clicked");
    assert!(!from("127.0.0.1:9", None, Some("cross-site")).may_ask());
    assert!(!from("127.0.0.1:9", Some("http://localhost:9"), None).may_open());
    assert!(!Asker::default().may_open());
    assert_eq!(asked("from=12&viewer=ab", "viewer"), "ab");
    assert_eq!(asked("viewer=%3C", "viewer"), "");
    let (token, other) = (Token::random().unwrap(), Token::random().unwrap());
    assert_eq!(path_within(&format!("/{token}/events?x=1"), &token), Some(("events", "x=1")));
    assert_eq!(path_within(&format!("/{other}/events"), &token), None);
}
