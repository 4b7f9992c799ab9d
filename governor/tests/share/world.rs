//! Agents that share one group, the server between them, and what can go wrong with either, in simulated time.

use crate::store::Store;
use governor::relay::share::protocol::{Member, arguments, goodbye, grant};
use governor_core::congestion::{Group, ShareState};
use governor_core::level::Priority;
use governor_core::settings;
use governor_core::time::Time;
use std::collections::VecDeque;

/// One step, milliseconds.
pub const STEP: u64 = 10;
const KEY: &str = "governor:group:site";

pub struct Agent {
    pub group: Group,
    settings: settings::Group,
    member: Member,
    /// Requests offered, a second.
    pub offered: u64,
    due: f64,
    /// It runs (a dead one does not, nor one that is stopped for a while).
    pub running: bool,
    /// It reaches the server.
    pub reaches: bool,
    next_report: u64,
    /// Until when it waits for an answer before it reports again.
    waits_until: u64,
    /// When each pending request will be answered.
    answers: VecDeque<u64>,
    pub sent: u64,
}

/// Something on its way.
struct Message {
    due: u64,
    agent: usize,
    instance: u64,
    what: What,
}

enum What {
    Report { reported: u64, arguments: Vec<String> },
    Answer { reported: u64, answer: Vec<i64> },
}

pub struct World {
    pub now: u64,
    pub agents: Vec<Agent>,
    pub store: Store,
    pub server_up: bool,
    /// It does nothing, and does all of it later.
    pub server_frozen: bool,
    /// From an agent to the server and from there back, milliseconds, in turn.
    pub delays: Vec<u64>,
    /// From a request to its answer, milliseconds.
    pub answer_time: u64,
    messages: Vec<Message>,
    count: usize,
    sends: VecDeque<u64>,
    /// The most sent in any second.
    pub most: usize,
    /// The most pending at any time.
    pub most_pending: usize,
}

impl World {
    pub fn new(settings: &[settings::Group]) -> Self {
        let mut world = Self {
            now: 1000,
            agents: Vec::new(),
            store: Store::new(),
            server_up: true,
            server_frozen: false,
            delays: vec![3],
            answer_time: 200,
            messages: Vec::new(),
            count: 0,
            sends: VecDeque::new(),
            most: 0,
            most_pending: 0,
        };
        for settings in settings {
            world.join(settings);
        }
        world
    }

    pub fn join(&mut self, settings: &settings::Group) {
        let number = self.agents.len() as u64;
        self.agents.push(Agent {
            group: Group::new(at(self.now), settings),
            settings: settings.clone(),
            member: Member { host: format!("gov{number}.example.net"), instance: 1000 + number },
            offered: 0,
            due: 0.0,
            running: true,
            reaches: true,
            // Not all at one time.
            next_report: self.now + number * 37 % 100,
            waits_until: 0,
            answers: VecDeque::new(),
            sent: 0,
        });
    }

    pub fn offer(&mut self, rates: &[u64]) {
        for (agent, rate) in self.agents.iter_mut().zip(rates) {
            agent.offered = *rate;
        }
    }

    /// Kills an agent: its connections and pending requests are gone.
    pub fn kill(&mut self, agent: usize) {
        self.agents[agent].running = false;
        self.agents[agent].answers.clear();
    }

    /// Starts one that was killed, which knows nothing.
    pub fn restart(&mut self, agent: usize) {
        let now = self.now;
        let agent = &mut self.agents[agent];
        agent.member.instance += 1_000_000;
        agent.group = Group::new(at(now), &agent.settings);
        agent.running = true;
        agent.next_report = now;
        agent.waits_until = 0;
    }

    /// An agent says goodbye and ends.
    pub fn leave(&mut self, agent: usize) {
        let a = &mut self.agents[agent];
        a.answers.clear();
        let pending = a.group.pending();
        a.group.handle_released_many(at(self.now), pending);
        let report = a.group.share_report(at(self.now)).unwrap();
        let arguments = goodbye(&a.member, a.settings.share.unwrap(), &report);
        self.store.eval(self.now, KEY, &arguments);
        a.running = false;
    }

    pub fn run(&mut self, millis: u64) {
        let end = self.now + millis;
        while self.now < end {
            self.step();
        }
    }

    pub fn states(&self) -> Vec<ShareState> {
        self.agents.iter().map(|agent| agent.group.share().unwrap().state()).collect()
    }

    pub fn parts(&self) -> Vec<u32> {
        self.agents.iter().map(|agent| agent.group.share().unwrap().part().rate).collect()
    }

    /// Requests that an agent sends in so many milliseconds from now on.
    pub fn sent_in(&mut self, millis: u64) -> Vec<u64> {
        let before: Vec<u64> = self.agents.iter().map(|agent| agent.sent).collect();
        self.run(millis);
        self.agents.iter().zip(before).map(|(agent, before)| agent.sent - before).collect()
    }

    fn step(&mut self) {
        self.now += STEP;
        self.deliver();
        let now = self.now;
        for at in 0..self.agents.len() {
            if self.agents[at].running {
                self.work(at);
            }
        }
        while self.sends.front().is_some_and(|sent| sent + 1000 <= now) {
            self.sends.pop_front();
        }
        self.most = self.most.max(self.sends.len());
        // Those that an agent has not come to take are answered all the same.
        let pending = |agent: &Agent| agent.answers.iter().filter(|due| **due > now).count();
        self.most_pending = self.most_pending.max(self.agents.iter().map(pending).sum());
    }

    fn work(&mut self, number: usize) {
        let now = self.now;
        let agent = &mut self.agents[number];
        while agent.answers.front().is_some_and(|due| *due <= now) {
            agent.answers.pop_front();
            agent.group.handle_released(at(now));
        }
        agent.due += (agent.offered * STEP) as f64 / 1000.0;
        while agent.due >= 1.0 {
            agent.due -= 1.0;
            if agent.group.admit(at(now), Priority::P0).is_ok() {
                agent.group.handle_request_sent(at(now));
                agent.answers.push_back(now + self.answer_time);
                agent.sent += 1;
                self.sends.push_back(now);
            }
        }
        if agent.next_report <= now && agent.waits_until <= now {
            // One that was stopped for a while does not catch up.
            agent.next_report = now + 100;
            let report = agent.group.share_report(at(now)).unwrap();
            let arguments = arguments(&agent.member, agent.settings.share.unwrap(), &report);
            let (instance, reaches) = (agent.member.instance, agent.reaches);
            if reaches && self.server_up {
                // Like the shell: one at a time, for as long as an answer can count.
                agent.waits_until = now + 500;
                self.send(number, instance, What::Report { reported: now, arguments });
            }
        }
    }

    fn send(&mut self, agent: usize, instance: u64, what: What) {
        self.count += 1;
        let delay = self.delays[self.count % self.delays.len()];
        self.messages.push(Message { due: self.now + delay, agent, instance, what });
    }

    fn deliver(&mut self) {
        let (mut due, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.messages).into_iter().partition(|message| {
            message.due <= self.now && !(self.server_frozen && matches!(message.what, What::Report { .. }))
        });
        self.messages = rest;
        due.sort_by_key(|message| message.due);
        for Message { agent, instance, what, .. } in due {
            match what {
                What::Report { reported, arguments } if self.server_up => {
                    let answer = self.store.eval(self.now, KEY, &arguments);
                    self.send(agent, instance, What::Answer { reported, answer });
                }
                What::Answer { reported, answer } => {
                    let a = &mut self.agents[agent];
                    // One that is stopped finds it in its socket later, and an answer that late counts for nothing.
                    if a.running
                        && a.reaches
                        && a.member.instance == instance
                        && let Some(grant) = grant(&answer)
                    {
                        if reported + 500 > self.now {
                            a.waits_until = 0;
                        }
                        a.group.handle_share(at(self.now), at(reported), grant);
                    }
                }
                What::Report { .. } => {}
            }
        }
    }
}

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}
