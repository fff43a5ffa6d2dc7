//! Cells that several owners may share: Arrow's buffers, so that a table handed over in memory is not copied.

use std::fmt;
use std::ops::Deref;

use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A run of numbers or codes, cheap to clone; made from a `Vec` or an Arrow array without a copy. It is read as
/// a slice, and compared and serialised like one.
#[derive(Clone)]
pub struct Buffer<T: ArrowNativeType>(ScalarBuffer<T>);

impl<T: ArrowNativeType> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: ArrowNativeType> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values.into())
    }
}

impl<T: ArrowNativeType, const N: usize> From<[T; N]> for Buffer<T> {
    fn from(values: [T; N]) -> Self {
        Vec::from(values).into()
    }
}

impl<T: ArrowNativeType> From<ScalarBuffer<T>> for Buffer<T> {
    fn from(values: ScalarBuffer<T>) -> Self {
        Self(values)
    }
}

/// Without a copy where nobody else holds the buffer and it came from a `Vec`.
impl<T: ArrowNativeType> From<Buffer<T>> for Vec<T> {
    fn from(values: Buffer<T>) -> Self {
        values.0.into()
    }
}

impl<T: ArrowNativeType> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

impl<'a, T: ArrowNativeType> IntoIterator for &'a Buffer<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Equal to whatever holds the same cells: a slice, an array, a `Vec`, another buffer.
impl<T: ArrowNativeType, S: AsRef<[T]> + ?Sized> PartialEq<S> for Buffer<T> {
    fn eq(&self, other: &S) -> bool {
        **self == *other.as_ref()
    }
}

impl<T: ArrowNativeType> AsRef<[T]> for Buffer<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: ArrowNativeType> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ArrowNativeType + Serialize> Serialize for Buffer<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: ArrowNativeType + Deserialize<'de>> Deserialize<'de> for Buffer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_becomes_a_buffer_and_a_vector_again_without_a_copy() {
        let values = vec![1.5, 2.5];
        let place = values.as_ptr();
        let buffer = Buffer::from(values);
        assert_eq!(buffer.as_ptr(), place);
        assert_eq!(buffer.clone().as_ptr(), place);
        let values = Vec::from(buffer);
        assert_eq!(values.as_ptr(), place);
    }

    #[test]
    fn it_is_written_like_a_vector() {
        let buffer = Buffer::from([1u32, 2]);
        assert_eq!(serde_json::to_string(&buffer).unwrap(), "[1,2]");
        assert_eq!(serde_json::from_str::<Buffer<u32>>("[1,2]").unwrap(), buffer);
    }
}
