//! A block of a search space: pipelines that were added to it together, under one name.

use crate::encode::Encoder;
use crate::estimate::EstimatorSpec;
use crate::impute::Imputer;
use crate::reduce::Reducer;
use crate::scale::Scaler;
use crate::{Pipeline, Preparation};

/// Pipelines under one name, in an order that never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    name: String,
    contents: Contents,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Contents {
    Product(Product),
    List(Vec<Pipeline>),
}

/// The components of each step; a block has each combination of them. A step that does not matter to the
/// block's estimators has one component and multiplies nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// What fills missing cells.
    pub imputers: Vec<Imputer>,
    /// What becomes of categories.
    pub encoders: Vec<Encoder>,
    /// What becomes of scales.
    pub scalers: Vec<Scaler>,
    /// What becomes of the number of columns.
    pub reducers: Vec<Reducer>,
    /// The estimators.
    pub estimators: Vec<EstimatorSpec>,
}

impl Product {
    /// How many components each step has.
    pub fn axes(&self) -> [usize; 5] {
        let Self { imputers, encoders, scalers, reducers, estimators } = self;
        [imputers.len(), encoders.len(), scalers.len(), reducers.len(), estimators.len()]
    }

    /// The preparations, those of the last step varying fastest.
    pub fn preparations(&self) -> impl Iterator<Item = Preparation> {
        let Self { imputers, encoders, scalers, reducers, .. } = self;
        let preparation = move |imputer, encoder, scaler, reducer| Preparation {
            imputer,
            encoder,
            scaler,
            reducer,
        };
        imputers.iter().flat_map(move |&i| {
            encoders.iter().flat_map(move |&e| {
                scalers
                    .iter()
                    .flat_map(move |&s| reducers.iter().map(move |&r| preparation(i, e, s, r)))
            })
        })
    }
}

impl Block {
    /// Each combination of components, those of the last step varying fastest.
    pub fn product(name: &str, product: Product) -> Self {
        Self { name: name.to_owned(), contents: Contents::Product(product) }
    }

    /// These pipelines.
    pub fn list(name: &str, pipelines: Vec<Pipeline>) -> Self {
        Self { name: name.to_owned(), contents: Contents::List(pipelines) }
    }

    /// The same with categories filled by their mode.
    pub(super) fn with_categories_by_mode(&self) -> Self {
        let contents = match &self.contents {
            Contents::Product(product) => {
                let imputers = product.imputers.iter().map(|i| i.with_categories_by_mode());
                Contents::Product(Product { imputers: imputers.collect(), ..product.clone() })
            }
            Contents::List(pipelines) => {
                let by_mode = |pipeline: &Pipeline| {
                    let mut pipeline = pipeline.clone();
                    let imputer = &mut pipeline.preparation.imputer;
                    *imputer = imputer.with_categories_by_mode();
                    pipeline
                };
                Contents::List(pipelines.iter().map(by_mode).collect())
            }
        };
        Self { name: self.name.clone(), contents }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The components of each step, where it has all their combinations.
    pub fn as_product(&self) -> Option<&Product> {
        match &self.contents {
            Contents::Product(product) => Some(product),
            Contents::List(_) => None,
        }
    }

    /// How many pipelines it has.
    pub fn n_pipelines(&self) -> usize {
        match &self.contents {
            Contents::Product(product) => product.axes().into_iter().fold(1, usize::saturating_mul),
            Contents::List(pipelines) => pipelines.len(),
        }
    }

    /// Its pipelines, in order.
    pub fn pipelines(&self) -> Vec<Pipeline> {
        match &self.contents {
            Contents::Product(product) => product
                .preparations()
                .flat_map(|preparation| {
                    let with = move |estimator: &EstimatorSpec| Pipeline {
                        preparation,
                        estimator: estimator.clone(),
                    };
                    product.estimators.iter().map(with)
                })
                .collect(),
            Contents::List(pipelines) => pipelines.clone(),
        }
    }
}
