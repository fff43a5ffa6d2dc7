//! Estimators: one file a type, in the order of the search space.
