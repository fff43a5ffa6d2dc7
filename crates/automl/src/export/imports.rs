//! What a script imports.

use pitchpipe_learn::scikit_learn::{PythonHelper, PythonScript};

/// The l1 penalty by its name in this scikit-learn.
const L1: &str = r#"# The l1 penalty, by the name that this scikit-learn has for it.
L1 = {"l1_ratio": 1.0} if VERSION >= (1, 8) else {"penalty": "l1"}
"#;

/// The lines at the top of a script, which may read cells by rules.
pub(super) fn text(script: &PythonScript, has_rules: bool) -> String {
    let needs_l1 = script.needs(PythonHelper::L1);
    let re = if has_rules { "import re\n" } else { "" };
    let mut text = format!(
        "import csv\nimport gzip\nimport io\n{re}import sys\nimport warnings\n\n\
         import numpy as np\nimport pandas as pd\n"
    );
    if needs_l1 {
        text += "import sklearn\n";
    }
    let mut names = script.imports().clone();
    names.entry("sklearn.exceptions").or_default().insert("ConvergenceWarning");
    for (module, names) in &names {
        let names: Vec<&str> = names.iter().copied().collect();
        text += &format!("from {module} import {}\n", names.join(", "));
    }
    text.push('\n');
    if needs_l1 {
        text += "VERSION = tuple(int(part) for part in sklearn.__version__.split(\".\")[:2])\n";
        text += L1;
        text.push('\n');
    }
    text
}
