//! The name somebody may have meant.

/// The candidate spelled most like `name`, if any is close: at most a third of the letters differ, besides
/// case and punctuation.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted = folded(name);
    let allowed = wanted.len() / 3;
    candidates
        .into_iter()
        .filter(|candidate| !folded(candidate).is_empty())
        .map(|candidate| (distance(&wanted, &folded(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Case, spaces and punctuation are what people get wrong first.
fn folded(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let columns = ["sepal length", "sepal_width", "species", "id"];
        let of = |name| nearest(name, columns);
        assert_eq!(of("specie"), Some("species"));
        assert_eq!(of("Species"), Some("species"));
        assert_eq!(of("sepceis"), Some("species"));
        assert_eq!(of("sepal-width"), Some("sepal_width"));
        assert_eq!(of("SepalLength"), Some("sepal length"));
        assert_eq!(of("ID"), Some("id"));
        assert_eq!(of("ix"), None);
        assert_eq!(of("price"), None);
        assert_eq!(of(""), None);
    }
}
