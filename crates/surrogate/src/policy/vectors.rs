//! The vectors of pipelines that the paper's loop designs and predicts with, at ranks that grow.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};

use crate::error::SurrogateError;
use crate::ranked::{Ranks, TuckerEmbedding};

/// Which rank grows where a round improved on the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankRule {
    /// That of datasets, as in Algorithm 3: the number of coordinates that least squares fits.
    #[default]
    Datasets,
    /// That of estimators, as the paper says of TensorOboe.
    Estimators,
    /// Both.
    Both,
}

/// Vectors of pipelines at the ranks in use.
pub struct Vectors {
    source: Source,
    ranks: Ranks,
    y: Array2<f32>,
}

enum Source {
    /// Rows in order of energy: a smaller rank is a prefix.
    Nested(Array2<f32>),
    /// Some columns of a Tucker embedding.
    Tucker { embedding: Arc<TuckerEmbedding>, columns: Vec<usize> },
}

impl Vectors {
    /// Nested embeddings, largest rank x pipelines, of which the first `rank` rows are used at first.
    pub fn nested(y: Array2<f32>, rank: usize) -> Result<Self, SurrogateError> {
        let side = y.nrows();
        if rank == 0 || rank > side {
            return Err(SurrogateError::Rank { axis: 0, rank, side });
        }
        Self::at(Source::Nested(y), Ranks { datasets: rank, estimators: 1 })
    }

    /// Tucker embeddings of some pipelines, at these ranks at first.
    pub fn tucker(
        embedding: Arc<TuckerEmbedding>,
        columns: Vec<usize>,
        ranks: Ranks,
    ) -> Result<Self, SurrogateError> {
        let size = embedding.n_pipelines();
        if let Some(&index) = columns.iter().find(|&&c| c >= size) {
            return Err(SurrogateError::OutOfRange { what: "pipeline", index, size });
        }
        let ranks = ranks.min(embedding.most());
        Self::at(Source::Tucker { embedding, columns }, ranks)
    }

    fn at(source: Source, ranks: Ranks) -> Result<Self, SurrogateError> {
        let y = source.at(ranks)?;
        Ok(Self { source, ranks, y })
    }

    /// The vectors: rank of datasets x pipelines.
    pub fn y(&self) -> ArrayView2<'_, f32> {
        self.y.view()
    }

    /// The ranks in use.
    pub fn ranks(&self) -> Ranks {
        self.ranks
    }

    /// One more, by the rule, where there is more.
    pub(super) fn grow(&mut self, rule: RankRule) -> Result<(), SurrogateError> {
        let (d, e) = match rule {
            RankRule::Datasets => (1, 0),
            RankRule::Estimators => (0, 1),
            RankRule::Both => (1, 1),
        };
        let Ranks { datasets, estimators } = self.ranks;
        let grown = Ranks { datasets: datasets + d, estimators: estimators + e };
        let grown = grown.min(self.source.most());
        if grown != self.ranks {
            self.y = self.source.at(grown)?;
            self.ranks = grown;
        }
        Ok(())
    }
}

impl Source {
    fn most(&self) -> Ranks {
        match self {
            Self::Nested(y) => Ranks { datasets: y.nrows(), estimators: 1 },
            Self::Tucker { embedding, .. } => embedding.most(),
        }
    }

    fn at(&self, ranks: Ranks) -> Result<Array2<f32>, SurrogateError> {
        match self {
            Self::Nested(y) => Ok(y.view().split_at(Axis(0), ranks.datasets).0.to_owned()),
            Self::Tucker { embedding, columns } => {
                Ok(embedding.at(ranks)?.select(Axis(1), columns))
            }
        }
    }
}
