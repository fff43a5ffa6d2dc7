//! Reads with a limit on the number of collections.
//!
//! An empty list takes one byte of a file and two dozen in memory: without the limit, a file of two gigabytes of nothing but
//! empty lists would take forty-eight. What models are made of has at least a few bytes of numbers in every list.

use std::cell::Cell;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// So many collections any file may have.
const ALWAYS: usize = 1 << 16;

/// Reads a value out of at most `n_bytes`, in which each collection takes `bytes_each` on average.
pub(super) fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
    n_bytes: usize,
    bytes_each: usize,
) -> Result<T, D::Error> {
    let left = Cell::new(ALWAYS + n_bytes / bytes_each);
    T::deserialize(Counted { inner: from, left: &left })
}

/// What is read from, with the collections that may still come.
#[derive(Clone, Copy)]
struct Counted<'c, T> {
    inner: T,
    left: &'c Cell<usize>,
}

impl<'c, T> Counted<'c, T> {
    /// Something else with the same count.
    fn around<U>(&self, inner: U) -> Counted<'c, U> {
        Counted { inner, left: self.left }
    }

    fn count<E: Error>(&self) -> Result<(), E> {
        let left = self.left.get().checked_sub(1);
        let left = left.ok_or_else(|| E::custom("it has more lists than its bytes can fill"))?;
        self.left.set(left);
        Ok(())
    }
}

macro_rules! forward {
    ($($method:ident($($name:ident: $kind:ty),*),)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self $(, $name: $kind)*, visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.around(visitor);
            self.inner.$method($($name,)* visitor)
        }
    )*};
}

macro_rules! forward_and_count {
    ($($method:ident,)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.count()?;
            let visitor = self.around(visitor);
            self.inner.$method(visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Counted<'_, D> {
    type Error = D::Error;

    forward! {
        deserialize_any(),
        deserialize_bool(),
        deserialize_i8(),
        deserialize_i16(),
        deserialize_i32(),
        deserialize_i64(),
        deserialize_u8(),
        deserialize_u16(),
        deserialize_u32(),
        deserialize_u64(),
        deserialize_f32(),
        deserialize_f64(),
        deserialize_char(),
        deserialize_option(),
        deserialize_unit(),
        deserialize_unit_struct(name: &'static str),
        deserialize_newtype_struct(name: &'static str),
        deserialize_tuple(n: usize),
        deserialize_tuple_struct(name: &'static str, n: usize),
        deserialize_struct(name: &'static str, fields: &'static [&'static str]),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
        deserialize_identifier(),
        deserialize_ignored_any(),
    }

    forward_and_count! {
        deserialize_str,
        deserialize_string,
        deserialize_bytes,
        deserialize_byte_buf,
        deserialize_seq,
        deserialize_map,
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident($kind:ty),)*) => {$(
        #[inline]
        fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Counted<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool(bool),
        visit_i8(i8),
        visit_i16(i16),
        visit_i32(i32),
        visit_i64(i64),
        visit_u8(u8),
        visit_u16(u16),
        visit_u32(u32),
        visit_u64(u64),
        visit_f32(f32),
        visit_f64(f64),
        visit_char(char),
        visit_str(&str),
        visit_borrowed_str(&'de str),
        visit_string(String),
        visit_bytes(&[u8]),
        visit_borrowed_bytes(&'de [u8]),
        visit_byte_buf(Vec<u8>),
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        let from = self.around(from);
        self.inner.visit_some(from)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        let from = self.around(from);
        self.inner.visit_newtype_struct(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, from: A) -> Result<V::Value, A::Error> {
        let from = self.around(from);
        self.inner.visit_seq(from)
    }

    fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<V::Value, A::Error> {
        let from = self.around(from);
        self.inner.visit_map(from)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<V::Value, A::Error> {
        let from = self.around(from);
        self.inner.visit_enum(from)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Counted<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<S::Value, D::Error> {
        let from = self.around(from);
        self.inner.deserialize(from)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'c, A: EnumAccess<'de>> EnumAccess<'de> for Counted<'c, A> {
    type Error = A::Error;
    type Variant = Counted<'c, A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Self::Variant), A::Error> {
        let seed = self.around(seed);
        let left = self.left;
        let (value, variant) = self.inner.variant_seed(seed)?;
        Ok((value, Counted { inner: variant, left }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, n: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.tuple_variant(n, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pitchpipe_learn::{FitContext, FittedPipeline, Pipeline};
    use pitchpipe_table::{Column, Dataset, Labels};
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Shape {
        None,
        Tuple(u32, f64),
        Named { words: Vec<String>, more: Option<Box<Shape>> },
    }

    fn read_counted<T: for<'a> Deserialize<'a>>(bytes: &[u8], each: usize) -> Option<T> {
        read(&mut postcard::Deserializer::from_bytes(bytes), bytes.len(), each).ok()
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let named = |more| Shape::Named { words: vec!["a".into(), String::new()], more };
        let shapes = vec![
            Shape::None,
            Shape::Tuple(7, -0.5),
            named(None),
            named(Some(Box::new(Shape::Tuple(1, 2.0)))),
        ];
        let value = (shapes, BTreeMap::from([(3_u8, ('x', true))]), Some(-9_i64));
        let bytes = postcard::to_stdvec(&value).unwrap();
        assert_eq!(read_counted(&bytes, 4), Some(value));
    }

    /// Rows of one-hot columns, which neighbours are looked for among, are nearly all zeros.
    #[test]
    fn neighbours_on_one_hot_columns_pack_well_and_read() {
        let n = 900_u32;
        let codes = Column::Categorical { codes: (0..n).map(|i| i % 300).collect(), n_levels: 300 };
        let labels = Labels::from_codes((0..n).map(|i| i % 2), 2);
        let dataset = Dataset::new(vec![codes], labels);
        let text = "impute(mean) > one_hot > unscaled > all_features > knn(n_neighbors=1, p=2)";
        let model = text.parse::<Pipeline>().unwrap().fit(&dataset, &FitContext::unhurried());
        let bytes = postcard::to_stdvec(&model.unwrap()).unwrap();
        let packed = zstd::bulk::compress(&bytes, 1).unwrap();
        assert!(bytes.len() > 50 * packed.len(), "{} {}", bytes.len(), packed.len());
        let read: FittedPipeline = read_counted(&bytes, 4).unwrap();
        assert_eq!(postcard::to_stdvec(&read).unwrap(), bytes);
    }

    #[test]
    fn lists_of_nothing_are_counted() {
        let n = 2 * ALWAYS;
        let empty = postcard::to_stdvec(&vec![Vec::<f64>::new(); n]).unwrap();
        assert_eq!(read_counted::<Vec<Vec<f64>>>(&empty, 4), None);
        let filled = postcard::to_stdvec(&vec![vec![0.5_f64]; n]).unwrap();
        assert_eq!(read_counted::<Vec<Vec<f64>>>(&filled, 4).map(|v| v.len()), Some(n));
        let words = postcard::to_stdvec(&vec![String::new(); n]).unwrap();
        assert_eq!(read_counted::<Vec<String>>(&words, 4), None);
    }
}
