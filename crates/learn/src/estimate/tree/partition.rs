//! Dividing a node's rows between its children.

/// Moves the rows that go left to the front, both sides keeping their order; says how many do.
#[inline]
pub(crate) fn partition(
    rows: &mut [u32],
    scratch: &mut Vec<u32>,
    goes_right: impl Fn(u32) -> bool,
) -> usize {
    if scratch.len() < rows.len() {
        scratch.resize(rows.len(), 0);
    }
    let (mut n_left, mut n_right) = (0, 0);
    for i in 0..rows.len() {
        let row = rows[i];
        // Writing to both sides and moving on along one costs less than guessing which.
        rows[n_left] = row;
        scratch[n_right] = row;
        let right = usize::from(goes_right(row));
        n_left += 1 - right;
        n_right += right;
    }
    rows[n_left..].copy_from_slice(&scratch[..n_right]);
    n_left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_keep_their_order() {
        let mut rows = [5, 2, 9, 4, 7, 6];
        assert_eq!(partition(&mut rows, &mut Vec::new(), |row| row % 2 == 1), 3);
        assert_eq!(rows, [2, 4, 6, 5, 9, 7]);
    }
}
