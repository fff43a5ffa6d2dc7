//! A model and how it was found, as one self-contained page: no network, light and dark, to be read on a phone and on
//! paper.
//!
//! [`ReportData`] is what the page knows, one JSON document with the same structures as `fit --json`; the page's script
//! draws it. [`Live`] serves the same charts while a search runs. All that comes from a user is data in that document, and is set as text.

mod comparison;
mod data;
mod live;
mod model_json;
mod page;

pub use comparison::{ComparedModel, ComparisonData};
pub use data::{HeldOutTable, ReportData};
pub use live::{Live, LivePage, Recorded, UnreadableEvents};
pub use model_json::{importance_json, report_json};
pub use page::OPENING;
