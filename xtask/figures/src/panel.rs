//! What all figures share: a light ground of their own, so that they read the same in print and on dark pages; colours
//! that colour-blind people tell apart (Okabe and Ito), with shapes of their own; the data in words under the axes.

use std::fs;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::Said;

/// Okabe and Ito's colours; yellow is left out, as it is hard to see on white. The last three are for figures of many
/// series.
pub(crate) const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(130, 130, 130),
    RGBColor(120, 60, 20),
    RGBColor(110, 60, 160),
];

/// The width of a name in a legend, in pixels.
const LEGEND_NAME: u32 = 170;

/// Height of a line of a legend of its own, in pixels.
const LEGEND_LINE: i32 = 18;

/// The font of all text.
pub(crate) const FONT: &str = "sans-serif";

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The colour of a series, by its place.
pub(crate) fn colour(at: usize) -> RGBColor {
    COLOURS[at % COLOURS.len()]
}

/// Draws a figure of this size: a title, what `paint` paints, and the data in words at the foot.
pub(crate) fn figure(
    path: &Path,
    size: (u32, u32),
    title: &str,
    data: &str,
    paint: impl FnOnce(&Area<'_>) -> Said,
) -> Said {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE).map_err(|e| e.to_string())?;
        let area = area.titled(title, (FONT, 20)).map_err(|e| e.to_string())?;
        let lines = wrapped(data, size.0 as usize / 6);
        let foot = 16 * lines.len() as i32 + 8;
        let (height, _) = (area.dim_in_pixel().1 as i32, ());
        let (top, bottom) = area.split_vertically(height - foot);
        for (at, line) in lines.iter().enumerate() {
            let style = (FONT, 12).into_font().color(&RGBColor(70, 70, 70));
            bottom
                .draw(&Text::new(line.as_str(), (12, 16 * at as i32), style))
                .map_err(|e| e.to_string())?;
        }
        paint(&top)?;
        area.present().map_err(|e| e.to_string())?;
    }
    fs::write(path, text).map_err(|e| e.to_string())
}

/// Lines of at most so many letters.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in format!("data: {text}").split(' ') {
        let last = lines.last_mut().expect("there is always one");
        if !last.is_empty() && last.len() + word.len() + 1 > most {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

/// Draws the mark of the series at a place: a circle, a triangle, a cross or a square, which are of different types.
macro_rules! mark {
    ($at:expr, $place:expr, $size:expr, |$element:ident| $draw:expr) => {{
        let (at, own, size): (_, RGBColor, i32) = ($at, colour($place), $size);
        match $place % 4 {
            0 => {
                let $element = Circle::new(at, size, own.filled());
                $draw
            }
            1 => {
                let $element = TriangleMarker::new(at, size + 1, own.filled());
                $draw
            }
            2 => {
                let $element = Cross::new(at, size, own.stroke_width(2));
                $draw
            }
            _ => {
                let side = size - i32::from(size > 2);
                let square = Rectangle::new([(-side, -side), (side, side)], own.filled());
                let $element = EmptyElement::at(at) + square;
                $draw
            }
        }
    }};
}
pub(crate) use mark;

/// One series of a panel.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) colour: usize,
    /// Points alone, or a line through them.
    pub(crate) is_line: bool,
}

/// How a panel's axes run.
pub(crate) struct Axes<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    pub(crate) log_x: bool,
    pub(crate) log_y: bool,
    pub(crate) legend: bool,
    /// Where the x axis has numbers; round ones, where nothing is said.
    pub(crate) ticks: Vec<f64>,
    /// Where the y axis begins and ends; where the points lie, where nothing is said.
    pub(crate) y_ends: Option<(f64, f64)>,
}

/// Where points lie, with some room around them.
fn range(values: impl Iterator<Item = f64>, is_log: bool) -> Range<f64> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for v in values.filter(|v| v.is_finite()) {
        (low, high) = (low.min(v), high.max(v));
    }
    if low > high {
        return 0.0..1.0;
    }
    let room = if high > low { 0.05 * (high - low) } else { 0.5 };
    // Errors and counts begin at zero.
    if is_log || low < 0.0 || low > 0.5 * high { low - room..high + room } else { 0.0..high + room }
}

/// An axis with numbers where it is told.
pub(crate) struct Scale {
    ends: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Scale {
    pub(crate) fn new(ends: Range<f64>, ticks: Vec<f64>) -> Self {
        Self { ends: ends.into(), ticks }
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.ends.map(value, limit)
    }

    fn key_points<H: KeyPointHint>(&self, _: H) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.ends.range()
    }
}

/// Round numbers within a range: 1, 2 and 5 times powers of ten on axes of logarithms (the powers alone, where those are
/// many), about six of them on others.
fn round_ticks(within: &Range<f64>, is_log: bool) -> Vec<f64> {
    let (low, high) = (within.start, within.end);
    if is_log {
        let decades = (low.floor() as i32)..=(high.ceil() as i32);
        let steps: &[f64] = match high - low {
            wide if wide > 3.0 => &[1.0],
            narrow if narrow < 1.0 => &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0],
            _ => &[1.0, 2.0, 5.0],
        };
        let all = decades.flat_map(|d| steps.iter().map(move |s| s.log10() + f64::from(d)));
        return all.filter(|t| (low..=high).contains(t)).collect();
    }
    let rough = (high - low) / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|t| *t <= high).collect()
}

/// A number on an axis.
pub(crate) fn tick(value: f64, is_log: bool) -> String {
    let value = if is_log { 10_f64.powf(value) } else { value };
    match value.abs() {
        v if v < 1e-9 => "0".to_owned(),
        v if v < 0.0005 => format!("{value:.0e}"),
        // As many decimals as it takes.
        _ => format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

/// Paints series into an area.
pub(crate) fn panel(area: &Area<'_>, axes: &Axes<'_>, series: &[Series]) -> Said {
    let place = |(x, y): (f64, f64)| {
        let log = |v: f64, is_log: bool| if is_log { v.max(1e-12).log10() } else { v };
        (log(x, axes.log_x), log(y, axes.log_y))
    };
    let all: Vec<(f64, f64)> = series.iter().flat_map(|s| &s.points).map(|&p| place(p)).collect();
    let xs = range(all.iter().map(|p| p.0), axes.log_x);
    let mut ys = range(all.iter().map(|p| p.1), axes.log_y);
    if let Some((low, high)) = axes.y_ends {
        ys = low..high;
    }
    // Above what is drawn, so that it hides nothing.
    let n_columns = (area.dim_in_pixel().0 / LEGEND_NAME).clamp(1, series.len() as u32) as usize;
    let (strip, below) = area.split_vertically(legend_height(series.len(), n_columns));
    if axes.legend {
        legend(&strip, series, n_columns)?;
    }
    let mut builder = ChartBuilder::on(if axes.legend { &below } else { area });
    builder.margin(10).x_label_area_size(44).y_label_area_size(64);
    if !axes.title.is_empty() {
        builder.caption(axes.title, (FONT, 14));
    }
    let x_ticks = match axes.ticks.is_empty() {
        true => round_ticks(&xs, axes.log_x),
        false => axes.ticks.iter().map(|&t| place((t, 1.0)).0).collect(),
    };
    let y_ticks = round_ticks(&ys, axes.log_y);
    let (xs, ys) = (Scale::new(xs, x_ticks), Scale::new(ys, y_ticks));
    let mut chart = builder.build_cartesian_2d(xs, ys).map_err(|e| e.to_string())?;
    chart
        .configure_mesh()
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_labels(12)
        .y_labels(12)
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .label_style((FONT, 12))
        .axis_desc_style((FONT, 13))
        .x_label_formatter(&|v| tick(*v, axes.log_x))
        .y_label_formatter(&|v| tick(*v, axes.log_y))
        .draw()
        .map_err(|e| e.to_string())?;
    for own in series {
        let colour = colour(own.colour);
        let points: Vec<(f64, f64)> = own.points.iter().map(|&p| place(p)).collect();
        if own.is_line {
            let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
            chart.draw_series(line).map_err(|e| e.to_string())?;
        }
        let size = if own.is_line { 4 } else { 2 };
        let is_many = own.is_line && points.len() > 40;
        for &point in points.iter().filter(|_| !is_many) {
            mark!(point, own.colour, size, |element| {
                chart.draw_series([element]).map(|_| ()).map_err(|e| e.to_string())
            })?;
        }
    }
    Ok(())
}

/// The height of a legend of its own, in pixels.
pub(crate) fn legend_height(n_series: usize, columns: usize) -> i32 {
    LEGEND_LINE * n_series.div_ceil(columns) as i32 + 8
}

/// A legend of its own, in so many columns, for panels that have the same series.
pub(crate) fn legend(area: &Area<'_>, series: &[Series], columns: usize) -> Said {
    let width = area.dim_in_pixel().0 as i32 / columns as i32;
    for (at, own) in series.iter().enumerate() {
        let colour = colour(own.colour);
        let x = 70 + (at % columns) as i32 * (width - 20);
        let y = LEGEND_LINE * (at / columns) as i32 + 8;
        area.draw(&PathElement::new([(x, y), (x + 22, y)], colour.stroke_width(3)))
            .map_err(|e| e.to_string())?;
        mark!((x + 11, y), own.colour, 4, |element| {
            area.draw(&element).map_err(|e| e.to_string())
        })?;
        let style = (FONT, 12).into_font().color(&BLACK);
        area.draw(&Text::new(own.name.as_str(), (x + 28, y - 6), style))
            .map_err(|e| e.to_string())?;
    }
    Ok(())
}
