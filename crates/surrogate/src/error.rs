//! What keeps a surrogate from being made or asked.

/// The errors of this crate; each carries the values met.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SurrogateError {
    /// Nothing to work on.
    #[error("{what} is empty")]
    Empty {
        /// What is empty.
        what: &'static str,
    },
    /// Two sizes that must agree do not.
    #[error("{what} has size {got} but {wanted} was expected")]
    Size {
        /// What was measured.
        what: &'static str,
        /// The size it should have.
        wanted: usize,
        /// The size it has.
        got: usize,
    },
    /// An observed value, or one handed in, is NaN or infinite.
    #[error("{what} holds {value} at position {at}")]
    NotFinite {
        /// Which numbers.
        what: &'static str,
        /// Flat position.
        at: usize,
        /// The value met.
        value: f64,
    },
    /// A time, a weight or a variance that is not above zero.
    #[error("{what} holds {value} at position {at}, but it must be above zero")]
    NotPositive {
        /// Which numbers.
        what: &'static str,
        /// Flat position.
        at: usize,
        /// The value met.
        value: f64,
    },
    /// No entry of a slice was observed, so nothing can be said of it.
    #[error("index {index} of axis {axis} has no observed entry")]
    Unobserved {
        /// The axis: 0 for datasets.
        axis: usize,
        /// The position on it.
        index: usize,
    },
    /// A rank of zero, or one larger than its side.
    #[error("rank {rank} of axis {axis} is not between 1 and {side}")]
    Rank {
        /// The axis.
        axis: usize,
        /// The rank asked for.
        rank: usize,
        /// The largest rank possible.
        side: usize,
    },
    /// An index beyond its axis.
    #[error("{what} {index} is beyond the {size} there are")]
    OutOfRange {
        /// What was indexed.
        what: &'static str,
        /// The index.
        index: usize,
        /// How many there are.
        size: usize,
    },
    /// A setting outside its range.
    #[error("{name} is {value}, which is not {wanted}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it should be.
        wanted: &'static str,
    },
    /// A decomposition that should always succeed did not.
    #[error("{what} did not converge")]
    NotConverged {
        /// Which computation.
        what: &'static str,
    },
}
