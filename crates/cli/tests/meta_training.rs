//! The page on meta-training, run in order and word for word on small tables.
//!
//! Two things are left out: what needs the network (the published errors), and a minute of the time budget.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The tables that the page was tried on, by name.
const TABLES: [&str; 10] = [
    "autompg",
    "biomed",
    "bodyfat",
    "breast-cancer",
    "cholesterol",
    "cpu",
    "diggle-table-a2",
    "ecoli",
    "fishcatch",
    "flags",
];

fn table(seed: usize) -> String {
    let mut text = "a,b,colour,class\n".to_owned();
    for i in 0..40 + 3 * seed {
        let class = if (i * 7 + seed * 3) % 5 < 2 { "x" } else { "y" };
        let a = ((i * (7 + seed)) % 23) as f64 + if class == "x" { 6.5 } else { 0.5 };
        text += &format!("{a},{},{},{class}\n", (i * 31) % 17, ["red", "blue", "green"][i % 3]);
    }
    text
}

#[test]
fn the_page_on_meta_training_works_in_order() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/meta-training.md");
    let page = fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["tables", "new"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for (i, name) in TABLES.into_iter().enumerate() {
        fs::write(folder.path().join(format!("tables/{name}.csv")), table(i)).unwrap();
    }
    fs::write(folder.path().join("new/shop.csv"), table(11)).unwrap();
    fs::write(folder.path().join("new.csv"), table(12)).unwrap();
    let ours = Path::new(env!("CARGO_BIN_EXE_pitchpipe")).parent().unwrap();
    let path = format!("{}:{}", ours.display(), std::env::var("PATH").unwrap());
    let blocks =
        page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let lines: Vec<&str> = blocks.flat_map(str::lines).filter(|line| !line.is_empty()).collect();
    assert!(lines.len() >= 10, "{lines:?}");
    for line in lines {
        if line.starts_with("pip ") || line.starts_with("pitchpipe meta import") {
            continue;
        }
        let line =
            line.replace(" --store published", "").replace("60s --out new.pp", "10s --out new.pp");
        let output = Command::new("bash")
            .args(["-c", &line])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
