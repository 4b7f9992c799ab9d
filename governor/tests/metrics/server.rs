//! The HTTP server: what it answers, and whom it does not wait for.

use super::{EVERYTHING, PATIENCE, exchange, sample, scrape};
use governor::observe::metrics::Sample;
use governor::observe::metrics::server::Server;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// A server with a relay that always has the same numbers; `connections` more of them.
fn server(connections: usize) -> Server {
    let (ask, mut asked) = mpsc::channel::<oneshot::Sender<Sample>>(1);
    std::thread::spawn(move || {
        while let Some(reply) = asked.blocking_recv() {
            let mut sample = sample(EVERYTHING);
            let more = std::iter::repeat_n(sample.connections[0].clone(), connections);
            sample.connections.extend(more.zip(0..).map(|(mut connection, number)| {
                connection.name = format!("more-{number}").into();
                connection
            }));
            // The client may be gone.
            let _ = reply.send(sample);
        }
    });
    Server::start("127.0.0.1:0".parse().unwrap(), ask).unwrap()
}

fn status(answer: &str) -> &str {
    answer.lines().next().unwrap()
}

#[test]
fn only_get_and_head_of_the_page_are_served() {
    let server = server(0);
    let at = server.address();
    let page = scrape(at);
    assert!(page.starts_with("# HELP governor_connection_cpl "), "{page}");
    assert!(page.ends_with('\n'));
    let ask = |request: &str| exchange(at, request);
    let head = ask("HEAD /metrics HTTP/1.1\r\n\r\n");
    assert_eq!(status(&head), "HTTP/1.1 200 OK");
    assert!(head.ends_with("\r\n\r\n"), "no body");
    assert_eq!(status(&ask("GET /metrics?x=1 HTTP/1.1\r\n\r\n")), "HTTP/1.1 200 OK");
    for path in ["/", "/metrics/", "/metricsx", "/../metrics", "http://governor/metrics"] {
        assert_eq!(status(&ask(&format!("GET {path} HTTP/1.1\r\n\r\n"))), "HTTP/1.1 404 Not Found", "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
        let answer = ask(&format!("{method} /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!(status(&answer), "HTTP/1.1 405 Method Not Allowed", "{method}");
        assert!(answer.contains("\r\nAllow: GET, HEAD\r\n"), "{answer}");
    }
}

#[test]
fn a_client_of_http_1_0_gets_the_page_without_chunks() {
    let server = server(0);
    let answer = exchange(server.address(), "GET /metrics HTTP/1.0\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(!head.contains("chunked"), "{head}");
    assert!(body.starts_with("# HELP "));
    assert!(body.contains("\nprocess_start_time_seconds "));
}

#[test]
fn what_is_no_request_is_told_so() {
    let server = server(0);
    let ask = |request: &str| exchange(server.address(), request);
    for bad in
        ["\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n", "GET /metrics HTTP/2.0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        assert_eq!(status(&ask(bad)), "HTTP/1.1 400 Bad Request", "{bad:?}");
    }
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(20_000));
    assert_eq!(status(&ask(&long)), "HTTP/1.1 431 Request Header Fields Too Large");
    let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
    assert_eq!(status(&ask(&many)), "HTTP/1.1 431 Request Header Fields Too Large");
    // One that says nothing and goes does no harm.
    drop(TcpStream::connect(server.address()).unwrap());
    scrape(server.address());
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let server = server(0);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    for byte in b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" {
        stream.write_all(&[*byte]).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), "HTTP/1.1 200 OK");
}

/// Three that ask for a page of some megabytes and do not read it, ten that ask for nothing, and one that is served.
#[test]
fn slow_clients_hold_up_nobody() {
    let server = server(2000);
    let at = server.address();
    let slow: Vec<TcpStream> = (0..3).map(|_| asking(at)).collect();
    let silent: Vec<TcpStream> = (0..10).map(|_| TcpStream::connect(at).unwrap()).collect();
    let start = Instant::now();
    let page = scrape(at);
    assert!(page.len() > 4_000_000, "{}", page.len());
    let others: Vec<_> = (0..4).map(|_| std::thread::spawn(move || scrape(at).len())).collect();
    for other in others {
        assert!(other.join().unwrap() > 4_000_000);
    }
    assert!(start.elapsed() < PATIENCE);
    drop((slow, silent));
}

fn asking(at: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    stream
}

#[test]
fn a_relay_that_gives_no_numbers_is_told_in_the_answer() {
    let (ask, asked) = mpsc::channel::<oneshot::Sender<Sample>>(1);
    drop(asked);
    let server = Server::start("127.0.0.1:0".parse().unwrap(), ask).unwrap();
    let answer = exchange(server.address(), "GET /metrics HTTP/1.1\r\n\r\n");
    assert_eq!(status(&answer), "HTTP/1.1 503 Service Unavailable");
}

#[test]
fn the_port_is_free_once_the_server_is_dropped() {
    let server = server(0);
    let at = server.address();
    scrape(at);
    assert!(Server::start(at, mpsc::channel(1).0).is_err(), "it is taken");
    drop(server);
    let start = Instant::now();
    while TcpStream::connect(at).is_ok() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
}
