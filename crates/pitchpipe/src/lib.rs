//! AutoML within a time budget.
