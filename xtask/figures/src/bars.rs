//! Figures of bars.

use std::path::Path;

use plotters::prelude::*;

use crate::Said;
use crate::panel::{Area, FONT, colour, figure};
use crate::table::Table;

/// Bars with names under them; several a name stand side by side, each with its own colour.
fn bars(area: &Area<'_>, y: &str, names: &[String], groups: &[(String, Vec<f64>)]) -> Said {
    // Room for the legend above the bars, where there is one.
    let room = if groups.len() > 1 { 1.45 } else { 1.12 };
    let highest = groups.iter().flat_map(|g| &g.1).copied().fold(0.0, f64::max) * room;
    let n = names.len() as f64;
    let is_percent = y.starts_with("percent");
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..n, 0.0..highest)
        .map_err(|e| e.to_string())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_desc(y)
        // Above a hundred per cent there is the legend alone.
        .y_label_formatter(&|v| {
            if is_percent && *v > 100.0 { String::new() } else { v.to_string() }
        })
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .label_style((FONT, 12))
        .axis_desc_style((FONT, 13))
        .draw()
        .map_err(|e| e.to_string())?;
    let width = 0.8 / groups.len() as f64;
    for (g, (name, values)) in groups.iter().enumerate() {
        let colour = colour(g + 1);
        let bar = |(at, &value): (usize, &f64)| {
            let left = at as f64 + 0.1 + g as f64 * width;
            Rectangle::new([(left, 0.0), (left + width * 0.94, value)], colour.filled())
        };
        chart
            .draw_series(values.iter().enumerate().map(bar))
            .map_err(|e| e.to_string())?
            .label(name.clone())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], colour.filled()));
    }
    let style = (FONT, 12).into_font().color(&BLACK);
    let (_, bottom) = (0, area.dim_in_pixel().1 as i32 - 46);
    let plotted = area.dim_in_pixel().0 as f64 - 84.0;
    for (at, name) in names.iter().enumerate() {
        let x = 74.0 + plotted * (at as f64 + 0.5) / n - 3.2 * name.len() as f64;
        area.draw(&Text::new(name.as_str(), (x as i32, bottom), style.clone()))
            .map_err(|e| e.to_string())?;
    }
    if groups.len() > 1 {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(190, 190, 190))
            .label_font((FONT, 12))
            .draw()
            .map_err(|e| e.to_string())?;
    }
    Ok(())
}

pub(crate) fn best_estimators(table: &Table, path: &Path) -> Said {
    let (names, values) = (table.words("what"), table.numbers("value"));
    let kept = (0..names.len()).filter(|&i| !names[i].starts_with("baseline"));
    let (names, values): (Vec<String>, Vec<f64>) =
        kept.map(|i| (names[i].to_owned(), values[i])).unzip();
    figure(path, (760, 440), "Estimators of the best pipelines", &table.data, |area| {
        bars(area, "datasets", &names, &[("datasets".to_owned(), values)])
    })
}

pub(crate) fn sigma(table: &Table, path: &Path) -> Said {
    let (from, counts) = (table.numbers("from"), table.numbers("pipelines"));
    let every = from.len().div_ceil(10);
    let name = |(at, low): (usize, &f64)| {
        if at % every == 0 { format!("{low:.4}") } else { String::new() }
    };
    let names: Vec<String> = from.iter().enumerate().map(name).collect();
    figure(
        path,
        (760, 440),
        "Standard deviation of what embeddings leave of each pipeline",
        &table.data,
        |area| bars(area, "pipelines", &names, &[("pipelines".to_owned(), counts)]),
    )
}

pub(crate) fn runtime_prediction(table: &Table, path: &Path) -> Said {
    let names: Vec<String> = table.distinct("kind").into_iter().map(str::to_owned).collect();
    figure(
        path,
        (1080, 640),
        "Runtimes predicted within a factor of 2 and of 4",
        &table.data,
        |area| {
            let parts = area.split_evenly((2, 1));
            for (part, column) in parts.iter().zip(["percent_within_2", "percent_within_4"]) {
                let group = |form: &str| {
                    let own = table.only("form", form);
                    (form.replace(':', ","), own.numbers(column))
                };
                let groups: Vec<_> = table.distinct("form").into_iter().map(group).collect();
                let y = column.replace('_', " ");
                bars(part, &y, &names, &groups)?;
            }
            Ok(())
        },
    )
}
