//! Where a request goes: its priority, its route, and the connections of that route in the order to try them.

mod priority;
mod selection;
mod table;
mod transactions;

pub use priority::{Request as PriorityRequest, priority};
pub use selection::{Candidates, Selection, session_hash};
pub use table::{Request as RouteRequest, Table, Target};
pub use transactions::{HopByHop, Known, TransactionId, Transactions};
