//! The column to predict: which classes there are, and which rows have one.

use super::levels::{count, levels_of_numbers, levels_of_text};
use super::written::WrittenNumbers;
use super::{LabelType, SchemaError, SchemaOptions, TargetColumn};
use crate::{Cells, Labels, MISSING_CODE, Note, RawColumn};

/// More fractional numbers than this, and a target is a quantity.
const MAX_FRACTIONS: usize = 10;

/// More whole numbers than this, and a target is a quantity.
const MAX_INTEGERS: usize = 50;

/// Up to this many classes a target need not repeat itself.
const FEW_CLASSES: usize = 20;

/// The classes, and the rows that have one.
pub(super) struct Classified {
    pub(super) target: TargetColumn,
    pub(super) labels: Labels,
    /// The rows that have a class, ascending; `None`: all of them.
    pub(super) rows: Option<Vec<usize>>,
    /// Declared classes that no row has.
    pub(super) unused: Vec<String>,
    /// Classes that are one number written differently.
    pub(super) merged: Vec<Note>,
}

/// Takes a column for the target.
pub(super) fn classify(
    column: RawColumn,
    options: &SchemaOptions,
) -> Result<Classified, SchemaError> {
    let is_told = options.categorical.contains(&column.name);
    let name = column.name;
    let mut merged = Vec::new();
    let (names, codes) = match column.cells {
        Cells::Numbers { values, .. } => {
            let (names, codes) = levels_of_numbers(&values);
            if !is_told && is_quantity(names.len(), &values) {
                return Err(SchemaError::TargetContinuous {
                    column: name,
                    n_distinct: names.len(),
                    n_rows: values.iter().filter(|v| !v.is_nan()).count(),
                });
            }
            (names, codes)
        }
        Cells::Text { codes, dictionary }
            if !is_told && let Some(labels) = WrittenNumbers::of(&codes, &dictionary) =>
        {
            if is_quantity(labels.names.len(), &labels.values) {
                let (n_distinct, n_rows) = (labels.names.len(), labels.n_present());
                return Err(SchemaError::TargetContinuous { column: name, n_distinct, n_rows });
            }
            merged = labels.merged(&name);
            (labels.names, labels.codes)
        }
        Cells::Text { codes, dictionary } => {
            let is_date = |text: &String| crate::read::parse_instant(text.as_bytes()).is_some();
            if !is_told && !dictionary.is_empty() && dictionary.iter().all(is_date) {
                return Err(SchemaError::TargetDate { column: name });
            }
            let (names, codes) = levels_of_text(&codes, &dictionary);
            let n_rows = codes.iter().filter(|&&c| c != MISSING_CODE).count();
            if !is_told && names.len() > FEW_CLASSES && names.len() > n_rows / 2 {
                let n_distinct = names.len();
                return Err(SchemaError::TargetFreeText { column: name, n_distinct, n_rows });
            }
            (names, codes)
        }
        Cells::Nominal { codes, levels } => (levels, codes.into()),
        Cells::Instants { .. } => return Err(SchemaError::TargetDate { column: name }),
    };
    let most = options.limits.n_classes;
    if names.len() > most {
        let counts = count(&codes, names.len());
        let n_classes = counts.iter().filter(|&&n| n > 0).count();
        if n_classes > most {
            return Err(SchemaError::TooManyClasses { column: name, n_classes, limit: most });
        }
    }
    let mut classified = with_classes(name, names, codes)?;
    classified.target.label_type = options.label_type;
    Ok(Classified { merged, ..classified })
}

/// Whether numbers look measured or counted rather than like codes of classes.
fn is_quantity(n_distinct: usize, values: &[f64]) -> bool {
    let is_whole = values.iter().all(|v| v.is_nan() || v.fract() == 0.0);
    let n_rows = values.iter().filter(|v| !v.is_nan()).count();
    let most = if is_whole { MAX_INTEGERS } else { MAX_FRACTIONS };
    n_distinct > most || (n_distinct > FEW_CLASSES && n_distinct > n_rows / 2)
}

fn with_classes(
    name: String,
    names: Vec<String>,
    mut codes: Vec<u32>,
) -> Result<Classified, SchemaError> {
    let n_rows = codes.len();
    let counts = count(&codes, names.len());
    let mut position = vec![0; names.len()];
    let (mut classes, mut unused) = (Vec::new(), Vec::new());
    for (level, (class, n)) in names.into_iter().zip(counts).enumerate() {
        position[level] = classes.len() as u32;
        if n > 0 { &mut classes } else { &mut unused }.push(class);
    }
    let has_class = |&row: &usize| codes[row] != MISSING_CODE;
    let rows: Vec<usize> = (0..n_rows).filter(has_class).collect();
    match classes.as_slice() {
        [] => return Err(SchemaError::TargetMissing { column: name, n_rows }),
        [class] => {
            let (class, n_rows) = (class.clone(), rows.len());
            return Err(SchemaError::TargetConstant { column: name, class, n_rows });
        }
        _ => (),
    }
    codes.retain(|&code| code != MISSING_CODE);
    let labels = Labels::from_codes(codes.iter().map(|&c| position[c as usize]), classes.len());
    let rows = (rows.len() < n_rows).then_some(rows);
    let target = TargetColumn { name, classes, label_type: LabelType::default() };
    Ok(Classified { target, labels, rows, unused, merged: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classify(cells: Cells, categorical: &[&str]) -> Result<Classified, SchemaError> {
        let options = SchemaOptions {
            categorical: categorical.iter().map(|&c| c.to_owned()).collect(),
            ..SchemaOptions::default()
        };
        super::classify(RawColumn { name: "y".into(), cells }, &options)
    }

    fn numbers(values: impl IntoIterator<Item = f64>) -> Cells {
        Cells::Numbers { values: values.into_iter().collect(), integers: false }
    }

    #[test]
    fn numbers_are_classes_in_numeric_order() {
        let y = classify(numbers([10., 9., f64::NAN, 9.]), &[]).unwrap();
        assert_eq!(y.target.classes, ["9", "10"]);
        assert_eq!(y.labels, Labels::from_codes([1, 0, 0], 2));
        assert_eq!(y.rows, Some(vec![0, 1, 3]));
    }

    #[test]
    fn declared_classes_keep_their_order_and_unused_ones_go() {
        let levels: Vec<String> = ["z", "never", "a"].map(String::from).into();
        let y = classify(Cells::Nominal { codes: [2, 0, 2].into(), levels }, &[]).unwrap();
        assert_eq!(
            (y.target.classes, y.unused),
            (vec!["z".into(), "a".into()], vec!["never".into()])
        );
        assert_eq!((y.labels.codes(), y.rows), (&[1, 0, 1][..], None));
    }

    #[test]
    fn a_quantity_is_no_class_unless_told() {
        let price = || numbers((0..200).map(|i| f64::from(i % 40) * 0.5));
        let err = classify(price(), &[]).err().unwrap();
        let expected =
            SchemaError::TargetContinuous { column: "y".into(), n_distinct: 40, n_rows: 200 };
        assert_eq!(err, expected);
        assert_eq!(classify(price(), &["y"]).unwrap().target.classes.len(), 40);
    }

    #[test]
    fn whole_numbers_may_be_many_classes() {
        let rings = |n: u32| numbers((0..1000).map(|i| f64::from(i % n)));
        assert_eq!(classify(rings(29), &[]).unwrap().target.classes.len(), 29);
        assert!(matches!(classify(rings(51), &[]), Err(SchemaError::TargetContinuous { .. })));
        // A few rows of a count are a quantity too.
        let few = numbers((0..30).map(f64::from));
        assert!(matches!(classify(few, &[]), Err(SchemaError::TargetContinuous { .. })));
    }

    #[test]
    fn names_are_no_classes_unless_told() {
        let text = || Cells::Text {
            codes: (0..60).map(|i| i % 40).collect(),
            dictionary: (0..40).map(|i| format!("name {i}")).collect(),
        };
        assert!(matches!(
            classify(text(), &[]),
            Err(SchemaError::TargetFreeText { n_distinct: 40, n_rows: 60, .. })
        ));
        assert_eq!(classify(text(), &["y"]).unwrap().target.classes.len(), 40);
    }

    #[test]
    fn one_class_or_none_is_refused() {
        let err = classify(numbers([3., f64::NAN, 3.]), &[]).err().unwrap();
        assert_eq!(
            err.to_string(),
            "the target \"y\" is \"3\" in all 2 rows, so there is nothing to tell apart"
        );
        let err = classify(numbers([f64::NAN; 4]), &[]).err().unwrap();
        assert_eq!(err, SchemaError::TargetMissing { column: "y".into(), n_rows: 4 });
        let dates = Cells::Instants { seconds: [0., 1.].into() };
        assert_eq!(
            classify(dates, &[]).err().unwrap(),
            SchemaError::TargetDate { column: "y".into() }
        );
    }
}
