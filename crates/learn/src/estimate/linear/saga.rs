//! Logistic regression by stochastic averaged gradients (SAGA), as scikit-learn runs it.
//!
//! Minimises the mean log loss plus `alpha / 2 |w|^2` or `beta |w|_1`, intercept free: the multinomial
//! loss for three classes or more, the plain one for two. Each step draws a row with replacement and
//! moves the weights by the change of that row's gradient and by the average of all remembered
//! gradients. On data that are not standardised it ends far from the optimum after its 100 epochs, and
//! that is part of its definition: step size, epochs and stopping rule are the library's.
//!
//! The settings of a family walk in lock step over one sequence of rows. Their arithmetic does not mix,
//! so each ends where it would have ended alone; but a row is fetched once for all of them, the
//! exponentials of all fill whole vectors, and one's arithmetic fills the waits of another.

use pitchpipe_table::Labels;
use rand::Rng;

use crate::{FitContext, FitError};

use super::lanes::{Kernel, Lanes, Quad, WIDTH, dispatch, dot, exp, sum};
use super::n_problems;
use super::rows::Rows;
use super::shuffle::below;

/// As the library.
const MAX_EPOCHS: usize = 100;
const TOLERANCE: f64 = 1e-4;

/// Numbers worked on between two looks at the clock: about a millisecond.
const SLICE: usize = 1 << 19;

/// How long a step waits on itself, and what an output costs besides its weights, in the time that one
/// more vector of weights takes: measured with families of eight and alone, at 4, 20 and 100 columns.
const WAIT_IN_VECTORS: f64 = 21.0;
const OUTPUT_IN_VECTORS: f64 = 2.5;

/// The penalties of one setting, per row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Penalties {
    /// On half the squared weights.
    pub alpha: f64,
    /// On the absolute weights.
    pub beta: f64,
}

/// Where one setting's walk ended.
pub(crate) struct Walk {
    /// Weights and intercept of each output.
    pub outputs: Vec<(Vec<f64>, f64)>,
    /// How many epochs it took.
    pub epochs: usize,
}

/// One setting under way.
struct Walker {
    /// Its place among the settings asked for.
    member: usize,
    penalties: Penalties,
    step: f64,
    /// `n_outputs` vectors.
    weights: Vec<Quad>,
    weights_before: Vec<Quad>,
    /// The sum of remembered gradients.
    gradient_sum: Vec<Quad>,
    intercepts: Vec<f64>,
    intercept_sum: Vec<f64>,
    /// The products of the weights with the row to come.
    products: Vec<f64>,
    /// The remembered gradients: row by row, one number an output.
    memory: Vec<f64>,
}

/// Runs all settings to their ends.
pub(crate) fn walk(
    rows: &Rows,
    y: &Labels,
    settings: &[Penalties],
    ctx: &FitContext,
    name: &'static str,
) -> Result<Vec<Walk>, FitError> {
    let n_outputs = n_problems(y.n_classes());
    let per_walker = rows.n * n_outputs + 3 * n_outputs * rows.stride * WIDTH;
    ctx.check_memory(name, (settings.len() * per_walker * size_of::<f64>()) as u64)?;
    let largest = dispatch(LargestNorm(rows));
    let start = |(member, &penalties): (usize, &Penalties)| Walker {
        member,
        penalties,
        step: step_size(largest, penalties.alpha, rows.n),
        weights: vec![[0.0; WIDTH]; n_outputs * rows.stride],
        weights_before: vec![[0.0; WIDTH]; n_outputs * rows.stride],
        gradient_sum: vec![[0.0; WIDTH]; n_outputs * rows.stride],
        intercepts: vec![0.0; n_outputs],
        intercept_sum: vec![0.0; n_outputs],
        products: vec![0.0; n_outputs],
        memory: vec![0.0; rows.n * n_outputs],
    };
    let mut active: Vec<Walker> = settings.iter().enumerate().map(start).collect();
    let mut done: Vec<Option<Walk>> = settings.iter().map(|_| None).collect();
    let mut draws = Draws::new(rows.n, ctx);
    for epoch in 1..=MAX_EPOCHS {
        let slice = (SLICE / (active.len() * n_outputs * rows.stride * WIDTH)).max(16);
        let mut left = rows.n;
        while left > 0 {
            ctx.check_deadline()?;
            let steps = slice.min(left);
            left -= steps;
            dispatch(Steps { rows, y, n_outputs, walkers: &mut active, draws: &mut draws, steps });
        }
        for walker in active.extract_if(.., |w| w.has_arrived() || epoch == MAX_EPOCHS) {
            let outputs = walker
                .weights
                .chunks_exact(rows.stride)
                .zip(&walker.intercepts)
                .map(|(w, &b)| (w.as_flattened()[..rows.d].to_vec(), b))
                .collect();
            done[walker.member] = Some(Walk { outputs, epochs: epoch });
        }
        if active.is_empty() {
            break;
        }
        active.iter_mut().for_each(|w| w.weights_before.copy_from_slice(&w.weights));
    }
    Ok(done.into_iter().map(|w| w.expect("every walker ends by the last epoch")).collect())
}

/// What one setting costs.
pub(crate) struct Cost {
    /// CPU seconds of a walk of its own.
    pub alone_secs: f64,
    /// Its share of the common walk.
    pub marginal_secs: f64,
}

/// Shares out the seconds of a common walk, given each setting's epochs.
///
/// A step costs a wait that all walkers share, and work in proportion to walkers and vectors.
pub(crate) fn costs(epochs: &[usize], rows: &Rows, n_outputs: usize, secs: f64) -> Vec<Cost> {
    let work = n_outputs as f64 * (OUTPUT_IN_VECTORS + rows.stride as f64);
    let wait = WAIT_IN_VECTORS;
    let longest = epochs.iter().copied().max().unwrap_or(0);
    let mut shares = vec![0.0; epochs.len()];
    let mut total = 0.0;
    for epoch in 0..longest {
        let walking = epochs.iter().filter(|&&e| e > epoch).count() as f64;
        let step = wait + walking * work;
        total += step;
        for (share, _) in shares.iter_mut().zip(epochs).filter(|(_, e)| **e > epoch) {
            *share += step / walking;
        }
    }
    let unit = secs / total.max(1.0);
    let alone = epochs.iter().map(|&e| unit * e as f64 * (wait + work));
    alone
        .zip(shares)
        .map(|(alone_secs, share)| Cost { alone_secs, marginal_secs: unit * share })
        .collect()
}

/// The library's step for SAGA: from the largest squared row norm, the constant counted in.
fn step_size(largest_squared_norm: f64, alpha: f64, n: usize) -> f64 {
    let lipschitz = 0.25 * (largest_squared_norm + 1.0) + alpha;
    let strong_convexity = (2.0 * n as f64 * alpha).min(lipschitz);
    1.0 / (2.0 * lipschitz + strong_convexity)
}

impl Walker {
    /// The largest change of a weight in this epoch is small next to the largest weight.
    fn has_arrived(&self) -> bool {
        let (mut largest, mut change) = (0.0_f64, 0.0_f64);
        let before = self.weights_before.as_flattened();
        for (&w, &b) in self.weights.as_flattened().iter().zip(before) {
            largest = largest.max(w.abs());
            change = change.max((w - b).abs());
        }
        if largest == 0.0 { change == 0.0 } else { change / largest <= TOLERANCE }
    }
}

/// The sequence of rows, one ahead, with the count of distinct rows drawn.
struct Draws {
    rng: rand_xoshiro::Xoshiro256PlusPlus,
    spare: Option<u32>,
    seen: Vec<bool>,
    n_seen: usize,
    next: usize,
}

impl Draws {
    fn new(n: usize, ctx: &FitContext) -> Self {
        let rng = ctx.stream().named("saga").rng();
        let mut draws = Self { rng, spare: None, seen: vec![false; n], n_seen: 0, next: 0 };
        draws.next = draws.draw();
        draws
    }

    #[inline(always)]
    fn draw(&mut self) -> usize {
        let bits = match self.spare.take() {
            Some(bits) => bits,
            None => {
                let draw = self.rng.next_u64();
                self.spare = Some((draw >> 32) as u32);
                draw as u32
            }
        };
        below(bits, self.seen.len())
    }

    /// This row and the one after it.
    #[inline(always)]
    fn advance(&mut self) -> (usize, usize) {
        let now = self.next;
        self.next = self.draw();
        self.n_seen += usize::from(!self.seen[now]);
        self.seen[now] = true;
        (now, self.next)
    }
}

struct LargestNorm<'a>(&'a Rows);

impl Kernel for LargestNorm<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> f64 {
        let norm = |i: usize| dot(l, self.0.row(i), self.0.row(i));
        (0..self.0.n).map(norm).fold(0.0, f64::max)
    }
}

/// Some steps of all settings still walking.
struct Steps<'a> {
    rows: &'a Rows,
    y: &'a Labels,
    n_outputs: usize,
    walkers: &'a mut [Walker],
    draws: &'a mut Draws,
    steps: usize,
}

impl Kernel for Steps<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Self { rows, y, n_outputs, walkers, draws, steps } = self;
        let stride = rows.stride;
        // Decision values, then gradients: of walker 0's outputs, walker 1's, …
        let mut values = vec![[0.0; WIDTH]; (walkers.len() * n_outputs).div_ceil(WIDTH)];
        for _ in 0..steps {
            let (i, next) = draws.advance();
            let (row, next_row) = (rows.row(i), rows.row(next));
            let code = y.codes()[i] as usize;
            if let ([walker], 1) = (&*walkers, n_outputs) {
                // Through registers: a vector read right after a number written into it waits.
                let value = l.splat(walker.products[0] + walker.intercepts[0]);
                values[0] = l.store(two_class_gradient(l, value, l.splat(code as f64)));
            } else {
                for (w, walker) in walkers.iter().enumerate() {
                    for k in 0..n_outputs {
                        values.as_flattened_mut()[w * n_outputs + k] =
                            walker.products[k] + walker.intercepts[k];
                    }
                }
                if n_outputs == 1 {
                    let target = l.splat(code as f64);
                    for quad in &mut values {
                        *quad = l.store(two_class_gradient(l, l.load(quad), target));
                    }
                } else {
                    multinomial_gradients(l, &mut values, n_outputs, walkers.len(), code);
                }
            }
            let per_seen = 1.0 / draws.n_seen as f64;
            let gradients = values.as_flattened();
            for (w, walker) in walkers.iter_mut().enumerate() {
                let (step, beta) = (walker.step, walker.penalties.beta);
                let decay = 1.0 - step * walker.penalties.alpha;
                for k in 0..n_outputs {
                    let gradient = gradients[w * n_outputs + k];
                    let remembered = &mut walker.memory[i * n_outputs + k];
                    let change = gradient - *remembered;
                    *remembered = gradient;
                    let own = change * step * (1.0 - per_seen);
                    let average = step * per_seen;
                    walker.intercept_sum[k] += change;
                    walker.intercepts[k] -= average * walker.intercept_sum[k] + own;
                    let span = k * stride..(k + 1) * stride;
                    let update = Update { decay, change, own, average, threshold: step * beta };
                    let (weights, sums) =
                        (&mut walker.weights[span.clone()], &mut walker.gradient_sum[span]);
                    walker.products[k] = if beta == 0.0 {
                        update.apply::<L, false>(l, row, next_row, weights, sums)
                    } else {
                        update.apply::<L, true>(l, row, next_row, weights, sums)
                    };
                }
            }
        }
    }
}

/// `sigmoid(value) - target`, the target being 1 for the second class and 0 for the first.
#[inline(always)]
fn two_class_gradient<L: Lanes>(l: L, value: L::V, target: L::V) -> L::V {
    let one = l.splat(1.0);
    let e = exp(l, l.sub(l.splat(0.0), value));
    l.sub(l.div(one, l.add(one, e)), target)
}

/// `softmax(values) - [the row's class]` in place, for each walker.
#[inline(always)]
fn multinomial_gradients<L: Lanes>(
    l: L,
    values: &mut [Quad],
    n_outputs: usize,
    n_walkers: usize,
    code: usize,
) {
    let flat = &mut values.as_flattened_mut()[..n_walkers * n_outputs];
    for values in flat.chunks_exact_mut(n_outputs) {
        let largest = values.iter().fold(f64::MIN, |m, &v| if v > m { v } else { m });
        values.iter_mut().for_each(|v| *v -= largest);
    }
    for quad in values.iter_mut() {
        *quad = l.store(exp(l, l.load(quad)));
    }
    let flat = &mut values.as_flattened_mut()[..n_walkers * n_outputs];
    for values in flat.chunks_exact_mut(n_outputs) {
        let inverse = 1.0 / values.iter().sum::<f64>();
        values.iter_mut().for_each(|v| *v *= inverse);
        values[code] -= 1.0;
    }
}

/// One step of one output's weights.
struct Update {
    decay: f64,
    change: f64,
    own: f64,
    average: f64,
    threshold: f64,
}

impl Update {
    /// Moves weights and gradient sum, and returns the moved weights' product with the next row: one
    /// pass over memory instead of three.
    #[inline(always)]
    fn apply<L: Lanes, const L1: bool>(
        &self,
        l: L,
        row: &[Quad],
        next_row: &[Quad],
        weights: &mut [Quad],
        sums: &mut [Quad],
    ) -> f64 {
        let [decay, change, own, average, threshold] =
            [self.decay, self.change, self.own, self.average, self.threshold].map(|v| l.splat(v));
        let below = l.sub(l.splat(0.0), threshold);
        let n = row.len();
        let (next_row, weights, sums) = (&next_row[..n], &mut weights[..n], &mut sums[..n]);
        let mut product = [l.splat(0.0); 2];
        for j in 0..n {
            let x = l.load(&row[j]);
            let s = l.fma(change, x, l.load(&sums[j]));
            let mut w = l.mul(decay, l.load(&weights[j]));
            w = l.fnma(own, x, w);
            w = l.fnma(average, s, w);
            if L1 {
                w = l.sub(w, l.max(l.min(w, threshold), below));
            }
            sums[j] = l.store(s);
            weights[j] = l.store(w);
            product[j % 2] = l.fma(w, l.load(&next_row[j]), product[j % 2]);
        }
        sum(l, l.add(product[0], product[1]))
    }
}
