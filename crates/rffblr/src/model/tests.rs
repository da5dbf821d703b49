//! Several kernels in one model: task by task it is the models of the groups alone.

use super::sinusoids::Sinusoids;
use super::*;
use crate::device::Host;
use crate::explain::{Explainer, Shapley, VarianceShares};
use crate::kernel::Machines;
use crate::kernel::{Family, Kernel, Shared};
use crate::linalg::{select_columns, select_rows};
use crate::settings::{Form, Precision};
use rand_distr::{Distribution, StandardNormal};

impl Model {
    /// The same model with other kernels: of groups that have every task once, fitted to the data of the model.
    pub(crate) fn regrouped(&self, data: &Dataset, groups: Vec<Shared>) -> Model {
        let inputs = self.input_scale.apply(data.inputs(), &self.input_names).unwrap();
        let targets = self.target_scale.apply(data.targets(), &self.target_names).unwrap();
        let problem = Problem::of(inputs, targets, data);
        let function = match self.settings.form {
            Form::Sinusoids { sparsity } => {
                let count = ((1.0 - sparsity) * data.effective_rows()) as usize;
                Function::Sinusoids(Box::new(
                    Sinusoids::distilled(&problem, groups, count, self.settings.seed).unwrap(),
                ))
            }
            _ => Function::Kernel(Machines::new(&problem, &groups, Threads::current()).unwrap()),
        };
        Model { function, ..self.clone() }
    }
}

const ROWS: usize = 24;
const GROUPS: [&[usize]; 2] = [&[0, 2], &[1]];

fn normal(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng))
}

/// Three tasks of three inputs: the first two have gaps, rows have weights and one has none.
fn data(tasks: &[usize]) -> Dataset {
    let (x, noise) = (normal(ROWS, 3, 1), normal(ROWS, 3, 2));
    let y = Mat::from_fn(ROWS, 3, |n, c| match (c, n) {
        (0, 4 | 9) | (1, 4) => f64::NAN,
        (0, _) => 7.0 + (2.0 * x[(n, 0)]).sin() + 0.1 * noise[(n, 0)],
        (1, _) => 30.0 * x[(n, 1)] * x[(n, 2)] + noise[(n, 1)],
        _ => x[(n, 0)] + 0.3 * noise[(n, 2)],
    });
    let weights = (0..ROWS).map(|n| [1.0, 2.0, 0.5][n % 3] * f64::from(u8::from(n != 7))).collect();
    Dataset::new(x, select_columns(y.as_ref(), tasks)).unwrap().with_weights(Weights::Repeats(weights)).unwrap()
}

/// What the tasks of a group share.
fn shared(group: usize, tasks: Vec<usize>) -> Shared {
    let family = |variance: f64, bandwidth: f64| Family { variance, bandwidth };
    let kernel = match group {
        0 => Kernel {
            linear: 0.4,
            rbf: family(0.3, 0.2),
            laplace_l1: family(0.6, 0.3),
            input_scales: vec![2.5, 0.1, 0.2],
        },
        _ => Kernel {
            linear: 0.1,
            rbf: family(0.9, 0.3),
            laplace_l1: family(0.3, 0.5),
            input_scales: vec![0.05, 1.5, 1.2],
        },
    };
    Shared { tasks, kernel, noise: [0.1, 0.03][group] }
}

fn model(data: &Dataset, groups: Vec<Shared>, form: Form) -> Model {
    fit(data, &Settings { max_iterations: 1, form, ..Settings::DEFAULT }).unwrap().regrouped(data, groups)
}

/// The model of all tasks, its data, and those of each group alone.
fn together_and_alone() -> (Model, Dataset, Vec<(Model, Dataset)>) {
    let all = data(&[0, 1, 2]);
    let groups = GROUPS.iter().enumerate().map(|(g, tasks)| shared(g, tasks.to_vec())).collect();
    let alone = |(g, tasks): (usize, &&[usize])| {
        let data = data(tasks);
        let group = shared(g, (0..tasks.len()).collect());
        (model(&data, vec![group], Form::Kernel), data)
    };
    (model(&all, groups, Form::Kernel), all, GROUPS.iter().enumerate().map(alone).collect())
}

/// Every table of the whole has the columns of the parts.
#[track_caller]
fn same(what: &str, whole: &Mat<f64>, parts: &[Mat<f64>]) {
    for (tasks, part) in GROUPS.iter().zip(parts) {
        for (i, &task) in tasks.iter().enumerate() {
            for n in 0..part.nrows() {
                let (a, b) = (whole[(n, task)], part[(n, i)]);
                let near = (a - b).abs() <= 1e-12 * b.abs().max(1e-3) || a == b;
                assert!(near, "{what}, row {n}, task {task}: {a} together, {b} alone");
            }
        }
    }
}

#[test]
fn predictions_are_those_of_the_groups_alone() {
    let (model, data, alone) = together_and_alone();
    let new = normal(9, 3, 3);
    let tables = |of: &dyn Fn(&Model, &Dataset) -> Vec<Mat<f64>>| {
        let whole = of(&model, &data);
        let parts: Vec<Vec<Mat<f64>>> = alone.iter().map(|(model, data)| of(model, data)).collect();
        for (t, whole) in whole.iter().enumerate() {
            same(&format!("table {t}"), whole, &parts.iter().map(|part| part[t].clone()).collect::<Vec<_>>());
        }
    };
    tables(&|model, _| {
        let found = model.predict(new.as_ref()).unwrap();
        vec![found.mean, found.latent_std, found.std]
    });
    tables(&|model, data| {
        let (left_out, leverage) = model.left_out(data).unwrap();
        vec![left_out.mean, left_out.latent_std, left_out.std, leverage]
    });
    tables(&|model, data| vec![model.kernel_view(data.inputs()).unwrap().coefficients]);
    tables(&|model, _| vec![model.input_scales(), model.kernel_lengths()]);
    tables(&|model, _| {
        let row = |values: Vec<f64>| Mat::from_fn(1, values.len(), |_, c| values[c]);
        let links = model.links();
        let slopes = |of: &dyn Fn(&Link) -> Vec<f64>| Mat::from_fn(3, of(&links[0]).len(), |d, c| of(&links[d])[c]);
        let (slope, std) = (slopes(&|link| link.slope.clone()), slopes(&|link| link.slope_std.clone()));
        vec![row(model.nugget_std()), row(model.bandwidths()), slope, std]
    });
    assert_eq!(model.task_groups(), [vec![0, 2], vec![1]]);
    assert!(model.input_scales()[(0, 0)] == 2.5 && model.input_scales()[(0, 1)] == 0.05);
}

#[test]
fn explanations_are_those_of_the_groups_alone() {
    let (model, data, alone) = together_and_alone();
    let explain = |model: &Model, data: &Dataset| -> Vec<Mat<f64>> {
        let explainer = Explainer::new(model, data.inputs(), data.weights()).unwrap();
        let Shapley { values, std, base, prediction, .. } =
            explainer.shapley_with_std(normal(2, 3, 4).as_ref(), 5).unwrap();
        // Rows and inputs one after the other, a column for each task.
        let flat = |tables: &[Mat<f64>]| Mat::from_fn(6, tables.len(), |i, c| tables[c][(i / 3, i % 3)]);
        let base = Mat::from_fn(1, base.len(), |_, c| base[c]);
        let curve = explainer.partial_dependence(1, explainer.points(1, 4).unwrap()).unwrap();
        let both = (explainer.points(0, 2).unwrap(), explainer.points(2, 3).unwrap());
        let surface = explainer.partial_dependence_of_two((0, 2), both).unwrap();
        let VarianceShares { first_order, total, first_order_std, total_std, signal_std, .. } =
            explainer.variance_shares().unwrap();
        let signal = Mat::from_fn(1, signal_std.len(), |_, c| signal_std[c]);
        let learned = explainer.learned_scales();
        let shapley = [flat(&values), flat(&std.unwrap()), base, prediction, curve.mean, curve.std];
        let shares = [surface.mean, surface.std, first_order, total, first_order_std, total_std, signal, learned];
        shapley.into_iter().chain(shares).collect()
    };
    let whole = explain(&model, &data);
    let parts: Vec<Vec<Mat<f64>>> = alone.iter().map(|(model, data)| explain(model, data)).collect();
    for (t, whole) in whole.iter().enumerate() {
        same(&format!("table {t}"), whole, &parts.iter().map(|part| part[t].clone()).collect::<Vec<_>>());
    }
}

/// Two machines take twice as long to explain as one.
#[test]
fn what_is_affordable_counts_all_machines() {
    let (_, data, _) = together_and_alone();
    let one = model(&data, vec![shared(0, vec![0, 1, 2])], Form::Kernel);
    let two = model(&data, vec![shared(0, vec![0, 2]), shared(0, vec![1])], Form::Kernel);
    let rows = |model: &Model| Explainer::new(model, data.inputs(), None).unwrap().affordable_rows_with_std();
    assert!((rows(&one) as f64 / rows(&two) as f64 - 2.0).abs() < 1e-3, "{} {}", rows(&one), rows(&two));
}

#[test]
fn draws_have_the_predicted_moments_and_come_task_by_task() {
    let (model, _, _) = together_and_alone();
    let new = normal(2, 3, 3);
    let predicted = model.predict(new.as_ref()).unwrap();
    let count = 4000;
    let draws = model.sample(new.as_ref(), count, 5).unwrap();
    let mean = |of: &dyn Fn(&Mat<f64>) -> f64| draws.iter().map(of).sum::<f64>() / count as f64;
    let score =
        |draw: &Mat<f64>, i: usize, c: usize| (draw[(i, c)] - predicted.mean[(i, c)]) / predicted.latent_std[(i, c)];
    for c in 0..3 {
        for i in 0..2 {
            // Five standard errors.
            assert!(mean(&|draw| score(draw, i, c)).abs() < 5.0 / (count as f64).sqrt());
            let square = mean(&|draw| score(draw, i, c).powi(2));
            assert!((square - 1.0).abs() < 5.0 * (2.0 / count as f64).sqrt());
        }
        let other = (c + 1) % 3;
        assert!(mean(&|draw| score(draw, 0, c) * score(draw, 0, other)).abs() < 5.0 / (count as f64).sqrt());
    }
    // And the joint covariance, with noise where it is that of one row.
    let (covariances, nugget) = (model.covariances(new.as_ref()).unwrap(), model.nugget_std());
    for (c, covariance) in covariances.iter().enumerate() {
        let scale = |i: usize| predicted.latent_std[(i, c)];
        let drawn = mean(&|draw| score(draw, 0, c) * score(draw, 1, c)) * scale(0) * scale(1);
        assert!((covariance[(0, 1)] - drawn).abs() < 5.0 * scale(0) * scale(1) * (2.0 / count as f64).sqrt());
        assert_eq!(covariance[(0, 1)], covariance[(1, 0)]);
        assert!((covariance[(1, 1)] / (scale(1).powi(2) + nugget[c].powi(2)) - 1.0).abs() < 1e-9);
    }
    // More draws begin with the same ones.
    assert!(model.sample(new.as_ref(), 3, 5).unwrap()[..] == draws[..3]);
    // How the tasks are grouped does not change what is drawn for them.
    let (one, two) = (vec![shared(0, vec![0, 1, 2])], vec![shared(0, vec![1, 2]), shared(0, vec![0])]);
    let data = data(&[0, 1, 2]);
    let drawn = |groups| self::model(&data, groups, Form::Kernel).sample(new.as_ref(), 2, 6).unwrap();
    for (a, b) in drawn(one).iter().zip(&drawn(two)) {
        assert!((0..2).all(|i| (0..3).all(|c| (a[(i, c)] - b[(i, c)]).abs() < 1e-9)));
    }
}

#[test]
fn the_file_keeps_every_kernel_and_its_tasks() {
    let (model, data, _) = together_and_alone();
    let groups = GROUPS.iter().enumerate().map(|(g, tasks)| shared(g, tasks.to_vec())).collect();
    let sinusoids = self::model(&data, groups, Form::Sinusoids { sparsity: 0.5 });
    for model in [model, sinusoids] {
        let text = model.to_json().unwrap();
        let loaded = Model::from_json(&text).unwrap();
        assert_eq!(loaded.to_json().unwrap(), text);
        assert_eq!(loaded.kernels(), model.kernels());
        assert_eq!(loaded.task_groups(), [vec![0, 2], vec![1]]);
        let new = normal(5, 3, 6);
        assert_eq!(loaded.predict(new.as_ref()).unwrap(), model.predict(new.as_ref()).unwrap());
        assert_eq!(loaded.leave_one_out(&data).unwrap(), model.leave_one_out(&data).unwrap());
    }
}

/// Few sinusoids reproduce the machines of all groups, and are judged by leaving rows out of all of them.
#[test]
fn sinusoids_reproduce_every_machine() {
    let (machine, data, _) = together_and_alone();
    let groups: Vec<Shared> = GROUPS.iter().enumerate().map(|(g, tasks)| shared(g, tasks.to_vec())).collect();
    let sinusoids = model(&data, groups, Form::Sinusoids { sparsity: 0.4 });
    let seen: Vec<usize> = (0..ROWS).filter(|&n| data.weights().unwrap()[n] > 0.0).collect();
    let rows = select_rows(data.inputs(), &seen);
    let (f, g) = (machine.predict_mean(rows.as_ref()).unwrap(), sinusoids.predict_mean(rows.as_ref()).unwrap());
    let (left_out, of_machine) = (sinusoids.leave_one_out(&data).unwrap(), machine.leave_one_out(&data).unwrap());
    for c in 0..3 {
        let mean = f.col_as_slice(c).iter().sum::<f64>() / seen.len() as f64;
        let missed: f64 = (0..seen.len()).map(|n| (f[(n, c)] - g[(n, c)]).powi(2)).sum();
        let all: f64 = f.col_as_slice(c).iter().map(|v| (v - mean).powi(2)).sum();
        assert!(missed < 0.06 * all, "task {c}: {}", missed / all);
        // The worse of the two.
        let squares = |table: &Mat<f64>| -> f64 {
            let observed = seen.iter().filter(|n| !data.targets()[(**n, c)].is_nan());
            observed.map(|&n| data.weights().unwrap()[n] * (data.targets()[(n, c)] - table[(n, c)]).powi(2)).sum()
        };
        assert!(squares(&left_out.mean) >= squares(&of_machine.mean) * (1.0 - 1e-12));
    }
}

/// Copies of whole rows are not a sign of rounding, however many: targets without a step, most values copies.
#[test]
fn repeats_equal_copies_of_rows() {
    let (x, noise) = (normal(30, 2, 3), normal(30, 1, 4));
    let y = Mat::from_fn(30, 1, |n, _| (2.0 * x[(n, 0)]).sin() + x[(n, 1)] + 0.2 * noise[(n, 0)]);
    let data = Dataset::new(x, y).unwrap();
    let counts: Vec<usize> = (0..30).map(|n| [5, 3, 4, 0, 2][n % 5]).collect();
    let copies: Vec<usize> = (0..30).flat_map(|n| vec![n; counts[n]]).collect();
    let copied = data.select(&copies).unwrap();
    let weighted = data.with_weights(Weights::Repeats(counts.iter().map(|&w| w as f64).collect())).unwrap();
    let (a, b) = (fit(&weighted, &Settings::DEFAULT).unwrap(), fit(&copied, &Settings::DEFAULT).unwrap());
    let new = normal(10, 2, 5);
    let (p, q) = (a.predict(new.as_ref()).unwrap(), b.predict(new.as_ref()).unwrap());
    for n in 0..10 {
        assert!((p.mean[(n, 0)] - q.mean[(n, 0)]).abs() < 1e-7, "{} {}", p.mean[(n, 0)], q.mean[(n, 0)]);
        assert!((p.std[(n, 0)] - q.std[(n, 0)]).abs() < 1e-7, "{} {}", p.std[(n, 0)], q.std[(n, 0)]);
    }
}

/// Rows of whole numbers, some twice, beside one of weight zero that is none.
#[test]
fn rounding_is_that_of_distinct_rows_of_weight() {
    let x = Mat::from_fn(9, 1, |n, _| (n % 6) as f64);
    let y = Mat::from_fn(9, 1, |n, _| if n == 5 { 0.123 } else { [0.0, 3.0, 4.0, 7.0, 11.0, 0.0][n % 6] });
    let weights = (0..9).map(|n| f64::from(u8::from(n != 5))).collect();
    let data = Dataset::new(x, y).unwrap().with_weights(Weights::Relative(weights)).unwrap();
    assert_eq!(data.distinct_rows(), [0, 1, 2, 3, 4]);
    let scale = Standardiser::identity(1);
    assert!((rounding_of(&data, &[None], &scale)[0] - 1.0 / 12.0).abs() < 1e-12);
}

/// Gaps and the row of weight zero.
#[test]
fn cells_not_learned_from_are_predicted_as_they_are() {
    let data = data(&[0, 1, 2]);
    for settings in [Settings::DEFAULT, Settings::COSINES] {
        let model = fit(&data, &settings).unwrap();
        let (found, plain) = (model.leave_one_out(&data).unwrap(), model.predict(data.inputs()).unwrap());
        for (n, c) in (0..ROWS).flat_map(|n| (0..3).map(move |c| (n, c))) {
            let near = |a: &Mat<f64>, b: &Mat<f64>| (a[(n, c)] - b[(n, c)]).abs() < 1e-12 * b[(n, c)].abs().max(1.0);
            let same = near(&found.mean, &plain.mean) && near(&found.std, &plain.std);
            assert_eq!(same, n == 7 || data.targets()[(n, c)].is_nan(), "row {n}, task {c}");
        }
    }
}

/// What a device does to predict, done by the processor, is what the processor predicts.
#[test]
fn predictions_by_a_backend_are_those_of_the_model() {
    let x = normal(400, 3, 1);
    let y = Mat::from_fn(400, 2, |n, c| match c == 1 && n % 4 == 1 {
        true => f64::NAN,
        false => (2.0 * x[(n, c)]).sin() + (0.1 + c as f64) * x[(n, 2)],
    });
    let data = Dataset::new(x, y).unwrap();
    for precision in [Precision::Tied, Precision::Free] {
        let form = Form::Drawn { features: Some(40), precision, effort: 0.01 };
        let model = fit(&data, &Settings { form, max_iterations: 5, ..Settings::DEFAULT }).unwrap();
        let Function::Drawn(drawn) = &model.function else { panic!("{:?}", model.function) };
        let rows = normal(9, 3, 2);
        let (mean, variance) = drawn.predict(rows.as_ref(), true, Threads::ONE);
        let host = Host(Threads::ONE);
        let there = drawn.there(&host);
        let (found, left) = there.predict(rows.as_ref(), true);
        let near = |a: &Mat<f64>, b: &Mat<f64>| (a - b).norm_max() < 1e-12 * b.norm_max();
        assert!(near(&found, &mean) && near(&left.unwrap(), &variance.unwrap()));
        assert!(near(&there.predict(rows.as_ref(), false).0, &mean));
    }
}
