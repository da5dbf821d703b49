//! Numbers of an independent implementation: `golden/rffblr_core.json`.

use super::*;
use crate::golden::{golden, matrix, vector};
use crate::settings::GammaPrior;
use crate::vb::gamma::Gamma;
use serde_json::Value;

fn state(case: &Value) -> State {
    let hyper = |name: &str| case["hyper"][name].as_f64().unwrap();
    let directions = matrix(&case["directions"]);
    let offsets = vector(&case["offsets"]);
    let basis = Basis { amplitude: (2.0 / offsets.len() as f64).sqrt(), directions, offsets, links: Vec::new() };
    let settings = CosineSettings {
        weight_prior: GammaPrior { shape: hyper("a0"), rate: hyper("b0") },
        noise_prior: GammaPrior { shape: hyper("at0"), rate: hyper("bt0") },
        ..CosineSettings::PAPER
    };
    let scales = Scales::uniform(case["gamma"].as_f64().unwrap(), basis.inputs());
    let problem = Problem::new(matrix(&case["X"]), matrix(&case["Y"]), None);
    let mut state = State::new(problem, basis, scales, &settings);
    let start = |name: &str| Gamma { shape: case["start"][name].as_f64().unwrap(), rate: 1.0 };
    state.q.precisions.fill(start("alpha_mean"));
    state.q.noise.fill(start("tau_mean"));
    state
}

#[test]
fn every_number_of_the_golden_file() {
    let cases = golden("rffblr_core.json");
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let mut state = state(case);
        let trace = vector(&case["bound_trace"]);
        for sweep in 1..=100 {
            state.sweep();
            let bound = state.bound();
            assert_close("bound", bound.total(), trace[sweep - 1], 1e-8);
            let expected = &case["after"][sweep.to_string()];
            if expected.is_null() {
                continue;
            }
            compare(&state, expected);
        }
    }
}

fn compare(state: &State, expected: &Value) {
    const TOLERANCE: f64 = 1e-8;
    let close =
        |what: &str, found: f64, expected: &Value| assert_close(what, found, expected.as_f64().unwrap(), TOLERANCE);
    let all_close = |what: &str, found: &[f64], expected: &Value| {
        let expected = vector(expected);
        assert_eq!(found.len(), expected.len());
        found.iter().zip(expected).for_each(|(f, e)| assert_close(what, *f, e, TOLERANCE));
    };
    let q = &state.q;
    let tasks = state.problem.tasks();
    assert_matrix("W", &q.weights.mean, &matrix(&expected["W"]), TOLERANCE);
    let diagonal: Vec<f64> = q.weights.variance.iter().map(|v| v / tasks as f64).collect();
    all_close("Sigma_diag", &diagonal, &expected["Sigma_diag"]);
    all_close("bias", &q.bias, &expected["bias"]);
    close("bias_var", q.bias_variance[0], &expected["bias_var"]);
    all_close("alpha_mean", &q.alpha(), &expected["alpha_mean"]);
    let rates: Vec<f64> = q.precisions.iter().map(|g| g.rate).collect();
    all_close("alpha_rate", &rates, &expected["alpha_rate"]);
    close("tau_mean", q.noise[0].mean(), &expected["tau_mean"]);
    close("tau_rate", q.noise[0].rate, &expected["tau_rate"]);
    let bound = state.bound();
    for (name, found) in [
        ("likelihood", bound.likelihood),
        ("weights_prior", bound.weights_prior),
        ("alpha_prior", bound.precision_prior),
        ("tau_prior", bound.noise_prior),
        ("bias_prior", bound.bias_prior),
        ("weights_entropy", bound.weights_entropy),
        ("alpha_entropy", bound.precision_entropy),
        ("tau_entropy", bound.noise_entropy),
        ("bias_entropy", bound.bias_entropy),
    ] {
        close(name, found, &expected["bound_terms"][name]);
    }
    close("bound", bound.total(), &expected["bound"]);
    let residual: f64 = (0..tasks).map(|c| q.residual(&state.problem, c)).sum();
    close("residual", residual, &expected["residual"]);
    let gradient = state.gradient();
    close("grad_log_gamma", gradient.iter().sum(), &expected["grad_log_gamma"]);
    all_close("grad per input", &gradient, &expected["grad_log_gamma_per_input"]);
}
