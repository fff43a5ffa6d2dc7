//! Which datasets of a corpus are run: all, or a choice made by a rule that looks at sizes alone.

use crate::corpus::{self, Entry};

/// The datasets that were asked for, in the index's order; an empty list asks for all.
///
/// `twelve` and `ten` stand for the two fixed choices of bench/automl/README.md.
pub(super) fn chosen(corpus: &str, names: &[String]) -> Result<Vec<Entry>, String> {
    let all = corpus::index(corpus)?;
    let mut wanted = Vec::new();
    for name in names {
        match name.as_str() {
            "all" => wanted.extend(all.iter().map(|e| e.name.clone())),
            "twelve" => wanted.extend(twelve(&all)),
            "ten" => wanted.extend(ten(&all)),
            name if all.iter().any(|e| e.name == name) => wanted.push(name.to_owned()),
            name => return Err(format!("the corpus {corpus:?} has no dataset {name:?}")),
        }
    }
    Ok(all.into_iter().filter(|e| names.is_empty() || wanted.contains(&e.name)).collect())
}

/// Every third dataset by name.
fn ten(all: &[Entry]) -> Vec<String> {
    let mut names: Vec<&String> = all.iter().map(|e| &e.name).collect();
    names.sort();
    names.into_iter().step_by(3).cloned().collect()
}

/// Four datasets of each third by size. In each third, one after the other and each time among those not
/// yet taken: the one with the most missing cells (if any has some), with the largest share of nominal
/// columns (if any has some), with the rarest class, and with the most rows, until there are four. The
/// first by name wins a draw.
fn twelve(all: &[Entry]) -> Vec<String> {
    let mut by_size: Vec<&Entry> = all.iter().collect();
    by_size.sort_by(|a, b| (a.n_rows, &a.name).cmp(&(b.n_rows, &b.name)));
    let third = by_size.len().div_ceil(3).max(1);
    by_size.chunks(third).flat_map(|tier| four(tier.to_vec())).collect()
}

fn four(mut tier: Vec<&Entry>) -> Vec<String> {
    tier.sort_by(|a, b| a.name.cmp(&b.name));
    let wishes: [fn(&Entry) -> f64; 4] = [
        |e| e.missing_cells as f64,
        |e| e.n_nominal as f64 / e.n_features as f64,
        |e| 1.0 - e.minority_share,
        |e| e.n_rows as f64,
    ];
    let mut taken = Vec::new();
    // The last wish is made again until there are four.
    for wish in wishes.into_iter().chain([wishes[3]; 3]) {
        let first_of_largest = |best: Option<usize>, i: usize| match best {
            Some(b) if wish(tier[i]) <= wish(tier[b]) => best,
            _ => Some(i),
        };
        let best = (0..tier.len()).fold(None, first_of_largest);
        if let Some(best) = best.filter(|&b| wish(tier[b]) > 0.0 && taken.len() < 4) {
            taken.push(tier.remove(best).name.clone());
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, n_rows: usize, missing_cells: usize, n_nominal: usize) -> Entry {
        Entry {
            source: String::new(),
            name: name.to_owned(),
            path: name.into(),
            n_rows,
            n_features: 10,
            n_nominal,
            missing_cells,
            minority_share: 1.0 / n_rows as f64,
            published_id: None,
        }
    }

    #[test]
    fn each_wish_takes_one_of_those_left() {
        let tier = [
            entry("large", 900, 0, 0),
            entry("missing", 100, 5, 9),
            entry("nominal", 100, 0, 8),
            entry("larger", 1000, 0, 0),
            entry("plain", 200, 0, 0),
        ];
        // `larger` has the rarest class, which leaves `large` the most rows.
        assert_eq!(four(tier.iter().collect()), ["missing", "nominal", "larger", "large"]);
    }

    #[test]
    fn a_wish_that_none_fulfils_is_passed_over() {
        let tier: Vec<Entry> = ["e", "d", "c", "b", "a"].map(|n| entry(n, 100, 0, 0)).into();
        assert_eq!(four(tier.iter().collect()), ["a", "b", "c", "d"]);
    }

    #[test]
    fn the_readme_names_the_two_choices() {
        let Ok(all) = corpus::index("test") else {
            eprintln!("skipped: the corpus is not beside the repository");
            return;
        };
        let readme = std::fs::read_to_string(crate::python::root().join("bench/automl/README.md"))
            .expect("bench/automl has a README");
        for choice in [twelve(&all), ten(&all)] {
            assert!(readme.contains(&format!("`{}`", choice.join(","))), "{}", choice.join(","));
        }
    }
}
