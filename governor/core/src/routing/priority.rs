//! The priority of a request (rule 7).

use crate::level::Priority;
use crate::settings::{PriorityRule, Settings};

/// What the rules look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Application-Id.
    pub application: u32,
    /// Command code.
    pub command: u32,
    /// Configured host of the peer it came from.
    pub ingress_peer: Option<&'a str>,
    /// Destination-Realm.
    pub realm: Option<&'a [u8]>,
    /// DRMP, 0 (highest) to 15 (RFC 7944).
    pub drmp: Option<u8>,
}

/// DRMP if there is one, else the first rule that matches, else 0.
pub fn priority(settings: &Settings, request: &Request<'_>) -> Priority {
    if let Some(priority) = request.drmp.and_then(|value| settings.node.drmp.get(usize::from(value))) {
        return *priority;
    }
    settings.priorities.iter().find(|rule| matches(rule, request)).map_or(Priority::P0, |rule| rule.priority)
}

fn matches(rule: &PriorityRule, request: &Request<'_>) -> bool {
    rule.application.is_none_or(|a| a == request.application)
        && rule.command.is_none_or(|c| c == request.command)
        && rule
            .ingress_peer
            .as_deref()
            .is_none_or(|host| request.ingress_peer.is_some_and(|peer| peer.eq_ignore_ascii_case(host)))
        && rule
            .realm
            .as_deref()
            .is_none_or(|realm| request.realm.is_some_and(|r| r.eq_ignore_ascii_case(realm.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Node;

    fn settings(rules: Vec<PriorityRule>) -> Settings {
        Settings {
            node: Node::new("gov", "example.net"),
            peers: vec![],
            connections: vec![],
            priorities: rules,
            routes: vec![],
            groups: vec![],
        }
    }

    #[test]
    fn drmp_maps_by_thirds_and_goes_before_the_rules() {
        let s = settings(vec![PriorityRule { priority: Priority::P1, ..PriorityRule::default() }]);
        for value in 0..16 {
            let expected = match value {
                0..=4 => Priority::P2,
                5..=9 => Priority::P1,
                _ => Priority::P0,
            };
            assert_eq!(priority(&s, &Request { drmp: Some(value), ..Request::default() }), expected, "DRMP {value}");
        }
    }

    #[test]
    fn the_first_matching_rule_wins_and_none_means_zero() {
        let ulr = PriorityRule {
            application: Some(16_777_251),
            command: Some(316),
            priority: Priority::P2,
            ..PriorityRule::default()
        };
        let s6a = PriorityRule { application: Some(16_777_251), priority: Priority::P1, ..PriorityRule::default() };
        let s = settings(vec![ulr, s6a]);
        let request = |application, command| Request { application, command, ..Request::default() };
        assert_eq!(priority(&s, &request(16_777_251, 316)), Priority::P2);
        assert_eq!(priority(&s, &request(16_777_251, 318)), Priority::P1);
        assert_eq!(priority(&s, &request(4, 272)), Priority::P0);
    }

    #[test]
    fn realm_and_ingress_peer_compare_without_regard_to_case() {
        let s = settings(vec![PriorityRule {
            ingress_peer: Some("mme1.example.net".into()),
            realm: Some("example.net".into()),
            priority: Priority::P2,
            ..PriorityRule::default()
        }]);
        let hit = Request { ingress_peer: Some("MME1.example.net"), realm: Some(b"Example.NET"), ..Request::default() };
        assert_eq!(priority(&s, &hit), Priority::P2);
        assert_eq!(priority(&s, &Request { realm: None, ..hit }), Priority::P0);
        assert_eq!(priority(&s, &Request { ingress_peer: None, ..hit }), Priority::P0);
    }
}
