//! Estimators as the Python expressions that make scikit-learn's own, for scripts that run without us.

use std::collections::{BTreeMap, BTreeSet};

/// A script that expressions are written for: what it knows, and what they ask of it.
#[derive(Clone, Debug)]
pub struct PythonScript {
    /// How many classes there are.
    pub n_classes: usize,
    /// Whether the estimator is given categories as they are; `CATEGORICAL` then says which columns hold them.
    pub keeps_categories: bool,
    seed: u64,
    names: BTreeMap<&'static str, BTreeSet<&'static str>>,
    helpers: BTreeSet<PythonHelper>,
}

/// A few lines of Python that some expressions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PythonHelper {
    /// `L1`: the l1 penalty by its name in the scikit-learn at hand.
    L1,
    /// `SammeR`: AdaBoost as releases before 1.6 had it.
    SammeR,
    /// `SoftDecisions(estimator)`: probabilities for an estimator that has decision values only.
    SoftDecisions,
}

impl PythonScript {
    /// A script that imports nothing yet.
    pub fn new(n_classes: usize, seed: u64) -> Self {
        // scikit-learn's seeds have 32 bits.
        let seed = seed % (1 << 32);
        Self {
            n_classes,
            keeps_categories: false,
            seed,
            names: BTreeMap::new(),
            helpers: BTreeSet::new(),
        }
    }

    /// What estimators that draw random numbers are given as `random_state`.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Imports a name and gives it back.
    pub fn import(&mut self, module: &'static str, name: &'static str) -> &'static str {
        self.names.entry(module).or_default().insert(name);
        name
    }

    /// Asks for a helper and for what it imports.
    pub fn help(&mut self, helper: PythonHelper) {
        self.helpers.insert(helper);
        let imports: &[(&'static str, &'static str)] = match helper {
            PythonHelper::L1 => &[],
            PythonHelper::SammeR => &[
                ("scipy.special", "softmax"),
                ("sklearn.base", "BaseEstimator"),
                ("sklearn.base", "ClassifierMixin"),
                ("sklearn.tree", "DecisionTreeClassifier"),
            ],
            PythonHelper::SoftDecisions => &[
                ("scipy.optimize", "minimize_scalar"),
                ("scipy.special", "softmax"),
                ("sklearn.base", "BaseEstimator"),
                ("sklearn.base", "ClassifierMixin"),
                ("sklearn.base", "clone"),
            ],
        };
        for (module, name) in imports {
            self.import(module, name);
        }
    }

    /// Whether a helper was asked for.
    pub fn needs(&self, helper: PythonHelper) -> bool {
        self.helpers.contains(&helper)
    }

    /// What was imported, by module.
    pub fn imports(&self) -> &BTreeMap<&'static str, BTreeSet<&'static str>> {
        &self.names
    }
}
