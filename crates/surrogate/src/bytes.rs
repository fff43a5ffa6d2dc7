//! Tucker decompositions as bytes: magic, version, sides, ranks, single-precision numbers, checksum.

use ndarray::Array2;

use crate::SurrogateError;
use crate::tucker::{Tucker, check_ranks, shaped};

const MAGIC: &[u8; 4] = b"ppTK";
const VERSION: u16 = 1;
/// No tensor of ours has more modes.
const MAX_ORDER: u32 = 32;

impl Tucker<f32> {
    /// The decomposition in its compact form, all numbers little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        let shape = self.shape();
        for count in [shape.len()].into_iter().chain(shape).chain(self.ranks()) {
            out.extend(u32::try_from(count).expect("sides are far below 2^32").to_le_bytes());
        }
        let numbers = self.core.iter().chain(self.factors.iter().flatten());
        numbers.for_each(|v| out.extend(v.to_le_bytes()));
        let checksum = crc32fast::hash(&out);
        out.extend(checksum.to_le_bytes());
        out
    }

    /// Reads the compact form; anything cut, changed or of another version is an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SurrogateError> {
        let damaged = |what: &str| SurrogateError::Bytes { what: what.to_owned() };
        let (content, checksum) = bytes.split_last_chunk::<4>().ok_or_else(too_short)?;
        let after = content.strip_prefix(MAGIC);
        let mut rest = Reader(after.ok_or_else(|| damaged("it does not start like one"))?);
        let version = u16::from_le_bytes(rest.take()?);
        if version != VERSION {
            let what = format!("version {version}; this program reads version {VERSION}");
            return Err(SurrogateError::Bytes { what });
        }
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(damaged("its checksum is wrong"));
        }
        let order = rest.count()?;
        if !(1..=MAX_ORDER as usize).contains(&order) {
            return Err(damaged("it has an impossible number of modes"));
        }
        let shape: Vec<usize> = (0..order).map(|_| rest.count()).collect::<Result<_, _>>()?;
        let ranks: Vec<usize> = (0..order).map(|_| rest.count()).collect::<Result<_, _>>()?;
        check_ranks(&shape, &ranks)?;
        let core = rest.numbers(&ranks)?;
        let factor = |(&side, &rank): (&usize, &usize)| {
            let values = rest.numbers(&[side, rank])?;
            Ok(Array2::from_shape_vec((side, rank), values).expect("the counts agree"))
        };
        let factors =
            shape.iter().zip(&ranks).map(factor).collect::<Result<_, SurrogateError>>()?;
        if !rest.0.is_empty() {
            return Err(damaged("it goes on after its end"));
        }
        Ok(Self { core: shaped(&ranks, core), factors })
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], SurrogateError> {
        let (head, tail) = self.0.split_first_chunk().ok_or_else(too_short)?;
        self.0 = tail;
        Ok(*head)
    }

    fn count(&mut self) -> Result<usize, SurrogateError> {
        Ok(u32::from_le_bytes(self.take()?) as usize)
    }

    /// As many numbers as the sides multiply to, all finite.
    fn numbers(&mut self, sides: &[usize]) -> Result<Vec<f32>, SurrogateError> {
        let count = sides.iter().try_fold(4_usize, |product, &s| product.checked_mul(s));
        let split = count.and_then(|bytes| self.0.split_at_checked(bytes));
        let (head, tail) = split.ok_or_else(too_short)?;
        self.0 = tail;
        let values: Vec<f32> =
            head.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        match values.iter().position(|v| !v.is_finite()) {
            Some(at) => Err(SurrogateError::NotFinite {
                what: "the surrogate",
                at,
                value: values[at].into(),
            }),
            None => Ok(values),
        }
    }
}

fn too_short() -> SurrogateError {
    SurrogateError::Bytes { what: "it ends too early".to_owned() }
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, IxDyn};

    use super::*;

    fn example() -> Tucker<f32> {
        let tensor = ArrayD::from_shape_fn(IxDyn(&[4, 3, 5]), |i| {
            0.1 * i[0] as f32 + (i[1] * i[2]) as f32 / 7.0
        });
        Tucker::fit(tensor.view(), &[2, 3, 2], 2).unwrap()
    }

    #[test]
    fn bytes_give_the_same_decomposition_back() {
        let tucker = example();
        assert_eq!(Tucker::from_bytes(&tucker.to_bytes()).unwrap(), tucker);
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_noticed() {
        let bytes = example().to_bytes();
        assert!((0..bytes.len()).all(|cut| Tucker::from_bytes(&bytes[..cut]).is_err()));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(Tucker::from_bytes(&changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_later_version_is_named() {
        let mut bytes = example().to_bytes();
        bytes[4] = 9;
        let err = Tucker::from_bytes(&bytes).unwrap_err().to_string();
        assert_eq!(err, "not a readable surrogate: version 9; this program reads version 1");
    }
}
