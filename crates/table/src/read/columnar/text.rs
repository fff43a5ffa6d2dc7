//! Arrow cells as text: numbers and dates as one would write them.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{
    as_datetime, as_duration, as_time, date32_to_datetime, date64_to_datetime,
};
use arrow_array::timezone::Tz;
use arrow_array::types::{self, ArrowPrimitiveType, ArrowTimestampType, DecimalType};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{SecondsFormat, TimeZone, Utc};

use super::column::{Fault, floats};

/// Takes a cell's position and text, if it has any.
type Visit<'a> = &'a mut dyn FnMut(usize, Option<&str>) -> Result<(), Fault>;

/// Visits each cell as text.
pub(super) fn each_text(
    array: &ArrayRef,
    mut visit: impl FnMut(usize, Option<&str>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut each = |i: usize, bytes: Option<&[u8]>| {
        let text = bytes.map(std::str::from_utf8).transpose();
        visit(i, text.map_err(|_| Fault::NotText { at: i })?)
    };
    match array.data_type() {
        DataType::Binary => {
            array.as_binary::<i32>().iter().enumerate().try_for_each(|(i, b)| each(i, b))
        }
        DataType::LargeBinary => {
            array.as_binary::<i64>().iter().enumerate().try_for_each(|(i, b)| each(i, b))
        }
        DataType::BinaryView => {
            array.as_binary_view().iter().enumerate().try_for_each(|(i, b)| each(i, b))
        }
        DataType::FixedSizeBinary(_) => {
            array.as_fixed_size_binary().iter().enumerate().try_for_each(|(i, b)| each(i, b))
        }
        DataType::Utf8 => {
            array.as_string::<i32>().iter().enumerate().try_for_each(|(i, t)| visit(i, t))
        }
        DataType::LargeUtf8 => {
            array.as_string::<i64>().iter().enumerate().try_for_each(|(i, t)| visit(i, t))
        }
        DataType::Utf8View => {
            array.as_string_view().iter().enumerate().try_for_each(|(i, t)| visit(i, t))
        }
        _ => each_written(array, &mut visit),
    }
}

/// Visits each cell of a type that is not text itself.
fn each_written(array: &ArrayRef, visit: Visit) -> Result<(), Fault> {
    use DataType as D;
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    use types::{
        Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
        DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
        DurationSecondType, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
        Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
        TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    };
    match array.data_type() {
        D::Null => (0..array.len()).try_for_each(|i| visit(i, None)),
        D::Boolean => {
            let flag = |flag: Option<bool>| flag.map(|flag| if flag { "true" } else { "false" });
            array.as_boolean().iter().enumerate().try_for_each(|(i, f)| visit(i, flag(f)))
        }
        D::Int8 => write::<Int8Type>(array, visit, |v, text| write!(text, "{v}").ok()),
        D::Int16 => write::<Int16Type>(array, visit, |v, text| write!(text, "{v}").ok()),
        D::Int32 => write::<Int32Type>(array, visit, |v, text| write!(text, "{v}").ok()),
        D::Int64 => write::<Int64Type>(array, visit, |v, text| write!(text, "{v}").ok()),
        D::UInt8 => write::<UInt8Type>(array, visit, |v, text| write!(text, "{v}").ok()),
        D::UInt16 => write::<UInt16Type>(array, visit, |v, text| write!(text, "{v}").ok()),
        D::UInt32 => write::<UInt32Type>(array, visit, |v, text| write!(text, "{v}").ok()),
        D::UInt64 => write::<UInt64Type>(array, visit, |v, text| write!(text, "{v}").ok()),
        D::Float16 | D::Float32 | D::Float64 => {
            // A whole number reads like an integer, whatever type it passed through.
            let written = |v: f64| (!v.is_nan()).then(|| v.to_string());
            let mut cells = floats(array).into_iter().map(written).enumerate();
            cells.try_for_each(|(i, text)| visit(i, text.as_deref()))
        }
        D::Decimal32(..) => decimals::<Decimal32Type>(array, visit),
        D::Decimal64(..) => decimals::<Decimal64Type>(array, visit),
        D::Decimal128(..) => decimals::<Decimal128Type>(array, visit),
        D::Decimal256(..) => decimals::<Decimal256Type>(array, visit),
        D::Date32 => write::<Date32Type>(array, visit, |v, text| {
            write!(text, "{:?}", date32_to_datetime(v)?.date()).ok()
        }),
        D::Date64 => write::<Date64Type>(array, visit, |v, text| {
            write!(text, "{:?}", date64_to_datetime(v)?).ok()
        }),
        D::Timestamp(Second, _) => instants::<TimestampSecondType>(array, visit),
        D::Timestamp(Millisecond, _) => instants::<TimestampMillisecondType>(array, visit),
        D::Timestamp(Microsecond, _) => instants::<TimestampMicrosecondType>(array, visit),
        D::Timestamp(Nanosecond, _) => instants::<TimestampNanosecondType>(array, visit),
        D::Time32(Second) => times::<Time32SecondType>(array, visit),
        D::Time32(Millisecond) => times::<Time32MillisecondType>(array, visit),
        D::Time64(Microsecond) => times::<Time64MicrosecondType>(array, visit),
        D::Time64(Nanosecond) => times::<Time64NanosecondType>(array, visit),
        D::Duration(Second) => durations::<DurationSecondType>(array, visit),
        D::Duration(Millisecond) => durations::<DurationMillisecondType>(array, visit),
        D::Duration(Microsecond) => durations::<DurationMicrosecondType>(array, visit),
        D::Duration(Nanosecond) => durations::<DurationNanosecondType>(array, visit),
        other => Err(Fault::Type(other.clone())),
    }
}

/// Visits what `spell` writes of each value; `None` where a value stands for nothing, such as a day too
/// far away for any calendar.
fn write<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    visit: Visit,
    spell: impl Fn(T::Native, &mut String) -> Option<()>,
) -> Result<(), Fault> {
    let mut text = String::new();
    for (i, value) in array.as_primitive::<T>().iter().enumerate() {
        let Some(value) = value else {
            visit(i, None)?;
            continue;
        };
        text.clear();
        spell(value, &mut text).ok_or_else(|| Fault::Type(array.data_type().clone()))?;
        visit(i, Some(&text))?;
    }
    Ok(())
}

/// Visits the decimals of an array as their digits.
pub(super) fn decimals<T: DecimalType>(array: &ArrayRef, visit: Visit) -> Result<(), Fault> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    (0..array.len()).try_for_each(|i| {
        let text = (!array.is_null(i)).then(|| array.value_as_string(i));
        visit(i, text.as_deref())
    })
}

fn instants<T: ArrowTimestampType>(array: &ArrayRef, visit: Visit) -> Result<(), Fault> {
    let unreadable = || Fault::Type(array.data_type().clone());
    match array.data_type() {
        DataType::Timestamp(_, Some(zone)) => {
            let zone: Tz = zone.parse().map_err(|_| unreadable())?;
            write::<T>(array, visit, |v, text| {
                let instant = Utc.from_utc_datetime(&as_datetime::<T>(v)?).with_timezone(&zone);
                text.push_str(&instant.to_rfc3339_opts(SecondsFormat::AutoSi, true));
                Some(())
            })
        }
        _ => write::<T>(array, visit, |v, text| write!(text, "{:?}", as_datetime::<T>(v)?).ok()),
    }
}

fn times<T: ArrowPrimitiveType>(array: &ArrayRef, visit: Visit) -> Result<(), Fault>
where
    i64: From<T::Native>,
{
    write::<T>(array, visit, |v, text| write!(text, "{:?}", as_time::<T>(v.into())?).ok())
}

fn durations<T: ArrowPrimitiveType<Native = i64>>(
    array: &ArrayRef,
    visit: Visit,
) -> Result<(), Fault> {
    write::<T>(array, visit, |v, text| write!(text, "{}", as_duration::<T>(v)?).ok())
}
