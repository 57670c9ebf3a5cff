//! K2, K4, K7: tests that no request is trusted for being local.

use crate::fixture::{Fixture, RawRequest, routes};

/// Returns host names that are not exactly ours.
fn foreign_hosts(port: u16) -> Vec<String> {
    let other = port.wrapping_add(1);
    let names = [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example#127.0.0.1",
        "localhost.",
        "LOCALHOST",
        "Localhost",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.2",
        "0.0.0.0",
        "0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "::1",
        "[::1%25lo]",
        "[::1",
        "localhost.localdomain",
        "ip6-localhost",
        "localtest.me",
        "127.0.0.1.nip.io",
        "a.localhost",
        "user@127.0.0.1",
        "127.0.0.1@evil.example",
        "xn--lclhst-bua",
        "169.254.0.1",
        "192.168.1.10",
        "host.docker.internal",
    ];
    let mut hosts: Vec<String> =
        names.iter().flat_map(|name| [format!("{name}:{port}"), (*name).to_owned()]).collect();
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        hosts.extend([
            name.to_owned(),
            format!("{name}:"),
            format!("{name}:{other}"),
            format!("{name}:0{port}"),
            format!("{name}:{port}0"),
            format!("{name}:80"),
            format!("{name}:{port}, evil.example"),
            format!("{name}:{port} evil.example"),
            format!("{name}:{port}/"),
            format!("http://{name}:{port}"),
        ]);
    }
    hosts.push(String::new());
    hosts
}

fn foreign_origins(port: u16) -> Vec<String> {
    let other = port.wrapping_add(1);
    let mut origins: Vec<String> = [
        "null",
        "",
        "*",
        "http://evil.example",
        "https://evil.example",
        "file://",
        "about:blank",
        "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
        "moz-extension://0-0-0-0",
        "app://obsidian.md",
        "vscode-webview://x",
        "data:",
        "http://localhost.",
        "http://127.0.0.1",
        "http://localhost",
        "http://[::1]",
    ]
    .map(str::to_owned)
    .into();
    for name in [
        "127.0.0.1",
        "localhost.",
        "[::ffff:127.0.0.1]",
        "evil.example",
        "127.0.0.1.evil.example",
        "a.localhost",
    ] {
        origins.push(format!("http://{name}:{other}"));
        origins.push(format!("https://{name}:{port}"));
        origins.push(format!("ws://{name}:{port}"));
    }
    for tail in ["/", "#", "?", ".", " http://evil.example", ",http://evil.example", "0", "@evil.example"] {
        origins.push(format!("http://127.0.0.1:{port}{tail}"));
    }
    // Another one of our names is another origin.
    origins.extend([format!("http://localhost:{port}"), format!("http://[::1]:{port}")]);
    origins.extend([
        format!("HTTP://127.0.0.1:{port}"),
        format!("//127.0.0.1:{port}"),
        format!("127.0.0.1:{port}"),
    ]);
    origins
}

type Modification = Box<dyn Fn(RawRequest) -> RawRequest>;

fn replace_header(name: &'static str, value: String) -> Modification {
    Box::new(move |raw| raw.without_header(name).with_header(name, &value))
}

fn add_header(name: &'static str, value: String) -> Modification {
    Box::new(move |raw| raw.with_header(name, &value))
}

/// Returns modifications that each make a valid request invalid.
fn invalid_requests(port: u16) -> Vec<(String, Modification)> {
    let mut rows: Vec<(String, Modification)> = Vec::new();
    for host in foreign_hosts(port) {
        rows.push((format!("host {host:?}"), replace_header("host", host)));
    }
    rows.push(("no host".to_owned(), Box::new(|raw| raw.without_header("host"))));
    for second in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), "evil.example".to_owned()] {
        rows.push((format!("second host {second}"), add_header("host", second)));
    }
    for origin in foreign_origins(port) {
        let own = format!("http://127.0.0.1:{port}");
        rows.push((format!("origin {origin:?}"), replace_header("origin", origin.clone())));
        rows.push((
            format!("origin {origin:?} behind our own"),
            Box::new(move |raw| raw.with_header("origin", &own).with_header("origin", &origin)),
        ));
    }
    for site in ["cross-site", "same-site", "Same-Origin", "same-origin, cross-site", "", "null", "nonsense"]
    {
        rows.push((format!("site {site:?}"), replace_header("sec-fetch-site", site.to_owned())));
        let own = format!("http://127.0.0.1:{port}");
        rows.push((
            format!("site {site:?} with our own origin"),
            Box::new(move |raw| raw.with_header("origin", &own).with_header("sec-fetch-site", site)),
        ));
    }
    for mode in ["no-cors", "cors", "same-origin", "websocket", "nested-navigate", ""] {
        rows.push((
            format!("site none, mode {mode:?}"),
            Box::new(move |raw| {
                raw.with_header("sec-fetch-site", "none").with_header("sec-fetch-mode", mode)
            }),
        ));
    }
    rows.push((
        "two sites".to_owned(),
        Box::new(|raw| {
            raw.with_header("sec-fetch-site", "none").with_header("sec-fetch-site", "same-origin")
        }),
    ));
    rows
}

/// K2: every foreign Host, Origin and Sec-Fetch-Site is refused on every route.
#[tokio::test]
async fn foreign_requests_are_refused_on_every_route() {
    let rig = Fixture::new().await;
    let rows = invalid_requests(rig.port);
    assert!(rows.len() >= 200, "only {} rows", rows.len());
    let before = rig.journal.0.borrow().len();
    for (method, address) in routes() {
        for (name, spoil) in &rows {
            let answer = rig.send(&spoil(rig.paired_request(method, address, "{\"text\":\"hi\"}"))).await;
            let refused = matches!(answer.status, 400 | 403 | 421);
            assert!(refused, "{method} {address} with {name} got {}: {}", answer.status, answer.body);
            assert!(!answer.headers.contains_key("set-cookie"));
        }
    }
    assert_eq!(rig.journal.0.borrow().len(), before);
}

#[tokio::test]
async fn an_absolute_request_target_does_not_override_the_host() {
    let rig = Fixture::new().await;
    for address in ["http://evil.example/api/health", "http://127.0.0.1/api/health"] {
        assert_eq!(rig.send(&rig.paired_request("GET", address, "")).await.status, 421);
    }
}

/// K2: our own page is accepted.
#[tokio::test]
async fn our_page_is_accepted_under_each_of_its_names() {
    let rig = Fixture::new().await;
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        let host = format!("{name}:{}", rig.port);
        let own =
            rig.paired_request("GET", "/api/health", "").without_header("host").with_header("host", &host);
        let ways = [
            own.clone(),
            own.clone()
                .with_header("origin", &format!("http://{host}"))
                .with_header("sec-fetch-site", "same-origin"),
            own.clone().with_header("sec-fetch-site", "none").with_header("sec-fetch-mode", "navigate"),
        ];
        for way in ways {
            assert_eq!(rig.send(&way).await.status, 200, "{}", way.text());
        }
    }
}

/// K4: a POST without our header is refused on every route.
#[tokio::test]
async fn a_post_needs_a_header_that_other_origins_cannot_send() {
    let rig = Fixture::new().await;
    let before = rig.journal.0.borrow().len();
    for address in crate::fixture::WRITES {
        let own = rig.paired_request("POST", address, "{\"text\":\"hi\"}");
        let spoilt = [
            (own.clone().without_header("x-ollim"), 403),
            (own.clone().without_header("x-ollim").with_header("x-ollim", "0"), 403),
            (own.clone().with_header("x-ollim", "1"), 403),
            (own.clone().without_header("content-type"), 415),
            (own.clone().without_header("content-type").with_header("content-type", "text/plain"), 415),
            (
                own.clone()
                    .without_header("content-type")
                    .with_header("content-type", "text/plain; application/json"),
                415,
            ),
            (
                own.clone()
                    .without_header("content-type")
                    .with_header("content-type", "application/x-www-form-urlencoded"),
                415,
            ),
            (
                own.clone().with_header("sec-fetch-site", "none").with_header("sec-fetch-mode", "navigate"),
                403,
            ),
        ];
        for (raw, status) in spoilt {
            let answer = rig.send(&raw).await;
            assert_eq!(answer.status, status, "{}", raw.text());
            assert!(answer.error_message().len() > 20);
        }
    }
    assert_eq!(rig.journal.0.borrow().len(), before);
}

/// K4: no GET has an effect.
#[tokio::test]
async fn reading_changes_nothing() {
    let rig = Fixture::new().await;
    rig.send(&rig.paired_request("POST", "/api/messages", "{\"text\":\"hello\"}")).await;
    wait_for_turn(&rig).await;
    let before = rig.journal.0.borrow().clone();
    let queries = ["", "?before=1", "?text=hi", "?code=1&k=1", "?gatewayUrl=http://evil.example"];
    for (method, address) in routes().into_iter().filter(|(method, _)| *method == "GET") {
        for query in queries {
            let answer = rig.send(&rig.paired_request(method, &format!("{address}{query}"), "")).await;
            assert!(!answer.headers.contains_key("set-cookie"));
        }
    }
    for address in crate::fixture::WRITES {
        let answer = rig.send(&rig.paired_request("GET", &format!("{address}?text=hi&code=1"), "")).await;
        assert!(matches!(answer.status, 400 | 405), "{address} {}", answer.status);
    }
    assert_eq!(*rig.journal.0.borrow(), before);
}

#[tokio::test]
async fn other_methods_are_refused() {
    let rig = Fixture::new().await;
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "QUERY"] {
        let answer = rig.send(&rig.paired_request(method, "/api/messages", "")).await;
        assert!(matches!(answer.status, 405 | 421), "{method} {}", answer.status);
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
    }
}

/// K7: no parameter or header affects where the page sends its credential.
#[tokio::test]
async fn nothing_in_a_request_decides_where_the_page_sends_its_credential() {
    let rig = Fixture::new().await;
    let plain = rig.send(&rig.paired_request("GET", "/", "")).await;
    for address in ["/?gatewayUrl=http://evil.example", "/?server=evil.example&k=1", "/?base=//evil.example"]
    {
        let raw = rig
            .paired_request("GET", address, "")
            .with_header("x-forwarded-host", "evil.example")
            .with_header("forwarded", "host=evil");
        assert_eq!(rig.send(&raw).await.body, plain.body);
    }
    assert!(!plain.body.contains("<base"));
}

/// Waits until a turn is closed.
pub async fn wait_for_turn(rig: &Fixture) {
    let ended = |records: &Vec<_>| {
        records.iter().any(|record| {
            matches!(record, domain::record::Record::Turn(domain::record::TurnChange::Closed(_)))
        })
    };
    rig.journal.0.subscribe().wait_for(ended).await.unwrap();
}
