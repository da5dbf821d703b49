//! Against the golden file, and against finite differences of the bound written down term by term.

use super::buffers::{Buffers, Draw};
use super::model::{Model, Part, Sizes};
use super::*;
use crate::golden::{golden, matrix, vector};
use rffblr::data::Weights;
use serde_json::Value;
use std::collections::BTreeMap;

/// The parameters by the names of the golden file; a vector is a table of one row.
type Named = BTreeMap<&'static str, Mat<f64>>;

const NAMES: [&str; 13] = ["Ws", "bs", "Wm", "bm", "Wv", "bv", "Wp", "bp", "Wy", "by", "dy", "ds", "u"];

fn named(value: &Value) -> Named {
    let table = |cells: &Value| match cells[0].is_array() {
        true => matrix(cells),
        false => {
            let cells = vector(cells);
            Mat::from_fn(1, cells.len(), |_, j| cells[j])
        }
    };
    NAMES.into_iter().map(|name| (name, table(&value[name]))).collect()
}

/// Where one named cell lies among the parameters.
fn place(sizes: &Sizes, name: &str, row: usize, column: usize) -> usize {
    let Sizes { variables: v, components: s, factors: z, between: y } = *sizes;
    let from = |part: Part| sizes.range(part).start;
    let of_row = |first: usize| from(Part::RowWeights) + (first + column) * v + row;
    let of_component =
        |first: usize, row: usize, column: usize| from(Part::ComponentWeights) + (first + column) * s + row;
    match name {
        "Ws" => of_row(0),
        "Wm" if row < v => of_row(s),
        "Wv" if row < v => of_row(s + z),
        "Wm" => of_component(0, row - v, column),
        "Wv" => of_component(z, row - v, column),
        "Wp" => of_component(2 * z, row, column),
        "ds" => of_component(3 * z, column, row),
        "u" => of_component(3 * z + v, column, row),
        "bs" => from(Part::RowBiases) + column,
        "bm" => from(Part::RowBiases) + s + column,
        "bv" => from(Part::RowBiases) + s + z + column,
        "bp" => from(Part::PriorBiases) + column,
        "Wy" => from(Part::FactorWeights) + column * z + row,
        "by" => from(Part::FactorBiases) + column,
        _ => from(Part::Mixing) + row * y + column,
    }
}

fn each_cell(tables: &Named, mut f: impl FnMut(&'static str, usize, usize, f64)) {
    for (name, table) in tables {
        for column in 0..table.ncols() {
            for row in 0..table.nrows() {
                f(name, row, column, table[(row, column)]);
            }
        }
    }
}

fn flat(sizes: &Sizes, tables: &Named) -> Vec<f64> {
    let mut out = vec![f64::NAN; sizes.parameters()];
    each_cell(tables, |name, row, column, value| out[place(sizes, name, row, column)] = value);
    assert!(out.iter().all(|v| !v.is_nan()), "a parameter without a name");
    out
}

struct Case {
    sizes: Sizes,
    parameters: Named,
    table: Mat<f64>,
    gumbel: Mat<f64>,
    normals: Mat<f64>,
    temperature: f64,
}

impl Case {
    fn loaded(&self) -> (Model, Buffers, Draw) {
        let model = Model { sizes: self.sizes, parameters: flat(&self.sizes, &self.parameters) };
        let mut buffers = Buffers::new(&self.sizes, self.table.nrows());
        buffers.load(&self.table);
        let by_columns = |table: &Mat<f64>| (0..table.ncols()).flat_map(|c| table.col_as_slice(c).to_vec()).collect();
        let mut draw = Draw { waits: by_columns(&self.gumbel), normals: by_columns(&self.normals) };
        draw.waits.iter_mut().for_each(|g| *g = (-*g).exp());
        (model, buffers, draw)
    }

    fn gradient(&self) -> Vec<f64> {
        let (model, mut buffers, draw) = self.loaded();
        model.forward(&mut buffers, &draw, self.temperature);
        model.backward(&mut buffers, &draw, self.temperature);
        buffers.gradient
    }

    /// A case with different sizes, holes, a clipped variance of z, a clipped noise and a share below the smallest.
    fn drawn() -> Self {
        let sizes = Sizes { variables: 5, components: 4, factors: 3, between: 2 };
        let mut cell = 0;
        let mut next = |scale: f64| {
            cell += 1;
            (cell as f64 * 0.7391).sin() * scale
        };
        let mut table = |rows: usize, columns: usize, scale: f64| Mat::from_fn(rows, columns, |_, _| next(scale));
        let mut parameters = Named::new();
        for (name, rows, columns) in [
            ("Ws", 5, 4),
            ("bs", 1, 4),
            ("Wm", 9, 3),
            ("bm", 1, 3),
            ("Wv", 9, 3),
            ("bv", 1, 3),
            ("Wp", 4, 3),
            ("bp", 1, 3),
            ("Wy", 3, 10),
            ("by", 1, 10),
            ("dy", 5, 2),
            ("ds", 5, 4),
            ("u", 5, 4),
        ] {
            parameters.insert(name, table(rows, columns, 0.6));
        }
        let mut x = table(7, 5, 2.0);
        for hole in [(0, 4), (2, 4), (3, 0), (5, 2)] {
            x[hole] = f64::NAN;
        }
        let (gumbel, normals) = (table(7, 4, 1.5), table(7, 3, 1.2));
        if let Some(biases) = parameters.get_mut("bs") {
            biases[(0, 2)] = -25.0;
        }
        if let Some(biases) = parameters.get_mut("bv") {
            biases[(0, 1)] = -40.0;
        }
        if let Some(weights) = parameters.get_mut("u") {
            (0..4).for_each(|k| weights[(3, k)] = -30.0);
        }
        Case { sizes, parameters, table: x, gumbel, normals, temperature: 0.6 }
    }
}

fn softmax_of(logits: &[f64]) -> Vec<f64> {
    let total: f64 = logits.iter().map(|l| l.exp()).sum();
    logits.iter().map(|l| l.exp() / total).collect()
}

/// Rows `from..` of a named matrix times a vector, plus nothing.
fn times(values: &[f64], weights: &Mat<f64>, from: usize) -> Vec<f64> {
    (0..weights.ncols()).map(|j| values.iter().enumerate().map(|(i, v)| v * weights[(from + i, j)]).sum()).collect()
}

fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn row_of(table: &Mat<f64>, row: usize) -> Vec<f64> {
    (0..table.ncols()).map(|j| table[(row, j)]).collect()
}

/// The bound (without and with the KL of the components), row by row from the definition: y is formed.
fn bound(case: &Case, p: &Named) -> (f64, f64) {
    let Sizes { variables, components, factors, between } = case.sizes;
    let rows = case.table.nrows();
    let statistics: Vec<(f64, f64)> = (0..variables)
        .map(|v| {
            let seen: Vec<f64> = case.table.col_as_slice(v).iter().copied().filter(|x| !x.is_nan()).collect();
            let mean = seen.iter().sum::<f64>() / seen.len() as f64;
            (mean, (seen.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / seen.len() as f64).max(1e-6))
        })
        .collect();
    let (mut value, mut mixture) = (0.0, 0.0);
    for n in 0..rows {
        let x = row_of(&case.table, n);
        let seen = |v: usize| !x[v].is_nan();
        let scaled = |v: usize| (x[v] - statistics[v].0) / (statistics[v].1 + 1e-6).sqrt();
        let hat: Vec<f64> = (0..variables).map(|v| if seen(v) { scaled(v) } else { 0.0 }).collect();
        let shares = softmax_of(&plus(&times(&hat, &p["Ws"], 0), &row_of(&p["bs"], 0)));
        let logs: Vec<f64> = shares.iter().map(|share| share.clamp(1e-6, 1.0).ln()).collect();
        let race: Vec<f64> = (0..components).map(|k| (logs[k] + case.gumbel[(n, k)]) / case.temperature).collect();
        let s = softmax_of(&race);
        let encode =
            |w: &str, b: &str| plus(&plus(&times(&hat, &p[w], 0), &times(&s, &p[w], variables)), &row_of(&p[b], 0));
        let (mean, log_variance) = (encode("Wm", "bm"), encode("Wv", "bv"));
        let log_variance: Vec<f64> = log_variance.iter().map(|lv| lv.clamp(-15.0, 15.0)).collect();
        let z: Vec<f64> =
            (0..factors).map(|f| mean[f] + (log_variance[f] / 2.0).exp() * case.normals[(n, f)]).collect();
        let prior = plus(&times(&s, &p["Wp"], 0), &row_of(&p["bp"], 0));
        let y = plus(&times(&z, &p["Wy"], 0), &row_of(&p["by"], 0));
        for v in (0..variables).filter(|&v| seen(v)) {
            let from_y: f64 = (0..between).map(|k| y[v * between + k] * p["dy"][(v, k)]).sum();
            let from_s: f64 = (0..components).map(|k| s[k] * p["ds"][(v, k)]).sum();
            let raw: f64 = (0..components).map(|k| s[k] * p["u"][(v, k)]).sum();
            let spread = statistics[v].1.max(1e-3);
            let expected = spread.sqrt() * (from_y + from_s) + statistics[v].0;
            let variance = spread * (1.0 + raw.exp()).ln().clamp(1e-3, 1e20);
            value -= 0.5 * (std::f64::consts::TAU * variance).ln() + (x[v] - expected).powi(2) / (2.0 * variance);
        }
        let gaps = (0..factors).map(|f| log_variance[f].exp() + (prior[f] - mean[f]).powi(2) - log_variance[f]);
        value -= 0.5 * gaps.sum::<f64>() - 0.5 * factors as f64;
        let q = softmax_of(&logs);
        mixture += q.iter().map(|q| q * q.ln()).sum::<f64>() + (components as f64).ln();
    }
    (value / rows as f64, (value - mixture) / rows as f64)
}

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs().max(1.0), "{what}: {found}, expected {expected}");
}

fn golden_case() -> (Case, Value) {
    let file = golden("hivae.json");
    let (x, mask) = (matrix(&file["X"]), matrix(&file["mask"]));
    let table = Mat::from_fn(6, 4, |n, v| if mask[(n, v)] == 1.0 { x[(n, v)] } else { f64::NAN });
    let case = Case {
        sizes: Sizes { variables: 4, components: 3, factors: 2, between: 2 },
        parameters: named(&file["params"]),
        table,
        gumbel: matrix(&file["gumbel"]),
        normals: matrix(&file["eps"]),
        temperature: file["tau"].as_f64().unwrap(),
    };
    (case, file)
}

#[test]
fn every_number_of_the_golden_file() {
    let (case, file) = golden_case();
    close("bound", bound(&case, &case.parameters).1, file["elbo"].as_f64().unwrap(), 1e-12);
    let gradient = case.gradient();
    each_cell(&named(&file["grad_neg_elbo_no_kls"]), |name, row, column, expected| {
        close(name, gradient[place(&case.sizes, name, row, column)], expected, 1e-11);
    });
    let model = Model { sizes: case.sizes, parameters: flat(&case.sizes, &case.parameters) };
    let mut buffers = Buffers::new(&case.sizes, 6);
    buffers.load(&case.table);
    model.forward_without_noise(&mut buffers);
    let expected = matrix(&file["impute_mean"]);
    for (row, cluster) in vector(&file["cluster"]).into_iter().enumerate() {
        let component = (0..3).find(|k| buffers.components[k * 6 + row] == 1.0);
        assert_eq!(component, Some(cluster as usize));
        (0..4).for_each(|v| close("imputed", model.cell(&buffers, row, v).0, expected[(row, v)], 1e-12));
    }
}

/// What chooses the epochs is the bound of the golden file, and of the definition where something is clipped.
#[test]
fn the_bound_is_that_of_its_definition() {
    let (golden, file) = golden_case();
    for (case, expected) in [
        (&golden, file["elbo"].as_f64().unwrap()),
        (&Case::drawn(), bound(&Case::drawn(), &Case::drawn().parameters).1),
    ] {
        let (model, mut buffers, draw) = case.loaded();
        model.forward(&mut buffers, &draw, case.temperature);
        close("bound", model.bound(&buffers), expected, 1e-12);
    }
}

/// The epochs with the highest bound of the rows held out are taken, each as a training of its own would give it.
#[test]
fn epochs_are_chosen_by_the_bound_of_rows_held_out() {
    let (x, y) = line(60, 0);
    let data = Dataset::new(x, y).unwrap();
    let rows: Vec<usize> = (0..60).filter(|n| n % 5 != 2).collect();
    let (train_rows, test) =
        (data.select(&rows).unwrap(), data.select(&(2..60).step_by(5).collect::<Vec<_>>()).unwrap());
    let held_out = HeldOutRows { inputs: test.inputs().to_owned(), targets: test.targets().to_owned() };
    for learning in [Learning::Transductive, Learning::Inductive] {
        let method = HiVae { learning };
        let mut found = vec![f64::NAN; 3];
        method.scan(&[5, 20, 60], 4, &train_rows, &held_out, &mut |point, bound| found[point] = bound).unwrap();
        let (scales, inputs, targets) = Scales::learn(&train_rows).unwrap();
        let table = method.table(&inputs, &targets);
        assert_eq!(table.nrows(), if learning == Learning::Inductive { 96 } else { 48 });
        let questions = scales.question(test.inputs()).unwrap();
        let answers = scales.targets.apply(test.targets(), data.target_names()).unwrap();
        let new = Mat::from_fn(12, 5, |n, v| if v < 3 { questions[(n, v)] } else { answers[(n, v - 3)] });
        for (epochs, found) in [5, 20, 60].into_iter().zip(&found) {
            let model = train(&table, &Training { epochs, seed: 4 }, |_, _| {});
            assert_eq!(*found, bound_of(&model, &new, &statistics_of(&table, &model.sizes), 4));
        }
        // This early the bound rises.
        assert!(found[0] < found[1] && found[1] < found[2], "{found:?}");
    }
    let plan = Plan { inner: Some(&[vec![0, 7, 20], vec![3, 4, 31]]), ..Plan::seeded(1) };
    let choice =
        |grid: Grid| HiVae { learning: Learning::Inductive }.fit(&data, &Plan { grid, ..plan }).unwrap().chosen();
    let [("epochs", Chosen::Text(text))] = &choice(Grid::Full)[..] else { panic!() };
    assert!(epochs(Grid::Full).contains(&text.parse().unwrap()));
    assert_eq!(choice(Grid::Coarse), [("epochs", Chosen::Text("200".into()))]);
}

#[test]
fn gradients_equal_central_differences_where_nothing_and_where_something_is_clipped() {
    compare_with_differences(&golden_case().0);
    compare_with_differences(&Case::drawn());
}

fn compare_with_differences(case: &Case) {
    let gradient = case.gradient();
    each_cell(&case.parameters, |name, row, column, value| {
        let moved = |step: f64| {
            let mut parameters = case.parameters.clone();
            if let Some(table) = parameters.get_mut(name) {
                table[(row, column)] = value + step;
            }
            bound(case, &parameters)
        };
        let (up, down) = (moved(1e-5), moved(-1e-5));
        let at = place(&case.sizes, name, row, column);
        let what = format!("{name}[{row},{column}]");
        close(&what, gradient[at], (down.0 - up.0) / 2e-5, 1e-7);
    });
}

/// What a cell is expected to be and how far it spreads, by drawing z and the noise many times.
#[test]
fn the_variance_of_a_cell_is_that_of_draws() {
    let case = Case::drawn();
    let model = Model { sizes: case.sizes, parameters: flat(&case.sizes, &case.parameters) };
    let mut buffers = Buffers::new(&case.sizes, 7);
    buffers.load(&case.table);
    model.forward_without_noise(&mut buffers);
    let cells: Vec<(f64, f64)> = (0..35).map(|at| model.cell(&buffers, at / 5, at % 5)).collect();
    let (mut means, mut squares) = (vec![0.0; 35], vec![0.0; 35]);
    let mut draw = Draw::new(&case.sizes, 7);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    const DRAWS: usize = 20_000;
    for _ in 0..DRAWS {
        draw.renew(&mut rng);
        // z drawn around the means by hand; the decoder's own noise is added to the variance below.
        for (f, normal) in draw.normals.iter().enumerate() {
            buffers.factors[f] = buffers.component_part[f] + buffers.deviations[f] * normal;
        }
        let rows = (0..35).map(|at| (at / 5, at % 5));
        for (at, (row, v)) in rows.enumerate() {
            let h: f64 = (0..3).map(|f| buffers.factors[f * 7 + row] * buffers.loadings[v * 3 + f]).sum();
            means[at] += h / DRAWS as f64;
            squares[at] += h * h / DRAWS as f64;
        }
    }
    for (at, (_, variance)) in cells.iter().enumerate() {
        let (row, v) = (at / 5, at % 5);
        let component = (0..4).find(|k| buffers.components[k * 7 + row] == 1.0).unwrap();
        let noise = (1.0 + case.parameters["u"][(v, component)].exp()).ln().max(1e-3);
        let spread = buffers.statistics.decoder(v).1;
        let drawn = spread * (noise + squares[at] - means[at] * means[at]);
        assert!((variance / drawn - 1.0).abs() < 0.05, "{row} {v}: {variance}, drawn {drawn}");
    }
}

fn line(rows: usize, offset: usize) -> (Mat<f64>, Mat<f64>) {
    let x = Mat::from_fn(rows, 3, |n, d| (((n + offset) * 7 + d * 13) as f64 * 0.77).sin());
    let y = Mat::from_fn(rows, 2, |n, c| 40.0 + 5.0 * x[(n, c)] - 3.0 * x[(n, 2)] + 0.1 * (n as f64 * 1.7).cos());
    (x, y)
}

#[test]
fn a_linear_relation_is_found_from_all_rows_and_from_training_rows() {
    let (x, mut y) = line(80, 0);
    // Missing targets are holes like any other.
    (0..80).filter(|n| n % 9 == 4).for_each(|n| y[(n, n % 2)] = f64::NAN);
    let (questions, truth) = line(40, 1000);
    let data = Dataset::new(x, y).unwrap();
    for learning in [Learning::Transductive, Learning::Inductive] {
        let fitted = HiVae { learning }.fit(&data, &Plan::seeded(3)).unwrap();
        let forecast = fitted.predict(questions.as_ref()).unwrap();
        let r2 = rffblr::metrics::task_r2(truth.as_ref(), forecast.mean.as_ref()).unwrap().overall;
        assert!(r2 > 0.75, "{learning:?}: {r2}");
    }
}

#[test]
fn a_transductive_prediction_depends_on_the_rows_asked_and_an_inductive_one_does_not() {
    let (x, y) = line(30, 0);
    let data = Dataset::new(x, y).unwrap();
    let questions = line(12, 500).0;
    let quick = Plan { grid: Grid::Coarse, ..Plan::seeded(3) };
    for learning in [Learning::Transductive, Learning::Inductive] {
        let fitted = HiVae { learning }.fit(&data, &quick).unwrap();
        let all = fitted.predict(questions.as_ref()).unwrap();
        assert_eq!(all, fitted.predict(questions.as_ref()).unwrap());
        let some = fitted.predict(questions.as_ref().subrows(0, 5)).unwrap();
        let gap = (0..5).map(|n| (all.mean[(n, 0)] - some.mean[(n, 0)]).abs()).fold(0.0, f64::max);
        assert_eq!(gap > 1e-9, learning == Learning::Transductive, "{gap}");
    }
}

#[test]
fn extreme_rows_and_tables_are_refused_or_finite() {
    let (x, y) = line(12, 0);
    let quick = Plan { grid: Grid::Coarse, ..Plan::seeded(3) };
    let one = Dataset::new(x.as_ref().subrows(0, 1).to_owned(), y.as_ref().subrows(0, 1).to_owned()).unwrap();
    let huge = Dataset::new(x.clone(), Mat::from_fn(12, 2, |n, c| y[(n, c)] * 1e300)).unwrap();
    for data in [Dataset::new(x, y).unwrap(), one, huge] {
        for learning in [Learning::Transductive, Learning::Inductive] {
            let fitted = HiVae { learning }.fit(&data, &quick).unwrap();
            for far in [0.5, 1e300, -1e308] {
                // More rows to predict than to learn from: whole batches without a target.
                match fitted.predict(Mat::from_fn(130, 3, |n, _| if n % 2 == 0 { far } else { 0.3 }).as_ref()) {
                    Ok(forecast) => assert!((0..130).all(|n| forecast.mean[(n, 0)].is_finite())),
                    Err(error) => assert!(far.abs() > 1e5 && error.to_string().contains("too far outside"), "{error}"),
                }
            }
        }
    }
}

#[test]
fn row_weights_are_refused() {
    let (x, y) = line(12, 0);
    let data = Dataset::new(x, y).unwrap().with_weights(Weights::Repeats(vec![2.0; 12])).unwrap();
    let hi_vae = HiVae { learning: Learning::Inductive };
    assert!(hi_vae.fit(&data, &Plan::seeded(0)).err().unwrap().to_string().contains("row weights"));
}
