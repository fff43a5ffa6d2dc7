//! A Python pickle of one flat list of small integers, and nothing else.

/// Reads the list. Any opcode beyond those that such a list needs is an error, so nothing is ever run.
pub(super) fn read_int_list(bytes: &[u8]) -> Result<Vec<u32>, String> {
    let mut rest = bytes;
    let mut list = Vec::new();
    loop {
        let [opcode, ..] = *take(&mut rest, 1)? else { unreachable!("one byte was asked for") };
        match opcode {
            0x80 => drop(take(&mut rest, 1)?),        // PROTO
            0x95 => drop(take(&mut rest, 8)?),        // FRAME
            b'q' => drop(take(&mut rest, 1)?),        // BINPUT
            b'r' => drop(take(&mut rest, 4)?),        // LONG_BINPUT
            b']' | b'(' | b'e' | b'a' | b'\x94' => {} // EMPTY_LIST MARK APPENDS APPEND MEMOIZE
            b'K' => list.push(take(&mut rest, 1)?[0].into()),
            b'M' => {
                let b = take(&mut rest, 2)?;
                list.push(u16::from_le_bytes([b[0], b[1]]).into());
            }
            b'J' => {
                let b = take(&mut rest, 4)?;
                let value = i32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                list.push(u32::try_from(value).map_err(|_| format!("holds {value}"))?);
            }
            b'.' => return Ok(list),
            other => return Err(format!("opcode {other:#04x} has no place in a list of integers")),
        }
    }
}

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Result<&'a [u8], String> {
    let (head, tail) = rest.split_at_checked(n).ok_or("ends too early")?;
    *rest = tail;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    // pickle.dumps([2, 1008, 41005], protocol=3)
    const LIST: &[u8] = b"\x80\x03]q\x00(K\x02M\xf0\x03M\x2d\xa0e.";

    #[test]
    fn reads_small_and_large_integers() {
        assert_eq!(read_int_list(LIST).unwrap(), [2, 1008, 41005]);
    }

    #[test]
    fn a_cut_or_foreign_pickle_is_an_error() {
        assert!((0..LIST.len()).all(|cut| read_int_list(&LIST[..cut]).is_err()));
        assert!(read_int_list(b"\x80\x03cos\nsystem\n.").is_err());
    }
}
