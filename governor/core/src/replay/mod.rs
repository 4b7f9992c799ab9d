//! The core in simulated time (design: Replay): "what would these settings have done?"
//!
//! One JSON line in, one JSON line out. Nothing but time and these lines decides what comes out, so the rules can be
//! tested, and checked against another implementation of them, to the last digit.

mod line;
mod output;
mod records;
mod seconds;

use crate::congestion::{self, Connection, Group, Pending};
use crate::level::Priority;
use crate::refusal::{Refusal, code};
use crate::routing::Selection;
use crate::settings::{self, ConnectionIndex, Settings};
use crate::time::Time;
use line::{Event, Input, Names, Target};
use output::{Output, State, Verdict};
use records::{Records, Timeouts};

pub use line::BadLine;

/// A governor in simulated time. Every connection starts down, and the first line may have any time.
#[derive(Debug)]
pub struct Replay {
    settings: Settings,
    names: Names,
    selection: Selection,
    members: Vec<Member>,
    groups: Vec<Group>,
    /// The whole agent's records (rule 5).
    pending: Pending,
    timeouts: Timeouts,
    now: Time,
}

/// A connection with what replay keeps for it.
#[derive(Debug)]
struct Member {
    /// As a JSON string.
    name: String,
    connection: Connection,
    records: Records,
    group: Option<usize>,
}

/// Which connection a request went to, or was refused by last.
struct Routed {
    connection: Option<ConnectionIndex>,
    verdict: Result<(), Refusal>,
}

/// Replay has this agent alone: the whole of a group that several agents share is its own.
fn alone(group: &settings::Group) -> Group {
    Group::new(Time::ZERO, &settings::Group { share: None, ..group.clone() })
}

// === impl Replay ===

impl Replay {
    /// The state before the first line.
    pub fn new(settings: Settings) -> Self {
        let mut members: Vec<Member> = settings
            .connections
            .iter()
            .map(|connection| Member {
                name: serde_json::Value::from(connection.name.as_str()).to_string(),
                connection: Connection::new(connection),
                records: Records::default(),
                group: None,
            })
            .collect();
        for (at, group) in settings.groups.iter().enumerate() {
            for member in &group.connections {
                members[member.get()].group = Some(at);
            }
        }
        Self {
            names: Names::new(&settings),
            selection: Selection::new(&settings),
            members,
            // A group has no coming up: its samples stand at whole tenths of a second.
            groups: settings.groups.iter().map(alone).collect(),
            pending: Pending::new(settings.node.pending_limit),
            timeouts: Timeouts::new(settings.node.answer_timeout),
            now: Time::ZERO,
            settings,
        }
    }

    /// Runs one line, and gives the line that answers it, without a line end.
    ///
    /// # Errors
    /// What is wrong with the line. Nothing has changed then.
    pub fn line(&mut self, text: &str) -> Result<String, BadLine> {
        let Input { t, time, event } = Input::parse(text, &self.names)?;
        if time < self.now {
            return Err(BadLine::TimeFalls { t: t.to_owned() });
        }
        self.now = time;
        self.run_timeouts();
        let name = event.name();
        let (shown, verdict) = self.run(event);
        let state = shown.connection.map(|at| self.state(at));
        let connection = match &verdict {
            // A route that took the request nowhere names no connection.
            Some(Verdict { refusal: Some(_), .. }) if shown.routed => None,
            _ => shown.connection.map(|at| self.members[at.get()].name.as_str()),
        };
        Ok(Output { t, event: name, connection, state, verdict }.to_string())
    }

    fn run(&mut self, event: Event<'_>) -> (Shown, Option<Verdict>) {
        let now = self.now;
        let changed = match event {
            Event::Request { target, priority, destination_host } => {
                return self.request(target, priority, destination_host.as_deref());
            }
            Event::SendAnswer { connection } => {
                let verdict = self.member(connection).admit_answer(now);
                if verdict.is_ok() {
                    self.member(connection).handle_answer_sent(now);
                }
                return (Shown::one(connection), Some(Verdict { refusal: verdict.err(), result_code: None }));
            }
            Event::Tick { connection: None } => return (Shown { connection: None, routed: false }, None),
            Event::Tick { connection: Some(connection) } => connection,
            Event::Up { connection } => {
                self.member(connection).handle_up(now);
                connection
            }
            Event::Down { connection } => {
                self.down(connection);
                connection
            }
            Event::Degraded { connection, level } => {
                self.member(connection).handle_degraded(now, level);
                connection
            }
            Event::Answer { connection, result, origin_host, priority } => {
                self.answer(connection, result, origin_host.as_deref(), priority);
                connection
            }
            Event::Blocked { connection } => {
                self.member(connection).handle_blocked(now);
                connection
            }
            Event::Unblocked { connection } => {
                self.member(connection).handle_unblocked(now);
                connection
            }
            Event::Pressure { connection, queued, limit } => {
                self.member(connection).handle_pressure(now, queued, limit);
                connection
            }
        };
        (Shown::one(changed), None)
    }

    fn request(&mut self, target: Target, priority: Priority, host: Option<&str>) -> (Shown, Option<Verdict>) {
        let (routed, is_route) = match target {
            Target::Connection(at) => (Routed { connection: Some(at), verdict: self.admit(at, priority, host) }, false),
            Target::Route(route) => (self.route(route, priority, host), true),
        };
        if let (Some(at), Ok(())) = (routed.connection, routed.verdict) {
            self.sent(at, priority);
        }
        let refusal = routed.verdict.err();
        let result_code = refusal.map(|refusal| refusal.result_code(self.settings.node.busy_result_code));
        (Shown { connection: routed.connection, routed: is_route }, Some(Verdict { refusal, result_code }))
    }

    /// Tries the connections of a route in their order; those that are down are skipped.
    fn route(&mut self, route: usize, priority: Priority, host: Option<&str>) -> Routed {
        let mut candidates = self.selection.start(route);
        let mut last = None;
        while let Some(at) = self.selection.next(&mut candidates, |at| !self.members[at.get()].connection.is_down()) {
            match self.admit(at, priority, host) {
                Ok(()) => return Routed { connection: Some(at), verdict: Ok(()) },
                Err(refusal) => last = Some(Routed { connection: Some(at), verdict: Err(refusal) }),
            }
        }
        last.unwrap_or_else(|| {
            // None is up: the figures shown are those of the route's last connection.
            let members = self.settings.routes[route].groups.iter().flat_map(|group| &group.members);
            Routed { connection: members.last().map(|&(at, _)| at), verdict: Err(Refusal::NoConnection) }
        })
    }

    /// May the request leave on this connection?
    fn admit(&mut self, at: ConnectionIndex, priority: Priority, host: Option<&str>) -> Result<(), Refusal> {
        let peer = self.settings.peer_of(at);
        let to_this_peer = host.is_some_and(|host| host.eq_ignore_ascii_case(&peer.host));
        let member = &mut self.members[at.get()];
        let group = member.group.map(|group| &mut self.groups[group]);
        congestion::admit(self.now, &mut member.connection, &self.pending, group, priority, to_this_peer)
    }

    fn sent(&mut self, at: ConnectionIndex, priority: Priority) {
        let now = self.now;
        let member = &mut self.members[at.get()];
        member.connection.handle_request_sent(now);
        let record = self.timeouts.push(now, at, priority);
        member.records.push(priority, record);
        self.pending.take();
        if let Some(group) = member.group {
            self.groups[group].handle_request_sent(now);
        }
    }

    /// An answer arrives: it frees a record, and a 3004 of the peer's own says that the peer is busy.
    fn answer(&mut self, at: ConnectionIndex, result: u32, origin_host: Option<&str>, priority: Option<Priority>) {
        let now = self.now;
        if self.members[at.get()].connection.is_down() {
            return;
        }
        let freed = self.members[at.get()].records.take(priority);
        if freed.is_some() {
            self.release(at, now);
        }
        let peer = self.settings.peer_of(at);
        let from_peer = origin_host.is_none_or(|host| host.eq_ignore_ascii_case(&peer.host));
        if result == code::TOO_BUSY && from_peer {
            // A 3004 counts without a record too.
            let priority = priority.or(freed).unwrap_or_default();
            self.member(at).handle_busy(now, priority);
        }
    }

    fn down(&mut self, at: ConnectionIndex) {
        let now = self.now;
        let member = &mut self.members[at.get()];
        let records = member.records.clear();
        member.connection.handle_down(now);
        self.pending.release_many(records);
        if let Some(group) = member.group {
            self.groups[group].handle_released_many(now, records);
        }
    }

    /// Frees the records whose answers have not come by now, in the order of their timeouts.
    fn run_timeouts(&mut self) {
        while let Some((due, at, priority, record)) = self.timeouts.pop_due(self.now) {
            if self.members[at.get()].records.expire(priority, record) {
                self.release(at, due);
            }
        }
    }

    /// One record of the connection is gone.
    fn release(&mut self, at: ConnectionIndex, when: Time) {
        let member = &mut self.members[at.get()];
        member.connection.handle_released();
        self.pending.release();
        if let Some(group) = member.group {
            self.groups[group].handle_released(when);
        }
    }

    fn member(&mut self, at: ConnectionIndex) -> &mut Connection {
        &mut self.members[at.get()].connection
    }

    /// The figures of a connection, with its timers and samples run.
    fn state(&mut self, at: ConnectionIndex) -> State {
        let now = self.now;
        let connection = self.member(at);
        connection.handle_timeout(now);
        // Replay shows levels, not their changes.
        while connection.poll_event().is_some() {}
        State { levels: connection.levels(), pending: connection.pending(), rate: connection.rate() }
    }
}

/// The connection whose figures a line shows.
struct Shown {
    connection: Option<ConnectionIndex>,
    /// By a route, not by name.
    routed: bool,
}

impl Shown {
    const fn one(connection: ConnectionIndex) -> Self {
        Self { connection: Some(connection), routed: false }
    }
}
