//! The default form where it learns in two stages (more than 600 rows) and from a sample (more than 1500).

use crate::{assert_close, normal, smooth};
use rffblr::data::Dataset;
use rffblr::linalg::Mat;
use rffblr::{Model, Settings, fit};
use serde_json::Value;

/// A Gaussian process by the letter of docs/model-file.md, of a model with one kernel and complete targets.
struct Textbook {
    file: Value,
    rows: Vec<Vec<f64>>,
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

impl Textbook {
    fn new(model: &Model) -> Self {
        let file: Value = serde_json::from_str(&model.to_json().unwrap()).unwrap();
        let table = &file["function"]["kernel"]["rows"];
        let (count, values) = (table["rows"].as_u64().unwrap() as usize, numbers(&table["values"]));
        let rows = (0..count).map(|n| values.iter().skip(n).step_by(count).copied().collect()).collect();
        Textbook { file, rows }
    }

    fn kernel(&self, x: &[f64], z: &[f64]) -> f64 {
        let kernel = &self.file["function"]["kernel"]["groups"][0]["kernel"];
        let number = |family: &str, name: &str| kernel[family][name].as_f64().unwrap();
        let scales = numbers(&kernel["input_scales"]);
        let pairs = || x.iter().zip(z).zip(&scales);
        let product: f64 = pairs().map(|((x, z), _)| x * z).sum();
        let square: f64 = pairs().map(|((x, z), _)| (x - z).powi(2)).sum();
        let absolute: f64 = pairs().map(|((x, z), r)| r * (x - z).abs()).sum();
        1.0 + kernel["linear"].as_f64().unwrap() * product / x.len() as f64
            + number("rbf", "variance") * (-number("rbf", "bandwidth") * square).exp()
            + number("laplace_l1", "variance") * (-number("laplace_l1", "bandwidth") * absolute).exp()
    }

    /// (K + σ²I)⁻¹ y by conjugate gradients.
    fn solve(&self, gram: &[Vec<f64>], noise: f64, y: &[f64]) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (mut solution, mut residual, mut direction) = (vec![0.0; y.len()], y.to_vec(), y.to_vec());
        let mut square = dot(&residual, &residual);
        for _ in 0..20 * y.len() {
            if square <= 1e-24 * dot(y, y) {
                break;
            }
            let image: Vec<f64> =
                gram.iter().zip(&direction).map(|(row, own)| dot(row, &direction) + noise * own).collect();
            let step = square / dot(&direction, &image);
            solution.iter_mut().zip(&direction).for_each(|(s, d)| *s += step * d);
            residual.iter_mut().zip(&image).for_each(|(r, i)| *r -= step * i);
            let next = dot(&residual, &residual);
            direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + next / square * *d);
            square = next;
        }
        solution
    }

    /// Mean, and standard deviations of function and observation, of a task at a row.
    fn predict(&self, data: &Dataset, task: usize, row: &[f64]) -> (f64, f64, f64) {
        let (inputs, targets) = (&self.file["inputs"], &self.file["targets"]);
        let (mean, scale) = (numbers(&inputs["mean"]), numbers(&inputs["scale"]));
        let (center, unit) = (numbers(&targets["mean"])[task], numbers(&targets["scale"])[task]);
        let group = &self.file["function"]["kernel"]["groups"][0];
        let (noise, amplitude) = (numbers(&group["noise"])[task], numbers(&group["amplitude"])[task]);
        let z: Vec<f64> = (0..row.len()).map(|d| (row[d] - mean[d]) / scale[d]).collect();
        let gram: Vec<Vec<f64>> =
            self.rows.iter().map(|a| self.rows.iter().map(|b| self.kernel(a, b)).collect()).collect();
        let y: Vec<f64> = (0..data.rows()).map(|n| (data.targets()[(n, task)] - center) / unit).collect();
        let cross: Vec<f64> = self.rows.iter().map(|x| self.kernel(x, &z)).collect();
        let against = |weights: &[f64]| cross.iter().zip(weights).map(|(k, w)| k * w).sum::<f64>();
        let latent = amplitude * (self.kernel(&z, &z) - against(&self.solve(&gram, noise, &cross)));
        let value = against(&self.solve(&gram, noise, &y));
        (center + unit * value, unit * latent.sqrt(), unit * (latent + amplitude * noise).sqrt())
    }
}

/// In both stages: predictions are those of the textbook at the learned kernel, and near the function behind the data.
#[test]
fn seven_hundred_and_two_thousand_rows() {
    for rows in [700, 2000] {
        let data = smooth(rows, 4, 2, 60);
        let model = fit(&data, &Settings::DEFAULT).unwrap();
        assert_eq!(model.task_groups().len(), 1);
        let new = normal(200, 4, 61);
        let found = model.predict(new.as_ref()).unwrap();
        let row: Vec<f64> = new.row(7).iter().copied().collect();
        let (mean, latent, std) = Textbook::new(&model).predict(&data, 1, &row);
        assert_close("mean", found.mean[(7, 1)], mean, 1e-7);
        // With more than 1500 rows variances come from a sample of them.
        let exact = rows <= 1500;
        assert_close("latent", found.latent_std[(7, 1)], latent, if exact { 1e-6 } else { 0.005 });
        assert_close("std", found.std[(7, 1)], std, if exact { 1e-7 } else { 0.002 });
        for c in 0..2 {
            let truth = |n: usize| (1.3 * new[(n, 0)]).sin() + (c as f64 - 1.0) * 0.5 * new[(n, 1)];
            let error = (0..200).map(|n| (found.mean[(n, c)] - truth(n)).powi(2)).sum::<f64>() / 200.0;
            assert!(error.sqrt() < 0.1, "{rows} rows, task {c}: {}", error.sqrt());
        }
        let nugget = model.nugget_std();
        assert!(nugget.iter().all(|std| (0.15..0.25).contains(std)), "{nugget:?}");
    }
}

/// The same bits with 1, 2 and 8 threads where products are split, in both stages.
#[test]
fn threads_do_not_change_a_bit_of_the_default() {
    for rows in [700, 2000] {
        let data = smooth(rows, 4, 2, 62);
        // Enough steps for both stages.
        let settings = Settings { max_iterations: 60, ..Settings::DEFAULT };
        let bits = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = fit(&data, &settings).unwrap();
                let p = model.predict(normal(50, 4, 3).as_ref()).unwrap();
                format!("{}{:?}{:?}", model.to_json().unwrap(), p.mean, p.std)
            })
        };
        let one = bits(1);
        for threads in [2, 8] {
            assert!(one == bits(threads), "{rows} rows: {threads} threads differ from one");
        }
    }
}

#[test]
fn more_rows_than_the_exact_form_takes_are_refused_with_a_remedy() {
    let inputs = Mat::from_fn(20_001, 1, |n, _| n as f64);
    let data = Dataset::new(inputs.clone(), inputs).unwrap();
    let problem = fit(&data, &Settings::EXACT).unwrap_err().to_string();
    assert!(problem.contains("20000") && problem.contains("cosines"), "{problem}");
}
