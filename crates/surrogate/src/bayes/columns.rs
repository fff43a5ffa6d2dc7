//! A prior over more columns than it was learned for.

use ndarray::{Array2, ArrayView2, Axis, concatenate};

use super::Prior;
use crate::SurrogateError;
use crate::columns::{Lines, NewColumns, fit_lines};

impl Prior {
    /// The prior over its own columns and new ones behind them, and the embeddings of the datasets under it;
    /// `datasets` (rank x datasets) are those under the present one.
    ///
    /// Mean and direction of a new column come from kin and from a regression of what was measured on the
    /// datasets' embeddings. What the columns of a kind have in common beyond that is one direction more for
    /// each kind, so that one run of the kind on a new dataset tells of the others; what is left is noise.
    pub fn with_columns(
        &self,
        datasets: ArrayView2<f32>,
        new: &NewColumns,
    ) -> Result<(Self, Array2<f32>), SurrogateError> {
        let (rank, n) = (self.rank(), self.n_pipelines());
        if datasets.nrows() != rank {
            let (what, got) = ("embeddings of datasets", datasets.nrows());
            return Err(SurrogateError::Size { what, wanted: rank, got });
        }
        let factor = self.factor();
        let mean: Vec<f32> = self.mean.iter().map(|&v| v as f32).collect();
        let mean = ArrayView2::from_shape((1, n), &mean).expect("one row");
        let known = concatenate(Axis(0), &[mean, factor.view()]).expect("as many columns");
        let ones = Array2::<f32>::ones((1, datasets.ncols()));
        let features = concatenate(Axis(0), &[ones.view(), datasets]).expect("as many datasets");
        let mut scaled = new.clone();
        for (_, value) in scaled.columns.iter_mut().flat_map(|c| &mut c.measured) {
            *value = self.scale.of(*value);
        }
        let Lines { rows, kinds, apart } = fit_lines(known.view(), features.view(), &scaled)?;
        let means = self.mean.iter().copied().chain(rows.row(0).iter().copied()).collect();
        let kin_noise = new.kin_means(1, |_, j| self.noise[j]);
        let added = new.columns.iter().zip(&apart).map(|(c, apart)| kin_noise[c.kin][0] + apart);
        let noise = self.noise.iter().copied().chain(added).collect();
        let mut wider = Array2::<f32>::zeros((rank + kinds.len(), n + new.columns.len()));
        let mut embedded = Array2::<f32>::zeros((rank + kinds.len(), datasets.ncols()));
        for i in 0..rank {
            for (j, to) in wider.row_mut(i).iter_mut().enumerate() {
                *to = if j < n { factor[(i, j)] } else { rows[(i + 1, j - n)] as f32 };
            }
            embedded.row_mut(i).assign(&datasets.row(i));
        }
        for (at, kind) in kinds.iter().enumerate() {
            let deviation = kind.variance.sqrt();
            kind.members.iter().for_each(|&j| wider[(rank + at, n + j)] = deviation as f32);
            for (&d, value) in &kind.on {
                embedded[(rank + at, d)] = (value / deviation) as f32;
            }
        }
        Ok((Self::from_parts(self.scale, means, wider.view(), noise)?, embedded))
    }
}
