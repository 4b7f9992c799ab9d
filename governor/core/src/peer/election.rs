//! The election between two connections that crossed (RFC 6733 section 5.6.4).

/// Do we win, that is: does our Origin-Host lexicographically succeed the peer's?
///
/// Both are compared as streams of octets in which `A` to `Z` equal `a` to `z`, as the section says; a longer identity
/// succeeds its own prefix. The winner keeps the connection that the peer opened and closes its own; the other end
/// finds the opposite. Two equal identities have no winner: nobody keeps anything.
pub fn wins(local: &str, remote: &str) -> bool {
    let lower = |identity: &str| identity.to_ascii_lowercase().into_bytes();
    lower(local) > lower(remote)
}

#[cfg(test)]
mod tests {
    use super::wins;

    #[test]
    fn the_higher_origin_host_wins_whatever_its_case() {
        for (local, remote, won) in [
            ("b.example.net", "a.example.net", true),
            ("a.example.net", "b.example.net", false),
            ("B.example.net", "a.example.net", true),
            ("b.example.net", "A.example.net", true),
            ("a.example.net", "B.example.net", false),
            ("a.example.net.x", "a.example.net", true),
            ("a.example.net", "a.example.net.x", false),
            // '-' (0x2d) is less than '.' (0x2e): octets, not labels.
            ("a-b.example.net", "a.example.net", false),
            // '_' (0x5f) lies between 'Z' and 'a': the lower case counts.
            ("_.example.net", "Z.example.net", false),
            ("same.example.net", "SAME.example.net", false),
        ] {
            assert_eq!(wins(local, remote), won, "{local} against {remote}");
        }
    }
}
