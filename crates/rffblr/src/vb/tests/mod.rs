//! Equations against the golden file, brute force and finite differences.

mod golden;
mod properties;

use super::beliefs::Beliefs;
use super::bound::Bound;
use super::design::{Design, Sensitivity};
use super::moments::Moments;
use super::{bandwidth, no_moments};
use crate::fourier::{Basis, Scales};
use crate::linalg::{Mat, Threads};
use crate::problem::Problem;
use crate::settings::CosineSettings;

/// Data, features and beliefs: what one sweep works on.
struct State {
    problem: Problem,
    design: Design,
    q: Beliefs,
    moments: Vec<Option<Moments>>,
    sensitivity: Sensitivity,
}

impl State {
    fn new(problem: Problem, basis: Basis, scales: Scales, settings: &CosineSettings) -> Self {
        let design = Design::new(&problem, basis, scales, settings.link_scale, Threads::ONE);
        let q = Beliefs::start(&problem, &design, settings);
        let moments = no_moments(&problem);
        State { problem, design, q, moments, sensitivity: Sensitivity::InputScales }
    }

    fn weights(&mut self) {
        self.q.update_weights(&self.problem, &self.design, &mut self.moments, self.sensitivity).unwrap();
    }

    fn sweep(&mut self) {
        self.weights();
        self.q.update_precisions();
        self.q.update_bias(&self.problem);
        self.q.update_noise(&self.problem);
    }

    fn bound(&self) -> Bound {
        Bound::of(&self.q, &self.problem)
    }

    fn gradient(&self) -> Vec<f64> {
        bandwidth::gradient(&self.problem, &self.design, &self.q, self.sensitivity)
    }
}

fn assert_close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs().max(1.0);
    assert!(error < tolerance, "{what}: found {found}, expected {expected}");
}

fn assert_matrix(what: &str, found: &Mat<f64>, expected: &Mat<f64>, tolerance: f64) {
    assert_eq!((found.nrows(), found.ncols()), (expected.nrows(), expected.ncols()), "{what}");
    for j in 0..found.ncols() {
        for i in 0..found.nrows() {
            assert_close(&format!("{what}[{i},{j}]"), found[(i, j)], expected[(i, j)], tolerance);
        }
    }
}
