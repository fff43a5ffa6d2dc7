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
        let n_cols = self.n_cols;
        let vectors_a_tile = TILE / S::F32_LANES;
        let (queries, _) = self.queries.as_chunks::<QUERIES>();
        let queries = &queries[..n_cols];
        for (t, tile) in self.tiles.chunks_exact(TILE * n_cols).enumerate() {
            let (tile, _) = S::as_simd_f32s(tile);
            for v in (0..vectors_a_tile).step_by(2) {
                let mut sums = [[simd.splat_f32s(0.0); 2]; QUERIES];
                for (row, query) in tile.chunks_exact(vectors_a_tile).zip(queries) {
                    let (a, b) = (row[v], row[v + 1]);
                    for q in 0..QUERIES {
                        let value = simd.splat_f32s(query[q]);
                        sums[q][0] = add(sums[q][0], simd.sub_f32s(a, value));
                        sums[q][1] = add(sums[q][1], simd.sub_f32s(b, value));
                    }
                }
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
