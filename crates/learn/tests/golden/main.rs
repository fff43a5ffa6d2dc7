//! Our answers next to scikit-learn's, which `cargo xtask golden` recorded.

mod estimators;
mod fit;
mod preparation;
mod stochastic;
mod table;
