//! pitchpipe-automl
