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
use kuva::render::render::{Primitive, Scene};
use std::sync::Arc;

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
    /// Lower and upper end of the spread at each point, a bar through points and a band along lines; none if empty.
    pub spread: Vec<(f64, f64)>,
    /// A short text above each point; none if empty.
    pub labels: Vec<String>,
    pub look: Look,
    /// Which colour and marker; curves with the same number look the same.
    pub style: usize,
}

impl Curve {
    /// Without spread and labels.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>, look: Look, style: usize) -> Curve {
        Curve { name: name.into(), points, spread: Vec::new(), labels: Vec::new(), look, style }
    }
}

/// Numbers below the curves, each under its x, in the colour of a curve.
pub struct Numbers {
    pub style: usize,
    pub at: Vec<(f64, String)>,
}

#[derive(Default)]
pub struct Panel {
    pub title: String,
    pub x_title: String,
    pub y_title: String,
    pub curves: Vec<Curve>,
    pub numbers: Vec<Numbers>,
    /// A dotted line at this value of x, and what it marks.
    pub mark: Option<(f64, String)>,
    /// Lower and upper end of an axis; by the data if `None`. A point below the lower end of y is drawn there, and its
    /// value is written beside it; so is the end of a bar that does not fit.
    pub x_range: Option<(f64, f64)>,
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

/// Draws panels in rows of this many columns, with one legend for all beside the first.
pub fn draw(panels: &[Panel], columns: usize, size: (f64, f64)) -> Result<Picture> {
    let columns = columns.clamp(1, panels.len().max(1));
    let rows = panels.len().div_ceil(columns);
    let plots: Vec<Vec<Plot>> = panels.iter().map(plots).collect();
    let layouts = panels.iter().zip(&plots).map(|(panel, plots)| layout(panel, plots)).collect();
    let mut scene = Figure::new(rows, columns)
        .with_plots(plots)
        .with_layouts(layouts)
        .with_cell_size(size.0, size.1)
        .with_shared_legend_right_top()
        .with_shared_legend_entries(legend(panels))
        .render();
    colour_labels(&mut scene);
    let svg = scalable(&SvgBackend::default().render_scene(&scene), scene.width, scene.height);
    let png = PngBackend::new().with_scale(2.0).render_scene(&scene).map_err(|problem| anyhow!("{problem}"))?;
    Ok(Picture { svg, png })
}

/// With the box that lets a browser scale a picture instead of cutting it off.
fn scalable(svg: &str, width: f64, height: f64) -> String {
    svg.replacen("<svg ", &format!("<svg viewBox=\"0 0 {width:.2} {height:.2}\" "), 1)
}

fn colour(style: usize) -> &'static str {
    COLOURS[style % COLOURS.len()]
}

fn marker(style: usize) -> MarkerShape {
    MARKERS[style % MARKERS.len()]
}

/// First of the letters without meaning that say, at the end of a label, which style it has: the plotting crate draws all
/// annotations in black.
const FIRST_STYLE: u32 = 0xE000;

fn styled(text: &str, style: usize) -> String {
    let letter = char::from_u32(FIRST_STYLE + (style % COLOURS.len()) as u32);
    text.chars().chain(letter).collect()
}

fn colour_labels(scene: &mut Scene) {
    for element in &mut scene.elements {
        if let Primitive::Text { content, color, .. } = element
            && let Some(style) = content.chars().last().and_then(|last| u32::from(last).checked_sub(FIRST_STYLE))
            && (style as usize) < COLOURS.len()
        {
            content.pop();
            *color = Some(colour(style as usize).into());
        }
    }
}

/// Where a point is drawn.
fn place(panel: &Panel, (x, y): (f64, f64)) -> (f64, f64) {
    (x, panel.y_range.map_or(y, |(low, _)| y.max(low)))
}

/// The spread at a point within what can be drawn.
fn ends(panel: &Panel, point: (f64, f64), (low, high): (f64, f64)) -> (f64, f64) {
    let y = place(panel, point).1;
    let (floor, ceiling) = panel.y_range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let floor = if panel.is_y_logarithmic { floor.max(0.1 * y) } else { floor };
    (low.clamp(floor, y.max(floor)), high.clamp(y, ceiling.max(y)))
}

/// Where the bar of a point that is itself in its place ends, if that is below the axis, and where the axis ends.
fn cut_bar(panel: &Panel, curve: &Curve, at: usize) -> Option<(f64, f64)> {
    let (floor, _) = panel.y_range.filter(|_| curve.look == Look::Points)?;
    let (end, _) = *curve.spread.get(at)?;
    (end < floor && curve.points[at].1 >= floor).then_some((end, floor))
}

fn plots(panel: &Panel) -> Vec<Plot> {
    let mut out = Vec::new();
    for curve in &panel.curves {
        let colour = colour(curve.style);
        let points: Vec<(f64, f64)> = curve.points.iter().map(|&point| place(panel, point)).collect();
        let ends = curve.points.iter().zip(&curve.spread).map(|(&point, &spread)| ends(panel, point, spread));
        let ends: Vec<(f64, f64)> = ends.collect();
        if curve.look != Look::Points {
            let mut line = LinePlot::new().with_data(points.clone()).with_color(colour).with_stroke_width(1.8);
            if !ends.is_empty() {
                line = line.with_band(ends.iter().map(|end| end.0), ends.iter().map(|end| end.1));
            }
            out.push(Plot::Line(if curve.look == Look::Dashed { line.with_dashed() } else { line }));
        }
        if matches!(curve.look, Look::Points | Look::LineAndPoints) {
            let mut marks = ScatterPlot::new().with_data(points.clone()).with_color(colour);
            marks = marks.with_size(4.0).with_marker(marker(curve.style));
            if curve.look == Look::Points && !ends.is_empty() {
                let arms = points.iter().zip(&ends).map(|(&(_, y), &(low, high))| (y - low, high - y));
                marks = marks.with_y_err_asymmetric(arms);
            }
            out.push(Plot::Scatter(marks));
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
    if let Some((low, high)) = panel.x_range {
        layout = layout.with_x_axis_min(low).with_x_axis_max(high);
    }
    if let Some((low, high)) = panel.y_range {
        layout = layout.with_y_axis_min(low).with_y_axis_max(high);
        if !panel.numbers.is_empty() {
            layout = numbered(layout, panel, low, high);
        }
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
            .with_x_tick_format(TickFormat::Custom(Arc::new(name)));
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
        for (at, &point) in curve.points.iter().enumerate() {
            let (x, y) = place(panel, point);
            let label = curve.labels.get(at).map_or("", String::as_str);
            let text = if y > point.1 { format!("↓{:.2}{label}", point.1) } else { label.to_owned() };
            if !text.is_empty() {
                let text = styled(&text, curve.style);
                layout = layout.with_annotation(TextAnnotation::new(text, x, y).with_font_size(10));
            }
            if let Some((end, floor)) = cut_bar(panel, curve, at) {
                let text = styled(&format!("↓{end:.2}"), curve.style);
                layout = layout.with_annotation(TextAnnotation::new(text, x, floor).with_font_size(10));
            }
        }
    }
    layout
}

/// Makes room below `low` for rows of numbers.
fn numbered(layout: Layout, panel: &Panel, low: f64, high: f64) -> Layout {
    let row = 0.08 * (high - low);
    let lowest = low - row * (panel.numbers.len() as f64 + 0.3);
    // The axis ends where the numbers begin.
    let value = move |y: f64| match y < low {
        true => String::new(),
        false => format!("{y:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    let mut line = ReferenceLine::horizontal(low).with_color("#999999");
    line.dasharray = String::new();
    let mut layout = layout
        .with_y_axis_min(lowest)
        .with_y_tick_format(TickFormat::Custom(Arc::new(value)))
        .with_reference_line(line);
    for (number, Numbers { style, at }) in panel.numbers.iter().enumerate() {
        for (x, text) in at {
            let text = styled(text, *style);
            let y = low - row * (number as f64 + 1.1);
            layout = layout.with_annotation(TextAnnotation::new(text, *x, y).with_font_size(10));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> Panel {
        let below = Curve {
            spread: vec![(-2.0, 0.5), (0.2, 3.0)],
            ..Curve::new("a", vec![(1.0, -0.5), (2.0, 0.4)], Look::Points, 1)
        };
        Panel { curves: vec![below], y_range: Some((0.0, 1.0)), ..Panel::default() }
    }

    /// A point that does not fit is drawn at the edge with its value; spreads end at the edges.
    #[test]
    fn nothing_is_clipped_in_silence() {
        let panel = panel();
        assert_eq!(place(&panel, (1.0, -0.5)), (1.0, 0.0));
        assert_eq!(ends(&panel, (1.0, -0.5), (-2.0, 0.5)), (0.0, 0.5));
        assert_eq!(ends(&panel, (2.0, 0.4), (0.2, 3.0)), (0.2, 1.0));
        let Picture { svg, png } = draw(&[panel], 1, (300.0, 200.0)).unwrap();
        assert!(svg.contains("↓-0.50</text>"), "the value is written");
        assert!(!svg.contains("↓-2.00"), "once for a point and its bar");
        // A point in its place whose bar is cut.
        let mut panel = self::panel();
        panel.curves[0].spread[1].0 = -0.7;
        let svg = draw(&[panel], 1, (300.0, 200.0)).unwrap().svg;
        assert!(svg.contains("↓-0.70</text>"), "the end of the bar is written");
        assert!(png.starts_with(b"\x89PNG"));
    }

    /// Labels have the colour of their curve, and no letter is left that says which.
    #[test]
    fn labels_have_the_colour_of_their_curve() {
        let mut panel = panel();
        panel.numbers = vec![Numbers { style: 2, at: vec![(1.5, "17".into())] }];
        let svg = draw(&[panel], 1, (300.0, 200.0)).unwrap().svg;
        let number = svg.split("<text").find(|text| text.contains(">17<")).unwrap();
        assert!(number.to_lowercase().contains(&COLOURS[2].to_lowercase()), "{number}");
        assert!(!svg.chars().any(|letter| (FIRST_STYLE..FIRST_STYLE + 7).contains(&u32::from(letter))));
    }

    #[test]
    fn a_figure_scales() {
        let svg = draw(&[panel()], 1, (300.0, 200.0)).unwrap().svg;
        assert!(svg.starts_with("<svg viewBox=\"0 0 "), "{}", &svg[..80]);
    }
}
