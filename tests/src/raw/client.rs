//! A scripted client: offers requests at a rate and accounts for every one of them.

use super::{Peer, Received};
use crate::NetNs;
use anyhow::{Context, Result, ensure};
use governor_core::diameter::Message;
use governor_core::diameter::codes::avp;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An open connection that offers load.
#[derive(Debug)]
pub struct Client {
    peer: Peer,
    realm: String,
}

/// What became of the requests.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests sent.
    pub sent: u64,
    /// Answers by Result-Code.
    pub codes: BTreeMap<u32, u64>,
    /// Answers by Origin-Host.
    pub origins: BTreeMap<String, u64>,
    /// Requests without an answer.
    pub unanswered: u64,
    /// Answers to nothing that was sent, or sent twice.
    pub stray: u64,
    /// Times from request to answer, sorted.
    pub latencies: Vec<Duration>,
    /// When each answer came and its code, in order.
    pub history: Vec<(Instant, u32)>,
}

impl Client {
    /// Opens a connection; requests will go to `realm`.
    pub fn open(ns: &NetNs, address: &str, identity: &str, realm: &str) -> Result<Self> {
        Ok(Self { peer: Peer::open(ns, address, identity)?, realm: realm.to_owned() })
    }

    /// The connection.
    pub const fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }

    /// Offers `rate` requests/s for `length`, each with `payload` bytes more, answered or not (an open loop); then waits up
    /// to `patience` for what is outstanding.
    pub fn offer(&mut self, rate: u32, length: Duration, payload: usize, patience: Duration) -> Result<Tally> {
        let outstanding: Mutex<HashMap<u32, Instant>> = Mutex::new(HashMap::new());
        let lock = || outstanding.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = u64::from(rate) * u64::try_from(length.as_millis())? / 1000;
        let first = self.peer.next + 1;
        self.peer.next += u32::try_from(requests)?;
        let template = self.peer.request_with(first, &self.realm, payload);
        let mut writer = self.peer.stream.try_clone()?;
        let start = Instant::now();
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| -> Result<u64> {
                let mut batch = Vec::new();
                let mut sent = 0;
                while sent < requests {
                    let due = u64::try_from(start.elapsed().as_micros())? * u64::from(rate) / 1_000_000 + 1;
                    batch.clear();
                    let now = Instant::now();
                    let upto = due.min(requests);
                    while sent < upto {
                        let id = first + u32::try_from(sent)?;
                        let at = batch.len();
                        batch.extend_from_slice(&template);
                        batch[at + 12..at + 16].copy_from_slice(&id.to_be_bytes());
                        batch[at + 16..at + 20].copy_from_slice(&id.to_be_bytes());
                        lock().insert(id, now);
                        sent += 1;
                    }
                    writer.write_all(&batch).context("the governor takes no more requests")?;
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(sent)
            });
            let mut outcome = Tally::default();
            let mut deadline = None;
            loop {
                let sending = !sender.is_finished();
                if !sending {
                    let end = *deadline.get_or_insert_with(|| Instant::now() + patience);
                    if lock().is_empty() || Instant::now() >= end {
                        break;
                    }
                }
                match self.peer.receive(Duration::from_millis(20))? {
                    Received::Nothing => {}
                    Received::Closed => break,
                    Received::Message(bytes) => {
                        let message = Message::new(&bytes).context("a message shorter than a header")?;
                        ensure!(!message.header.flags.is_request(), "a request to a client");
                        let now = Instant::now();
                        match lock().remove(&message.header.hop_by_hop) {
                            Some(sent) => outcome.latencies.push(now - sent),
                            None => outcome.stray += 1,
                        }
                        let code = message.find(avp::RESULT_CODE).and_then(|a| a.u32()).unwrap_or_default();
                        let origin = message.find(avp::ORIGIN_HOST).and_then(|a| a.str()).unwrap_or_default();
                        *outcome.codes.entry(code).or_default() += 1;
                        *outcome.origins.entry(origin.to_owned()).or_default() += 1;
                        outcome.history.push((now, code));
                    }
                }
            }
            outcome.sent = sender.join().map_err(|_| anyhow::anyhow!("the sender panicked"))??;
            outcome.unanswered = lock().len() as u64;
            outcome.latencies.sort_unstable();
            Ok(outcome)
        })
    }
}

impl Tally {
    /// Answers with that Result-Code.
    pub fn code(&self, code: u32) -> u64 {
        self.codes.get(&code).copied().unwrap_or(0)
    }

    /// Answers from that Origin-Host.
    pub fn from(&self, origin: &str) -> u64 {
        self.origins.get(origin).copied().unwrap_or(0)
    }

    /// The time within which that share of the requests (0 to 1) was answered.
    pub fn quantile(&self, share: f64) -> Duration {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
        let at = (self.latencies.len() as f64 * share) as usize;
        self.latencies.get(at.min(self.latencies.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}
