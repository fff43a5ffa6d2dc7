//! Distances in single precision between a few queries and a tile of rows, with run-time SIMD.

use pulp::{Simd, WithSimd};

use super::Minkowski;

/// Rows of a tile: a multiple of every vector width in use.
pub(super) const TILE: usize = 32;
/// Queries handled together, so that a loaded row is used that often.
pub(super) const QUERIES: usize = 4;

/// Compares `QUERIES` queries with a block of tiles and reports every distance within reach.
///
/// `tiles` holds, tile after tile and column after column, `TILE` rows; `queries` holds, column after
/// column, the value of each query. A distance is a sum of absolute or squared differences.
/// `found(query, row in block, distance)` returns the query's new reach.
pub(super) struct Scan<'a, F> {
    pub(super) p: Minkowski,
    pub(super) n_cols: usize,
    pub(super) tiles: &'a [f32],
    pub(super) queries: &'a [f32],
    pub(super) reach: [f32; QUERIES],
    pub(super) found: F,
}

impl<F: FnMut(usize, usize, f32) -> f32> WithSimd for Scan<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.p {
            Minkowski::Manhattan => self.scan(
                simd,
                #[inline(always)]
                |sum, difference| simd.add_f32s(sum, simd.abs_f32s(difference)),
            ),
            Minkowski::Euclidean => self.scan(
                simd,
                #[inline(always)]
                |sum, difference| simd.mul_add_e_f32s(difference, difference, sum),
            ),
        }
    }
}

impl<F: FnMut(usize, usize, f32) -> f32> Scan<'_, F> {
    #[inline(always)]
    fn scan<S: Simd>(mut self, simd: S, add: impl Fn(S::f32s, S::f32s) -> S::f32s) {
        for (t, tile) in self.tiles.chunks_exact(TILE * self.n_cols).enumerate() {
            for v in (0..TILE / S::F32_LANES).step_by(2) {
                let sums = sums(simd, &add, tile, self.queries, v);
                let first = t * TILE + v * S::F32_LANES;
                for q in 0..QUERIES {
                    self.report(simd, q, first, sums[q]);
                }
            }
        }
    }

    #[inline(always)]
    fn report<S: Simd>(&mut self, simd: S, q: usize, first: usize, sums: [S::f32s; 2]) {
        let reach = simd.splat_f32s(self.reach[q]);
        let near = simd.or_m32s(
            simd.less_than_or_equal_f32s(sums[0], reach),
            simd.less_than_or_equal_f32s(sums[1], reach),
        );
        if simd.first_true_m32s(near) == S::F32_LANES {
            return;
        }
        let mut distances = [0.0_f32; TILE];
        let (vectors, _) = S::as_mut_simd_f32s(&mut distances);
        vectors[..2].copy_from_slice(&sums);
        for (lane, &distance) in distances[..2 * S::F32_LANES].iter().enumerate() {
            if distance <= self.reach[q] {
                self.reach[q] = (self.found)(q, first + lane, distance);
            }
        }
    }
}

/// The sums of `QUERIES` queries and two vectors of rows, from the `v`-th of a tile.
#[inline(always)]
fn sums<S: Simd>(
    simd: S,
    add: &impl Fn(S::f32s, S::f32s) -> S::f32s,
    tile: &[f32],
    queries: &[f32],
    v: usize,
) -> [[S::f32s; 2]; QUERIES] {
    let (queries, _) = queries.as_chunks::<QUERIES>();
    let (tile, _) = S::as_simd_f32s(tile);
    let mut sums = [[simd.splat_f32s(0.0); 2]; QUERIES];
    for (row, query) in tile.chunks_exact(TILE / S::F32_LANES).zip(queries) {
        let (a, b) = (row[v], row[v + 1]);
        for q in 0..QUERIES {
            let value = simd.splat_f32s(query[q]);
            sums[q][0] = add(sums[q][0], simd.sub_f32s(a, value));
            sums[q][1] = add(sums[q][1], simd.sub_f32s(b, value));
        }
    }
    sums
}

/// Groups of rows whose least sums tell how far it is worth looking.
pub(super) const GROUPS: usize = 64;

/// Writes all sums of a first block, and for each query the least sum of each of `GROUPS` groups of rows.
///
/// The k-th smallest of these is no smaller than the k-th smallest sum, and nearly as small: with it a
/// selection begins where it would otherwise arrive after many candidates.
pub(super) struct Begin<'a> {
    pub(super) p: Minkowski,
    pub(super) n_cols: usize,
    pub(super) tiles: &'a [f32],
    pub(super) queries: &'a [f32],
    /// Query after query.
    pub(super) sums: &'a mut [f32],
}

impl WithSimd for Begin<'_> {
    type Output = [[f32; GROUPS]; QUERIES];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        match self.p {
            Minkowski::Manhattan => self.begin(
                simd,
                #[inline(always)]
                |sum, difference| simd.add_f32s(sum, simd.abs_f32s(difference)),
            ),
            Minkowski::Euclidean => self.begin(
                simd,
                #[inline(always)]
                |sum, difference| simd.mul_add_e_f32s(difference, difference, sum),
            ),
        }
    }
}

impl Begin<'_> {
    #[inline(always)]
    fn begin<S: Simd>(
        self,
        simd: S,
        add: impl Fn(S::f32s, S::f32s) -> S::f32s,
    ) -> [[f32; GROUPS]; QUERIES] {
        let n_rows = self.sums.len() / QUERIES;
        for (t, tile) in self.tiles.chunks_exact(TILE * self.n_cols).enumerate() {
            for v in (0..TILE / S::F32_LANES).step_by(2) {
                let sums = sums(simd, &add, tile, self.queries, v);
                for q in 0..QUERIES {
                    let first = q * n_rows + t * TILE + v * S::F32_LANES;
                    let out = &mut self.sums[first..first + 2 * S::F32_LANES];
                    S::as_mut_simd_f32s(out).0.copy_from_slice(&sums[q]);
                }
            }
        }
        let mut least = [[f32::INFINITY; GROUPS]; QUERIES];
        for (least, sums) in least.iter_mut().zip(self.sums.chunks_exact(n_rows)) {
            for sums in sums.chunks(GROUPS) {
                for (least, &sum) in least.iter_mut().zip(sums) {
                    *least = if sum < *least { sum } else { *least };
                }
            }
        }
        least
    }
}

/// The smallest of a few numbers.
#[inline(always)]
pub(super) fn smallest(values: &[f32]) -> f32 {
    values.iter().fold(f32::INFINITY, |m, &v| if v < m { v } else { m })
}
