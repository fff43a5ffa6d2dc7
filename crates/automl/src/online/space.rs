//! The search space on one table: pipelines that are the same computation there, once.
//!
//! Without missing cells the four imputers coincide, without categories the two encoders, and without a
//! constant column keeping all columns coincides with dropping constant ones (ALGORITHMS §13).

use pitchpipe_learn::PipelineId;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::search_space::N_PIPELINES;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::Prior;
use pitchpipe_table::{Column, Dataset, UNSEEN_CODE};

/// The distinct computations on a table, each with all pipelines that are it.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    members: Vec<Vec<PipelineId>>,
    /// The distinct computation of each pipeline; `None` where it cannot be run.
    place: Vec<Option<u32>>,
}

/// What a table has that components tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Traits {
    has_missing: bool,
    has_categories: bool,
    n_columns: usize,
}

impl Traits {
    fn of(dataset: &Dataset) -> Self {
        let is_missing = |column: &Column| match column {
            Column::Numeric(cells) => cells.iter().any(|v| !v.is_finite()),
            Column::Categorical { codes, .. } => codes.iter().any(|&c| c >= UNSEEN_CODE),
        };
        let is_categorical = |column: &Column| matches!(column, Column::Categorical { .. });
        Self {
            has_missing: dataset.columns().iter().any(is_missing),
            has_categories: dataset.columns().iter().any(is_categorical),
            n_columns: dataset.columns().len(),
        }
    }

    /// The pipeline that stands for this one, `None` where it cannot be run. The last imputer stands for
    /// all: a model meets missing cells later even where training had none.
    fn representative(self, id: PipelineId) -> Option<PipelineId> {
        let [mut imputer, mut encoder, scaler, reducer, estimator] = id.positions();
        let kind = Reducer::ALL[reducer];
        if let Reducer::Pca(share) | Reducer::SelectKBest(share) = kind
            && share.of(self.n_columns) == 0
        {
            return None;
        }
        if !self.has_missing {
            imputer = MEAN;
        }
        if !self.has_categories {
            encoder = 0;
        }
        let keeps_all = kind == Reducer::VarianceThreshold && !self.has_categories;
        let reducer = if keeps_all { Reducer::ALL.len() - 1 } else { reducer };
        PipelineId::from_positions([imputer, encoder, scaler, reducer, estimator])
    }
}

/// The imputer that stands for the others: the mean of a column is never outlandish.
const MEAN: usize = 1;

impl Space {
    /// The space of a table.
    pub(crate) fn of(dataset: &Dataset) -> Self {
        let traits = Traits::of(dataset);
        let mut place = vec![None; N_PIPELINES];
        let mut members: Vec<Vec<PipelineId>> = Vec::new();
        // Representatives first, so that each is the first of its members and they come in order.
        for id in PipelineId::all().filter(|&id| traits.representative(id) == Some(id)) {
            place[id.index()] = Some(members.len() as u32);
            members.push(vec![id]);
        }
        for id in PipelineId::all() {
            let Some(first) = traits.representative(id).filter(|&first| first != id) else {
                continue;
            };
            place[id.index()] = place[first.index()];
            if let Some(at) = place[id.index()] {
                members[at as usize].push(id);
            }
        }
        Self { members, place }
    }

    /// How many distinct computations there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The pipeline that stands for a computation.
    pub(crate) fn id(&self, at: usize) -> PipelineId {
        self.members[at][0]
    }

    /// The computation that a pipeline is.
    pub(crate) fn place(&self, id: PipelineId) -> Option<usize> {
        self.place[id.index()].map(|at| at as usize)
    }

    /// Values of all pipelines as values of computations.
    pub(crate) fn narrow(&self, values: &[f64]) -> Vec<f64> {
        self.members.iter().map(|members| values[members[0].index()]).collect()
    }

    /// The prior over computations: means and factors are averaged over the pipelines that are the same,
    /// which are draws of one value.
    pub(crate) fn prior(&self, prior: &Prior) -> Result<Prior, SurrogateError> {
        let factor = prior.factor();
        let average = |values: &[f64]| -> Vec<f64> {
            let mean = |members: &Vec<PipelineId>| {
                members.iter().map(|id| values[id.index()]).sum::<f64>() / members.len() as f64
            };
            self.members.iter().map(mean).collect()
        };
        let mut narrow = ndarray::Array2::<f32>::zeros((factor.nrows(), self.len()));
        for (from, mut to) in factor.outer_iter().zip(narrow.outer_iter_mut()) {
            for (members, value) in self.members.iter().zip(to.iter_mut()) {
                let sum: f32 = members.iter().map(|id| from[id.index()]).sum();
                *value = sum / members.len() as f32;
            }
        }
        let (mean, noise) = (average(prior.mean()), average(prior.noise()));
        Prior::from_parts(prior.scale(), mean, narrow.view(), noise)
    }
}

#[cfg(test)]
mod tests {
    use pitchpipe_table::{Labels, MISSING_CODE};

    use super::*;

    fn table(columns: Vec<Column>) -> Dataset {
        let n = columns[0].len();
        Dataset::new(columns, Labels::from_codes((0..n as u32).map(|i| i % 2), 2))
    }

    fn numeric(n: usize) -> Vec<Column> {
        (0..n)
            .map(|j| Column::Numeric((0..6).map(|i| f64::from(i * (j as i32 + 1))).collect()))
            .collect()
    }

    #[test]
    fn numbers_without_gaps_make_one_eighth_of_the_space() {
        // 2 scalers, 7 distinct reducers, 183 estimators.
        assert_eq!(Space::of(&table(numeric(8))).len(), 2 * 7 * 183);
    }

    #[test]
    fn all_pipelines_differ_on_a_table_that_has_everything() {
        let mut columns = numeric(8);
        columns.push(Column::categorical(vec![0, 1, 1, 0, MISSING_CODE, 1], 2));
        assert_eq!(Space::of(&table(columns)).len(), N_PIPELINES);
    }

    #[test]
    fn a_quarter_of_three_columns_is_none() {
        let space = Space::of(&table(numeric(3)));
        let quarter = PipelineId::from_positions([1, 0, 0, 0, 0]).unwrap();
        assert_eq!(space.place(quarter), None);
        let half = PipelineId::from_positions([0, 1, 0, 1, 0]).unwrap();
        let first = space.id(space.place(half).unwrap());
        assert_eq!(first, PipelineId::from_positions([MEAN, 0, 0, 1, 0]).unwrap());
    }
}
