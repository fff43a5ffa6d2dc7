//! The linear SVM with squared hinge loss: `|w|^2 / 2 + c * sum max(0, 1 - y w·x)^2`.
//!
//! The library runs at most 1000 passes of coordinate descent over the dual variables (liblinear's
//! solver 1). Where these come close to the optimum, Newton's method on the primal problem gives it
//! sooner; where they do not, as on data that are not standardised, the descent itself is run, since
//! where it stops is part of what the estimator is (docs/decisions/0022-linear-solvers.md).

use std::sync::Arc;

use crate::{FitContext, FitError, Stream};

use super::lanes::{Kernel, Lanes, Quad, dispatch, dot, sum};
use super::loss::SquaredHinge;
use super::newton;
use super::rows::Rows;
use super::shuffle::shuffle;

/// As the library.
const MAX_PASSES: usize = 1000;
const TOLERANCE: f64 = 1e-4;

/// A pass shrinks the distance to the optimum by about `exp(-1 / (1 + 2 c |x|^2))`: all but `d` of the
/// dual Hessian's eigenvalues are `1 / 2c`, next to a diagonal of `|x|^2 + 1 / 2c`. From this exponent
/// on, 1000 passes were measured to end within 3% of a margin of the optimum.
const SURE_EXPONENT: f64 = 6.0;

/// Numbers read between two looks at the clock: about a millisecond.
const SLICE: usize = 1 << 20;

/// What all problems on one matrix share.
pub(crate) struct Shared {
    rows: Arc<Rows>,
    squared_norms: Vec<f64>,
    mean_squared_norm: f64,
    /// Made if one of the settings needs it.
    newton: Option<newton::Shared>,
}

impl Shared {
    /// Takes rows with their constant, and the settings to come.
    pub(crate) fn new(rows: Rows, cs: &[f64], ctx: &FitContext) -> Result<Self, FitError> {
        let rows = Arc::new(rows);
        let squared_norms = dispatch(SquaredNorms(&rows));
        let mean_squared_norm = squared_norms.iter().sum::<f64>() / rows.n as f64;
        let mut shared = Self { rows, squared_norms, mean_squared_norm, newton: None };
        if cs.iter().any(|&c| shared.passes_suffice(c)) {
            shared.newton = Some(newton::Shared::new(shared.rows.clone(), ctx)?);
        }
        Ok(shared)
    }

    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Whether the library's passes would come close to the optimum.
    pub(crate) fn passes_suffice(&self, c: f64) -> bool {
        MAX_PASSES as f64 / (1.0 + 2.0 * c * self.mean_squared_norm) >= SURE_EXPONENT
    }

    /// The weights for targets of ±1.
    pub(crate) fn solve(
        &self,
        y: &[Quad],
        c: f64,
        stream: Stream,
        ctx: &FitContext,
    ) -> Result<Vec<f64>, FitError> {
        match &self.newton {
            Some(newton) if self.passes_suffice(c) => newton.solve::<SquaredHinge>(y, c, ctx),
            _ => self.descend(y, c, stream, ctx),
        }
    }

    /// Dual coordinate descent: one row at a time in random order, `w = sum alpha y x` kept up to date.
    /// Rows whose variable rests at zero with a clear gradient are left out until the others have
    /// converged.
    pub(crate) fn descend(
        &self,
        y: &[Quad],
        c: f64,
        stream: Stream,
        ctx: &FitContext,
    ) -> Result<Vec<f64>, FitError> {
        let rows = &*self.rows;
        let diagonal = 0.5 / c;
        let inverse: Vec<f64> = self.squared_norms.iter().map(|q| 1.0 / (q + diagonal)).collect();
        let mut state = State {
            w: rows.zeros(),
            alpha: vec![0.0; rows.n],
            upper: f64::INFINITY,
            largest: f64::NEG_INFINITY,
            smallest: f64::INFINITY,
            shrunk: Vec::new(),
        };
        let mut order: Vec<u32> = (0..rows.n as u32).collect();
        let mut rng = stream.rng();
        let slice = (SLICE / (rows.stride * 4)).max(16);
        for _ in 0..MAX_PASSES {
            shuffle(&mut order, &mut rng);
            (state.largest, state.smallest) = (f64::NEG_INFINITY, f64::INFINITY);
            for order in order.chunks(slice) {
                ctx.check_deadline()?;
                let (y, inverse) = (y.as_flattened(), &inverse[..]);
                dispatch(Steps { rows, y, inverse, diagonal, order, state: &mut state });
            }
            if !state.shrunk.is_empty() {
                let mut shrunk = state.shrunk.drain(..).peekable();
                // Shrunk rows were noted in the order's own order.
                order.retain(|i| shrunk.next_if_eq(i).is_none());
            }
            if state.largest - state.smallest <= TOLERANCE {
                if order.len() == rows.n {
                    break;
                }
                // The rows left have converged: now all of them.
                order = (0..rows.n as u32).collect();
                state.upper = f64::INFINITY;
            } else {
                state.upper = if state.largest > 0.0 { state.largest } else { f64::INFINITY };
            }
        }
        Ok(state.w.as_flattened()[..rows.d].to_vec())
    }
}

struct State {
    w: Vec<Quad>,
    alpha: Vec<f64>,
    /// A row at zero with a gradient above this is shrunk.
    upper: f64,
    /// The extremes of the projected gradient in this pass.
    largest: f64,
    smallest: f64,
    /// The rows shrunk in this pass.
    shrunk: Vec<u32>,
}

/// Some steps of a pass.
///
/// A row's product with `w` is made two steps ahead, from a `w` that lacks one step, and set right by
/// the product of that step's row with it: so no step waits for the one before it to reach memory.
struct Steps<'a> {
    rows: &'a Rows,
    y: &'a [f64],
    inverse: &'a [f64],
    diagonal: f64,
    order: &'a [u32],
    state: &'a mut State,
}

impl Kernel for Steps<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Self { rows, y, inverse, diagonal, order, state } = self;
        let at = |t: usize| order[t.min(order.len() - 1)] as usize;
        let mut now = rows.row(at(0));
        let mut next = rows.row(at(1));
        // The products of w with this row and the next, the second lacking this step …
        let mut product = dot(l, now, &state.w);
        let mut stale = dot(l, next, &state.w);
        // … which moves it by this much for each unit.
        let mut cross = dot(l, now, next);
        for t in 0..order.len() {
            let i = at(t);
            let (y, alpha) = (y[i], state.alpha[i]);
            let gradient = y * product - 1.0 + alpha * diagonal;
            let mut projected = gradient;
            if alpha == 0.0 {
                if gradient > state.upper {
                    state.shrunk.push(i as u32);
                    projected = 0.0;
                } else {
                    projected = gradient.min(0.0);
                    state.largest = state.largest.max(projected);
                    state.smallest = state.smallest.min(projected);
                }
            } else {
                state.largest = state.largest.max(projected);
                state.smallest = state.smallest.min(projected);
            }
            let mut change = 0.0;
            if projected.abs() > 1e-12 {
                let moved = (alpha - gradient * inverse[i]).max(0.0);
                state.alpha[i] = moved;
                change = (moved - alpha) * y;
            }
            product = stale + change * cross;
            let after = rows.row(at(t + 2));
            (stale, cross) = move_and_look_ahead(l, change, now, next, after, &mut state.w);
            (now, next) = (next, after);
        }
    }
}

/// Adds `change * now` to `w`; returns `w · after` and `next · after`.
#[inline(always)]
fn move_and_look_ahead<L: Lanes>(
    l: L,
    change: f64,
    now: &[Quad],
    next: &[Quad],
    after: &[Quad],
    w: &mut [Quad],
) -> (f64, f64) {
    let n = now.len();
    let (next, after, w) = (&next[..n], &after[..n], &mut w[..n]);
    let change = l.splat(change);
    let (mut stale, mut cross) = ([l.splat(0.0); 2], [l.splat(0.0); 2]);
    for j in 0..n {
        let moved = l.fma(change, l.load(&now[j]), l.load(&w[j]));
        w[j] = l.store(moved);
        let x = l.load(&after[j]);
        stale[j % 2] = l.fma(moved, x, stale[j % 2]);
        cross[j % 2] = l.fma(l.load(&next[j]), x, cross[j % 2]);
    }
    (sum(l, l.add(stale[0], stale[1])), sum(l, l.add(cross[0], cross[1])))
}

struct SquaredNorms<'a>(&'a Rows);

impl Kernel for SquaredNorms<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Vec<f64> {
        (0..self.0.n).map(|i| dot(l, self.0.row(i), self.0.row(i))).collect()
    }
}
