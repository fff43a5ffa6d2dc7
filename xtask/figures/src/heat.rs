//! Figures of coloured cells, each with its number.

use std::path::Path;

use plotters::prelude::*;

use crate::Said;
use crate::panel::{Area, FONT, figure};
use crate::table::Table;

/// One grid: its title, the names of its axes, the two columns that place a cell and the one that fills it.
struct Grid<'a> {
    title: &'a str,
    x: (&'a str, &'a str),
    y: (&'a str, &'a str),
    value: &'a str,
    /// Where colours turn: below is blue, above orange; none for darker is smaller.
    middle: Option<f64>,
}

/// Light to dark blue, or orange: told apart by lightness, too.
fn shade(value: f64, low: f64, high: f64, middle: Option<f64>) -> RGBColor {
    let mix = |to: (f64, f64, f64), share: f64| {
        let part = |end: f64| (255.0 + (end - 255.0) * share.clamp(0.0, 1.0)) as u8;
        RGBColor(part(to.0), part(to.1), part(to.2))
    };
    let blue = (0.0, 90.0, 160.0);
    match middle {
        Some(middle) if value > middle => {
            mix((213.0, 94.0, 0.0), (value / middle).ln() / (high / middle).max(1.2).ln())
        }
        Some(middle) => mix(blue, (middle / value).ln() / (middle / low).max(1.2).ln()),
        None => mix(blue, 0.85 * (high / value).ln() / (high / low).max(1.001).ln()),
    }
}

fn grid(area: &Area<'_>, table: &Table, of: &Grid<'_>) -> Said {
    let (xs, ys) = (table.distinct(of.x.0), table.distinct(of.y.0));
    let values = table.numbers(of.value);
    let (at_x, at_y) = (table.words(of.x.0), table.words(of.y.0));
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .caption(of.title, (FONT, 14))
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..xs.len() as f64, 0.0..ys.len() as f64)
        .map_err(|e| e.to_string())?;
    let name = |names: &[&str], v: f64| {
        let at = (v - 0.5).round();
        let is_middle = (v - 0.5 - at).abs() < 1e-6;
        names
            .get(at.max(0.0) as usize)
            .filter(|_| is_middle)
            .map_or(String::new(), |n| (*n).to_owned())
    };
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc(of.x.1)
        .y_desc(of.y.1)
        .x_labels(2 * xs.len() + 1)
        .y_labels(2 * ys.len() + 1)
        .label_style((FONT, 12))
        .axis_desc_style((FONT, 13))
        .x_label_formatter(&|v| name(&xs, *v))
        .y_label_formatter(&|v| name(&ys, *v))
        .draw()
        .map_err(|e| e.to_string())?;
    for (i, &value) in values.iter().enumerate() {
        let x = xs.iter().position(|n| *n == at_x[i]).unwrap_or(0) as f64;
        let y = ys.iter().position(|n| *n == at_y[i]).unwrap_or(0) as f64;
        let fill = shade(value, low, high, of.middle);
        let cell = Rectangle::new([(x + 0.02, y + 0.02), (x + 0.98, y + 0.98)], fill.filled());
        chart.draw_series([cell]).map_err(|e| e.to_string())?;
        let lightness =
            0.3 * f64::from(fill.0) + 0.59 * f64::from(fill.1) + 0.11 * f64::from(fill.2);
        let ink = if lightness < 140.0 { WHITE } else { BLACK };
        let style = (FONT, 12).into_font().color(&ink);
        let digits = if value >= 0.5 { 2 } else { 4 };
        let words = format!("{value:.digits$}");
        chart
            .draw_series([Text::new(words, (x + 0.22, y + 0.58), style)])
            .map_err(|e| e.to_string())?;
    }
    Ok(())
}

pub(crate) fn ranks(table: &Table, path: &Path) -> Said {
    figure(path, (960, 500), "Relative error of EM-Tucker over its ranks", &table.data, |area| {
        let parts = area.split_evenly((1, 2));
        let of = |title, value| Grid {
            title,
            x: ("dataset_rank", "dataset rank"),
            y: ("estimator_rank", "estimator rank"),
            value,
            middle: None,
        };
        grid(&parts[0], table, &of("training entries (darker is smaller)", "training_error"))?;
        grid(&parts[1], table, &of("test entries", "test_error"))
    })
}

pub(crate) fn tensor_against_matrix(table: &Table, path: &Path) -> Said {
    figure(path, (1240, 500), "Slow pipelines from fast ones", &table.data, |area| {
        let parts = area.split_evenly((1, 3));
        let of = |title, value, middle| Grid {
            title,
            x: ("rank", "rank, datasets and estimators"),
            y: ("threshold_s", "threshold, seconds"),
            value,
            middle,
        };
        let title = "tensor over matrix (blue: tensor better)";
        grid(&parts[0], table, &of(title, "tensor_over_matrix", Some(1.0)))?;
        grid(
            &parts[1],
            table,
            &of("tensor: relative error (darker is smaller)", "tensor_error", None),
        )?;
        grid(&parts[2], table, &of("matrix: relative error", "matrix_error", None))
    })
}
