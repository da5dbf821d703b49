//! Predictions against brute force: joint covariance, Monte Carlo, refitting without each row, both views.

use crate::{assert_close, assert_tables, normal, smooth, with_gaps};
use rffblr::data::{Dataset, Weights};
use rffblr::linalg::{Mat, MatRef};
use rffblr::{CosineSettings, FeatureCount, Form, Model, Noise, Settings, fit};

fn cosines(features: usize, noise: Noise) -> CosineSettings {
    CosineSettings { features: FeatureCount::Exactly(features), noise, ..CosineSettings::DEFAULT }
}

fn drawn(cosines: CosineSettings) -> Settings {
    Settings { form: cosines.into(), max_iterations: 40, ..Settings::COSINES }
}

fn settings(features: usize, noise: Noise) -> Settings {
    drawn(cosines(features, noise))
}

/// Primal and dual, shared and per-task noise, complete and not, weighted and not.
fn models() -> Vec<(Dataset, Model)> {
    let complete = smooth(30, 3, 3, 50);
    let gaps = with_gaps(&complete, 5);
    // The same rows missing for every task: one group, but not all rows.
    let y = Mat::from_fn(30, 3, |n, c| if n % 6 == 0 { f64::NAN } else { complete.targets()[(n, c)] });
    let common = Dataset::new(complete.inputs().to_owned(), y).unwrap();
    let weights = (0..30).map(|n| [0.5, 1.0, 0.0, 1.5, 0.7][n % 5]).collect();
    let weighted = gaps.clone().with_weights(Weights::Repeats(weights)).unwrap();
    let mut out = Vec::new();
    for data in [complete, gaps, common, weighted] {
        for features in [8, 60] {
            for noise in [Noise::Shared, Noise::PerTask] {
                let model = fit(&data, &settings(features, noise)).unwrap();
                out.push((data.clone(), model));
            }
        }
    }
    out
}

/// Everything a textbook needs, read back from the model file: [Φ, 1] on standardised inputs, precisions and noise.
struct Textbook {
    design: Mat<f64>,
    precision: Vec<f64>,
    tau: Vec<f64>,
    noise_variance: Vec<f64>,
    target_mean: Vec<f64>,
    target_scale: Vec<f64>,
}

impl Textbook {
    fn of(model: &Model, inputs: &Mat<f64>) -> Self {
        let json: serde_json::Value = serde_json::from_str(&model.to_json().unwrap()).unwrap();
        let vector = |v: &serde_json::Value| -> Vec<f64> { serde_json::from_value(v.clone()).unwrap() };
        let (mean, scale) = (vector(&json["inputs"]["mean"]), vector(&json["inputs"]["scale"]));
        let (cosines, waves) = (&json["function"]["cosines"], &json["function"]["cosines"]["waves"]);
        let (phases, frequencies) = (vector(&waves["phases"]), vector(&waves["frequencies"]["values"]));
        let links: Vec<usize> = serde_json::from_value(waves["links"].clone()).unwrap();
        let amplitude = waves["amplitude"].as_f64().unwrap();
        let d = mean.len();
        let design = Mat::from_fn(inputs.nrows(), phases.len() + links.len() + 1, |n, m| {
            let x = |i: usize| (inputs[(n, i)] - mean[i]) / scale[i];
            if m < phases.len() {
                let angle: f64 = (0..d).map(|i| frequencies[m * d + i] * x(i)).sum();
                amplitude * (angle + phases[m]).cos()
            } else if m < phases.len() + links.len() {
                x(links[m - phases.len()]) / (d as f64).sqrt()
            } else {
                1.0
            }
        });
        let gammas: Vec<(f64, f64)> = cosines["noise"]
            .as_array()
            .unwrap()
            .iter()
            .map(|g| (g["shape"].as_f64().unwrap(), g["rate"].as_f64().unwrap()))
            .collect();
        Textbook {
            design,
            precision: vector(&waves["precision"]),
            tau: gammas.iter().map(|(a, b)| a / b).collect(),
            noise_variance: gammas.iter().map(|(a, b)| b / (a - 1.0)).collect(),
            target_mean: vector(&json["targets"]["mean"]),
            target_scale: vector(&json["targets"]["scale"]),
        }
    }

    /// Posterior mean and covariance of (w, b) for one task by plain elimination, leaving out one row if asked to.
    fn posterior(&self, data: &Dataset, task: usize, without: Option<usize>) -> (Vec<f64>, Mat<f64>) {
        let k = self.precision.len();
        let rows: Vec<usize> =
            (0..data.rows()).filter(|&n| !data.targets()[(n, task)].is_nan() && Some(n) != without).collect();
        let weight = |n: usize| data.weights().map_or(1.0, |w| w[n]);
        let y = |n: usize| (data.targets()[(n, task)] - self.target_mean[task]) / self.target_scale[task];
        let mut system = Mat::zeros(k, 2 * k);
        for i in 0..k {
            for j in 0..k {
                let gram: f64 = rows.iter().map(|&n| weight(n) * self.design[(n, i)] * self.design[(n, j)]).sum();
                system[(i, j)] = self.tau[task] * gram + if i == j { self.precision[i] } else { 0.0 };
            }
            system[(i, k + i)] = 1.0;
        }
        for p in 0..k {
            let pivot = system[(p, p)];
            for j in 0..2 * k {
                system[(p, j)] /= pivot;
            }
            for i in (0..k).filter(|&i| i != p) {
                let f = system[(i, p)];
                for j in 0..2 * k {
                    let v = system[(p, j)];
                    system[(i, j)] -= f * v;
                }
            }
        }
        let covariance = Mat::from_fn(k, k, |i, j| system[(i, k + j)]);
        let right: Vec<f64> =
            (0..k).map(|i| rows.iter().map(|&n| weight(n) * self.design[(n, i)] * y(n)).sum::<f64>()).collect();
        let mean =
            (0..k).map(|i| self.tau[task] * (0..k).map(|j| covariance[(i, j)] * right[j]).sum::<f64>()).collect();
        (mean, covariance)
    }

    /// Mean and latent variance of a row of `design`, standardised scale.
    fn predict(&self, row: usize, (mean, covariance): &(Vec<f64>, Mat<f64>)) -> (f64, f64) {
        let k = mean.len();
        let phi = |i: usize| self.design[(row, i)];
        let value = (0..k).map(|i| phi(i) * mean[i]).sum();
        let variance =
            (0..k).flat_map(|i| (0..k).map(move |j| (i, j))).map(|(i, j)| phi(i) * covariance[(i, j)] * phi(j)).sum();
        (value, variance)
    }
}

#[test]
fn mean_and_deviations_equal_the_textbook_joint_posterior() {
    for (data, model) in models() {
        let inputs = data.inputs().to_owned();
        let book = Textbook::of(&model, &inputs);
        let p = model.predict(data.inputs()).unwrap();
        for c in 0..3 {
            let posterior = book.posterior(&data, c, None);
            for n in 0..data.rows() {
                let (mean, variance) = book.predict(n, &posterior);
                let scale = book.target_scale[c];
                assert_close("mean", p.mean[(n, c)], book.target_mean[c] + scale * mean, 1e-8);
                assert_close("latent", p.latent_std[(n, c)], scale * variance.sqrt(), 1e-7);
                assert_close("std", p.std[(n, c)], scale * (variance + book.noise_variance[c]).sqrt(), 1e-8);
            }
        }
    }
}

#[test]
fn leave_one_out_equals_refitting_without_each_row() {
    for (data, model) in models() {
        let book = Textbook::of(&model, &data.inputs().to_owned());
        let loo = model.leave_one_out(&data).unwrap();
        for c in 0..3 {
            for n in 0..data.rows() {
                let (mean, variance) = book.predict(n, &book.posterior(&data, c, Some(n)));
                let scale = book.target_scale[c];
                assert_close("mean", loo.mean[(n, c)], book.target_mean[c] + scale * mean, 1e-7);
                assert_close("latent", loo.latent_std[(n, c)], scale * variance.sqrt(), 1e-7);
                assert_close("std", loo.std[(n, c)], scale * (variance + book.noise_variance[c]).sqrt(), 1e-7);
            }
        }
    }
}

/// Almost interpolating: residual and 1 − leverage both nearly vanish, their ratio must not suffer.
#[test]
fn leave_one_out_survives_interpolation() {
    let x = normal(12, 2, 90);
    let y = Mat::from_fn(12, 1, |n, _| x[(n, 0)] + 0.5 * x[(n, 1)] * x[(n, 1)]);
    let data = Dataset::new(x, y).unwrap();
    let model = fit(
        &data,
        &Settings { max_iterations: 400, ..drawn(CosineSettings { tolerance: 1e-12, ..cosines(40, Noise::Shared) }) },
    )
    .unwrap();
    assert!(model.nugget_std()[0] < 3e-3, "{:?}", model.nugget_std());
    let book = Textbook::of(&model, &data.inputs().to_owned());
    let loo = model.leave_one_out(&data).unwrap();
    for n in 0..12 {
        let (mean, _) = book.predict(n, &book.posterior(&data, 0, Some(n)));
        assert_close("mean", loo.mean[(n, 0)], book.target_mean[0] + book.target_scale[0] * mean, 1e-5);
    }
}

#[test]
fn leave_one_out_refuses_other_data() {
    let data = smooth(30, 3, 3, 50);
    let model = fit(&data, &settings(8, Noise::Shared)).unwrap();
    assert!(model.leave_one_out(&smooth(30, 3, 3, 51)).unwrap_err().to_string().contains("very data"));
}

#[test]
fn samples_have_the_predicted_mean_and_covariance() {
    for (data, model) in models().into_iter().step_by(3) {
        let new = normal(3, 3, 77);
        let p = model.predict(new.as_ref()).unwrap();
        let draws = 4000;
        let samples = model.sample(new.as_ref(), draws, 1).unwrap();
        let book = Textbook::of(&model, &new);
        let train = Textbook::of(&model, &data.inputs().to_owned());
        for c in 0..3 {
            let (_, covariance) = train.posterior(&data, c, None);
            for i in 0..3 {
                let unit = p.latent_std[(i, c)];
                let mean = samples.iter().map(|s| s[(i, c)]).sum::<f64>() / draws as f64;
                // Five standard errors.
                assert!((mean - p.mean[(i, c)]).abs() < 5.0 * unit / (draws as f64).sqrt());
                for j in 0..3 {
                    let product = |s: &Mat<f64>| (s[(i, c)] - p.mean[(i, c)]) * (s[(j, c)] - p.mean[(j, c)]);
                    let found = samples.iter().map(product).sum::<f64>() / draws as f64;
                    let k = covariance.nrows();
                    let pairs = (0..k).flat_map(|a| (0..k).map(move |b| (a, b)));
                    let between: f64 =
                        pairs.map(|(a, b)| book.design[(i, a)] * covariance[(a, b)] * book.design[(j, b)]).sum();
                    let expected = between * book.target_scale[c].powi(2);
                    let error = 6.0 * unit * p.latent_std[(j, c)] / (draws as f64).sqrt();
                    assert!((found - expected).abs() < error, "{found} for {expected}");
                }
            }
        }
    }
}

#[test]
fn intervals_are_symmetric_quantiles() {
    let data = smooth(30, 2, 2, 60);
    let model = fit(&data, &settings(10, Noise::PerTask)).unwrap();
    let p = model.predict(data.inputs()).unwrap();
    let (lower, upper) = p.interval(0.95).unwrap();
    for n in 0..30 {
        // scipy 1.17.1: norm.ppf(0.975) = 1.959963984540054
        assert_close("upper", upper[(n, 0)], p.mean[(n, 0)] + 1.959963984540054 * p.std[(n, 0)], 1e-12);
        assert_close("lower", lower[(n, 0)], p.mean[(n, 0)] - 1.959963984540054 * p.std[(n, 0)], 1e-12);
    }
    for wrong in [0.0, 1.0, -0.5, f64::NAN] {
        assert!(p.interval(wrong).is_err());
    }
}

#[test]
fn many_rows_are_predicted_like_few() {
    let data = smooth(40, 2, 2, 61);
    let model = fit(&data, &settings(20, Noise::PerTask)).unwrap();
    let many = normal(9000, 2, 62);
    let all = model.predict(many.as_ref()).unwrap();
    let some = model.predict(many.as_ref().subrows(8990, 10)).unwrap();
    assert_tables("mean", &all.mean.as_ref().subrows(8990, 10).to_owned(), &some.mean, 1e-12);
    assert_tables("std", &all.std.as_ref().subrows(8990, 10).to_owned(), &some.std, 1e-12);
    assert_tables("mean alone", &model.predict_mean(many.as_ref()).unwrap(), &all.mean, 1e-12);
}

#[test]
fn the_sinusoids_add_up_to_the_prediction() {
    let data = smooth(40, 3, 2, 63);
    let model = fit(&data, &drawn(CosineSettings { links: true, ..cosines(24, Noise::PerTask) })).unwrap();
    let (waves, links, constants) = (model.sinusoids(), model.links(), model.constants().unwrap());
    assert_eq!((waves.len(), links.len()), (24, 3));
    assert!(fit(&data, &Settings::DEFAULT).unwrap().constants().is_none());
    let p = model.predict(data.inputs()).unwrap();
    for (c, constant) in constants.into_iter().enumerate() {
        let value = |n: usize| -> f64 {
            waves
                .iter()
                .map(|w| {
                    let angle: f64 = w.frequency.iter().enumerate().map(|(d, f)| f * data.inputs()[(n, d)]).sum();
                    w.weight[c] * (angle + w.phase).cos()
                })
                .sum()
        };
        let lines = |n: usize| -> f64 { links.iter().map(|l| l.slope[c] * data.inputs()[(n, l.input)]).sum() };
        for n in 0..40 {
            assert_close("sum", value(n) + lines(n) + constant, p.mean[(n, c)], 1e-9);
        }
    }
    // Moving one wavelength along one input changes nothing for that sinusoid.
    let w = &waves[3];
    assert_close("period", w.frequency[1].abs() * w.wavelength[1], std::f64::consts::TAU, 1e-12);
    assert!(waves.iter().all(|w| (0.0..std::f64::consts::TAU).contains(&w.phase)));
    assert!(waves.iter().all(|w| w.weight_std.iter().all(|s| *s > 0.0) && w.precision > 0.0));
}

#[test]
fn the_kernel_view_reproduces_the_cosine_part() {
    let data = smooth(30, 3, 2, 64);
    let many = drawn(CosineSettings { links: false, ..cosines(4000, Noise::PerTask) });
    let model = fit(&data, &many).unwrap();
    let view = model.kernel_view(data.inputs()).unwrap();
    assert!(view.kernel_max_error < 0.1, "{}", view.kernel_max_error);
    assert!(view.kernel_rms_error <= view.kernel_max_error);
    assert!(view.weights_unexplained < 1e-5, "{}", view.weights_unexplained);
    // With many features Σ_n β_n κ(x_n, x) with the exact kernel is close to the prediction, up to the bias.
    let p = model.predict(data.inputs()).unwrap();
    let scaled = |n: usize| -> Vec<f64> {
        let json: serde_json::Value = serde_json::from_str(&model.to_json().unwrap()).unwrap();
        let factor = |d: usize| (2.0 * model.bandwidths()[0] * model.input_scales()[(d, 0)]).sqrt();
        (0..3).map(|d| factor(d) * data.inputs()[(n, d)] / json["inputs"]["scale"][d].as_f64().unwrap()).collect()
    };
    let points: Vec<Vec<f64>> = (0..30).map(scaled).collect();
    let machine = |n: usize| -> f64 {
        (0..30)
            .map(|i| {
                let square: f64 = points[i].iter().zip(&points[n]).map(|(a, b)| (a - b).powi(2)).sum();
                view.coefficients[(i, 0)] * (-0.5 * square).exp()
            })
            .sum()
    };
    let bias = p.mean[(0, 0)] - machine(0);
    for n in 1..30 {
        assert!((p.mean[(n, 0)] - machine(n) - bias).abs() < 0.15, "row {n}");
    }
    // Free precisions take the weights out of the span of the kernel functions: the view says so.
    let free = CosineSettings { precision: rffblr::Precision::Free, ..cosines(200, Noise::Shared) };
    let free = fit(&data, &drawn(CosineSettings { links: false, ..free })).unwrap();
    assert!(free.kernel_view(data.inputs()).unwrap().weights_unexplained > 0.05);
    // Few features are a poor kernel: it says that too.
    let few = fit(&data, &drawn(CosineSettings { links: false, ..cosines(6, Noise::PerTask) })).unwrap();
    assert!(few.kernel_view(data.inputs()).unwrap().kernel_rms_error > view.kernel_rms_error);
}

/// Two targets, one of them nearly free of noise: (30) holds for both.
fn unequal(weights: Option<Vec<f64>>) -> Dataset {
    let x = normal(60, 3, 70);
    let error = normal(60, 2, 71);
    let y = Mat::from_fn(60, 2, |n, c| (1.3 * x[(n, 0)]).sin() + x[(n, 1)] + [0.001, 0.7][c] * error[(n, c)]);
    let data = Dataset::new(x, y).unwrap();
    weights.map_or(data.clone(), |weights| data.with_weights(Weights::Repeats(weights)).unwrap())
}

#[test]
fn the_weights_of_sinusoids_leave_open_a_share_of_each_targets_own_noise() {
    let data = unequal(None);
    let model = fit(&data, &Settings { form: Form::Sinusoids { sparsity: 0.75 }, ..Settings::DEFAULT }).unwrap();
    let predicted = model.predict(data.inputs()).unwrap();
    let noise = model.nugget_std();
    assert!(noise[1] > 3.0 * noise[0], "{noise:?}");
    for n in 0..60 {
        let share = |c: usize| predicted.latent_std[(n, c)] / noise[c];
        assert_close("share", share(0), share(1), 1e-9);
    }
    let loaded = Model::from_json(&model.to_json().unwrap()).unwrap();
    assert_eq!(loaded.predict(data.inputs()).unwrap(), predicted);
}

/// One sinusoid cannot do what the kernel machine does, and leave-one-out must say so.
#[test]
fn sinusoids_are_not_judged_by_what_they_cannot_do() {
    let data = smooth(60, 3, 2, 72);
    let rms = |per_row: f64| {
        let form = Form::Sinusoids { sparsity: 1.0 - per_row };
        let model = fit(&data, &Settings { form, ..Settings::DEFAULT }).unwrap();
        let (fitted, left_out) = (model.predict_mean(data.inputs()).unwrap(), model.leave_one_out(&data).unwrap());
        let square = |table: &Mat<f64>| -> Vec<f64> {
            (0..2).map(|c| (0..60).map(|n| (data.targets()[(n, c)] - table[(n, c)]).powi(2)).sum::<f64>()).collect()
        };
        (square(&fitted), square(&left_out.mean))
    };
    let ((fitted, one), (_, many)) = (rms(1.0 / 60.0), rms(0.5));
    for c in 0..2 {
        assert!(one[c] > fitted[c], "leaving out makes nothing easier");
        assert!(one[c] > many[c], "{one:?} {many:?}");
    }
    assert!(one[0] + one[1] > 1.5 * (many[0] + many[1]), "{one:?} {many:?}");
}

#[test]
fn what_the_kernel_has_learned_is_told_of_its_sinusoids_too() {
    let data = smooth(40, 3, 2, 73);
    let machine = fit(&data, &Settings::DEFAULT).unwrap();
    let sparse = fit(&data, &Settings { form: Form::Sinusoids { sparsity: 0.75 }, ..Settings::DEFAULT }).unwrap();
    assert_eq!(sparse.bandwidths(), machine.bandwidths());
    assert_eq!(sparse.kernels(), machine.kernels());
    assert_eq!(sparse.input_scales(), machine.input_scales());
    assert_eq!(sparse.kernel_lengths(), machine.kernel_lengths());
    assert!(sparse.kernel_view(data.inputs()).unwrap_err().to_string().contains("form kernel"));
}

/// There are as many sinusoids as for repeated rows and they are nearly the same function, although which ones are chosen
/// may turn on a hair. Not the same noise: a row
/// that is left out takes its weight with it, a repeated one leaves its copies.
#[test]
fn weights_count_among_sinusoids() {
    let form = Settings { form: Form::Sinusoids { sparsity: 0.75 }, ..Settings::DEFAULT };
    let weighted = unequal(Some((0..60).map(|n| (n % 3) as f64).collect()));
    let rows: Vec<usize> = (0..60).flat_map(|n| std::iter::repeat_n(n, n % 3)).collect();
    let table = |from: MatRef<'_, f64>| Mat::from_fn(rows.len(), from.ncols(), |i, j| from[(rows[i], j)]);
    let repeated = Dataset::new(table(weighted.inputs()), table(weighted.targets())).unwrap();
    let (a, b) = (fit(&weighted, &form).unwrap(), fit(&repeated, &form).unwrap());
    assert_eq!((a.active_features(), b.active_features()), (15, 15));
    let (f, g) = (a.predict_mean(weighted.inputs()).unwrap(), b.predict_mean(weighted.inputs()).unwrap());
    for c in 0..2 {
        let difference = (0..60).map(|n| (f[(n, c)] - g[(n, c)]).powi(2)).sum::<f64>() / 60.0;
        assert!(difference.sqrt() < 0.3 * a.target_std()[c], "{difference} {:?}", a.target_std());
        assert!(a.nugget_std()[c] > b.nugget_std()[c]);
    }
}

#[test]
fn far_away_nothing_is_known() {
    let data = smooth(20, 2, 2, 74);
    let far = Mat::from_fn(1, 2, |_, _| 1e160);
    for settings in [Settings::DEFAULT, drawn(CosineSettings { links: true, ..cosines(8, Noise::Shared) })] {
        let predicted = fit(&data, &settings).unwrap().predict(far.as_ref()).unwrap();
        assert!((0..2).all(|c| predicted.latent_std[(0, c)] > 1e150), "{:?}", predicted.latent_std);
    }
}
