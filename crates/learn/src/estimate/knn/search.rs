//! The nearest rows of each query, exactly.
//!
//! A pass in single precision over centred rows, twice as fast as double, finds every row that rounding
//! might allow among the nearest; those few are then ranked by their exact distances. A tree over
//! the rows was not needed: at 10,000 x 4 this pass already costs a tenth of one
//! (docs/decisions/0012-neighbours.md).

use crate::{Features, FitContext, FitError};

use super::Minkowski;
use super::kernel::{QUERIES, Scan, TILE};

/// Rows that share an error bound and stay in the second-level cache while queries pass.
const BLOCK: usize = 8 * TILE;
/// Queries that pass over one block together.
const QUERY_CHUNK: usize = 16 * QUERIES;
/// Magnitudes beyond which squares might overflow or vanish.
const SAFE: std::ops::Range<f64> = 1e-100..1e100;
/// A query this far from the rows, in units of their spread, is answered without single precision.
const FAR: f64 = 1e15;
/// Candidates kept before those out of reach are dropped.
const CROWD: usize = 256;

/// What a search needs to know of the training rows.
#[derive(Clone, Debug)]
pub(crate) struct SearchIndex {
    p: Minkowski,
    n_rows: usize,
    n_cols: usize,
    largest: f64,
    /// A row `x` is held as `(x * unit - centre) * spread`.
    unit: f64,
    centre: Vec<f64>,
    spread: f64,
    /// Tile after tile, column after column, `TILE` rows.
    tiles: Vec<f32>,
    /// The largest norm among each block's rows.
    norms: Vec<f64>,
}

/// The nearest training rows of each query, nearest first; of two as near, the earlier row.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    k: usize,
    rows: Vec<u32>,
    n_train: usize,
    n_cols: usize,
}

impl Neighbours {
    /// How many queries there were.
    pub(crate) fn n_queries(&self) -> usize {
        self.rows.len() / self.k
    }

    /// The nearest rows of one query.
    pub(crate) fn nearest(&self, query: usize) -> &[u32] {
        &self.rows[query * self.k..(query + 1) * self.k]
    }

    /// What part of this search's time a search for `k` neighbours would have taken.
    pub(crate) fn share_of(&self, k: usize) -> f64 {
        let (n, p) = (self.n_train as f64, self.n_cols as f64);
        // A row is in reach k ln(n / k) + k times; counted in the time of one multiply-add.
        let cost = |k: f64| n * (p + 4.0) / 16.0 + 30.0 * (k * (n / k).ln() + k) + k * p;
        cost(k as f64) / cost(self.k as f64)
    }
}

impl SearchIndex {
    /// Centres the rows and lays them out in tiles.
    pub(crate) fn build(x: &Features, p: Minkowski, ctx: &FitContext) -> Result<Self, FitError> {
        let (n_rows, n_cols) = (x.n_rows(), x.n_cols());
        let n_tiles = n_rows.div_ceil(TILE);
        // The tiles, and the row-major copy that exact distances read.
        ctx.check_memory("knn", (4 * n_tiles * TILE * n_cols + 8 * n_rows * n_cols) as u64)?;
        let largest = x.columns().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let unit = unit_of(largest);
        let mean = |j| x.column(j).iter().map(|v| v * unit / n_rows as f64).sum();
        let centre: Vec<f64> = (0..n_cols).map(mean).collect();
        let mut widest = 0.0_f64;
        for j in 0..n_cols {
            ctx.check_deadline()?;
            let wide = |m: f64, v: &f64| m.max((v * unit - centre[j]).abs());
            widest = x.column(j).iter().fold(widest, wide);
        }
        let spread = if widest > 0.0 { 1.0 / widest } else { 1.0 };
        let spread = if spread.is_finite() { spread } else { f64::MAX };
        let mut tiles = vec![f32::INFINITY; n_tiles * TILE * n_cols];
        let mut sums = vec![0.0; n_rows];
        for j in 0..n_cols {
            ctx.check_deadline()?;
            for (i, (value, sum)) in x.column(j).iter().zip(&mut sums).enumerate() {
                let held = (value * unit - centre[j]) * spread;
                *sum += power(p, held);
                tiles[(i / TILE * n_cols + j) * TILE + i % TILE] = held as f32;
            }
        }
        let norms =
            sums.chunks(BLOCK).map(|block| root(p, block.iter().fold(0.0, |m: f64, &v| m.max(v))));
        let norms = norms.collect();
        Ok(Self { p, n_rows, n_cols, largest, unit, centre, spread, tiles, norms })
    }

    /// The `k` nearest of `train`, of which this is the index, to each row of `test`.
    pub(crate) fn search(
        &self,
        train: &Features,
        test: &Features,
        k: usize,
        ctx: &FitContext,
    ) -> Result<Neighbours, FitError> {
        assert!(k <= self.n_rows && test.n_cols() == self.n_cols, "the index's own rows");
        ctx.check_memory("knn", (4 * k * test.n_rows() + 8 * test.columns().len()) as u64)?;
        let mut rows = Vec::with_capacity(k * test.n_rows());
        let mut chunk: Vec<Query> = (0..QUERY_CHUNK).map(|_| Query::new(k)).collect();
        let mut ranked = Vec::new();
        for first in (0..test.n_rows()).step_by(QUERY_CHUNK) {
            let queries = QUERY_CHUNK.min(test.n_rows() - first);
            self.pass(test, first, &mut chunk[..queries], ctx)?;
            for (q, query) in chunk[..queries].iter_mut().enumerate() {
                let values = test.row(first + q);
                if query.is_far {
                    ctx.check_deadline()?;
                    query.candidates.clear();
                    query.candidates.extend((0..self.n_rows as u32).map(|row| (0.0, row)));
                }
                self.rank(train, values, query, &mut ranked);
                rows.extend(ranked[..k].iter().map(|&(_, row)| row));
            }
        }
        Ok(Neighbours { k, rows, n_train: self.n_rows, n_cols: self.n_cols })
    }

    /// Collects for each query every row that may be among its nearest.
    fn pass(
        &self,
        test: &Features,
        first: usize,
        chunk: &mut [Query],
        ctx: &FitContext,
    ) -> Result<(), FitError> {
        let n_groups = chunk.len().div_ceil(QUERIES);
        let mut values = vec![0.0_f32; n_groups * QUERIES * self.n_cols];
        for (q, query) in chunk.iter_mut().enumerate() {
            let group = &mut values[q / QUERIES * QUERIES * self.n_cols..];
            query.restart();
            let mut sum = 0.0;
            for (j, v) in test.row(first + q).iter().enumerate() {
                let held = (v * self.unit - self.centre[j]) * self.spread;
                query.is_far |= held.is_nan() || held.abs() > FAR;
                sum += power(self.p, held);
                group[j * QUERIES + q % QUERIES] = held as f32;
            }
            query.norm = root(self.p, sum);
        }
        let rounding = Rounding::of(self.p, self.n_cols);
        for (b, tiles) in self.tiles.chunks(BLOCK * self.n_cols.max(1)).enumerate() {
            for (g, group) in chunk.chunks_mut(QUERIES).enumerate() {
                ctx.check_deadline()?;
                self.scan_block(b, tiles, &values[g * QUERIES * self.n_cols..], group, &rounding);
            }
        }
        Ok(())
    }

    fn scan_block(
        &self,
        b: usize,
        tiles: &[f32],
        values: &[f32],
        group: &mut [Query],
        rounding: &Rounding,
    ) {
        let mut slack = [0.0; QUERIES];
        // Queries that pad the last group reach nothing.
        let mut reach = [-1.0; QUERIES];
        for (q, query) in group.iter().enumerate().filter(|(_, query)| !query.is_far) {
            slack[q] = rounding.slack(self.norms[b], query.norm);
            reach[q] = rounding.reach(query.threshold(), slack[q]);
        }
        let found = |q: usize, row: usize, sum: f32| {
            let (query, row) = (&mut group[q], b * BLOCK + row);
            if row < self.n_rows {
                let distance = root(self.p, f64::from(sum));
                query.offer(
                    row as u32,
                    distance * (1.0 - rounding.relative) - slack[q],
                    distance * (1.0 + rounding.relative) + slack[q],
                );
            }
            rounding.reach(query.threshold(), slack[q])
        };
        let n_cols = self.n_cols;
        let queries = &values[..QUERIES * n_cols];
        pulp::Arch::new().dispatch(Scan { p: self.p, n_cols, tiles, queries, reach, found });
    }

    /// Ranks a query's candidates by exact distance, then by row.
    fn rank(&self, train: &Features, values: &[f64], query: &Query, ranked: &mut Vec<(f64, u32)>) {
        let largest = values.iter().fold(self.largest, |m, v| m.max(v.abs()));
        let unit = unit_of(largest);
        let threshold = query.threshold();
        let within = query.candidates.iter().filter(|(least, _)| *least <= threshold);
        ranked.clear();
        ranked.extend(within.map(|&(_, row)| {
            let distance = exact(self.p, train.row(row as usize), values, unit);
            (distance, row)
        }));
        ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
}

/// How far single precision may be off, in units of the centred and scaled rows.
struct Rounding {
    p: Minkowski,
    relative: f64,
    least: f64,
}

impl Rounding {
    fn of(p: Minkowski, n_cols: usize) -> Self {
        let n_cols = n_cols as f64;
        let unit_roundoff = f64::from(f32::EPSILON) / 2.0;
        // One rounding per term and one for the difference, with room for second order; and squares
        // that vanish.
        Self { p, relative: (n_cols + 8.0) * unit_roundoff, least: 1e-17 * n_cols }
    }

    /// Rows and queries were themselves rounded: at most half a unit each, doubled for safety.
    fn slack(&self, row_norm: f64, query_norm: f64) -> f64 {
        f64::from(f32::EPSILON) * (row_norm + query_norm) + self.least
    }

    /// The largest computed sum that a row within `threshold` may have.
    fn reach(&self, threshold: f64, slack: f64) -> f32 {
        let distance = (threshold + slack) / (1.0 - self.relative);
        (power(self.p, distance) * (1.0 + 1e-6)) as f32
    }
}

/// One query's candidates so far.
struct Query {
    /// The `k` smallest upper bounds of distances, ascending.
    nearest: Vec<f64>,
    /// Lower bound of the distance, and row.
    candidates: Vec<(f64, u32)>,
    crowd: usize,
    norm: f64,
    is_far: bool,
}

impl Query {
    fn new(k: usize) -> Self {
        let candidates = Vec::with_capacity(CROWD);
        Self { nearest: vec![0.0; k], candidates, crowd: CROWD, norm: 0.0, is_far: false }
    }

    fn restart(&mut self) {
        self.nearest.fill(f64::INFINITY);
        self.candidates.clear();
        (self.crowd, self.is_far) = (CROWD, false);
    }

    /// No row farther than this can be among the nearest.
    #[inline(always)]
    fn threshold(&self) -> f64 {
        self.nearest[self.nearest.len() - 1]
    }

    fn offer(&mut self, row: u32, least: f64, most: f64) {
        self.candidates.push((least, row));
        let mut at = self.nearest.len() - 1;
        if most < self.nearest[at] {
            while at > 0 && self.nearest[at - 1] > most {
                self.nearest[at] = self.nearest[at - 1];
                at -= 1;
            }
            self.nearest[at] = most;
        }
        if self.candidates.len() >= self.crowd {
            let threshold = self.threshold();
            self.candidates.retain(|(least, _)| *least <= threshold);
            // Many rows as near as each other: do not look through them again too soon.
            self.crowd = CROWD.max(2 * self.candidates.len());
        }
    }
}

/// The distance, or for p = 2 its square, in units of `1 / unit`; the same on every machine.
fn exact(p: Minkowski, row: &[f64], query: &[f64], unit: f64) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (rows, rest) = row.as_chunks::<LANES>();
    let (queries, query_rest) = query.as_chunks::<LANES>();
    for (a, b) in rows.iter().zip(queries) {
        for lane in 0..LANES {
            sums[lane] += power(p, a[lane] * unit - b[lane] * unit);
        }
    }
    for (lane, (a, b)) in rest.iter().zip(query_rest).enumerate() {
        sums[lane] += power(p, a * unit - b * unit);
    }
    sums.iter().sum()
}

#[inline(always)]
fn power(p: Minkowski, v: f64) -> f64 {
    match p {
        Minkowski::Manhattan => v.abs(),
        Minkowski::Euclidean => v * v,
    }
}

#[inline(always)]
fn root(p: Minkowski, v: f64) -> f64 {
    match p {
        Minkowski::Manhattan => v,
        Minkowski::Euclidean => v.sqrt(),
    }
}

/// A power of two that brings numbers of this size near one, where their squares would not be safe.
pub(crate) fn unit_of(largest: f64) -> f64 {
    if SAFE.contains(&largest) || largest == 0.0 {
        return 1.0;
    }
    // Two powers away from the edges, so that the unit itself is a finite, normal number.
    2.0_f64.powi((-largest.log2().floor()).clamp(-1020.0, 1020.0) as i32)
}
