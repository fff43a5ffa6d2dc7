//! The search space on one table: pipelines that are the same computation there, once.
//!
//! Without missing cells the four imputers coincide, without categories the two encoders, and without a
//! constant column keeping all columns coincides with dropping constant ones (ALGORITHMS §13).

use std::collections::HashMap;
use std::sync::Arc;

use pitchpipe_learn::encode::Encoder;
use pitchpipe_learn::estimate::{EstimatorKind, EstimatorSpec};
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::{PipelineId, Preparation, SearchSpace};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::Prior;
use pitchpipe_table::{Column, Dataset, UNSEEN_CODE};

use crate::surrogate::PriorNumbers;

/// The distinct computations on a table, each with all pipelines that are it.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    search: Arc<SearchSpace>,
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

    /// The preparation that stands for this one, `None` where it cannot be run. The mean stands for all
    /// imputers: a model meets missing cells later even where training had none, and the mean of a column is
    /// never outlandish.
    fn representative(self, mean: Imputer, mut preparation: Preparation) -> Option<Preparation> {
        if preparation.keeps_gaps() {
            return Some(preparation);
        }
        let reducer = preparation.reducer;
        if let Reducer::Pca(share) | Reducer::SelectKBest(share) = reducer
            && share.of(self.n_columns) == 0
        {
            return None;
        }
        if !self.has_missing {
            preparation.imputer = mean;
        }
        if !self.has_categories {
            preparation.encoder = Encoder::OneHot;
            if reducer == Reducer::VarianceThreshold {
                preparation.reducer = Reducer::None;
            }
        }
        Some(preparation)
    }
}

impl Space {
    /// The distinct computations of a search space on a table.
    pub(crate) fn of(search: &Arc<SearchSpace>, dataset: &Dataset) -> Self {
        let traits = Traits::of(dataset);
        let by_mode = search.preparations().iter().any(|p| p.imputer == Imputer::MeanOrMode);
        let mean = if by_mode { Imputer::MeanOrMode } else { Imputer::Mean };
        let standing: Vec<Option<Preparation>> =
            search.preparations().iter().map(|&p| traits.representative(mean, p)).collect();
        let mut place = vec![None; search.n_pipelines()];
        let mut members: Vec<Vec<PipelineId>> = Vec::new();
        let mut known: HashMap<(Preparation, usize), u32> = HashMap::new();
        // Representatives first, so that each is the first of its members and they come in order.
        let stands_for_itself = |&id: &PipelineId| {
            standing[search.preparation_index(id)] == Some(search.preparation(id))
        };
        let (first, others): (Vec<_>, Vec<_>) = search.ids().partition(stands_for_itself);
        for id in first.into_iter().chain(others) {
            let Some(preparation) = standing[search.preparation_index(id)] else { continue };
            let at = *known.entry((preparation, search.estimator_index(id))).or_insert_with(|| {
                members.push(Vec::new());
                members.len() as u32 - 1
            });
            place[id.index()] = Some(at);
            members[at as usize].push(id);
        }
        Self { search: Arc::clone(search), members, place }
    }

    /// The search space that it is of.
    pub(crate) fn search(&self) -> &Arc<SearchSpace> {
        &self.search
    }

    /// The estimator of a computation.
    pub(crate) fn estimator(&self, at: usize) -> &EstimatorSpec {
        self.search.estimator(self.id(at))
    }

    /// Its kind.
    pub(crate) fn kind(&self, at: usize) -> EstimatorKind {
        self.estimator(at).kind()
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

    /// The prior over computations: means and factors are averaged over the pipelines that are the same,
    /// which are draws of one value.
    pub(crate) fn prior(&self, prior: &PriorNumbers<'_>) -> Result<Prior, SurrogateError> {
        let average = |values: &[f64]| -> Vec<f64> {
            let mean = |members: &Vec<PipelineId>| {
                members.iter().map(|id| values[id.index()]).sum::<f64>() / members.len() as f64
            };
            self.members.iter().map(mean).collect()
        };
        let mut whole = vec![0.0; self.place.len()];
        let read = |row: usize, narrow: &mut [f32]| {
            prior.read_row(row, &mut whole);
            for (members, value) in self.members.iter().zip(narrow) {
                let sum: f32 = members.iter().map(|id| whole[id.index()]).sum();
                *value = sum / members.len() as f32;
            }
        };
        let (mean, noise) = (average(&prior.mean()), average(&prior.noise()));
        Prior::from_rows(prior.scale(), mean, prior.rank(), read, noise)
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
    fn categories_by_mode_leave_the_same_computations() {
        let by_mode = Arc::new(SearchSpace::paper().with_categories_by_mode());
        let mut columns = numeric(3);
        columns.push(Column::categorical(vec![0, 1, 2, 0, 1, 2], 3));
        let (codes, mode): (Space, Space) = [SearchSpace::paper(), by_mode]
            .map(|space| Space::of(&space, &table(columns.clone())))
            .into();
        assert_eq!(codes.len(), mode.len());
        for at in (0..codes.len()).step_by(101) {
            assert_eq!(codes.id(at), mode.id(at));
        }
    }

    #[test]
    fn numbers_without_gaps_make_one_eighth_of_the_space() {
        // 2 scalers, 7 distinct reducers, 183 estimators.
        assert_eq!(Space::of(&SearchSpace::paper(), &table(numeric(8))).len(), 2 * 7 * 183);
    }

    #[test]
    fn all_pipelines_differ_on_a_table_that_has_everything() {
        let mut columns = numeric(8);
        columns.push(Column::categorical(vec![0, 1, 1, 0, MISSING_CODE, 1], 2));
        assert_eq!(Space::of(&SearchSpace::paper(), &table(columns)).len(), 23_424);
    }

    #[test]
    fn a_quarter_of_three_columns_is_none() {
        let search = SearchSpace::paper();
        let space = Space::of(&search, &table(numeric(3)));
        let id = |text: &str| search.find(&text.parse().unwrap()).unwrap();
        let quarter = id("impute(mean) > one_hot > standardise > pca(25%) > gaussian_nb");
        assert_eq!(space.place(quarter), None);
        let half = id("impute(constant) > codes > standardise > pca(50%) > gaussian_nb");
        let first = space.id(space.place(half).unwrap());
        assert_eq!(first, id("impute(mean) > one_hot > standardise > pca(50%) > gaussian_nb"));
    }
}
