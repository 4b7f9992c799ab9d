//! Groups that several agents share (rule 6), through a Redis or Valkey server.
//!
//! A task reports to the server each interval and hands its answers to the agent; what the figures mean is the core's affair
//! ([`governor_core::congestion::Share`]). No request waits for it: while the server is slow or away the agent goes by its
//! own clock. The settings are looked at anew each time, so a reload needs nothing here.

pub mod protocol;

use super::engine::Shared;
use crate::config::ShareServer;
use governor_core::congestion::Report;
use governor_core::settings;
use governor_core::time::Time;
use protocol::{Member, SCRIPT, arguments, goodbye, grant};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError};
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, warn};

/// How often an agent that shares nothing looks whether it does now.
const IDLE: Duration = Duration::from_secs(1);

#[derive(Debug, Error)]
enum ShareError {
    #[error(transparent)]
    Server(#[from] RedisError),
    #[error("no answer in time")]
    Late,
}

/// What is to be told of one group.
struct Item {
    /// The group's name: its index may be another one when the answer comes.
    group: String,
    settings: settings::Share,
    report: Report,
}

/// All that is to be told at one time.
struct Round {
    server: ShareServer,
    member: Member,
    at: Time,
    items: Vec<Item>,
}

/// Reports for ever.
pub(super) async fn run(shared: Shared, instance: u64) {
    let mut connection: Option<(ShareServer, MultiplexedConnection)> = None;
    let mut told = false;
    loop {
        let begun = Instant::now();
        let Some(round) = round(&shared, instance) else {
            connection = None;
            sleep(IDLE).await;
            continue;
        };
        let (interval, lease) = round.pace();
        match timeout(lease, exchange(&mut connection, &round, arguments)).await.unwrap_or(Err(ShareError::Late)) {
            Ok(answers) => {
                told = false;
                take(&shared, &round, &answers);
            }
            Err(error) => {
                // A late answer must not be taken for that of a later report.
                connection = None;
                if std::mem::replace(&mut told, true) {
                    debug!(%error, "the share server cannot be asked");
                } else {
                    warn!(%error, "the share server cannot be asked");
                }
            }
        }
        sleep_until(begun + interval).await;
    }
}

/// Gives the parts back, so that the others need not wait for the leases' end.
pub(super) async fn leave(shared: &Shared, instance: u64) {
    let Some(round) = round(shared, instance) else { return };
    let (_, lease) = round.pace();
    if let Err(error) = timeout(lease, exchange(&mut None, &round, goodbye)).await.unwrap_or(Err(ShareError::Late)) {
        debug!(%error, "no goodbye to the share server");
    }
}

/// What there is to tell now; `None`: nothing is shared.
fn round(shared: &Shared, instance: u64) -> Option<Round> {
    let mut engine = shared.borrow();
    let server = engine.shell.share.clone()?;
    let at = engine.now();
    let reports = engine.agent.share_reports(at);
    // The reports bring levels and parts up to date.
    engine.wake_driver();
    let settings = engine.agent.settings();
    let member = Member { host: settings.node.origin_host.clone(), instance };
    let item = |(group, report): (usize, Report)| {
        let group = settings.groups.get(group)?;
        Some(Item { group: group.name.clone(), settings: group.share?, report })
    };
    let items: Vec<Item> = reports.into_iter().filter_map(item).collect();
    (!items.is_empty()).then_some(Round { server, member, at, items })
}

/// One report a group, all in one round trip.
async fn exchange(
    connection: &mut Option<(ShareServer, MultiplexedConnection)>,
    round: &Round,
    write: impl Fn(&Member, settings::Share, &Report) -> Vec<String>,
) -> Result<Vec<Vec<i64>>, ShareError> {
    let mut link = match connection.take() {
        Some((server, link)) if server == round.server => link,
        _ => {
            // The caller's limit of time holds for both.
            let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
            Client::open(round.server.url.as_str())?.get_multiplexed_async_connection_with_config(&config).await?
        }
    };
    let mut pipe = redis::pipe();
    for item in &round.items {
        let key = format!("{}:group:{}", round.server.name, item.group);
        pipe.cmd("EVAL").arg(SCRIPT).arg(1).arg(key).arg(write(&round.member, item.settings, &item.report));
    }
    let answers = pipe.query_async(&mut link).await?;
    *connection = Some((round.server.clone(), link));
    Ok(answers)
}

fn take(shared: &Shared, round: &Round, answers: &[Vec<i64>]) {
    let mut engine = shared.borrow();
    let now = engine.now();
    for (item, answer) in round.items.iter().zip(answers) {
        let groups = &engine.agent.settings().groups;
        let group = groups.iter().position(|group| group.name == item.group);
        if let (Some(group), Some(grant)) = (group, grant(answer)) {
            engine.agent.handle_share(now, group, round.at, grant);
        }
    }
    engine.wake_driver();
}

// === impl Round ===

impl Round {
    /// Time between reports, and how long an answer counts.
    fn pace(&self) -> (Duration, Duration) {
        let settings = self.items.first().map_or_else(settings::Share::default, |item| item.settings);
        (settings.interval, settings.lease())
    }
}
