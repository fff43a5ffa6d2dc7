//! A collection shared out among machines.
//!
//! One process drives: it has the store, says what to do next, and takes in what was done. Any number of workers do
//! it. What passes between them is plain data and bytes, so that an engine such as Ray can carry it: this room knows
//! of none.
//!
//! ```text
//! Driver::next ─► Task::Measure ─► worker::measure ─► Driver::measured ─► the table's queue
//!             └─► Task::Run     ─► worker::work    ─► Driver::finished ─► the store
//!                                        └─ lost, failed ─► Driver::failed ─► again, or given up
//! ```
//!
//! An entry is in the store or it is not: whatever is lost on the way is asked for again, and what comes twice is taken
//! in once.

mod cut;
mod driver;
mod status;
pub mod worker;

pub use driver::{Driver, Failed, Next, Sharing, Task};
pub use status::{GivenUp, Status, read_status};
