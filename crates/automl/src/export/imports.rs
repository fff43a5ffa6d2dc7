//! What a script imports, and the small helpers that components ask for.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct Imports {
    names: BTreeMap<&'static str, BTreeSet<&'static str>>,
    /// An estimator has decision values only.
    pub(super) needs_soft_decisions: bool,
    /// An estimator is no longer in newer releases.
    pub(super) needs_samme_r: bool,
    /// A setting has another name in newer releases.
    needs_l1: bool,
}

/// The l1 penalty by its name in this scikit-learn.
const L1: &str = r#"# The l1 penalty, by the name that this scikit-learn has for it.
L1 = {"l1_ratio": 1.0} if VERSION >= (1, 8) else {"penalty": "l1"}
"#;

impl Imports {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn add(&mut self, module: &'static str, name: &'static str) {
        self.names.entry(module).or_default().insert(name);
    }

    pub(super) fn soft_decisions(&mut self) {
        self.needs_soft_decisions = true;
        self.add("scipy.optimize", "minimize_scalar");
        self.add("scipy.special", "softmax");
        self.add("sklearn.base", "BaseEstimator");
        self.add("sklearn.base", "ClassifierMixin");
        self.add("sklearn.base", "clone");
    }

    pub(super) fn l1(&mut self) {
        self.needs_l1 = true;
    }

    pub(super) fn samme_r(&mut self) {
        self.needs_samme_r = true;
        self.add("scipy.special", "softmax");
        self.add("sklearn.base", "BaseEstimator");
        self.add("sklearn.base", "ClassifierMixin");
        self.add("sklearn.tree", "DecisionTreeClassifier");
    }

    pub(super) fn text(&self) -> String {
        let mut text =
            "import csv\nimport gzip\nimport io\nimport re\nimport sys\nimport warnings\n\n\
             import numpy as np\nimport pandas as pd\n"
                .to_owned();
        if self.needs_l1 {
            text += "import sklearn\n";
        }
        let mut names = self.names.clone();
        names.entry("sklearn.exceptions").or_default().insert("ConvergenceWarning");
        for (module, names) in &names {
            let names: Vec<&str> = names.iter().copied().collect();
            text += &format!("from {module} import {}\n", names.join(", "));
        }
        text.push('\n');
        if self.needs_l1 {
            text += "VERSION = tuple(int(part) for part in sklearn.__version__.split(\".\")[:2])\n";
            text += L1;
            text.push('\n');
        }
        text
    }
}
