//! A group that two agents share through a real server (rule 6).

use anyhow::Result;
use governor_tests::governor::{Config, Governor};
use governor_tests::raw::{Client, Conduct, Server, Tally};
use governor_tests::share_server::ShareServer;
use governor_tests::wait::{millis, secs};
use governor_tests::{NetNs, Outcome, Scratch, eventually};
use serde_json::Value;
use std::time::{Duration, Instant};

const RATE: usize = 1000;
const SHARE: &str = "127.0.0.1:6379";
const AGENTS: [(&str, &str); 2] = [("gov1.example.net", "10.0.0.1:3868"), ("gov2.example.net", "10.0.0.3:3868")];

struct Scene {
    ns: NetNs,
    scratch: Scratch,
    server: Server,
    share: ShareServer,
    agents: Vec<Governor>,
    /// Of the agents.
    _scratches: Vec<Scratch>,
}

impl Scene {
    /// Two agents before one server, with a group of 1000 requests/s.
    fn new(name: &str) -> Result<Self> {
        let (ns, scratch) = (NetNs::new()?, Scratch::new(name)?);
        let share = ShareServer::start(&ns, &scratch, SHARE)?;
        let server = Server::start(&ns, "10.0.0.2:3869", "hss.example.net", Conduct::default())?;
        let (mut agents, mut scratches) = (Vec::new(), Vec::new());
        for (host, address) in AGENTS {
            let config = Config::named(host, address, "off")
                .client("client.example.net")
                .server("hss.example.net", "10.0.0.2:3869", "")
                .route("example.net", &[&["hss"]])
                .lines(&format!("[share]\nurl = \"redis://{SHARE}\""))
                .lines("[[group]]\nname = \"site\"\nmembers = [\"hss\"]\nmax_rate = 1000\nmode = \"limit\"");
            scratches.push(Scratch::new(&format!("{name}-{host}"))?);
            agents.push(Governor::start(&ns, &scratches[scratches.len() - 1], &config)?);
        }
        for agent in &agents {
            agent.up(&["hss"])?;
        }
        let scene = Self { ns, scratch, server, share, agents, _scratches: scratches };
        scene.reaches("shared", secs(10))?;
        Ok(scene)
    }

    fn group(&self, agent: usize) -> Result<Value> {
        Ok(self.agents[agent].status()?["groups"][0].clone())
    }

    fn share(&self, agent: usize) -> Result<Value> {
        Ok(self.group(agent)?["share"].clone())
    }

    /// Waits until both agents know of each other in that state.
    fn reaches(&self, state: &str, limit: Duration) -> Result<()> {
        for agent in 0..2 {
            eventually(&format!("agent {agent} {state}"), limit, || {
                let share = self.share(agent).ok()?;
                (share["state"] == state && share["members"] == 2 && share["missing"] == 0).then_some(())
            })
            .map_err(|e| anyhow::anyhow!("{e}: {:?}\n{}", self.share(agent), self.agents[agent].process.log()))?;
        }
        Ok(())
    }

    /// Offers each agent its rate for so long, while `meanwhile` runs.
    fn offer<T>(
        &mut self,
        rates: [u32; 2],
        length: Duration,
        meanwhile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(Vec<Tally>, T)> {
        let mut clients = Vec::new();
        for (_, address) in AGENTS {
            clients.push(Client::open(&self.ns, address, "client.example.net", "example.net")?);
        }
        std::thread::scope(|scope| {
            let offering: Vec<_> = clients
                .iter_mut()
                .zip(rates)
                .map(|(client, rate)| scope.spawn(move || client.offer(rate, length, 0, secs(10))))
                .collect();
            let value = meanwhile(self)?;
            let tallies = offering.into_iter().map(|t| t.join().map_err(|_| anyhow::anyhow!("a client panicked"))?);
            Ok((tallies.collect::<Result<_>>()?, value))
        })
    }
}

/// Every request has had one answer: from the server, or the agent's refusal.
fn complete(tallies: &[Tally]) {
    for tally in tallies {
        assert_eq!(tally.code(2001) + tally.code(3004), tally.sent, "{:?}", tally.codes);
        assert_eq!((tally.unanswered, tally.stray), (0, 0));
    }
}

/// The most arrivals in any second that begins with one of them.
fn most_in_a_second(arrivals: &[Instant]) -> usize {
    let mut end = 0;
    let mut most = 0;
    for (begin, first) in arrivals.iter().enumerate() {
        while arrivals.get(end).is_some_and(|at| *at - *first < secs(1)) {
            end += 1;
        }
        most = most.max(end - begin);
    }
    most
}

fn between(arrivals: &[Instant], from: Instant, to: Instant) -> usize {
    arrivals.iter().filter(|at| (from..to).contains(at)).count()
}

#[test]
fn two_agents_together_send_1000_a_second_whichever_of_them_is_asked() -> Outcome {
    let mut scene = Scene::new("share")?;
    let (tallies, ()) = scene.offer([1500, 700], secs(13), |_| Ok(()))?;
    let arrivals = scene.server.arrivals();
    let first = arrivals[0];
    let held = between(&arrivals, first + secs(2), first + secs(12));
    println!("even: {held} requests in 10 s, at most {} in a second", most_in_a_second(&arrivals));
    assert!((RATE * 95 / 10..=RATE * 105 / 10).contains(&held), "{held} in 10 s: {}", scene.group(0)?);
    complete(&tallies);
    assert!(tallies[1].code(2001) > 5500, "the equal part is 500/s: {:?}", tallies[1].codes);

    // One agent alone may have it nearly all.
    let seen = arrivals.len();
    let (tallies, ()) = scene.offer([1500, 50], secs(13), |_| Ok(()))?;
    let arrivals = scene.server.arrivals().split_off(seen);
    let first = arrivals[0];
    let held = between(&arrivals, first + secs(2), first + secs(12));
    println!("uneven: {held} requests in 10 s, at most {} in a second", most_in_a_second(&arrivals));
    assert!((RATE * 95 / 10..=RATE * 105 / 10).contains(&held), "{held} in 10 s: {}", scene.group(0)?);
    complete(&tallies);
    assert!(
        tallies[1].code(3004) < tallies[1].sent / 20,
        "its own demand is far below its part: {:?}",
        tallies[1].codes
    );
    Ok(())
}

#[test]
fn with_the_server_killed_for_ten_seconds_each_keeps_to_its_equal_part_and_they_share_again() -> Outcome {
    let mut scene = Scene::new("share-killed")?;
    let (tallies, (begun, killed, back)) = scene.offer([1500, 300], secs(26), |scene| {
        let begun = Instant::now();
        std::thread::sleep(secs(5));
        scene.share.process.kill()?;
        let killed = Instant::now();
        scene.reaches("away", secs(5))?;
        std::thread::sleep((killed + secs(10)).saturating_duration_since(Instant::now()));
        for agent in 0..2 {
            assert_eq!(scene.share(agent)?["part_rate"], 500);
        }
        scene.share = ShareServer::start(&scene.ns, &scene.scratch, SHARE)?;
        let back = Instant::now();
        scene.reaches("shared", secs(5))?;
        Ok((begun, killed, back))
    })?;
    let arrivals = scene.server.arrivals();
    let most = most_in_a_second(&arrivals);
    let before = between(&arrivals, begun + secs(2), begun + secs(5));
    let away_for = back.duration_since(killed + secs(4));
    let away = between(&arrivals, killed + secs(4), back);
    let after = between(&arrivals, begun + secs(22), begun + secs(25));
    println!("at most {most} in a second; in 3 s before {before}, after {after}; away {away} in {away_for:?}");
    assert!(most <= RATE * 110 / 100, "{most} in one second");
    assert!((2850..=3150).contains(&before), "{before} in 3 s before");
    // The one has its 500, the other is asked for 300.
    let expected = away_for.as_secs_f64() * 800.0;
    assert!((away as f64 - expected).abs() < expected / 10.0, "{away} while away, not {expected}");
    assert!((2850..=3150).contains(&after), "{after} in 3 s after");
    complete(&tallies);
    for agent in &mut scene.agents {
        let log = agent.process.log();
        assert!(log.contains("away from the share server") && !log.contains("panicked"), "{log}");
        assert!(agent.process.exited().is_none(), "{log}");
    }
    Ok(())
}

#[test]
fn an_agent_that_stops_leaves_its_part_to_the_other() -> Outcome {
    let mut scene = Scene::new("share-stop")?;
    let mut leaving = scene.agents.remove(1);
    assert!(leaving.stop()?.success());
    eventually("the whole for the one that stays", secs(5), || {
        let share = scene.share(0).ok()?;
        (share["members"] == 1 && share["part_rate"] == 1000).then_some(())
    })?;
    std::thread::sleep(millis(200));
    assert_eq!(scene.share(0)?["state"], "shared");
    Ok(())
}
