//! How the relay stands, as one JSON document.

use super::engine::Engine;
use serde_json::{Value, json};

pub(super) fn status(engine: &Engine) -> Value {
    let agent = &engine.agent;
    let settings = agent.settings();
    let connections: Vec<Value> = agent
        .slots()
        .iter()
        .map(|slot| {
            let connection = &settings.connections[slot.index.get()];
            let levels = slot.congestion().levels();
            json!({
                "name": connection.name,
                "state": slot.machine().state().name(),
                "cpl": levels.cpl(),
                "levels": levels,
                "pending": slot.congestion().pending(),
                "rate": slot.congestion().rate(),
            })
        })
        .collect();
    json!({ "connections": connections, "pending": agent.pending() })
}
