//! Figures: the only file that names the plotting crate.

use anyhow::{Result, anyhow};
use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::annotations::ReferenceLine;
use kuva::plot::{LegendEntry, LegendShape, LinePlot, MarkerShape, ScatterPlot};
use kuva::render::annotations::TextAnnotation;
use kuva::render::figure::Figure;
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;

/// Colours that people with any kind of colour vision can distinguish (Okabe and Ito), the darkest first.
const COLOURS: [&str; 7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
const MARKERS: [MarkerShape; 5] =
    [MarkerShape::Circle, MarkerShape::Square, MarkerShape::Triangle, MarkerShape::Diamond, MarkerShape::TriangleDown];

/// What a curve looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Points,
    LineAndPoints,
    Dashed,
}

pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// Half the length of a bar through each point; none if empty.
    pub spread: Vec<f64>,
    /// A short text above each point; none if empty.
    pub labels: Vec<String>,
    pub look: Look,
    /// Which colour and marker; curves with the same number look the same.
    pub style: usize,
}

#[derive(Default)]
pub struct Panel {
    pub title: String,
    pub x_title: String,
    pub y_title: String,
    pub curves: Vec<Curve>,
    /// A dotted line at this value of x, and what it marks.
    pub mark: Option<(f64, String)>,
    /// Lower and upper end of y; by the data if `None`.
    pub y_range: Option<(f64, f64)>,
    /// Names in place of numbers on the axis of x, at 1, 2, …
    pub categories: Vec<String>,
    /// Whether equal steps of an axis are equal factors.
    pub is_x_logarithmic: bool,
    pub is_y_logarithmic: bool,
}

/// A finished figure.
pub struct Picture {
    pub svg: String,
    pub png: Vec<u8>,
}

/// Draws panels in rows of this many columns, with one legend for all beside them.
pub fn draw(panels: &[Panel], columns: usize, size: (f64, f64)) -> Result<Picture> {
    let columns = columns.clamp(1, panels.len().max(1));
    let rows = panels.len().div_ceil(columns);
    let plots: Vec<Vec<Plot>> = panels.iter().map(plots).collect();
    let layouts = panels.iter().zip(&plots).map(|(panel, plots)| layout(panel, plots)).collect();
    let scene = Figure::new(rows, columns)
        .with_plots(plots)
        .with_layouts(layouts)
        .with_cell_size(size.0, size.1)
        .with_shared_legend()
        .with_shared_legend_entries(legend(panels))
        .render();
    let svg = SvgBackend::default().render_scene(&scene);
    let png = PngBackend::new().with_scale(2.0).render_scene(&scene).map_err(|problem| anyhow!("{problem}"))?;
    Ok(Picture { svg, png })
}

fn colour(style: usize) -> &'static str {
    COLOURS[style % COLOURS.len()]
}

fn marker(style: usize) -> MarkerShape {
    MARKERS[style % MARKERS.len()]
}

fn plots(panel: &Panel) -> Vec<Plot> {
    let mut out = Vec::new();
    for curve in &panel.curves {
        let (colour, points) = (colour(curve.style), curve.points.clone());
        if curve.look != Look::Points {
            let line = LinePlot::new().with_data(points.clone()).with_color(colour).with_stroke_width(1.8);
            out.push(Plot::Line(if curve.look == Look::Dashed { line.with_dashed() } else { line }));
        }
        if matches!(curve.look, Look::Points | Look::LineAndPoints) {
            let marks =
                ScatterPlot::new().with_data(points).with_color(colour).with_size(4.0).with_marker(marker(curve.style));
            let spread = curve.spread.iter().copied();
            out.push(Plot::Scatter(if curve.spread.is_empty() { marks } else { marks.with_y_err(spread) }));
        }
    }
    out
}

fn layout(panel: &Panel, plots: &[Plot]) -> Layout {
    let mut layout = Layout::auto_from_plots(plots)
        .with_title(panel.title.as_str())
        .with_x_label(panel.x_title.as_str())
        .with_y_label(panel.y_title.as_str())
        .with_title_size(15)
        .with_label_size(13)
        .with_tick_size(11);
    if let Some((low, high)) = panel.y_range {
        layout = layout.with_y_axis_min(low).with_y_axis_max(high);
    }
    if !panel.categories.is_empty() {
        let names = panel.categories.clone();
        let name = move |x: f64| match (x.round() - x).abs() < 1e-6 && x > 0.5 {
            true => names.get(x.round() as usize - 1).cloned().unwrap_or_default(),
            false => String::new(),
        };
        let last = panel.categories.len() as f64 + 0.5;
        layout = layout
            .with_x_axis_min(0.5)
            .with_x_axis_max(last)
            .with_x_tick_step(1.0)
            .with_x_tick_format(TickFormat::Custom(std::sync::Arc::new(name)));
    }
    if panel.is_x_logarithmic {
        layout = layout.with_log_x();
    }
    if panel.is_y_logarithmic {
        layout = layout.with_log_y();
    }
    if let Some((x, text)) = &panel.mark {
        let mut line = ReferenceLine::vertical(*x).with_color("#555555").with_label(text.as_str());
        line.dasharray = "2 3".into();
        layout = layout.with_reference_line(line);
    }
    for curve in &panel.curves {
        for ((x, y), text) in curve.points.iter().zip(&curve.labels) {
            let note = TextAnnotation::new(text.as_str(), *x, *y).with_font_size(9).with_color(colour(curve.style));
            layout = layout.with_annotation(note);
        }
    }
    layout
}

/// One entry for each name, in the order of their first appearance.
fn legend(panels: &[Panel]) -> Vec<LegendEntry> {
    let mut entries: Vec<LegendEntry> = Vec::new();
    for curve in panels.iter().flat_map(|panel| &panel.curves) {
        if entries.iter().any(|entry| entry.label == curve.name) {
            continue;
        }
        let shape = match curve.look {
            Look::Points | Look::LineAndPoints => LegendShape::Marker(marker(curve.style)),
            Look::Dashed => LegendShape::Line,
        };
        entries.push(LegendEntry {
            label: curve.name.clone(),
            color: colour(curve.style).into(),
            shape,
            dasharray: (curve.look == Look::Dashed).then(|| "6 4".to_owned()),
        });
    }
    entries
}
