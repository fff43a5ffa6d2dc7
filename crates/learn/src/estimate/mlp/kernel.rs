//! Products of small matrices with SIMD, in registers.
//!
//! A training step multiplies 64 rows by 100 hidden units at a time: too little for a general
//! product to spread its packing over. Matrices of units are rows of whole vectors, `width` a row.

use pulp::Simd;

/// Rows and vectors of the block of sums that is held in registers.
const ROWS: usize = 4;
const VECTORS: usize = 3;

/// `out[i] = then(sum over j of a[i][j] * b[j], out[i])` for row-major `a` of `depth` columns.
#[inline(always)]
pub(super) fn multiply<S: Simd>(
    simd: S,
    a: &[f32],
    a_width: usize,
    depth: usize,
    b: &[S::f32s],
    width: usize,
    out: &mut [S::f32s],
    then: impl Fn(S::f32s, S::f32s) -> S::f32s + Copy,
) {
    let mut v = 0;
    while v + VECTORS <= width {
        rows_of::<S, ROWS, VECTORS>(simd, a, a_width, depth, b, width, v, out, then);
        v += VECTORS;
    }
    while v < width {
        rows_of::<S, { 2 * ROWS }, 1>(simd, a, a_width, depth, b, width, v, out, then);
        v += 1;
    }
}

#[inline(always)]
fn rows_of<S: Simd, const M: usize, const V: usize>(
    simd: S,
    a: &[f32],
    a_width: usize,
    depth: usize,
    b: &[S::f32s],
    width: usize,
    at: usize,
    out: &mut [S::f32s],
    then: impl Fn(S::f32s, S::f32s) -> S::f32s + Copy,
) {
    let n = out.len() / width;
    let mut i = 0;
    while i + M <= n {
        let (a, out) = (&a[i * a_width..], &mut out[i * width..]);
        dot_rows::<S, M, V>(simd, a, a_width, depth, b, width, at, out, then);
        i += M;
    }
    while i < n {
        let (a, out) = (&a[i * a_width..], &mut out[i * width..]);
        dot_rows::<S, 1, V>(simd, a, a_width, depth, b, width, at, out, then);
        i += 1;
    }
}

#[inline(always)]
fn dot_rows<S: Simd, const M: usize, const V: usize>(
    simd: S,
    a: &[f32],
    a_width: usize,
    depth: usize,
    b: &[S::f32s],
    width: usize,
    at: usize,
    out: &mut [S::f32s],
    then: impl Fn(S::f32s, S::f32s) -> S::f32s,
) {
    let a: [&[f32]; M] = std::array::from_fn(|m| &a[m * a_width..m * a_width + depth]);
    let mut sums = [[simd.splat_f32s(0.0); V]; M];
    for (j, row) in b[..depth * width].chunks_exact(width).enumerate() {
        let row = &row[at..at + V];
        for m in 0..M {
            let value = simd.splat_f32s(a[m][j]);
            for v in 0..V {
                sums[m][v] = simd.mul_add_e_f32s(value, row[v], sums[m][v]);
            }
        }
    }
    for m in 0..M {
        let out = &mut out[m * width + at..m * width + at + V];
        for v in 0..V {
            out[v] = then(sums[m][v], out[v]);
        }
    }
}

/// `out[j] += sum over rows i of a[i][j] * b[i]`, for the first `out.len() / width` columns of `a`.
#[inline(always)]
pub(super) fn accumulate_transposed<S: Simd>(
    simd: S,
    a: &[f32],
    a_width: usize,
    b: &[S::f32s],
    width: usize,
    out: &mut [S::f32s],
) {
    let m = out.len() / width;
    let mut j = 0;
    while j + ROWS <= m {
        columns_of::<S, ROWS>(simd, a, a_width, j, b, width, &mut out[j * width..]);
        j += ROWS;
    }
    while j < m {
        columns_of::<S, 1>(simd, a, a_width, j, b, width, &mut out[j * width..]);
        j += 1;
    }
}

#[inline(always)]
fn columns_of<S: Simd, const M: usize>(
    simd: S,
    a: &[f32],
    a_width: usize,
    j: usize,
    b: &[S::f32s],
    width: usize,
    out: &mut [S::f32s],
) {
    let mut v = 0;
    while v + VECTORS <= width {
        dot_columns::<S, M, VECTORS>(simd, a, a_width, j, b, width, v, out);
        v += VECTORS;
    }
    while v < width {
        dot_columns::<S, M, 1>(simd, a, a_width, j, b, width, v, out);
        v += 1;
    }
}

#[inline(always)]
fn dot_columns<S: Simd, const M: usize, const V: usize>(
    simd: S,
    a: &[f32],
    a_width: usize,
    j: usize,
    b: &[S::f32s],
    width: usize,
    at: usize,
    out: &mut [S::f32s],
) {
    let mut sums = [[simd.splat_f32s(0.0); V]; M];
    for m in 0..M {
        sums[m].copy_from_slice(&out[m * width + at..m * width + at + V]);
    }
    for (a, b) in a.chunks_exact(a_width).zip(b.chunks_exact(width)) {
        let (a, b) = (&a[j..j + M], &b[at..at + V]);
        for m in 0..M {
            let value = simd.splat_f32s(a[m]);
            for v in 0..V {
                sums[m][v] = simd.mul_add_e_f32s(value, b[v], sums[m][v]);
            }
        }
    }
    for m in 0..M {
        out[m * width + at..m * width + at + V].copy_from_slice(&sums[m]);
    }
}

/// `exp` of numbers at most 0, to 2 units in the last place; below -87 it is `exp(-87)`.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
    const MAGIC: f32 = 12_582_912.0;
    let x = if x > -87.0 { x } else { -87.0 };
    let shifted = x * std::f32::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 0.166_666_66;
    let p = p * r + 0.5;
    let p = p * (r * r) + r + 1.0;
    p * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_exp() {
        for i in 0..87_000 {
            let x = -(i as f32) / 1000.0;
            let (ours, right) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / right - 1.0).abs() < 3e-7, "{x}: {ours} {right}");
        }
        assert!(exp(f32::MIN) > 0.0 && exp(f32::NEG_INFINITY) > 0.0 && exp(0.0) == 1.0);
    }
}
