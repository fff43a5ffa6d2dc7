//! pitchpipe-surrogate
