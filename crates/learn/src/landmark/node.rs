//! A single node: the best split by entropy, over all features or over one drawn at random.

use pitchpipe_table::Labels;
use rand::RngExt;

use crate::{Features, FitContext, FitError};

/// One split and the majority on each side; without a split, one side.
struct Node {
    split: Option<(usize, f64)>,
    sides: [u32; 2],
}

/// The labels that the best of all splits gives.
pub(super) fn best(
    x: &Features,
    y: &Labels,
    test: &Features,
    ctx: &FitContext,
) -> Result<Vec<u32>, FitError> {
    Ok(fit(x, y, &(0..x.n_cols()).collect::<Vec<_>>(), ctx)?.labels(test))
}

/// The labels that the best split of one random feature gives; a constant one is drawn again.
pub(super) fn random(
    x: &Features,
    y: &Labels,
    test: &Features,
    ctx: &FitContext,
) -> Result<Vec<u32>, FitError> {
    let varies = |&j: &usize| x.column(j).iter().any(|v| *v != x.column(j)[0]);
    let varying: Vec<usize> = (0..x.n_cols()).filter(varies).collect();
    let mut rng = ctx.stream().named("random node").child(x.content()).rng();
    let drawn: Vec<usize> = match varying.len() {
        0 => Vec::new(),
        n => vec![varying[rng.random_range(0..n)]],
    };
    Ok(fit(x, y, &drawn, ctx)?.labels(test))
}

fn fit(x: &Features, y: &Labels, features: &[usize], ctx: &FitContext) -> Result<Node, FitError> {
    let all = y.counts();
    let (mut least, mut node) = (f64::INFINITY, Node { split: None, sides: [majority(&all); 2] });
    let mut order: Vec<usize> = (0..x.n_rows()).collect();
    for &j in features {
        ctx.check_deadline()?;
        let column = x.column(j);
        order.sort_unstable_by(|&a, &b| column[a].total_cmp(&column[b]).then(a.cmp(&b)));
        let mut left = vec![0; all.len()];
        for pair in order.windows(2) {
            left[y.codes()[pair[0]] as usize] += 1;
            let (below, above) = (column[pair[0]], column[pair[1]]);
            if below == above {
                continue;
            }
            let right: Vec<usize> = all.iter().zip(&left).map(|(a, l)| a - l).collect();
            let disorder = entropy(&left) + entropy(&right);
            if disorder < least {
                least = disorder;
                // Half of each, so that huge numbers do not overflow; never as large as the one above.
                let middle = below / 2.0 + above / 2.0;
                let threshold = if middle < above { middle } else { below };
                node = Node {
                    split: Some((j, threshold)),
                    sides: [majority(&left), majority(&right)],
                };
            }
        }
    }
    Ok(node)
}

impl Node {
    fn labels(&self, x: &Features) -> Vec<u32> {
        match self.split {
            None => vec![self.sides[0]; x.n_rows()],
            Some((j, threshold)) => {
                x.column(j).iter().map(|v| self.sides[usize::from(*v > threshold)]).collect()
            }
        }
    }
}

/// The entropy of a side, times its rows.
fn entropy(counts: &[usize]) -> f64 {
    let n = counts.iter().sum::<usize>() as f64;
    counts.iter().filter(|&&c| c > 0).map(|&c| c as f64 * (n / c as f64).log2()).sum()
}

fn majority(counts: &[usize]) -> u32 {
    let mut best = 0;
    for (class, &count) in counts.iter().enumerate() {
        if count > counts[best] {
            best = class;
        }
    }
    best as u32
}
