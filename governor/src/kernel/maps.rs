//! The maps' records as aya wants them, and map errors with the map's name.

use super::Error;
use aya::maps::MapError;
use governor_common::{ConnectionRecord, EventRecord, LevelRecord, LostEvents, Meta};

/// A shared record in a map.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Wire<T>(pub(super) T);

// SAFETY: the records are `repr(C)` of integers without padding (asserted where they are defined), so all of their bytes are
// initialised and any bytes are a value.
unsafe impl aya::Pod for Wire<ConnectionRecord> {}
// SAFETY: as above.
unsafe impl aya::Pod for Wire<LevelRecord> {}
// SAFETY: as above.
unsafe impl aya::Pod for Wire<LostEvents> {}
// SAFETY: as above.
unsafe impl aya::Pod for Wire<Meta> {}

/// Reads an event from the ring's bytes; `None` if they are of another length.
pub(super) fn event(bytes: &[u8]) -> Option<EventRecord> {
    if bytes.len() != size_of::<EventRecord>() {
        return None;
    }
    // SAFETY: the length was checked, and any bytes are a value of the record.
    Some(unsafe { bytes.as_ptr().cast::<EventRecord>().read_unaligned() })
}

/// Names the map and the operation in an error.
pub(super) fn failed(map: &'static str, operation: &'static str) -> impl FnOnce(MapError) -> Error {
    move |source| Error::Map { map, operation, source: Box::new(source) }
}

/// `None` for a key that is not there.
pub(super) fn optional<T>(outcome: Result<T, MapError>) -> Result<Option<T>, MapError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(MapError::KeyNotFound) => Ok(None),
        Err(error) => Err(error),
    }
}
