//! An Arrow column as cells.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{self, ArrowPrimitiveType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use super::super::missing::MissingTokens;
use super::super::number;
use super::super::text::TextBuilder;
use super::text::{decimals, each_text};
use crate::{Buffer, Cells, MISSING_CODE, Note, TableError};

/// A column being read.
pub(super) enum Builder {
    Numbers {
        values: Vec<f64>,
        integers: bool,
        wide: bool,
    },
    /// One array of doubles that can stay where it is: without nulls or tokens to be taken out.
    Shared {
        values: Buffer<f64>,
    },
    Instants {
        seconds: Vec<f64>,
    },
    Nominal {
        codes: Vec<u32>,
        lookup: HashMap<String, u32>,
        levels: Vec<String>,
    },
    Text {
        texts: TextBuilder,
    },
}

/// What is wrong with an array.
pub(super) enum Fault {
    /// A number is infinite.
    Infinite { at: usize, value: f64 },
    /// The text is not UTF-8.
    NotText { at: usize },
    /// The type changed, or cannot be converted after all.
    Type(DataType),
}

impl Fault {
    /// As an error; `before` rows came before the array's first.
    pub(super) fn explain(self, file: &str, column: &str, before: usize) -> TableError {
        let (file, column) = (file.to_owned(), column.to_owned());
        match self {
            Self::Infinite { at, value } => {
                let (row, value) = (before + at + 1, value.to_string());
                TableError::NotFinite { file, column, row, value }
            }
            Self::NotText { at } => {
                let kind = format!("binary (row {} is not UTF-8 text)", before + at + 1);
                TableError::UnsupportedType { file, column, kind }
            }
            Self::Type(kind) => {
                TableError::UnsupportedType { file, column, kind: kind.to_string() }
            }
        }
    }
}

impl Builder {
    /// For a column of the type, if it is one that can be read; `forced` if the user wants text. Numbers of the
    /// target are kept as text, too.
    pub(super) fn new(kind: &DataType, forced: bool, is_target: bool) -> Option<Self> {
        let text = || Self::Text { texts: TextBuilder::with_capacity(0) };
        let nominal = |levels: Vec<String>| Self::Nominal {
            codes: Vec::new(),
            lookup: levels.iter().cloned().zip(0..).collect(),
            levels,
        };
        Some(match kind {
            DataType::Boolean => nominal(vec!["false".to_owned(), "true".to_owned()]),
            DataType::Dictionary(_, values) if is_plain(values) => nominal(Vec::new()),
            kind if !is_plain(kind) => return None,
            kind if forced || (is_target && kind.is_numeric()) => text(),
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
                Self::Instants { seconds: Vec::new() }
            }
            kind if is_text(kind) => text(),
            kind => Self::Numbers { values: Vec::new(), integers: kind.is_integer(), wide: false },
        })
    }

    /// Appends an array.
    pub(super) fn append(
        &mut self,
        array: &ArrayRef,
        missing: Option<&MissingTokens>,
    ) -> Result<(), Fault> {
        self.make_room(array, missing);
        match self {
            Self::Numbers { values, wide, .. } => append_numbers(values, wide, array, missing),
            Self::Shared { values } => finite(values),
            Self::Instants { seconds } => append_instants(seconds, array),
            Self::Nominal { codes, lookup, levels } => {
                append_nominal(codes, lookup, levels, array, missing)
            }
            Self::Text { texts } => append_text(texts, array, missing),
        }
    }

    /// Takes a first array of doubles as it is, where it can; copies it once another follows.
    fn make_room(&mut self, array: &ArrayRef, missing: Option<&MissingTokens>) {
        match self {
            Self::Numbers { values, .. } if values.is_empty() && missing.is_none() => {
                let doubles = array.as_primitive_opt::<types::Float64Type>();
                if let Some(doubles) = doubles.filter(|array| array.null_count() == 0) {
                    *self = Self::Shared { values: doubles.values().clone().into() };
                }
            }
            Self::Shared { values } => {
                let values = Vec::from(values.clone());
                *self = Self::Numbers { values, integers: false, wide: false };
            }
            _ => (),
        }
    }

    /// What the user should know about the column.
    pub(super) fn note(&self, name: &str) -> Option<Note> {
        matches!(self, Self::Numbers { wide: true, .. })
            .then(|| Note::RoundedIntegers { column: name.to_owned() })
    }

    /// The column's cells.
    pub(super) fn finish(self) -> Cells {
        match self {
            Self::Numbers { values, integers, .. } => {
                let any = values.iter().any(|v| !v.is_nan());
                Cells::Numbers { integers: integers && any, values: values.into() }
            }
            Self::Shared { values } => Cells::Numbers { values, integers: false },
            Self::Instants { seconds } => Cells::Instants { seconds: seconds.into() },
            Self::Nominal { codes, levels, .. } => Cells::Nominal { codes: codes.into(), levels },
            Self::Text { texts } => texts.into_cells(),
        }
    }
}

fn is_text(kind: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(
        kind,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_)
    )
}

/// Whether a cell of the type is one number, text or instant.
fn is_plain(kind: &DataType) -> bool {
    use DataType::{Boolean, Date32, Date64, Duration, Null, Time32, Time64, Timestamp};
    kind.is_numeric()
        || is_text(kind)
        || matches!(
            kind,
            Null | Boolean | Date32 | Date64 | Timestamp(..) | Time32(_) | Time64(_) | Duration(_)
        )
}

/// Units of a time per second.
fn per_second(unit: TimeUnit) -> f64 {
    match unit {
        TimeUnit::Second => 1.0,
        TimeUnit::Millisecond => 1e3,
        TimeUnit::Microsecond => 1e6,
        TimeUnit::Nanosecond => 1e9,
    }
}

/// Appends a primitive array's values, NaN for null.
fn extend<T: ArrowPrimitiveType>(
    values: &mut Vec<f64>,
    array: &ArrayRef,
    number: impl Fn(T::Native) -> f64,
) {
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        values.extend(array.values().iter().map(|&v| number(v)));
    } else {
        values.extend(array.iter().map(|v| v.map_or(f64::NAN, &number)));
    }
}

fn append_numbers(
    values: &mut Vec<f64>,
    wide: &mut bool,
    array: &ArrayRef,
    missing: Option<&MissingTokens>,
) -> Result<(), Fault> {
    use DataType as D;
    let start = values.len();
    match array.data_type() {
        D::Null => values.resize(start + array.len(), f64::NAN),
        D::Int8 => extend::<types::Int8Type>(values, array, f64::from),
        D::Int16 => extend::<types::Int16Type>(values, array, f64::from),
        D::Int32 => extend::<types::Int32Type>(values, array, f64::from),
        D::Int64 => extend::<types::Int64Type>(values, array, |v| v as f64),
        D::UInt8 => extend::<types::UInt8Type>(values, array, f64::from),
        D::UInt16 => extend::<types::UInt16Type>(values, array, f64::from),
        D::UInt32 => extend::<types::UInt32Type>(values, array, f64::from),
        D::UInt64 => extend::<types::UInt64Type>(values, array, |v| v as f64),
        D::Float16 | D::Float32 | D::Float64 => append_floats(values, array),
        D::Time32(_) | D::Time64(_) | D::Duration(_) => append_seconds(values, array)?,
        kind if kind.is_decimal() => append_decimals(values, array)?,
        other => return Err(Fault::Type(other.clone())),
    }
    let appended = &mut values[start..];
    // A token such as -99 or inf stands for the number that it spells.
    for token in missing.map(MissingTokens::numbers).unwrap_or_default() {
        appended.iter_mut().filter(|v| **v == token).for_each(|v| *v = f64::NAN);
    }
    finite(appended)?;
    if matches!(array.data_type(), D::Int64 | D::UInt64) {
        // At 2^53 itself a double may already have been rounded from its neighbour.
        *wide |= appended.iter().any(|v| v.abs() >= number::MOST_EXACT as f64);
    }
    Ok(())
}

fn finite(values: &[f64]) -> Result<(), Fault> {
    match values.iter().position(|v| v.is_infinite()) {
        Some(at) => Err(Fault::Infinite { at, value: values[at] }),
        None => Ok(()),
    }
}

fn append_floats(values: &mut Vec<f64>, array: &ArrayRef) {
    match array.data_type() {
        DataType::Float16 => extend::<types::Float16Type>(values, array, f64::from),
        DataType::Float32 => extend::<types::Float32Type>(values, array, f64::from),
        _ => extend::<types::Float64Type>(values, array, |v| v),
    }
}

/// The values of an array of floating-point numbers, NaN for null.
pub(super) fn floats(array: &ArrayRef) -> Vec<f64> {
    let mut values = Vec::with_capacity(array.len());
    append_floats(&mut values, array);
    values
}

/// Times of day and durations, as seconds.
fn append_seconds(values: &mut Vec<f64>, array: &ArrayRef) -> Result<(), Fault> {
    use DataType::{Duration, Time32, Time64};
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    use types::{
        DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
        DurationSecondType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
        Time64NanosecondType,
    };
    let kind = array.data_type();
    let per = match kind {
        Time32(unit) | Time64(unit) | Duration(unit) => per_second(*unit),
        other => return Err(Fault::Type(other.clone())),
    };
    let (short, long) = (|v: i32| f64::from(v) / per, |v: i64| v as f64 / per);
    match kind {
        Time32(Second) => extend::<Time32SecondType>(values, array, short),
        Time32(Millisecond) => extend::<Time32MillisecondType>(values, array, short),
        Time64(Microsecond) => extend::<Time64MicrosecondType>(values, array, long),
        Time64(Nanosecond) => extend::<Time64NanosecondType>(values, array, long),
        Duration(Second) => extend::<DurationSecondType>(values, array, long),
        Duration(Millisecond) => extend::<DurationMillisecondType>(values, array, long),
        Duration(Microsecond) => extend::<DurationMicrosecondType>(values, array, long),
        Duration(Nanosecond) => extend::<DurationNanosecondType>(values, array, long),
        other => return Err(Fault::Type(other.clone())),
    }
    Ok(())
}

/// Decimals by way of their text, which rounds once.
fn append_decimals(values: &mut Vec<f64>, array: &ArrayRef) -> Result<(), Fault> {
    let kind = array.data_type();
    let mut push = |_, text: Option<&str>| {
        let unreadable = || Fault::Type(kind.clone());
        values.push(match text {
            None => f64::NAN,
            Some(text) => number::parse(text.as_bytes(), b'.').ok_or_else(unreadable)?.value,
        });
        Ok(())
    };
    match kind {
        DataType::Decimal32(..) => decimals::<types::Decimal32Type>(array, &mut push),
        DataType::Decimal64(..) => decimals::<types::Decimal64Type>(array, &mut push),
        DataType::Decimal128(..) => decimals::<types::Decimal128Type>(array, &mut push),
        DataType::Decimal256(..) => decimals::<types::Decimal256Type>(array, &mut push),
        other => Err(Fault::Type(other.clone())),
    }
}

fn append_instants(seconds: &mut Vec<f64>, array: &ArrayRef) -> Result<(), Fault> {
    use types::{
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType,
    };
    match array.data_type() {
        DataType::Date32 => {
            extend::<types::Date32Type>(seconds, array, |days| f64::from(days) * 86_400.0);
        }
        DataType::Date64 => extend::<types::Date64Type>(seconds, array, |ms| ms as f64 / 1e3),
        DataType::Timestamp(unit, _) => {
            let per = per_second(*unit);
            match unit {
                TimeUnit::Second => extend::<TimestampSecondType>(seconds, array, |v| v as f64),
                TimeUnit::Millisecond => {
                    extend::<TimestampMillisecondType>(seconds, array, |v| v as f64 / per);
                }
                TimeUnit::Microsecond => {
                    extend::<TimestampMicrosecondType>(seconds, array, |v| v as f64 / per);
                }
                TimeUnit::Nanosecond => {
                    extend::<TimestampNanosecondType>(seconds, array, |v| v as f64 / per);
                }
            }
        }
        other => return Err(Fault::Type(other.clone())),
    }
    Ok(())
}

fn append_nominal(
    codes: &mut Vec<u32>,
    lookup: &mut HashMap<String, u32>,
    levels: &mut Vec<String>,
    array: &ArrayRef,
    missing: Option<&MissingTokens>,
) -> Result<(), Fault> {
    if let Some(flags) = array.as_boolean_opt() {
        codes.extend(flags.iter().map(|flag| flag.map_or(MISSING_CODE, u32::from)));
        return Ok(());
    }
    let kind = array.data_type();
    let Some(dictionary) = array.as_any_dictionary_opt() else {
        return Err(Fault::Type(kind.clone()));
    };
    // Dictionaries may differ from batch to batch: their values are matched by what they say.
    let mut values = Vec::with_capacity(dictionary.values().len());
    each_text(dictionary.values(), |_, text| {
        let is_value = |text: &&str| !missing.is_some_and(|m| m.contains(text.as_bytes()));
        let text = text.filter(is_value);
        values.push(text.map_or(MISSING_CODE, |text| {
            let next = levels.len() as u32;
            *lookup.entry(text.to_owned()).or_insert_with(|| {
                levels.push(text.to_owned());
                next
            })
        }));
        Ok(())
    })?;
    if values.is_empty() {
        codes.resize(codes.len() + array.len(), MISSING_CODE);
        return Ok(());
    }
    let nulls = dictionary.keys().nulls();
    let code = |(i, key): (usize, usize)| match nulls {
        Some(nulls) if nulls.is_null(i) => MISSING_CODE,
        _ => values[key],
    };
    codes.extend(dictionary.normalized_keys().into_iter().enumerate().map(code));
    Ok(())
}

fn append_text(
    texts: &mut TextBuilder,
    array: &ArrayRef,
    missing: Option<&MissingTokens>,
) -> Result<(), Fault> {
    each_text(array, |_, text| {
        match (text, missing) {
            (None, _) => texts.push_missing(),
            (Some(text), None) => texts.push_text(text.as_bytes()),
            (Some(text), Some(missing)) => texts.push(text.as_bytes(), missing),
        }
        Ok(())
    })
}
