//! How large a table may be before somebody has to say that it is meant to be so.

/// Limits, each of which a user can raise. They are checked before memory is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most columns of a table.
    pub n_columns: usize,
    /// The most bytes of a row of a text table.
    pub row_bytes: usize,
    /// The most classes of a target.
    pub n_classes: usize,
    /// The most categories of a column that are told apart; the rarest of more count as one.
    pub n_levels: usize,
    /// The most bytes that delimited text and the cells read from it may take together; what there is, where it is left out.
    pub bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            n_columns: 100_000,
            row_bytes: 1 << 28,
            n_classes: 1000,
            n_levels: 8192,
            bytes: None,
        }
    }
}

impl Limits {
    /// A row can be no longer than this, whatever is asked for.
    pub const MOST_ROW_BYTES: usize = 1 << 31;
}
