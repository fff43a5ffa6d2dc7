//! The network's weights, the loss of a batch and its gradient.

use pulp::{Simd, WithSimd};

use super::super::from_scores::softmax;
use super::kernel::{accumulate_transposed, exp, multiply};

/// Units of the hidden layer.
pub(super) const HIDDEN: usize = 100;
/// Rows that pass through both layers while they are in the first-level cache.
const TILE: usize = 64;
/// scikit-learn clips probabilities at the double's epsilon before it takes logarithms.
const WORST_LOSS: f32 = 36.043_65;

/// Sizes of a network; hidden units and outputs are padded to whole vectors with zero weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Features and a constant 1, whose weights are the biases.
    pub(super) inputs: usize,
    /// One for two classes (logistic), else one a class (softmax).
    pub(super) outputs: usize,
    pub(super) hidden_width: usize,
    pub(super) output_width: usize,
}

impl Shape {
    pub(super) fn of(n_cols: usize, n_classes: usize) -> Self {
        struct Lanes;
        impl WithSimd for Lanes {
            type Output = usize;
            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) -> usize {
                S::F32_LANES
            }
        }
        let lanes = pulp::Arch::new().dispatch(Lanes);
        let outputs = if n_classes == 2 { 1 } else { n_classes };
        Self {
            inputs: n_cols + 1,
            outputs,
            hidden_width: HIDDEN.next_multiple_of(lanes),
            output_width: outputs.next_multiple_of(lanes),
        }
    }

    /// Where the weights of the output layer begin: first those into the hidden layer, input after
    /// input, then those out of it, output after output, then the outputs' biases.
    pub(super) fn output_start(&self) -> usize {
        self.inputs * self.hidden_width
    }

    pub(super) fn bias_start(&self) -> usize {
        self.output_start() + self.outputs * self.hidden_width
    }

    pub(super) fn n_weights(&self) -> usize {
        self.bias_start() + self.output_width
    }

    /// Weights that the L2 penalty leaves alone: the biases of the hidden layer.
    pub(super) fn hidden_biases(&self) -> std::ops::Range<usize> {
        (self.inputs - 1) * self.hidden_width..self.output_start()
    }
}

/// Room for one tile's passage, made once.
pub(super) struct Scratch {
    hidden: Vec<f32>,
    outputs: Vec<f32>,
    /// The output layer's weights, hidden unit after hidden unit.
    turned: Vec<f32>,
}

impl Scratch {
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            hidden: vec![0.0; TILE * shape.hidden_width],
            outputs: vec![0.0; TILE * shape.output_width],
            turned: vec![0.0; shape.hidden_width * shape.output_width],
        }
    }
}

/// Adds the gradient of the mean log loss over `rows` to `gradient`; gives the summed log loss.
pub(super) struct Backward<'a> {
    pub(super) shape: Shape,
    pub(super) weights: &'a [f32],
    /// Row-major inputs, each row ending in 1.
    pub(super) rows: &'a [f32],
    pub(super) classes: &'a [u32],
    pub(super) gradient: &'a mut [f32],
    pub(super) scratch: &'a mut Scratch,
}

impl WithSimd for Backward<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { shape, weights, rows, classes, gradient, scratch } = self;
        let per_row = 1.0 / classes.len() as f32;
        gradient.fill(0.0);
        turn(shape, weights, &mut scratch.turned);
        let mut loss = 0.0;
        for (rows, classes) in rows.chunks(TILE * shape.inputs).zip(classes.chunks(TILE)) {
            forward(simd, shape, weights, rows, scratch);
            let n = classes.len();
            let outputs = &mut scratch.outputs[..n * shape.output_width];
            loss += if shape.outputs == 1 {
                logistic_deltas(shape, outputs, classes, per_row)
            } else {
                softmax_deltas(shape, outputs, classes, per_row)
            };
            backward(simd, shape, weights, rows, n, gradient, scratch);
        }
        loss
    }
}

/// Fills `scratch.outputs` with the output units' inputs for each row of a tile.
#[inline(always)]
fn forward<S: Simd>(simd: S, shape: Shape, weights: &[f32], rows: &[f32], scratch: &mut Scratch) {
    let n = rows.len() / shape.inputs;
    let into = S::as_simd_f32s(&weights[..shape.output_start()]).0;
    let hidden = &mut scratch.hidden[..n * shape.hidden_width];
    let width = shape.hidden_width / S::F32_LANES;
    let zero = simd.splat_f32s(0.0);
    multiply(
        simd,
        rows,
        shape.inputs,
        shape.inputs,
        into,
        width,
        S::as_mut_simd_f32s(hidden).0,
        #[inline(always)]
        |sum, _| simd.max_f32s(sum, zero),
    );
    let outputs = &mut scratch.outputs[..n * shape.output_width];
    if shape.outputs == 1 {
        let out_of = S::as_simd_f32s(&weights[shape.output_start()..shape.bias_start()]).0;
        let bias = weights[shape.bias_start()];
        let hidden = S::as_simd_f32s(hidden).0.chunks_exact(width);
        for (row, output) in hidden.zip(outputs.chunks_exact_mut(shape.output_width)) {
            let mut sums = [zero; 2];
            for (v, (a, b)) in row.iter().zip(out_of).enumerate() {
                sums[v % 2] = simd.mul_add_e_f32s(*a, *b, sums[v % 2]);
            }
            output[0] = bias + simd.reduce_sum_f32s(simd.add_f32s(sums[0], sums[1]));
        }
        return;
    }
    let biases = &weights[shape.bias_start()..];
    outputs.chunks_exact_mut(shape.output_width).for_each(|row| row.copy_from_slice(biases));
    multiply(
        simd,
        hidden,
        shape.hidden_width,
        shape.hidden_width,
        S::as_simd_f32s(&scratch.turned).0,
        shape.output_width / S::F32_LANES,
        S::as_mut_simd_f32s(outputs).0,
        #[inline(always)]
        |sum, bias| simd.add_f32s(sum, bias),
    );
}

/// The output layer's weights with a row for each hidden unit, as [`multiply`] wants them.
#[inline(always)]
fn turn(shape: Shape, weights: &[f32], turned: &mut [f32]) {
    if shape.outputs > 1 {
        let out_of = &weights[shape.output_start()..shape.bias_start()];
        for (k, row) in out_of.chunks_exact(shape.hidden_width).enumerate() {
            for (h, &weight) in row.iter().enumerate() {
                turned[h * shape.output_width + k] = weight;
            }
        }
    }
}

/// Turns each row's output into its share of the loss's derivative; gives the loss.
#[inline(always)]
fn logistic_deltas(shape: Shape, outputs: &mut [f32], classes: &[u32], per_row: f32) -> f64 {
    let (mut loss, mut product) = (0.0, 1.0_f64);
    for (row, &class) in outputs.chunks_exact_mut(shape.output_width).zip(classes) {
        let output = row[0];
        let small = exp(-output.abs());
        let likely = 1.0 / (1.0 + small);
        let probability = if output >= 0.0 { likely } else { 1.0 - likely };
        row[0] = (probability - class as f32) * per_row;
        // -log p = log(1 + exp(-|z|)), and |z| more for the wrong side. The logarithm of a product
        // is taken once a tile: 64 factors of at most 2.
        let wrong = if class == 0 { output } else { -output };
        loss += wrong.clamp(0.0, WORST_LOSS);
        product *= f64::from(1.0 + small);
    }
    f64::from(loss) + product.ln()
}

#[inline(always)]
fn softmax_deltas(shape: Shape, outputs: &mut [f32], classes: &[u32], per_row: f32) -> f64 {
    let (mut loss, mut product) = (0.0_f64, 1.0_f64);
    for (row, &class) in outputs.chunks_exact_mut(shape.output_width).zip(classes) {
        let row = &mut row[..shape.outputs];
        let top = row.iter().fold(f32::NEG_INFINITY, |m, &v| if v > m { v } else { m });
        let own = top - row[class as usize];
        let mut sum = 0.0;
        for v in row.iter_mut() {
            *v = exp(*v - top);
            sum += *v;
        }
        let share = per_row / sum;
        row.iter_mut().for_each(|v| *v *= share);
        row[class as usize] -= per_row;
        // -log p = (top - own output) + log of the sum, a factor between 1 and the number of classes.
        loss += f64::from(if own < WORST_LOSS { own } else { WORST_LOSS + 0.0 * own });
        product *= f64::from(sum);
        if product > 1e200 {
            loss += product.ln();
            product = 1.0;
        }
    }
    loss + product.ln()
}

/// Adds a tile's part of the gradient, given the derivatives in `scratch.outputs`.
#[inline(always)]
fn backward<S: Simd>(
    simd: S,
    shape: Shape,
    weights: &[f32],
    rows: &[f32],
    n: usize,
    gradient: &mut [f32],
    scratch: &mut Scratch,
) {
    let width = shape.hidden_width / S::F32_LANES;
    let deltas = &scratch.outputs[..n * shape.output_width];
    let hidden = S::as_mut_simd_f32s(&mut scratch.hidden[..n * shape.hidden_width]).0;
    let (into, rest) = gradient.split_at_mut(shape.output_start());
    let (out_of, biases) = rest.split_at_mut(shape.outputs * shape.hidden_width);
    for row in deltas.chunks_exact(shape.output_width) {
        for (sum, delta) in biases.iter_mut().zip(&row[..shape.outputs]) {
            *sum += delta;
        }
    }
    let out_of = S::as_mut_simd_f32s(out_of).0;
    accumulate_transposed(simd, deltas, shape.output_width, hidden, width, out_of);
    let zero = simd.splat_f32s(0.0);
    let from = S::as_simd_f32s(&weights[shape.output_start()..shape.bias_start()]).0;
    multiply(
        simd,
        deltas,
        shape.output_width,
        shape.outputs,
        from,
        width,
        hidden,
        #[inline(always)]
        |sum, unit| simd.select_f32s(simd.greater_than_f32s(unit, zero), sum, zero),
    );
    let into = S::as_mut_simd_f32s(into).0;
    accumulate_transposed(simd, rows, shape.inputs, hidden, width, into);
}

/// Writes for each row the outputs' probabilities, one for a logistic output.
pub(super) struct Forward<'a> {
    pub(super) shape: Shape,
    pub(super) weights: &'a [f32],
    pub(super) rows: &'a [f32],
    pub(super) out: &'a mut Vec<f64>,
    pub(super) scratch: &'a mut Scratch,
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { shape, weights, rows, out, scratch } = self;
        turn(shape, weights, &mut scratch.turned);
        for rows in rows.chunks(TILE * shape.inputs) {
            forward(simd, shape, weights, rows, scratch);
            let n = rows.len() / shape.inputs;
            for row in scratch.outputs.chunks_exact(shape.output_width).take(n) {
                if shape.outputs == 1 {
                    let small = (-f64::from(row[0]).abs()).exp();
                    let likely = 1.0 / (1.0 + small);
                    let other = small / (1.0 + small);
                    out.extend(if row[0] > 0.0 { [other, likely] } else { [likely, other] });
                } else {
                    let row = &row[..shape.outputs];
                    let top = row.iter().fold(f32::NEG_INFINITY, |m, &v| if v > m { v } else { m });
                    let start = out.len();
                    out.extend(row.iter().map(|&v| f64::from(v - top)));
                    softmax(&mut out[start..]);
                }
            }
        }
    }
}
