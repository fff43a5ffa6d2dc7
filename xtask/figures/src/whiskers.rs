//! Figures of differences with their standard errors.

use std::path::Path;

use plotters::prelude::*;

use crate::Said;
use crate::panel::{Area, FONT, Scale, Series, colour, figure, legend, legend_height, mark, tick};
use crate::table::Table;

/// The height of a pair of systems, in pixels.
const ROW: i32 = 46;

/// Paired differences of each table, a mark for each budget with two standard errors on either side.
pub(crate) fn paired(table: &Table, path: &Path) -> Said {
    let budgets = table.distinct("budget_s");
    let tables: Vec<Table> =
        table.distinct("table").into_iter().map(|t| table.only("table", t)).collect();
    let rows: i32 = tables.iter().map(|t| n_pairs(t) * ROW + 90).sum();
    let series: Vec<Series> = budgets
        .iter()
        .enumerate()
        .map(|(at, b)| Series {
            name: format!("{b} s"),
            points: Vec::new(),
            colour: at + 1,
            is_line: true,
        })
        .collect();
    let title = "Error of a system less another's (left of zero: lower), two standard errors";
    figure(path, (1180, (rows + 110) as u32), title, &table.data, |area| {
        let (strip, mut rest) = area.split_vertically(legend_height(series.len(), 4));
        legend(&strip, &series, 4)?;
        for own in &tables {
            let (part, below) = rest.split_vertically(n_pairs(own) * ROW + 90);
            let (left, right) = part.split_horizontally(740);
            let title = own.distinct("table").concat();
            let of = |mean: &str, se: &str| Marks {
                names: names(own),
                groups: own.words("budget_s").into_iter().map(str::to_owned).collect(),
                means: own.numbers(mean),
                errors: own.numbers(se),
            };
            whiskers(&left, &of("difference", "difference_se"), &budgets, (&title, 340))?;
            let again = format!("{title}, replicates");
            let marks = of("replicate_difference", "replicate_se");
            whiskers(&right, &marks, &budgets, (&again, 10))?;
            rest = below;
        }
        Ok(())
    })
}

/// How much better errors are predicted than by the mean, a panel for each measure.
pub(crate) fn meta_prior(table: &Table, path: &Path) -> Said {
    let measures = table.distinct("measure");
    let height = table.distinct("from").len() as i32 * ROW / 2 + 90;
    let bands: Vec<&[&str]> = measures.chunks(3).collect();
    let title = "Less than by the mean of all (left of zero: better), two standard errors";
    let size = (1180, (height * bands.len() as i32 + 100) as u32);
    figure(path, size, title, &table.data, |area| {
        let mut rest = area.clone();
        for band in bands {
            let (mut row, below) = rest.split_vertically(height);
            for (at, measure) in band.iter().enumerate() {
                let own = table.only("measure", measure);
                let (part, right) = row.split_horizontally(if at == 0 { 540 } else { 300 });
                let marks = Marks {
                    names: own.words("from").into_iter().map(str::to_owned).collect(),
                    groups: vec![String::new(); own.words("from").len()],
                    means: own.numbers("less"),
                    errors: own.numbers("less_se"),
                };
                whiskers(&part, &marks, &[""], (measure, if at == 0 { 250 } else { 10 }))?;
                row = right;
            }
            rest = below;
        }
        Ok(())
    })
}

/// What filling categories by their mode changes, table by table.
pub(crate) fn category_fill(table: &Table, path: &Path) -> Said {
    let names: Vec<String> = table.words("dataset").into_iter().map(str::to_owned).collect();
    let height = names.len() as i32 * ROW / 2 + 190;
    let marks = Marks {
        groups: vec![String::new(); names.len()],
        names,
        means: table.numbers("less"),
        errors: table.numbers("less_se"),
    };
    let title =
        "Categories by mode less by codes (left of zero: mode is better), two standard errors";
    figure(path, (860, height as u32), title, &table.data, |area| {
        whiskers(area, &marks, &[""], ("mean over estimators", 250))
    })
}

/// The names of the pairs of a table, row by row.
fn names(table: &Table) -> Vec<String> {
    let both = table.words("system").into_iter().zip(table.words("less"));
    both.map(|(a, b)| format!("{a} - {b}")).collect()
}

/// The distinct ones, in their order.
fn distinct(names: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(name) {
            found.push(name.clone());
        }
    }
    found
}

fn n_pairs(table: &Table) -> i32 {
    distinct(&names(table)).len() as i32
}

/// Means with their standard errors, each of a name and of a group.
struct Marks {
    names: Vec<String>,
    groups: Vec<String>,
    means: Vec<f64>,
    errors: Vec<f64>,
}

/// One panel; `(title, room)` has the pixels for names, which are left out where there is little.
fn whiskers(area: &Area<'_>, marks: &Marks, groups: &[&str], (title, room): (&str, u32)) -> Said {
    let names = distinct(&marks.names);
    let n = names.len() as f64;
    let (means, errors) = (&marks.means, &marks.errors);
    let ends = means.iter().zip(errors).map(|(m, e)| m.abs() + 2.0 * e);
    let most = 1.05 * ends.fold(0.0, f64::max);
    let rows = Scale::new(0.0..n, (0..names.len()).map(|i| n - 0.5 - i as f64).collect());
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .caption(title, (FONT, 14))
        .x_label_area_size(40)
        .y_label_area_size(room)
        .build_cartesian_2d(-most..most, rows)
        .map_err(|e| e.to_string())?;
    let name = |v: f64| names.get((n - 0.5 - v).round() as usize).cloned().unwrap_or_default();
    chart
        .configure_mesh()
        .x_desc("difference of balanced errors")
        .x_labels(if room > 100 { 7 } else { 5 })
        .y_labels(names.len())
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .label_style((FONT, 12))
        .axis_desc_style((FONT, 13))
        .y_label_formatter(&|v| if room > 100 { name(*v) } else { String::new() })
        .x_label_formatter(&|v| tick(*v, false))
        .draw()
        .map_err(|e| e.to_string())?;
    let zero = PathElement::new([(0.0, 0.0), (0.0, n)], BLACK.stroke_width(1));
    chart.draw_series([zero]).map_err(|e| e.to_string())?;
    for i in 0..means.len() {
        let row = names.iter().position(|n| *n == marks.names[i]).unwrap_or(0) as f64;
        let group = groups.iter().position(|g| *g == marks.groups[i]).unwrap_or(0);
        let y = n - row - (group as f64 + 1.0) / (groups.len() as f64 + 1.0);
        let colour = colour(group + 1);
        let (m, e) = (means[i], 2.0 * errors[i]);
        let whisker = PathElement::new([(m - e, y), (m + e, y)], colour.stroke_width(2));
        chart.draw_series([whisker]).map_err(|e| e.to_string())?;
        mark!((m, y), group + 1, 3, |element| {
            chart.draw_series([element]).map(|_| ()).map_err(|e| e.to_string())
        })?;
    }
    Ok(())
}
