//! The framing function against the corpus, its streams cut in every way that a network can cut them.

mod corpus;

use corpus::{Case, End};
use governor_core::diameter::{FrameError, Header, Message, codes::avp, frame};
use std::path::Path;

fn cases() -> Vec<Case> {
    let cases = corpus::cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/framing"));
    assert!(cases.len() >= 20, "the corpus has {} cases only", cases.len());
    cases
}

fn named(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == format!("{name}.txt")).expect("the case")
}

/// Reads a stream that arrives in pieces, as a connection does: what is whole is taken, the rest waits for more.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, max: u32) -> (Vec<Vec<u8>>, End) {
    let (mut buffer, mut messages) = (Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match frame(&buffer, max) {
                Ok(Some(length)) => messages.push(buffer.drain(..length).collect()),
                Ok(None) => break,
                Err(FrameError::Version(version)) => return (messages, End::Version(version)),
                Err(FrameError::Length(length)) => return (messages, End::Length(length)),
                Err(FrameError::TooLong { length, .. }) => return (messages, End::TooLong(length)),
            }
        }
    }
    let end = if buffer.is_empty() { End::Complete } else { End::Partial(buffer.len()) };
    (messages, end)
}

fn assert_reads(case: &Case, pieces: &[&[u8]]) {
    let (messages, end) = read(pieces.iter().copied(), case.max);
    let sizes: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
    assert_eq!(messages.iter().map(Vec::len).collect::<Vec<_>>(), case.lengths, "{} in {sizes:?}", case.name);
    assert_eq!(end, case.end, "{} in {sizes:?}", case.name);
    let taken = case.lengths.iter().sum();
    assert_eq!(messages.concat(), case.stream[..taken], "{} in {sizes:?}", case.name);
}

#[test]
fn every_stream_of_the_corpus_in_one_read() {
    for case in cases() {
        assert_reads(&case, &[&case.stream]);
    }
}

#[test]
fn every_stream_of_the_corpus_cut_at_every_byte() {
    for case in cases() {
        for at in 0..=case.stream.len() {
            let (head, tail) = case.stream.split_at(at);
            assert_reads(&case, &[head, tail]);
        }
    }
}

#[test]
fn every_stream_of_the_corpus_byte_by_byte() {
    for case in cases() {
        assert_reads(&case, &case.stream.chunks(1).collect::<Vec<_>>());
    }
}

#[test]
fn three_messages_cut_at_every_two_bytes() {
    let case = named("three-messages");
    assert_eq!(case.lengths.len(), 3);
    for first in 0..=case.stream.len() {
        for second in first..=case.stream.len() {
            let (head, tail) = (&case.stream[..first], &case.stream[second..]);
            assert_reads(&case, &[head, &case.stream[first..second], tail]);
        }
    }
}

#[test]
fn sixty_four_messages_come_out_of_one_read() {
    let case = named("sixty-four-messages");
    let (messages, end) = read([&case.stream[..]], case.max);
    assert_eq!((messages.len(), end), (64, End::Complete));
}

#[test]
fn a_reader_counts_requests_answers_and_busy_answers_as_the_corpus_says() {
    for case in cases() {
        let (messages, _) = read([&case.stream[..]], case.max);
        let views: Vec<Message<'_>> = messages.iter().filter_map(|bytes| Message::new(bytes)).collect();
        let requests = views.iter().filter(|message| message.header.flags.is_request()).count();
        let busy = |message: &&Message<'_>| message.find(avp::RESULT_CODE).and_then(|avp| avp.u32()) == Some(3004);
        let busy = views.iter().filter(|message| !message.header.flags.is_request()).filter(busy).count();
        let counted = (requests, views.len() - requests, busy);
        assert_eq!(counted, (case.requests, case.answers, case.busy), "{}", case.name);
    }
}

#[test]
fn a_length_bomb_is_refused_from_its_header_alone() {
    let mut header = Header { version: 1, length: 0xff_fffc, ..Header::default() }.encode();
    assert_eq!(frame(&header, 65_536), Err(FrameError::TooLong { length: 0xff_fffc, max: 65_536 }));
    // However high the limit is set, what is added in forwarding still fits the 24 bits.
    assert!(matches!(frame(&header, u32::MAX), Err(FrameError::TooLong { .. })));
    // Within the limit nothing is promised for it: the caller waits, with the 20 bytes it has.
    header[1..4].copy_from_slice(&[0, 0xff, 0xfc]);
    assert_eq!(frame(&header, 65_536), Ok(None));
}

#[test]
fn no_header_is_judged_before_all_of_it_is_there() {
    let header = Header { version: 9, length: 3, ..Header::default() }.encode();
    for length in 0..20 {
        assert_eq!(frame(&header[..length], 65_536), Ok(None));
    }
    assert_eq!(frame(&header, 65_536), Err(FrameError::Version(9)));
}
