//! How a test ends.

use std::convert::Infallible;

/// What every test returns.
pub type Outcome = Result<(), Failure>;

/// An error that ends a test by a panic where the `?` stands: with its line, and with guards that know of the failure and
/// keep logs and captures.
#[derive(Debug)]
pub struct Failure(Infallible);

impl<E: Into<anyhow::Error>> From<E> for Failure {
    #[track_caller]
    #[expect(clippy::panic, reason = "the point of this type")]
    fn from(error: E) -> Self {
        panic!("{:#}", error.into())
    }
}
