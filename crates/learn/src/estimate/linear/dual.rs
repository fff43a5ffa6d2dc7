//! The linear SVM with squared hinge loss by dual coordinate descent, as liblinear's solver 1.
//!
//! Minimises `|w|^2 / 2 + c * sum max(0, 1 - y w·x)^2` over the dual variables `alpha >= 0`, one row at
//! a time in random order, with `w = sum alpha y x` kept up to date. Rows whose variable rests at zero
//! with a clear gradient are shrunk away until the others have converged.

use crate::{FitContext, FitError, Stream};

use super::lanes::{Kernel, Lanes, Quad, axpy, dispatch, dot};
use super::rows::Rows;
use super::shuffle::shuffle;

/// As the library.
const MAX_PASSES: usize = 1000;
const TOLERANCE: f64 = 1e-4;

/// Numbers read between two looks at the clock: about a millisecond.
const SLICE: usize = 1 << 20;

/// What all problems on one matrix share.
pub(crate) struct Shared {
    rows: Rows,
    squared_norms: Vec<f64>,
}

impl Shared {
    /// Takes rows with their constant.
    pub(crate) fn new(rows: Rows) -> Self {
        let squared_norms = dispatch(SquaredNorms(&rows));
        Self { rows, squared_norms }
    }

    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The weights after convergence or the last pass, for targets of ±1.
    pub(crate) fn solve(
        &self,
        y: &[Quad],
        c: f64,
        stream: Stream,
        ctx: &FitContext,
    ) -> Result<Vec<f64>, FitError> {
        let rows = &self.rows;
        let diagonal = 0.5 / c;
        let inverse: Vec<f64> = self.squared_norms.iter().map(|q| 1.0 / (q + diagonal)).collect();
        let mut state = State {
            w: rows.zeros(),
            alpha: vec![0.0; rows.n],
            order: (0..rows.n as u32).collect(),
            active: rows.n,
            upper: f64::INFINITY,
            position: 0,
            largest: f64::NEG_INFINITY,
            smallest: f64::INFINITY,
        };
        let mut rng = stream.rng();
        let slice = (SLICE / (rows.stride * 4)).max(16);
        for _ in 0..MAX_PASSES {
            shuffle(&mut state.order[..state.active], &mut rng);
            (state.position, state.largest, state.smallest) = (0, f64::NEG_INFINITY, f64::INFINITY);
            while state.position < state.active {
                ctx.check_deadline()?;
                let (y, inverse) = (y.as_flattened(), &inverse[..]);
                dispatch(Steps { rows, y, inverse, diagonal, state: &mut state, slice });
            }
            if state.largest - state.smallest <= TOLERANCE {
                if state.active == rows.n {
                    break;
                }
                // The rows left have converged: now all of them.
                state.active = rows.n;
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
    /// The active rows in the order of this pass, then the shrunk ones.
    order: Vec<u32>,
    active: usize,
    /// A row at zero with a gradient above this is shrunk.
    upper: f64,
    /// How far this pass has come, and the extremes of the projected gradient in it.
    position: usize,
    largest: f64,
    smallest: f64,
}

/// Some steps of a pass.
struct Steps<'a> {
    rows: &'a Rows,
    y: &'a [f64],
    inverse: &'a [f64],
    diagonal: f64,
    state: &'a mut State,
    slice: usize,
}

impl Kernel for Steps<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let state = self.state;
        for _ in 0..self.slice {
            if state.position >= state.active {
                return;
            }
            let i = state.order[state.position] as usize;
            let row = self.rows.row(i);
            let (y, alpha) = (self.y[i], state.alpha[i]);
            let gradient = y * dot(l, row, &state.w) - 1.0 + alpha * self.diagonal;
            let projected = if alpha == 0.0 {
                if gradient > state.upper {
                    state.active -= 1;
                    state.order.swap(state.position, state.active);
                    continue;
                }
                gradient.min(0.0)
            } else {
                gradient
            };
            state.position += 1;
            state.largest = state.largest.max(projected);
            state.smallest = state.smallest.min(projected);
            if projected.abs() > 1e-12 {
                let next = (alpha - gradient * self.inverse[i]).max(0.0);
                state.alpha[i] = next;
                axpy(l, (next - alpha) * y, row, &mut state.w);
            }
        }
    }
}

struct SquaredNorms<'a>(&'a Rows);

impl Kernel for SquaredNorms<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Vec<f64> {
        (0..self.0.n).map(|i| dot(l, self.0.row(i), self.0.row(i))).collect()
    }
}
