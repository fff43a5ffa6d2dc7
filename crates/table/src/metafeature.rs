//! The paper's dataset meta-features (Appendix B, Table "Dataset Meta-features") that need no model.
//!
//! Definitions the table leaves open are auto-sklearn's, which the paper's code follows: percentages are
//! shares between 0 and 1, standard deviations are those of a population, kurtosis is the excess over a
//! normal distribution's 3, and both moments are the biased ones (`scipy.stats.kurtosis`, `skew`) of the
//! numeric columns, missing cells aside. The table lists "ratio numerical to nominal" twice; the second is
//! taken for its inverse.

use crate::{Column, Dataset};

/// A meta-feature: its name, and its value where it has one (no column of categories has no symbols).
pub type MetaFeature = (&'static str, Option<f64>);

impl Dataset {
    /// The meta-features that need no model, in the order of the paper's table.
    pub fn meta_features(&self) -> Vec<MetaFeature> {
        let mut features = self.sizes().to_vec();
        features.extend(self.missing());
        features.extend(self.kinds());
        features.extend(self.ratios());
        features.extend(self.class_probabilities());
        features.extend(self.symbols());
        features.extend(self.moments());
        features.push(("class_entropy", self.class_entropy()));
        features
    }

    fn sizes(&self) -> [MetaFeature; 5] {
        let (n, p) = (self.n_rows() as f64, self.columns().len() as f64);
        [
            ("n_instances", Some(n)),
            ("log_n_instances", logarithm(Some(n))),
            ("n_classes", Some(self.labels().n_classes() as f64)),
            ("n_features", Some(p)),
            ("log_n_features", logarithm(Some(p))),
        ]
    }

    fn missing(&self) -> [MetaFeature; 6] {
        let (n, p) = (self.n_rows(), self.columns().len());
        let mut has_missing = vec![false; n];
        let (mut n_columns, mut n_cells) = (0, 0);
        for column in self.columns() {
            let rows = (0..n).filter(|&row| column.is_missing(row));
            let count = rows.inspect(|&row| has_missing[row] = true).count();
            n_columns += usize::from(count > 0);
            n_cells += count;
        }
        let n_instances = has_missing.iter().filter(|&&missing| missing).count();
        let share = |part: usize, whole: usize| ratio(part as f64, whole as f64);
        [
            ("n_instances_with_missing_values", Some(n_instances as f64)),
            ("percentage_of_instances_with_missing_values", share(n_instances, n)),
            ("n_features_with_missing_values", Some(n_columns as f64)),
            ("percentage_of_features_with_missing_values", share(n_columns, p)),
            ("n_missing_values", Some(n_cells as f64)),
            ("percentage_of_missing_values", share(n_cells, n * p)),
        ]
    }

    fn kinds(&self) -> [MetaFeature; 4] {
        let numeric = self.columns().iter().filter(|c| matches!(c, Column::Numeric(_))).count();
        let (numeric, nominal) = (numeric as f64, (self.columns().len() - numeric) as f64);
        [
            ("n_numeric_features", Some(numeric)),
            ("n_categorical_features", Some(nominal)),
            ("ratio_numerical_to_nominal", ratio(numeric, nominal)),
            ("ratio_nominal_to_numerical", ratio(nominal, numeric)),
        ]
    }

    fn ratios(&self) -> [MetaFeature; 4] {
        let (n, p) = (self.n_rows() as f64, self.columns().len() as f64);
        [
            ("dataset_ratio", ratio(p, n)),
            ("log_dataset_ratio", logarithm(ratio(p, n))),
            ("inverse_dataset_ratio", ratio(n, p)),
            ("log_inverse_dataset_ratio", logarithm(ratio(n, p))),
        ]
    }

    fn class_probabilities(&self) -> [MetaFeature; 4] {
        let summary = Summary::of(&self.labels().priors());
        [
            ("class_probability_min", summary.min),
            ("class_probability_max", summary.max),
            ("class_probability_mean", summary.mean),
            ("class_probability_std", summary.std),
        ]
    }

    fn symbols(&self) -> [MetaFeature; 5] {
        let n_symbols = |column: &Column| match column {
            Column::Numeric(_) => None,
            Column::Categorical { codes, n_levels } => {
                let mut met = vec![false; *n_levels as usize];
                codes.iter().filter(|&&c| c < *n_levels).for_each(|&c| met[c as usize] = true);
                Some(met.iter().filter(|&&met| met).count() as f64)
            }
        };
        let counts: Vec<f64> = self.columns().iter().filter_map(n_symbols).collect();
        let summary = Summary::of(&counts);
        [
            ("symbols_min", summary.min),
            ("symbols_max", summary.max),
            ("symbols_mean", summary.mean),
            ("symbols_std", summary.std),
            // The sum of nothing is -0.
            ("symbols_sum", Some(counts.iter().sum::<f64>() + 0.0)),
        ]
    }

    fn moments(&self) -> [MetaFeature; 8] {
        let numbers = self.columns().iter().filter_map(|column| match column {
            Column::Numeric(values) => Some(values),
            Column::Categorical { .. } => None,
        });
        let moments: Vec<Moments> = numbers.filter_map(|values| Moments::of(values)).collect();
        let kurtosis = Summary::of(&moments.iter().map(|m| m.kurtosis).collect::<Vec<_>>());
        let skewness = Summary::of(&moments.iter().map(|m| m.skewness).collect::<Vec<_>>());
        [
            ("kurtosis_min", kurtosis.min),
            ("kurtosis_max", kurtosis.max),
            ("kurtosis_mean", kurtosis.mean),
            ("kurtosis_std", kurtosis.std),
            ("skewness_min", skewness.min),
            ("skewness_max", skewness.max),
            ("skewness_mean", skewness.mean),
            ("skewness_std", skewness.std),
        ]
    }

    /// In bits.
    fn class_entropy(&self) -> Option<f64> {
        let priors = self.labels().priors();
        let bits = priors.iter().filter(|&&p| p > 0.0).map(|p| -p * p.log2()).sum();
        (self.n_rows() > 0).then_some(bits)
    }
}

/// What is said of several numbers; nothing is said of none.
struct Summary {
    min: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    std: Option<f64>,
}

impl Summary {
    fn of(values: &[f64]) -> Self {
        let mean = ratio(values.iter().sum(), values.len() as f64);
        let squares = |mean: f64| values.iter().map(|v| (v - mean).powi(2)).sum();
        Self {
            min: values.iter().copied().min_by(f64::total_cmp),
            max: values.iter().copied().max_by(f64::total_cmp),
            mean,
            std: mean.and_then(|m| ratio(squares(m), values.len() as f64)).map(f64::sqrt),
        }
    }
}

struct Moments {
    kurtosis: f64,
    skewness: f64,
}

impl Moments {
    /// `None` where no two numbers differ: a column without variance has no shape.
    fn of(values: &[f64]) -> Option<Self> {
        let present: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let first = *present.first()?;
        if present.iter().all(|&v| v == first) {
            return None;
        }
        // Scaled to at most 1, so that the fourth powers of large numbers stay finite.
        let largest = present.iter().fold(0.0_f64, |max, v| max.max(v.abs()));
        let n = present.len() as f64;
        let mean = present.iter().map(|v| v / largest).sum::<f64>() / n;
        let moment =
            |power: i32| present.iter().map(|v| (v / largest - mean).powi(power)).sum::<f64>() / n;
        let variance = moment(2);
        let kurtosis = ratio(moment(4), variance * variance)? - 3.0;
        let skewness = ratio(moment(3), variance.powf(1.5))?;
        Some(Self { kurtosis, skewness })
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| part / whole)
}

fn logarithm(value: Option<f64>) -> Option<f64> {
    value.filter(|v| *v > 0.0).map(f64::ln)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, MISSING_CODE};

    fn dataset() -> Dataset {
        let codes =
            |codes: [u32; 6], n_levels| Column::Categorical { codes: codes.into(), n_levels };
        let columns = vec![
            Column::numeric(vec![1., 2., 4., 8., 16., f64::NAN]),
            codes([0, 1, 2, 0, MISSING_CODE, MISSING_CODE], 5),
            Column::numeric(vec![3., 1., 4., 1., 5., 9.]),
            Column::numeric(vec![7.; 6]),
            codes([0, 1, 1, 1, 0, 0], 2),
        ];
        Dataset::new(columns, Labels::from_codes([0, 0, 0, 1, 1, 2], 3))
    }

    fn value(name: &str) -> Option<f64> {
        let features = dataset().meta_features();
        features.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    fn close(name: &str, expected: f64) {
        let got = value(name).unwrap();
        assert!((got - expected).abs() < 1e-12, "{name}: {got}, not {expected}");
    }

    #[test]
    fn counts_by_hand() {
        for (name, expected) in [
            ("n_instances", 6.0),
            ("log_n_instances", 6_f64.ln()),
            ("n_classes", 3.0),
            ("n_features", 5.0),
            ("log_n_features", 5_f64.ln()),
            ("n_instances_with_missing_values", 2.0),
            ("percentage_of_instances_with_missing_values", 2.0 / 6.0),
            ("n_features_with_missing_values", 2.0),
            ("percentage_of_features_with_missing_values", 0.4),
            ("n_missing_values", 3.0),
            ("percentage_of_missing_values", 0.1),
            ("n_numeric_features", 3.0),
            ("n_categorical_features", 2.0),
            ("ratio_numerical_to_nominal", 1.5),
            ("ratio_nominal_to_numerical", 2.0 / 3.0),
            ("dataset_ratio", 5.0 / 6.0),
            ("log_dataset_ratio", (5_f64 / 6.0).ln()),
            ("inverse_dataset_ratio", 1.2),
            ("log_inverse_dataset_ratio", 1.2_f64.ln()),
            ("class_probability_min", 1.0 / 6.0),
            ("class_probability_max", 0.5),
            ("class_probability_mean", 1.0 / 3.0),
            // The mean of (1/6, 0, -1/6) squared is 1/54.
            ("class_probability_std", (1_f64 / 54.0).sqrt()),
            // Three of five levels have rows; two of two.
            ("symbols_min", 2.0),
            ("symbols_max", 3.0),
            ("symbols_mean", 2.5),
            ("symbols_std", 0.5),
            ("symbols_sum", 5.0),
            ("class_entropy", 0.5 + 3_f64.log2() / 3.0 + 6_f64.log2() / 6.0),
        ] {
            close(name, expected);
        }
    }

    #[test]
    fn moments_agree_with_scipy() {
        // scipy 1.17.1: kurtosis and skew of [1, 2, 4, 8, 16] and of [3, 1, 4, 1, 5, 9]; the constant
        // column has neither.
        let (kurtosis, skewness) =
            ([-0.6740591397849474, -0.4811707964234877], [0.7624784384752283, 0.8890481348169542]);
        close("kurtosis_min", kurtosis[0]);
        close("kurtosis_max", kurtosis[1]);
        close("kurtosis_mean", (kurtosis[0] + kurtosis[1]) / 2.0);
        close("kurtosis_std", (kurtosis[1] - kurtosis[0]) / 2.0);
        close("skewness_min", skewness[0]);
        close("skewness_max", skewness[1]);
        close("skewness_mean", (skewness[0] + skewness[1]) / 2.0);
        close("skewness_std", (skewness[1] - skewness[0]) / 2.0);
    }

    #[test]
    fn names_are_unique_and_in_the_papers_number() {
        let mut names: Vec<_> =
            dataset().meta_features().into_iter().map(|(name, _)| name).collect();
        // 19 single ones, 4 + 5 + 4 + 4 of distributions, and the entropy.
        assert_eq!(names.len(), 37);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 37);
    }

    #[test]
    fn what_is_not_there_has_no_value() {
        let columns = vec![Column::numeric(vec![1e300, -1e300])];
        let features = Dataset::new(columns, Labels::from_codes([0, 1], 2)).meta_features();
        let of = |name: &str| features.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(of("symbols_min"), None);
        assert_eq!(of("symbols_sum"), Some(0.0));
        assert!(of("symbols_sum").is_some_and(f64::is_sign_positive));
        assert_eq!(of("ratio_numerical_to_nominal"), None);
        assert_eq!(of("kurtosis_mean"), Some(-2.0));
        assert!(features.iter().all(|(_, value)| value.is_none_or(f64::is_finite)));
        let none = Dataset::new(Vec::new(), Labels::from_codes([], 0)).meta_features();
        assert!(none.iter().all(|(_, value)| value.is_none_or(f64::is_finite)));
    }
}
