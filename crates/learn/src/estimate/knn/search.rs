//! The nearest rows of each query, exactly.
//!
//! A pass in single precision over centred rows, twice as fast as double, finds every row that rounding
//! might allow among the nearest; those few are then ranked by their exact distances
//! (docs/decisions/0023-neighbours.md, also for why there is no tree).

use crate::{Features, FitContext, FitError};

use super::Minkowski;
use super::kernel::{Begin, GROUPS, QUERIES, Scan, TILE, smallest};

/// Cells of the block of rows that stays in the second-level cache while queries pass.
const BLOCK_CELLS: usize = 1 << 16;
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
    /// The largest norm among the rows.
    norm: f64,
    /// Rows of a block, whole tiles.
    block: usize,
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
        // After the first block a row is in reach k ln(n / block) times; counted in cycles.
        let offers = |k: f64| k * (n / 1024.0).max(1.0).ln() + 1.5 * k;
        let cost = |k: f64| n * (p + 8.0) / 12.0 + (60.0 + k) * offers(k) + k * (2.0 * p + 40.0);
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
        let block = (BLOCK_CELLS / n_cols.max(1)).clamp(8 * TILE, 32 * TILE) / TILE * TILE;
        let norm = root(p, sums.iter().fold(0.0, |m: f64, &v| m.max(v)));
        Ok(Self { p, n_rows, n_cols, largest, unit, centre, spread, tiles, norm, block })
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
                    query.reach = f32::INFINITY;
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
            // Without columns all rows are equally near.
            query.is_far = self.n_cols == 0;
            let mut sum = 0.0;
            for (j, v) in test.row(first + q).iter().enumerate() {
                let held = (v * self.unit - self.centre[j]) * self.spread;
                query.is_far |= held.is_nan() || held.abs() > FAR;
                sum += power(self.p, held);
                group[j * QUERIES + q % QUERIES] = held as f32;
            }
            query.rounding = Rounding::of(self.p, self.n_cols, self.norm, root(self.p, sum));
        }
        for (b, tiles) in self.tiles.chunks(self.block * self.n_cols.max(1)).enumerate() {
            for (g, group) in chunk.chunks_mut(QUERIES).enumerate() {
                ctx.check_deadline()?;
                self.scan_block(b, tiles, &values[g * QUERIES * self.n_cols..], group);
            }
        }
        Ok(())
    }

    fn scan_block(&self, b: usize, tiles: &[f32], values: &[f32], group: &mut [Query]) {
        let n_cols = self.n_cols;
        let queries = &values[..QUERIES * n_cols];
        if b == 0 {
            return self.begin(tiles, queries, group);
        }
        // Queries that pad the last group reach nothing.
        let mut reach = [-1.0; QUERIES];
        for (q, query) in group.iter().enumerate().filter(|(_, query)| !query.is_far) {
            reach[q] = query.reach;
        }
        let found = |q: usize, row: usize, sum: f32| {
            let (query, row) = (&mut group[q], b * self.block + row);
            if row < self.n_rows {
                query.offer(row as u32, sum);
            }
            query.reach
        };
        pulp::Arch::new().dispatch(Scan { p: self.p, n_cols, tiles, queries, reach, found });
    }

    /// The first block: its sums at once, then only the rows within reach of the best of them.
    fn begin(&self, tiles: &[f32], queries: &[f32], group: &mut [Query]) {
        const AT_ONCE: usize = 16;
        let n_cols = self.n_cols;
        let n_rows = tiles.len() / n_cols;
        let mut sums = vec![0.0_f32; QUERIES * n_rows];
        let begin = Begin { p: self.p, n_cols, tiles, queries, sums: &mut sums };
        let mut least = pulp::Arch::new().dispatch(begin);
        let per_query = group.iter_mut().zip(sums.chunks_exact(n_rows)).zip(&mut least);
        for ((query, sums), least) in per_query.filter(|((query, _), _)| !query.is_far) {
            let k = query.nearest.len();
            if k <= GROUPS {
                let (_, kth, _) = least.select_nth_unstable_by(k - 1, f32::total_cmp);
                query.reach = query.rounding.reach(*kth);
            }
            for (i, some) in sums.chunks(AT_ONCE).enumerate() {
                if smallest(some) > query.reach {
                    continue;
                }
                for (row, &sum) in (i * AT_ONCE..self.n_rows).zip(some) {
                    if sum <= query.reach {
                        query.offer(row as u32, sum);
                    }
                }
            }
        }
    }

    /// Ranks a query's candidates by exact distance, then by row.
    fn rank(&self, train: &Features, values: &[f64], query: &Query, ranked: &mut Vec<(f64, u32)>) {
        let largest = values.iter().fold(self.largest, |m, v| m.max(v.abs()));
        let unit = unit_of(largest);
        let within = query.candidates.iter().filter(|(sum, _)| *sum <= query.reach);
        ranked.clear();
        ranked.extend(within.map(|&(_, row)| {
            let distance = exact(self.p, train.row(row as usize), values, unit);
            (distance, row)
        }));
        ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
}

/// How far a sum in single precision may be off.
///
/// A computed distance `d` lies within `d * relative + slack` of the true one, so a row whose sum is
/// `s = d^p` may be as near as another of sum `t` only if `s <= ((t^(1/p) (1 + relative) + 2 slack) / (1 -
/// relative))^p`. For p = 2 that is `t * quadratic + sqrt(t) * linear + constant`.
#[derive(Clone, Copy)]
struct Rounding {
    quadratic: f32,
    linear: f32,
    constant: f32,
    has_root: bool,
}

impl Rounding {
    fn of(p: Minkowski, n_cols: usize, row_norm: f64, query_norm: f64) -> Self {
        let n_cols = n_cols as f64;
        // One rounding per term and one for the difference, with room for second order.
        let relative = (n_cols + 8.0) * f64::from(f32::EPSILON) / 2.0;
        // Rows and queries were themselves rounded: at most half a unit each, doubled for safety;
        // and squares may vanish.
        let slack = f64::from(f32::EPSILON) * (row_norm + query_norm) + 1e-17 * n_cols;
        let (grow, shrink) = (1.0 + relative, 1.0 - relative);
        // The last factor covers the rounding of the bound itself.
        let bound = |v: f64| (v * (1.0 + 1e-6)) as f32;
        match p {
            Minkowski::Manhattan => Self {
                quadratic: bound(grow / shrink),
                linear: 0.0,
                constant: bound(2.0 * slack / shrink),
                has_root: false,
            },
            Minkowski::Euclidean => Self {
                quadratic: bound((grow / shrink).powi(2)),
                linear: bound(4.0 * slack * grow / shrink.powi(2)),
                constant: bound((2.0 * slack / shrink).powi(2)),
                has_root: true,
            },
        }
    }

    /// The largest computed sum of a row that may be as near as one of this sum.
    #[inline(always)]
    fn reach(&self, sum: f32) -> f32 {
        let root = if self.has_root { sum.sqrt() * self.linear } else { 0.0 };
        sum * self.quadratic + root + self.constant
    }
}

/// One query's candidates so far.
struct Query {
    /// The `k` smallest sums, ascending.
    nearest: Vec<f32>,
    /// No row of a larger sum can be among the nearest.
    reach: f32,
    /// Sum and row.
    candidates: Vec<(f32, u32)>,
    crowd: usize,
    rounding: Rounding,
    is_far: bool,
}

impl Query {
    fn new(k: usize) -> Self {
        Self {
            nearest: vec![0.0; k],
            reach: f32::INFINITY,
            candidates: Vec::with_capacity(CROWD),
            crowd: CROWD,
            rounding: Rounding::of(Minkowski::Euclidean, 0, 0.0, 0.0),
            is_far: false,
        }
    }

    fn restart(&mut self) {
        self.nearest.fill(f32::INFINITY);
        self.candidates.clear();
        (self.reach, self.crowd, self.is_far) = (f32::INFINITY, CROWD, false);
    }

    fn offer(&mut self, row: u32, sum: f32) {
        self.candidates.push((sum, row));
        let last = self.nearest.len() - 1;
        if sum < self.nearest[last] {
            let mut at = last;
            while at > 0 && self.nearest[at - 1] > sum {
                self.nearest[at] = self.nearest[at - 1];
                at -= 1;
            }
            self.nearest[at] = sum;
            // Infinite until there are k of them.
            self.reach = self.reach.min(self.rounding.reach(self.nearest[last]));
        }
        if self.candidates.len() >= self.crowd {
            let reach = self.reach;
            self.candidates.retain(|(sum, _)| *sum <= reach);
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
