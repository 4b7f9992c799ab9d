//! The way there and back.

use crate::message::Request;
use crate::net::Net;
use governor_core::diameter::codes::avp;

#[test]
fn a_request_goes_out_and_its_answer_comes_back() {
    let mut net = Net::star(1, 1);
    let answer = net.ask("c1", &Request::default());
    assert_eq!(answer.code(), Some(2001));
    assert_eq!(answer.origin(), "s1.example.net");
    let request = net.last_request("s1");
    assert_eq!(request.texts(avp::ROUTE_RECORD), ["c1.example.net"]);
    assert!(!request.is_retransmitted());
    assert_eq!(net.counters("c1").requests_received, 1);
    assert_eq!(net.counters("s1").requests_sent, 1);
    assert_eq!(net.counters("s1").answers_received, 1);
    assert_eq!(net.counters("c1").answers_sent, 1);
}

#[test]
fn many_requests_in_small_reads_all_come_back() {
    let mut net = Net::star(2, 3);
    net.segment = 37;
    let ids = [net.requests("c1", 50), net.requests("c2", 50)].concat();
    net.drive();
    assert_eq!(net.codes(&ids), vec![2001; 100]);
    assert_eq!(net.got(["s1", "s2", "s3"]), [34, 33, 33]);
}
