//! pitchpipe-automl

pub mod offline;
