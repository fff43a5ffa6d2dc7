//! The functions and classes that pipelines with categories refer to.

use pitchpipe_learn::Pipeline;
use pitchpipe_learn::encode::Encoder;
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::scikit_learn::PythonScript;

/// From so many levels of a column on, one-hot encoding may have more categories than it makes columns for: what an imputer
/// fills in can be one more.
const MANY_FOR_ONE_HOT: usize = 256;

/// The most levels of a column that scikit-learn's boosting takes as they are.
const MOST_CODES: usize = 255;

const MOST_FREQUENT: &str = include_str!("most_frequent.py");
const FREQUENT_ONE_HOT: &str = include_str!("frequent_one_hot.py");
const BY_KIND: &str = include_str!("by_kind.py");
const RARE_SHARE_A_CODE: &str = include_str!("rare_share_a_code.py");

const UNSEEN_IS_MISSING: &str = "def unseen_is_missing(x):\n    \"\"\"A category never met has no code.\"\"\"\n    \
     x = x.copy()\n    x[:, CATEGORICAL] = np.where(x[:, CATEGORICAL] < 0, np.nan, x[:, CATEGORICAL])\n    \
     return x\n\n\n";

/// What the categories of a table ask of a script.
#[derive(Clone, Copy)]
pub(super) struct Categories {
    /// The levels of the column that has most.
    pub(super) most_levels: usize,
}

impl Categories {
    /// The step before the imputer.
    pub(super) fn first_step(self, encoder: Encoder) -> Option<String> {
        let step = match encoder {
            Encoder::OneHot => return None,
            Encoder::Categories if self.most_levels > MOST_CODES => "RareShareACode()",
            Encoder::None | Encoder::Categories => "FunctionTransformer(unseen_is_missing)",
        };
        Some(step.to_owned())
    }

    /// What the steps of these pipelines refer to.
    pub(super) fn helpers(self, learners: &[(f64, Pipeline)], script: &mut PythonScript) -> String {
        let is_any = |encoder| learners.iter().any(|(_, p)| p.preparation.encoder == encoder);
        let is_many = is_any(Encoder::OneHot) && self.most_levels >= MANY_FOR_ONE_HOT;
        let is_rare = is_any(Encoder::Categories) && self.most_levels > MOST_CODES;
        let mut text = String::new();
        let is_by_kind = |p: &Pipeline| {
            matches!(p.preparation.imputer, Imputer::MeanOrMode | Imputer::MedianOrMode)
        };
        if learners.iter().any(|(_, p)| is_by_kind(p)) {
            script.import("sklearn.base", "BaseEstimator");
            script.import("sklearn.base", "TransformerMixin");
            script.import("sklearn.impute", "SimpleImputer");
            text += BY_KIND;
        }
        if is_many || is_rare {
            text += MOST_FREQUENT;
        }
        if is_any(Encoder::OneHot) {
            script.import("sklearn.compose", "make_column_transformer");
            script.import("sklearn.preprocessing", "OneHotEncoder");
            text += &one_hot(is_many);
        }
        if is_rare {
            script.import("sklearn.base", "BaseEstimator");
            script.import("sklearn.base", "TransformerMixin");
            text += RARE_SHARE_A_CODE;
        }
        if is_any(Encoder::None) || (is_any(Encoder::Categories) && !is_rare) {
            script.import("sklearn.preprocessing", "FunctionTransformer");
            text += UNSEEN_IS_MISSING;
        }
        text
    }
}

fn one_hot(is_many: bool) -> String {
    let (class, encoder) = match is_many {
        true => (FREQUENT_ONE_HOT, "FrequentOneHot"),
        false => ("", "OneHotEncoder"),
    };
    format!(
        "{class}def one_hot():\n    \"\"\"A column for each category; all of them zero for one never met.\"\"\"\n    \
         encoder = {encoder}(handle_unknown=\"ignore\", sparse_output=False)\n    \
         return make_column_transformer((encoder, CATEGORICAL), remainder=\"passthrough\")\n\n\n"
    )
}
