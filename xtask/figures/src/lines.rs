//! Figures of lines and points.

use std::path::Path;

use crate::Said;
use crate::panel::{Axes, Series, figure, legend, legend_height, panel};
use crate::table::Table;

/// Plain axes.
fn axes<'a>(title: &'a str, x: &'a str, y: &'a str) -> Axes<'a> {
    let (ticks, y_ends) = (Vec::new(), None);
    Axes { title, x, y, log_x: false, log_y: false, legend: true, ticks, y_ends }
}

/// A line for each distinct cell of a column.
fn lines(table: &Table, by: &str, x: &str, y: &str) -> Vec<Series> {
    table
        .distinct(by)
        .into_iter()
        .enumerate()
        .map(|(colour, name)| Series {
            name: name.to_owned(),
            points: table.points((by, name), x, y),
            colour,
            is_line: true,
        })
        .collect()
}

pub(crate) fn singular_values(table: &Table, path: &Path) -> Said {
    let series = lines(table, "matrix", "k", "ratio_to_first");
    figure(path, (760, 460), "Singular values over the first", &table.data, |area| {
        let axes = Axes { log_y: true, ..axes("", "k", "s_k / s_1 (log)") };
        panel(area, &axes, &series)
    })
}

pub(crate) fn runtime_distribution(table: &Table, path: &Path) -> Said {
    let points = table.numbers("seconds").into_iter().zip(table.numbers("share_within")).collect();
    let series = [Series { name: "share that ends".into(), points, colour: 1, is_line: true }];
    figure(path, (760, 460), "How long pipelines take", &table.data, |area| {
        let axes = Axes { log_x: true, legend: false, ..axes("", "seconds (log)", "share within") };
        panel(area, &axes, &series)
    })
}

pub(crate) fn at_random(table: &Table, path: &Path) -> Said {
    let series = lines(table, "method", "share_missing", "relative_error");
    figure(path, (760, 480), "Entries missing at random", &table.data, |area| {
        let axes = Axes { log_y: true, ..axes("", "share missing", "relative error (log)") };
        panel(area, &axes, &series)
    })
}

pub(crate) fn by_runtime(table: &Table, path: &Path) -> Said {
    let series = lines(table, "method", "threshold_s", "relative_error");
    figure(path, (760, 480), "Entries missing by runtime", &table.data, |area| {
        panel(area, &axes("", "threshold, seconds", "relative error"), &series)
    })
}

pub(crate) fn designs(table: &Table, path: &Path) -> Said {
    figure(path, (1080, 460), "Designs: regret, time to design, pipelines", &table.data, |area| {
        let parts = area.split_evenly((1, 3));
        let of = |y| lines(table, "method", "limit_share", y);
        let log =
            |y, log_y| Axes { log_x: true, log_y, ..axes("", "limit, share of all time (log)", y) };
        panel(&parts[0], &log("regret, balanced error", false), &of("regret"))?;
        panel(&parts[1], &log("CPU seconds to design (log)", true), &of("design_cpu_s"))?;
        panel(&parts[2], &log("pipelines chosen (log)", true), &of("chosen"))
    })
}

pub(crate) fn systems(table: &Table, path: &Path) -> Said {
    figure(path, (1240, 600), "Systems against time", &table.data, |area| {
        let of = |y| lines(table, "system", "budget_s", y);
        let names = of("mean_rank");
        let height = area.dim_in_pixel().1 as i32 - legend_height(names.len(), 3);
        let (top, bottom) = area.split_vertically(height);
        let parts = top.split_evenly((1, 3));
        let log = |y, log_y| Axes {
            log_x: true,
            log_y,
            legend: false,
            ticks: table.distinct("budget_s").iter().filter_map(|b| b.parse().ok()).collect(),
            ..axes("", "budget, seconds (log)", y)
        };
        panel(&parts[0], &log("mean rank (lower is better)", false), &of("mean_rank"))?;
        panel(&parts[1], &log("regret, recorded errors (log)", true), &of("regret"))?;
        let again = of("replicate_regret");
        panel(&parts[2], &log("regret, replicate errors (log)", true), &again)?;
        legend(&bottom, &names, 3)
    })
}

/// Beside it the zoomed figure, of the same table.
pub(crate) fn landscapes(table: &Table, path: &Path) -> Said {
    let title = "Hyperparameter landscapes after 135 s";
    landscapes_from(table, path, title, Some((0.0, 0.75)))?;
    let zoomed = path.with_file_name("landscapes-zoomed.svg");
    landscapes_from(table, &zoomed, &format!("{title}, zoomed in: axes do not start at 0"), None)
}

fn landscapes_from(table: &Table, path: &Path, title: &str, y_ends: Option<(f64, f64)>) -> Said {
    let sets = table.distinct("dataset");
    figure(path, (1080, 760), title, &table.data, |area| {
        let parts = area.split_evenly((2, 2));
        for (part, set) in parts.iter().zip(sets) {
            let own = table.only("dataset", set);
            let kind = own.words("kind").first().copied().unwrap_or_default().to_owned();
            let settings = own.numbers("estimator");
            let first = settings.first().copied().unwrap_or(0.0);
            let x: Vec<f64> = settings.iter().map(|s| s - first).collect();
            let of = |y: &str, colour, is_line| Series {
                name: y.to_owned(),
                points: x.iter().copied().zip(own.numbers(y)).filter(|p| p.1.is_finite()).collect(),
                colour,
                is_line,
            };
            let series = [of("true", 0, true), of("replicates", 3, true), of("predicted", 2, true)];
            let title = format!("{kind}, OpenML {set}");
            let plain = axes(&title, "setting, in the order of the grid", "balanced error");
            panel(part, &Axes { y_ends, ..plain }, &series)?;
        }
        Ok(())
    })
}

pub(crate) fn runtime_panels(table: &Table, path: &Path) -> Said {
    figure(path, (1180, 940), "Runtimes, measured and predicted", &table.data, |area| {
        let parts = area.split_evenly((3, 4));
        for (part, kind) in parts.iter().zip(table.distinct("kind")) {
            let own = table.only("kind", kind);
            let mut series: Vec<Series> = own
                .distinct("form")
                .into_iter()
                .enumerate()
                .map(|(at, form)| Series {
                    name: form.split(':').next().unwrap_or(form).to_owned(),
                    points: own.points(("form", form), "measured_s", "predicted_s"),
                    colour: [2, 1][at % 2],
                    is_line: false,
                })
                .collect();
            let ends = own.numbers("measured_s");
            let (low, high) =
                ends.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), &t| (l.min(t), h.max(t)));
            let points = vec![(low, low), (high, high)];
            series.push(Series { name: "equal".into(), points, colour: 0, is_line: true });
            let axes = Axes {
                log_x: true,
                log_y: true,
                legend: kind == "AB",
                ..axes(kind, "measured, s (log)", "predicted, s (log)")
            };
            panel(part, &axes, &series)?;
        }
        Ok(())
    })
}

pub(crate) fn meta_features(table: &Table, path: &Path) -> Said {
    let cells = table.numbers("rows").into_iter().zip(table.numbers("columns"));
    let cells: Vec<f64> = cells.map(|(n, p)| n * p).collect();
    let of = |column: &str, name: &str, colour| Series {
        name: name.to_owned(),
        points: cells.iter().copied().zip(table.numbers(column)).collect(),
        colour,
        is_line: false,
    };
    let series = [of("secs_all", "all", 2), of("secs_without_landmarks", "without landmarks", 1)];
    figure(path, (760, 480), "What meta-features take to compute", &table.data, |area| {
        let plain = axes("", "cells of the table (log)", "seconds (log)");
        panel(area, &Axes { log_x: true, log_y: true, ..plain }, &series)
    })
}
