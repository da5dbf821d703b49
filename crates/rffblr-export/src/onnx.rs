//! A graph of ONNX in double precision: rows of numbers and rows of texts in, tables with a column for each target out.

use crate::formula::{Back, Cell, Curve, Formula, Kind, Part, SIDE, STEP, Spread, Terms};
use crate::protobuf::Message;
use crate::{ExportError, Result};
use serde_json::json;
use std::f64::consts::TAU;

/// Version of the operators, of those for texts, and of the file format.
const OPSET: i64 = 17;
const TEXT_OPSET: i64 = 3;
const FORMAT: i64 = 8;

/// Types of tensors.
const INTEGER: i64 = 7;
const TEXT: i64 = 8;
const DOUBLE: i64 = 11;

/// Nodes and constants. Values are known by their names; a constant may be of any shape that stretches to the others.
#[derive(Default)]
struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
}

/// What a node is told beside its inputs.
enum Attribute<'a> {
    Integer(&'a str, i64),
    Integers(&'a str, Vec<i64>),
    Texts(&'a str, Vec<&'a str>),
}

use Attribute::{Integer, Integers, Texts};

impl Graph {
    fn apply(&mut self, domain: &str, operator: &str, inputs: &[&str], attributes: &[Attribute<'_>]) -> String {
        let output = format!("v{}", self.nodes.len());
        let node = Message::default().each(inputs, |node, input| node.bytes(1, input)).bytes(2, &output);
        let node = node.bytes(4, operator).each(attributes, |node, attribute| node.message(5, attribute.message()));
        self.nodes.push(node.bytes(7, domain));
        output
    }

    fn node(&mut self, operator: &str, inputs: &[&str], attributes: &[Attribute<'_>]) -> String {
        self.apply("", operator, inputs, attributes)
    }

    fn unary(&mut self, operator: &str, input: &str) -> String {
        self.node(operator, &[input], &[])
    }

    fn binary(&mut self, operator: &str, left: &str, right: &str) -> String {
        self.node(operator, &[left, right], &[])
    }

    /// With a number on the right.
    fn with(&mut self, operator: &str, left: &str, right: f64) -> String {
        let right = self.doubles(&[], &[right]);
        self.binary(operator, left, &right)
    }

    /// With a number for each column on the right.
    fn with_row(&mut self, operator: &str, left: &str, right: &[f64]) -> String {
        let right = self.doubles(&[1, right.len()], right);
        self.binary(operator, left, &right)
    }

    fn constant(&mut self, shape: &[usize], kind: i64, bytes: Vec<u8>) -> String {
        let name = format!("c{}", self.constants.len());
        let tensor = Message::default().each(shape, |tensor, side| tensor.integer(1, *side as i64));
        self.constants.push(tensor.integer(2, kind).bytes(8, &name).bytes(9, bytes));
        name
    }

    fn doubles(&mut self, shape: &[usize], values: &[f64]) -> String {
        self.constant(shape, DOUBLE, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    fn integers(&mut self, shape: &[usize], values: &[usize]) -> String {
        self.constant(shape, INTEGER, values.iter().flat_map(|value| (*value as i64).to_le_bytes()).collect())
    }

    /// Rows of numbers, each as long as the first, as a matrix with a column for each.
    fn transposed(&mut self, rows: &[Vec<f64>]) -> String {
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        let entry = |k: usize| move |row: &Vec<f64>| row.get(k).copied().unwrap_or(0.0);
        let values: Vec<f64> = (0..width).flat_map(|k| rows.iter().map(entry(k))).collect();
        self.doubles(&[width, rows.len()], &values)
    }

    fn columns(&mut self, of: &str, which: &[usize]) -> String {
        let which = self.integers(&[which.len()], which);
        self.node("Gather", &[of, &which], &[Integer("axis", 1)])
    }

    fn joined(&mut self, blocks: &[String]) -> String {
        let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
        self.node("Concat", &blocks, &[Integer("axis", 1)])
    }

    fn sum_of_squares(&mut self, of: &str) -> String {
        self.node("ReduceSumSquare", &[of], &[Integers("axes", vec![1]), Integer("keepdims", 1)])
    }

    fn clipped(&mut self, value: &str, low: f64, high: f64) -> String {
        let (low, high) = (self.doubles(&[], &[low]), self.doubles(&[], &[high]));
        self.node("Clip", &[value, &low, &high], &[])
    }

    fn as_numbers(&mut self, truths: &str) -> String {
        self.node("Cast", &[truths], &[Integer("to", DOUBLE)])
    }
}

impl Attribute<'_> {
    fn message(&self) -> Message {
        let named = |name: &str, kind: i64| Message::default().bytes(1, name).integer(20, kind);
        match self {
            Integer(name, value) => named(name, 2).integer(3, *value),
            Integers(name, values) => named(name, 7).each(values, |message, value| message.integer(8, *value)),
            Texts(name, values) => named(name, 8).each(values, |message, value| message.bytes(9, value)),
        }
    }
}

/// The file.
pub(crate) fn model(formula: &Formula, name: &str) -> Result<Vec<u8>> {
    let mut graph = Graph::default();
    let z = encoded(&mut graph, formula);
    let (mut means, mut variances, mut order, mut spread_order) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for part in &formula.parts {
        let phi = terms(&mut graph, part, &z);
        let weights = graph.transposed(&part.weights);
        means.push(graph.binary("MatMul", &phi, &weights));
        order.extend(&part.tasks);
        for spread in &part.spreads {
            variances.push(variance(&mut graph, part, spread, &phi, &z));
            spread_order.extend(&spread.tasks);
        }
    }
    let f = in_order(&mut graph, &means, &order);
    let v = formula.uncertain().then(|| in_order(&mut graph, &variances, &spread_order));
    let outputs = targets(&mut graph, formula, &f, v.as_deref());
    for (name, value) in &outputs {
        graph.nodes.push(Message::default().bytes(1, value).bytes(2, name).bytes(4, "Identity"));
    }
    let count = |kind: fn(Kind) -> bool| formula.inputs.iter().filter(|input| kind(input.kind)).count();
    let (numbers, texts) = (count(|kind| kind != Kind::Text), count(|kind| kind == Kind::Text));
    let given = [("numbers", DOUBLE, numbers), ("texts", TEXT, texts)].into_iter().filter(|(_, _, count)| *count > 0);
    let made = outputs.iter().map(|(name, _)| (*name, DOUBLE, formula.targets.len()));
    let whole = Message::default()
        .each(graph.nodes, |whole, node| whole.message(1, node))
        .bytes(2, name)
        .each(graph.constants, |whole, constant| whole.message(5, constant))
        .bytes(10, &formula.about)
        .each(given, |whole, of| whole.message(11, table(of)))
        .each(made, |whole, of| whole.message(12, table(of)));
    let version = |domain: &str, version: i64| Message::default().bytes(1, domain).integer(2, version);
    let facts = Message::default().bytes(1, "inputs").bytes(2, inputs(formula)?);
    let file = Message::default().integer(1, FORMAT).bytes(2, "rffblr").bytes(3, env!("CARGO_PKG_VERSION"));
    let file = file.message(7, whole).message(8, version("", OPSET)).message(8, version("ai.onnx.ml", TEXT_OPSET));
    Ok(file.message(14, facts).into_bytes())
}

/// Name and type of an input or output with any number of rows.
fn table((name, kind, columns): (&str, i64, usize)) -> Message {
    let rows = Message::default().bytes(2, "rows");
    let shape = Message::default().message(1, rows).message(1, Message::default().integer(1, columns as i64));
    let tensor = Message::default().integer(1, kind).message(2, shape);
    Message::default().bytes(1, name).message(2, Message::default().message(1, tensor))
}

/// What the columns of the inputs and outputs are, in JSON: the graph itself knows tables without names.
pub(crate) fn inputs(formula: &Formula) -> Result<String> {
    let of = |texts: bool| -> Vec<serde_json::Value> {
        let inputs = formula.inputs.iter().filter(|input| (input.kind == Kind::Text) == texts);
        let meaning = |kind: Kind| match kind {
            Kind::Number => "number; NaN is missing",
            Kind::Text => "text; the empty text is missing",
            Kind::Date => "seconds since 1970-01-01 00:00 by the clock of the place; NaN is missing",
            Kind::Time => "seconds since midnight; NaN is missing",
        };
        inputs
            .map(|input| {
                let (name, holds, levels) = (&input.name, meaning(input.kind), &input.levels);
                json!({ "name": name, "holds": holds, "may_be_missing": input.required == 0, "levels": levels })
            })
            .collect()
    };
    let names: Vec<&String> = formula.targets.iter().map(|target| &target.name).collect();
    let outputs: &[&str] = if formula.uncertain() { &["prediction", "std", "lower", "upper"] } else { &["prediction"] };
    let facts = json!({
        "numbers": of(false), "texts": of(true), "targets": names, "outputs": outputs, "interval": formula.coverage,
        "opset": OPSET, "opset_ai_onnx_ml": TEXT_OPSET, "precision": "double",
    });
    let wrong = |e: serde_json::Error| rffblr::Error::Json { what: "the inputs", problem: e.to_string() };
    Ok(serde_json::to_string_pretty(&facts).map_err(wrong).map_err(ExportError::from)? + "\n")
}

/// Blocks of columns side by side, so that the column of each task is in its place.
fn in_order(graph: &mut Graph, blocks: &[String], tasks: &[usize]) -> String {
    let all = graph.joined(blocks);
    let place = |task: usize| tasks.iter().position(|own| *own == task).unwrap_or(0);
    let order: Vec<usize> = (0..tasks.len()).map(place).collect();
    graph.columns(&all, &order)
}

/// Standardised columns of numbers.
fn encoded(graph: &mut Graph, formula: &Formula) -> String {
    // Where each column is once all blocks are side by side.
    let (mut blocks, mut width, mut place) = (Vec::new(), 0, vec![0; formula.columns.len()]);
    let position = |input: usize, text: bool| {
        formula.inputs[..input].iter().filter(|other| (other.kind == Kind::Text) == text).count()
    };
    let numbers: Vec<usize> = (0..formula.inputs.len()).filter(|&i| formula.inputs[i].kind != Kind::Text).collect();
    if !numbers.is_empty() {
        let mut medians = vec![f64::NAN; numbers.len()];
        for column in formula.columns.iter().filter(|column| formula.inputs[column.input].required == 0) {
            if let Cell::Number { median } = column.cell {
                medians[position(column.input, false)] = median;
            }
        }
        let gaps = graph.unary("IsNaN", "numbers");
        let medians = graph.doubles(&[1, numbers.len()], &medians);
        blocks.push(graph.node("Where", &[&gaps, &medians, "numbers"], &[]));
        blocks.push(graph.as_numbers(&gaps));
        width = 2 * numbers.len();
    }
    for (input, given) in formula.inputs.iter().enumerate().filter(|(_, given)| given.kind == Kind::Text) {
        let cells: Vec<usize> = (0..place.len()).filter(|&d| formula.columns[d].input == input).collect();
        blocks.push(one_hot(graph, given, position(input, true), cells.len()));
        cells.iter().enumerate().for_each(|(k, &d)| place[d] = width + k);
        width += cells.len();
    }
    for (d, column) in formula.columns.iter().enumerate() {
        let required = formula.inputs[column.input].required == 1;
        let (at, other) = (position(column.input, false), if required { f64::NAN } else { 0.0 });
        match column.cell {
            Cell::Number { .. } => place[d] = at,
            Cell::Missing {} if formula.inputs[column.input].kind != Kind::Text => place[d] = numbers.len() + at,
            Cell::Level { .. } | Cell::Rare {} | Cell::Unknown {} | Cell::Missing {} => {}
            Cell::Days { start, median } => {
                let days = graph.columns("numbers", &[at]);
                let since = graph.with("Sub", &days, start);
                let since = graph.with("Div", &since, 86400.0);
                blocks.push(unless_missing(graph, &since, if required { f64::NAN } else { median }));
            }
            Cell::Cos { period, shift, whole } | Cell::Sin { period, shift, whole } => {
                let seconds = graph.columns("numbers", &[at]);
                let mut days = graph.with("Div", &seconds, 86400.0);
                if whole == 1 {
                    days = graph.unary("Floor", &days);
                }
                let shifted = graph.with("Add", &days, shift);
                let phase = graph.with("Div", &shifted, period);
                let turns = graph.unary("Floor", &phase);
                let phase = graph.binary("Sub", &phase, &turns);
                let angle = graph.with("Mul", &phase, TAU);
                let wave = graph.unary(if matches!(column.cell, Cell::Cos { .. }) { "Cos" } else { "Sin" }, &angle);
                blocks.push(unless_missing(graph, &wave, other));
            }
        }
        if matches!(column.cell, Cell::Days { .. } | Cell::Cos { .. } | Cell::Sin { .. }) {
            (place[d], width) = (width, width + 1);
        }
    }
    let all = graph.joined(&blocks);
    let columns = graph.columns(&all, &place);
    let of = |value: fn(&crate::formula::Column) -> f64| formula.columns.iter().map(value).collect::<Vec<f64>>();
    let centred = graph.with_row("Sub", &columns, &of(|column| column.mean));
    graph.with_row("Div", &centred, &of(|column| column.scale))
}

/// A number in the place of NaN.
fn unless_missing(graph: &mut Graph, value: &str, other: f64) -> String {
    let gaps = graph.unary("IsNaN", value);
    let other = graph.doubles(&[], &[other]);
    graph.node("Where", &[&gaps, &other, value], &[])
}

/// A column of zeros and ones for each level, and for what is none of them.
fn one_hot(graph: &mut Graph, given: &crate::formula::Input, at: usize, width: usize) -> String {
    let text = graph.columns("texts", &[at]);
    let keys: Vec<&str> = given.levels.iter().map(String::as_str).chain([""]).collect();
    // A text that is missing takes the last column, or none if it must not be.
    let missing = if given.required == 1 { -1 } else { width as i64 - 1 };
    let codes = (0..given.levels.len() as i64).chain([missing]).collect();
    let other = given.levels.len() as i64;
    let attributes = [Texts("keys_strings", keys), Integers("values_int64s", codes), Integer("default_int64", other)];
    let code = graph.apply("ai.onnx.ml", "LabelEncoder", &[&text], &attributes);
    let range = graph.integers(&[1, width], &(0..width).collect::<Vec<_>>());
    let ones = graph.binary("Equal", &code, &range);
    let ones = graph.as_numbers(&ones);
    if given.required == 0 {
        return ones;
    }
    let none = graph.constant(&[], INTEGER, (-1i64).to_le_bytes().to_vec());
    let gaps = graph.binary("Equal", &code, &none);
    let nothing = graph.doubles(&[], &[f64::NAN]);
    graph.node("Where", &[&gaps, &nothing, &ones], &[])
}

/// φ, a column for each term.
fn terms(graph: &mut Graph, part: &Part, z: &str) -> String {
    match &part.terms {
        Terms::Waves { amplitude, frequencies, phases, link, links } => {
            let mut blocks = Vec::new();
            if !phases.is_empty() {
                let frequencies = graph.transposed(frequencies);
                let angles = graph.binary("MatMul", z, &frequencies);
                let angles = graph.with_row("Add", &angles, phases);
                let waves = graph.unary("Cos", &angles);
                blocks.push(graph.with("Mul", &waves, *amplitude));
            }
            if !links.is_empty() {
                let linked = graph.columns(z, links);
                blocks.push(graph.with("Mul", &linked, *link));
            }
            let any = graph.columns(z, &[0]);
            let zero = graph.with("Mul", &any, 0.0);
            blocks.push(graph.with("Add", &zero, 1.0));
            graph.joined(&blocks)
        }
        Terms::Kernel { rows, linear, rbf, laplace, scales } => {
            let others = graph.transposed(rows);
            let products = graph.binary("MatMul", z, &others);
            // ‖x − z‖² = ‖x‖² + ‖z‖² − 2 x·z.
            let lengths: Vec<f64> = rows.iter().map(|row| row.iter().map(|x| x * x).sum()).collect();
            let own = graph.sum_of_squares(z);
            let twice = graph.with("Mul", &products, -2.0);
            let square = graph.binary("Add", &twice, &own);
            let square = graph.with_row("Add", &square, &lengths);
            let square = graph.with("Max", &square, 0.0);
            let straight = graph.with("Mul", &products, *linear);
            let mut sum = graph.with("Add", &straight, 1.0);
            let smooth = graph.with("Mul", &square, -rbf[1]);
            let smooth = graph.unary("Exp", &smooth);
            let smooth = graph.with("Mul", &smooth, rbf[0]);
            sum = graph.binary("Add", &sum, &smooth);
            // Σ r|x − z|, one input after the other: all at once would need rows × rows × inputs numbers.
            let mut distance = graph.with("Mul", &square, 0.0);
            for (d, scale) in scales.iter().enumerate().filter(|(_, scale)| **scale > 0.0) {
                let column = graph.columns(z, &[d]);
                let scaled = graph.with("Mul", &column, *scale);
                let across: Vec<f64> = rows.iter().map(|row| scale * row[d]).collect();
                let apart = graph.with_row("Sub", &scaled, &across);
                let apart = graph.unary("Abs", &apart);
                distance = graph.binary("Add", &distance, &apart);
            }
            let rough = graph.unary("Neg", &distance);
            let rough = graph.unary("Exp", &rough);
            let rough = graph.with("Mul", &rough, laplace[0]);
            graph.binary("Add", &sum, &rough)
        }
    }
}

/// Variances of the function, a column for each task of a spread.
fn variance(graph: &mut Graph, part: &Part, spread: &Spread, phi: &str, z: &str) -> String {
    let own = if spread.terms.is_empty() { phi.to_owned() } else { graph.columns(phi, &spread.terms) };
    let factor = graph.transposed(&spread.factor);
    let solved = graph.binary("MatMul", &own, &factor);
    let explained = graph.sum_of_squares(&solved);
    let Terms::Kernel { linear, rbf, laplace, .. } = &part.terms else {
        return graph.with_row("Mul", &explained, &spread.unit);
    };
    let far = rbf[0] + laplace[0];
    let length = graph.sum_of_squares(z);
    let prior = graph.with("Mul", &length, *linear);
    let prior = graph.with("Add", &prior, 1.0 + far);
    let left = graph.binary("Sub", &prior, &explained);
    let left = graph.with("Max", &left, 0.0);
    let variance = graph.with_row("Mul", &left, &spread.unit);
    if spread.correction.iter().all(|correction| *correction == 0.0) {
        return variance;
    }
    let share = graph.with("Mul", &left, if far > 0.0 { -1.0 / far } else { 0.0 });
    let near = graph.with("Add", &share, 1.0);
    let near = graph.clipped(&near, 0.0, 1.0);
    let less: Vec<f64> = spread.correction.iter().map(|correction| -correction).collect();
    let less = graph.with_row("Mul", &near, &less);
    let stays = graph.with("Add", &less, 1.0);
    graph.binary("Mul", &variance, &stays)
}

/// Predictions on the scale of each target, by the name of the output.
fn targets(graph: &mut Graph, formula: &Formula, f: &str, v: Option<&str>) -> Vec<(&'static str, String)> {
    let of = |value: fn(&crate::formula::Target) -> f64| formula.targets.iter().map(value).collect::<Vec<f64>>();
    let scaled = graph.with_row("Mul", f, &of(|target| target.scale));
    let location = graph.with_row("Add", &scaled, &of(|target| target.shift));
    let std = v.map(|v| {
        let total = graph.with_row("Add", v, &of(|target| target.noise));
        let root = graph.unary("Sqrt", &total);
        graph.with_row("Mul", &root, &of(|target| target.scale))
    });
    let ends = std.as_ref().map(|std| {
        [of(|target| target.reach[0]), of(|target| target.reach[1])].map(|reach| {
            let reach = graph.with_row("Mul", std, &reach);
            graph.binary("Add", &location, &reach)
        })
    });
    let back: Vec<Option<Back>> = formula.targets.iter().map(|target| target.transform.first().copied()).collect();
    let mut point = restored(graph, &location, &back);
    let (Some(mut std), Some([lower, upper])) = (std, ends) else { return vec![("prediction", point)] };
    let (lower, upper) = (restored(graph, &lower, &back), restored(graph, &upper, &back));
    if back.iter().any(Option::is_some) {
        let each = back.iter().enumerate().map(|(c, back)| {
            let [location, std, point] = [&location, &std, &point].map(|table| graph.columns(table, &[c]));
            match back {
                Some(back) => moments(graph, back, &location, &std, &point),
                None => (point, std),
            }
        });
        let (points, stds): (Vec<String>, Vec<String>) = each.collect();
        (point, std) = (graph.joined(&points), graph.joined(&stds));
    }
    vec![("prediction", point), ("std", std), ("lower", lower), ("upper", upper)]
}

/// A table of all targets, brought back from the scales of their transforms.
fn restored(graph: &mut Graph, table: &str, back: &[Option<Back>]) -> String {
    if back.iter().all(Option::is_none) {
        return table.to_owned();
    }
    let each = back.iter().enumerate().map(|(c, back)| {
        let column = graph.columns(table, &[c]);
        back.as_ref().map_or(column.clone(), |back| inverse(graph, back, &column))
    });
    let columns: Vec<String> = each.collect();
    graph.joined(&columns)
}

fn inverse(graph: &mut Graph, back: &Back, value: &str) -> String {
    let inside = graph.clipped(value, back.low, back.high);
    let mut curve = graph.unary("Exp", &inside);
    // The hyperbolic sine itself is not there in double precision.
    if back.shape == Curve::Sinh {
        let minus = graph.unary("Neg", &inside);
        let falling = graph.unary("Exp", &minus);
        let twice = graph.binary("Sub", &curve, &falling);
        curve = graph.with("Mul", &twice, 0.5);
    }
    let scaled = graph.with("Mul", &curve, back.width);
    let shifted = graph.with("Add", &scaled, back.centre);
    graph.clipped(&shifted, back.least, back.most)
}

/// Point prediction and standard deviation of a transformed target.
fn moments(graph: &mut Graph, back: &Back, location: &str, std: &str, median: &str) -> (String, String) {
    let nodes: Vec<f64> = (-SIDE..=SIDE).map(|k| STEP * f64::from(k)).collect();
    let weights: Vec<f64> = nodes.iter().map(|z| (-0.5 * z * z).exp()).collect();
    let total: f64 = weights.iter().sum();
    let weights: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
    let steps = graph.with_row("Mul", std, &nodes);
    let places = graph.binary("Add", location, &steps);
    let values = inverse(graph, back, &places);
    let values = graph.binary("Sub", &values, median);
    let weights = graph.doubles(&[nodes.len(), 1], &weights);
    let first = graph.binary("MatMul", &values, &weights);
    let squares = graph.binary("Mul", &values, &values);
    let second = graph.binary("MatMul", &squares, &weights);
    let square = graph.binary("Mul", &first, &first);
    let variance = graph.binary("Sub", &second, &square);
    let variance = graph.with("Max", &variance, 0.0);
    let point = if back.median == 1 { median.to_owned() } else { graph.binary("Add", median, &first) };
    (point, graph.unary("Sqrt", &variance))
}
