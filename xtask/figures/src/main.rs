//! Draws the figures of docs/results from the tables beside them: `figures FOLDER NAME...`.
#![forbid(unsafe_code)]

mod bars;
mod heat;
mod lines;
mod panel;
mod table;
mod whiskers;

use std::path::Path;
use std::process::ExitCode;

use table::Table;

/// What goes wrong, in words.
type Said = Result<(), String>;

/// Every figure by its name.
fn draw(name: &str, table: &Table, path: &Path) -> Said {
    match name {
        "singular-values" => lines::singular_values(table, path),
        "best-estimators" => bars::best_estimators(table, path),
        "runtime-distribution" => lines::runtime_distribution(table, path),
        "rank-heatmaps" => heat::ranks(table, path),
        "tensor-against-matrix" => heat::tensor_against_matrix(table, path),
        "missing-by-runtime" => lines::by_runtime(table, path),
        "missing-at-random" => lines::at_random(table, path),
        "sigma" => bars::sigma(table, path),
        "runtime-prediction" => bars::runtime_prediction(table, path),
        "runtime-panels" => lines::runtime_panels(table, path),
        "designs-slice" | "designs-whole" => lines::designs(table, path),
        "landscapes" => lines::landscapes(table, path),
        "systems" | "systems-no-floor" | "systems-sparse" => lines::systems(table, path),
        "systems-paired" | "systems-options" => whiskers::paired(table, path),
        "category-fill" => whiskers::category_fill(table, path),
        "meta-features" => lines::meta_features(table, path),
        "meta-prior" => whiskers::meta_prior(table, path),
        _ => Err(format!("no figure is called {name}")),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((folder, names)) = arguments.split_first() else {
        eprintln!("error: figures FOLDER NAME...");
        return ExitCode::from(2);
    };
    for name in names {
        let csv = Path::new(folder).join(format!("{name}.csv"));
        let svg = csv.with_extension("svg");
        if !csv.exists() {
            eprintln!("{name}: no table yet");
            continue;
        }
        let done = Table::read(&csv).and_then(|table| draw(name, &table, &svg));
        if let Err(message) = done {
            eprintln!("error: {name}: {message}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
