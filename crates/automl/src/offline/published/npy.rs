//! NumPy arrays of half-precision floats, plain (`.npy`) or in a compressed archive (`.npz`).

use std::io::{Cursor, Read};

use half::f16;

use super::PublishedError;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The one array `a` of an `.npz`, checked to be f16 in C order and of the given shape.
pub(super) fn read_npz(
    member: &str,
    bytes: Vec<u8>,
    shape: &[usize],
) -> Result<Vec<f16>, PublishedError> {
    let damaged = |what: String| PublishedError::Damaged { member: member.to_owned(), what };
    let mut archive =
        zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| damaged(e.to_string()))?;
    let mut file = archive.by_name("a.npy").map_err(|e| damaged(format!("array \"a\": {e}")))?;
    let mut npy = Vec::new();
    file.read_to_end(&mut npy).map_err(|e| damaged(e.to_string()))?;
    parse(&npy, shape).map_err(damaged)
}

/// The numbers of an `.npy`; the format is a magic, a version, a length and a Python dictionary.
fn parse(npy: &[u8], shape: &[usize]) -> Result<Vec<f16>, String> {
    let rest = npy.strip_prefix(MAGIC).ok_or("not a NumPy array")?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or("ends within its header")?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk().map(|(l, rest)| (u16::from_le_bytes(*l) as usize, rest)),
        2 | 3 => rest.split_first_chunk().map(|(l, rest)| (u32::from_le_bytes(*l) as usize, rest)),
        other => return Err(format!("NumPy format {other} is not known")),
    }
    .ok_or("ends within its header")?;
    let (header, data) = rest.split_at_checked(length).ok_or("ends within its header")?;
    let header = String::from_utf8_lossy(header);
    if !header.contains("'descr': '<f2'") || !header.contains("'fortran_order': False") {
        return Err(format!("expected half-precision numbers in C order, found {}", header.trim()));
    }
    let sides: Vec<String> = shape.iter().map(usize::to_string).collect();
    let wanted = format!("'shape': ({})", sides.join(", "));
    if !header.contains(&wanted) {
        return Err(format!("expected {wanted}, found {}", header.trim()));
    }
    let n: usize = shape.iter().product();
    if data.len() != 2 * n {
        return Err(format!("holds {} bytes of numbers instead of {}", data.len(), 2 * n));
    }
    Ok(data.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn reads_half_precision_numbers() {
        let bytes = npy("<f2", "(1, 2)", &[0x00, 0x3c, 0x00, 0xbc]);
        assert_eq!(parse(&bytes, &[1, 2]).unwrap(), [f16::ONE, f16::NEG_ONE]);
    }

    #[test]
    fn turns_away_other_types_shapes_and_short_data() {
        let data = [0, 0x3c, 0, 0xbc];
        for bytes in [
            npy("<f4", "(1, 2)", &data),
            npy("<f2", "(2, 1)", &data),
            npy("<f2", "(1, 2)", &data[..3]),
            b"PK\x03\x04".to_vec(),
        ] {
            assert!(parse(&bytes, &[1, 2]).is_err());
        }
        let whole = npy("<f2", "(1, 2)", &data);
        assert!((0..whole.len()).all(|cut| parse(&whole[..cut], &[1, 2]).is_err()));
    }
}
