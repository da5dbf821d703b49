//! The paper's two views of one model, as the two optimisation problems it writes down.
//!
//! A kernel machine f(x) = Σ_n β_n κ(x_n, x) + b, and an extreme learning machine f(x) = φ(x)ᵀw + b whose M features
//! approximate its kernel, κ(x, x′) ≈ φ(x)ᵀφ(x′). With K = κ(X, X) and Φ = φ(X):
//!
//! ```text
//! kernel view   min over β, b of  ‖Y − Kβ − 1b‖² + λ Ω(β)
//! ELM view      min over w, b of  ‖Y − Φw − 1b‖² + λ Ω((ΦΦᵀ)⁻¹Φw)
//! ```
//!
//! The paper leaves the loss and Ω open. Here the loss is the squared error, summed over the tasks (columns of Y, β and
//! w), and Ω one of two [`Regulariser`]s. Where ΦΦᵀ is singular, as with fewer features than rows, its pseudo-inverse
//! takes the place of the inverse.
//!
//! Put w = Φᵀβ into the second problem: it is the first with the kernel ΦΦᵀ, so that both differ only as ΦΦᵀ differs from
//! K. A part of w that is orthogonal to the features of all training rows changes neither the fit nor Ω, so that for M > N
//! the second problem has many minimisers, which disagree at other rows. [`Elm::solve`] gives the one of least
//! length, the only one of the form Φᵀβ.

use rffblr::internals::{
    Accumulate, Cholesky, Spectral, dot, fill_upper, multiply, outer, scale_columns, scale_rows, select_columns,
};
use rffblr::linalg::{Mat, MatRef, Threads};
use rffblr::{Error, Result};

/// Ω: what holds the coefficients β down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regulariser {
    /// βᵀKβ, the squared length of f in the space of the kernel: kernel ridge regression. In the other view, whose
    /// kernel is ΦΦᵀ, it is ‖w‖² without the part of w that is orthogonal to all training features: ridge regression.
    Function,
    /// ‖β‖².
    Coefficients,
}

/// λΩ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penalty {
    /// Ω.
    pub regulariser: Regulariser,
    /// λ, positive.
    pub strength: f64,
}

impl Penalty {
    fn check(self) -> Result<Self> {
        if self.strength > 0.0 && self.strength.is_finite() {
            return Ok(self);
        }
        Err(Error::Setting { name: "strength", problem: format!("{}; a positive number is needed", self.strength) })
    }
}

/// The minimiser of one of the two problems.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// β (N×C) or w (M×C).
    pub weights: Mat<f64>,
    /// b of each task.
    pub bias: Vec<f64>,
}

impl Machine {
    /// f, for the values of the kernels or of the features at each row.
    pub fn predict(&self, values: MatRef<'_, f64>) -> Mat<f64> {
        let mut out = multiply(values, self.weights.as_ref(), Threads::current());
        for (task, bias) in self.bias.iter().enumerate() {
            out.col_as_slice_mut(task).iter_mut().for_each(|f| *f += bias);
        }
        out
    }

    /// ‖Y − f(X)‖².
    fn loss(&self, values: MatRef<'_, f64>, targets: MatRef<'_, f64>) -> f64 {
        squared_norm(&(self.predict(values) - targets))
    }
}

/// The kernel view of data: K (N×N, symmetric and positive semidefinite) and Y (N×C).
#[derive(Clone, Copy, Debug)]
pub struct KernelMachine<'a> {
    /// K.
    pub kernel: MatRef<'a, f64>,
    /// Y.
    pub targets: MatRef<'a, f64>,
}

impl KernelMachine<'_> {
    /// What its problem minimises.
    pub fn objective(&self, machine: &Machine, penalty: Penalty) -> f64 {
        let beta = &machine.weights;
        let omega = match penalty.regulariser {
            Regulariser::Function => inner(beta, &multiply(self.kernel, beta.as_ref(), Threads::current())),
            Regulariser::Coefficients => squared_norm(beta),
        };
        machine.loss(self.kernel, self.targets) + penalty.strength * omega
    }

    /// The minimiser. With A = K + λI, or K² + λI for ‖β‖², the slopes vanish where v = A⁻¹(Y − 1b), 1ᵀv = 0 and β = v,
    /// or Kv for ‖β‖².
    pub fn solve(&self, penalty: Penalty) -> Result<Machine> {
        let Penalty { regulariser, strength } = penalty.check()?;
        let (size, threads) = (self.kernel.nrows(), Threads::current());
        let mut system = match regulariser {
            Regulariser::Function => self.kernel.to_owned(),
            Regulariser::Coefficients => multiply(self.kernel, self.kernel, threads),
        };
        (0..size).for_each(|n| system[(n, n)] += strength);
        let solve = factorised(system, strength)?;
        let ones = solve(Mat::from_fn(size, 1, |_, _| 1.0));
        let mut v = solve(self.targets.to_owned());
        let mass = sum(ones.col_as_slice(0));
        let bias: Vec<f64> = (0..v.ncols()).map(|task| sum(v.col_as_slice(task)) / mass).collect();
        for (task, bias) in bias.iter().enumerate() {
            let column = v.col_as_slice_mut(task).iter_mut();
            column.zip(ones.col_as_slice(0)).for_each(|(v, one)| *v -= bias * one);
        }
        let weights = match regulariser {
            Regulariser::Function => v,
            Regulariser::Coefficients => multiply(self.kernel, v.as_ref(), threads),
        };
        Ok(Machine { weights, bias })
    }
}

/// The ELM view of data: Φ (N×M) and Y (N×C), with Φ = Q diag(√d) Vᵀ decomposed.
#[derive(Clone, Debug)]
pub struct Elm<'a> {
    features: MatRef<'a, f64>,
    targets: MatRef<'a, f64>,
    /// d, positive.
    squares: Vec<f64>,
    /// Q, N×rank.
    rows: Mat<f64>,
}

impl<'a> Elm<'a> {
    /// Decomposes the features, without the directions that are null to rounding.
    pub fn new(features: MatRef<'a, f64>, targets: MatRef<'a, f64>) -> Result<Self> {
        let threads = Threads::current();
        let is_wide = features.nrows() <= features.ncols();
        let short = if is_wide { features } else { features.transpose() };
        let size = short.nrows();
        let mut gram = Mat::zeros(size, size);
        outer(gram.as_mut(), Accumulate::Replace, short, threads);
        let Spectral { values, vectors } = Spectral::new(gram).ok_or(Error::Singular { size, noise: 0.0 })?;
        let cutoff = values.iter().copied().fold(0.0, f64::max) * f64::EPSILON * size as f64;
        let kept: Vec<usize> = (0..size).filter(|&i| values[i] > cutoff).collect();
        let squares: Vec<f64> = kept.iter().map(|&i| values[i]).collect();
        let mut rows = select_columns(vectors.as_ref(), &kept);
        if !is_wide {
            rows = multiply(features, rows.as_ref(), threads);
            scale_columns(&mut rows, |i| 1.0 / squares[i].sqrt());
        }
        Ok(Elm { features, targets, squares, rows })
    }

    /// (ΦΦᵀ)⁻¹Φw, the coefficients that Ω is a function of.
    pub fn coefficients(&self, weights: &Mat<f64>) -> Mat<f64> {
        let threads = Threads::current();
        let fit = multiply(self.features, weights.as_ref(), threads);
        let mut inside = multiply(self.rows.as_ref().transpose(), fit.as_ref(), threads);
        scale_rows(&mut inside, &self.squares.iter().map(|d| 1.0 / d).collect::<Vec<_>>());
        multiply(self.rows.as_ref(), inside.as_ref(), threads)
    }

    /// What its problem minimises.
    pub fn objective(&self, machine: &Machine, penalty: Penalty) -> f64 {
        let beta = self.coefficients(&machine.weights);
        let omega = match penalty.regulariser {
            // βᵀΦΦᵀβ.
            Regulariser::Function => {
                squared_norm(&multiply(self.features.transpose(), beta.as_ref(), Threads::current()))
            }
            Regulariser::Coefficients => squared_norm(&beta),
        };
        machine.loss(self.features, self.targets) + penalty.strength * omega
    }

    /// The minimiser of least length. It has the form w = Vu; with u = Sz, S = I (or √d for ‖β‖²), Ω is ‖z‖² and z the
    /// solution of a ridge regression on G = Q diag(√d) S, centred.
    pub fn solve(&self, penalty: Penalty) -> Result<Machine> {
        let Penalty { regulariser, strength } = penalty.check()?;
        let (rank, threads) = (self.squares.len(), Threads::current());
        let scale = |i: usize| match regulariser {
            Regulariser::Function => self.squares[i].sqrt(),
            Regulariser::Coefficients => self.squares[i],
        };
        let mut centred = self.rows.clone();
        scale_columns(&mut centred, scale);
        let count = self.features.nrows() as f64;
        let mut centre = vec![0.0; rank];
        for (i, centre) in centre.iter_mut().enumerate() {
            let column = centred.col_as_slice_mut(i);
            *centre = sum(column) / count;
            column.iter_mut().for_each(|g| *g -= *centre);
        }
        let mut system = Mat::zeros(rank, rank);
        outer(system.as_mut(), Accumulate::Replace, centred.as_ref().transpose(), threads);
        (0..rank).for_each(|i| system[(i, i)] += strength);
        let mut z = factorised(system, strength)?(multiply(centred.as_ref().transpose(), self.targets, threads));
        let mean = |task: usize| self.targets.col(task).iter().sum::<f64>() / count;
        let bias = (0..z.ncols()).map(|task| mean(task) - dot(&centre, z.col_as_slice(task))).collect();
        // w = V S z = Φᵀ Q diag(1/√d) S z.
        scale_rows(&mut z, &(0..rank).map(|i| scale(i) / self.squares[i]).collect::<Vec<_>>());
        let beta = multiply(self.rows.as_ref(), z.as_ref(), threads);
        Ok(Machine { weights: multiply(self.features.transpose(), beta.as_ref(), threads), bias })
    }

    /// ΦΦᵀ, in place of the kernel.
    pub fn kernel(&self) -> Mat<f64> {
        let mut out = Mat::zeros(self.features.nrows(), self.features.nrows());
        outer(out.as_mut(), Accumulate::Replace, self.features, Threads::current());
        fill_upper(out.as_mut());
        out
    }
}

/// The Gaussian kernel exp(−γ‖x − x′‖²) between the rows of two tables.
pub fn gaussian_kernel(rows: MatRef<'_, f64>, others: MatRef<'_, f64>, bandwidth: f64) -> Mat<f64> {
    let mut distances = Mat::<f64>::zeros(rows.nrows(), others.nrows());
    for input in 0..rows.ncols() {
        let here: Vec<f64> = rows.col(input).iter().copied().collect();
        for (other, x) in others.col(input).iter().enumerate() {
            distances.col_as_slice_mut(other).iter_mut().zip(&here).for_each(|(sum, own)| *sum += (own - x).powi(2));
        }
    }
    for other in 0..distances.ncols() {
        distances.col_as_slice_mut(other).iter_mut().for_each(|d| *d = (-bandwidth * *d).exp());
    }
    distances
}

/// Root of E‖ΦΦᵀ − K‖² over draws of M cosines with random offsets, relative to ‖K‖. One cell of ΦΦᵀ is the mean of M independent
/// 2 cos a cos a′ = cos(a − a′) + cos(a + a′), of mean κ and second moment ½(1 + κ⁴) + ½: its variance is
/// (1 + κ⁴/2 − κ²)/M.
pub fn expected_kernel_error(kernel: MatRef<'_, f64>, features: usize) -> f64 {
    let variance = |column: usize| kernel.col(column).iter().map(|k| 1.0 + 0.5 * k.powi(4) - k * k).sum::<f64>();
    let square = (0..kernel.ncols()).map(|column| kernel.col(column).squared_norm_l2()).sum::<f64>();
    ((0..kernel.ncols()).map(variance).sum::<f64>() / (features as f64 * square)).sqrt()
}

/// ‖a − b‖/‖b‖.
pub fn relative_difference(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (squared_norm(&(a - b)) / squared_norm(b)).sqrt()
}

/// What solves a symmetric positive definite system, given by its lower triangle.
fn factorised(system: Mat<f64>, strength: f64) -> Result<impl Fn(Mat<f64>) -> Mat<f64>> {
    let size = system.nrows();
    let factor = Cholesky::new(system, Threads::current()).ok_or(Error::Singular { size, noise: strength.recip() })?;
    Ok(move |mut right: Mat<f64>| {
        factor.half_solve(right.as_mut());
        factor.half_solve_transposed(right.as_mut());
        right
    })
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (0..a.ncols()).map(|c| dot(a.col_as_slice(c), b.col_as_slice(c))).sum()
}

fn squared_norm(table: &Mat<f64>) -> f64 {
    inner(table, table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};
    use rffblr::fourier::{Basis, Directions, Offsets, Recipe, Scales, Spectrum};

    const REGULARISERS: [Regulariser; 2] = [Regulariser::Function, Regulariser::Coefficients];
    const GAMMA: f64 = 0.4;

    fn normal(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Mat::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng))
    }

    fn basis(count: usize, inputs: usize, seed: u64) -> Basis {
        let (spectrum, offsets, directions) = (Spectrum::Rbf, Offsets::Random, Directions::Independent);
        let recipe = Recipe { spectrum, offsets, directions, count, links: false };
        Basis::draw(&recipe, inputs, &mut ChaCha8Rng::seed_from_u64(seed)).scaled(&Scales::uniform(GAMMA, inputs))
    }

    /// A x = b by Gaussian elimination with pivots.
    fn eliminate(mut a: Mat<f64>, mut b: Mat<f64>) -> Mat<f64> {
        let size = a.nrows();
        for k in 0..size {
            let pivot = (k..size).max_by(|&i, &j| a[(i, k)].abs().total_cmp(&a[(j, k)].abs())).unwrap();
            for table in [&mut a, &mut b] {
                for c in 0..table.ncols() {
                    let column = table.col_as_slice_mut(c);
                    column.swap(k, pivot);
                }
            }
            for i in (0..size).filter(|&i| i != k) {
                let factor = a[(i, k)] / a[(k, k)];
                for table in [&mut a, &mut b] {
                    for c in 0..table.ncols() {
                        table[(i, c)] -= factor * table[(k, c)];
                    }
                }
            }
        }
        Mat::from_fn(size, b.ncols(), |i, c| b[(i, c)] / a[(i, i)])
    }

    fn times(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
        Mat::from_fn(a.nrows(), b.ncols(), |i, j| (0..a.ncols()).map(|k| a[(i, k)] * b[(k, j)]).sum())
    }

    fn square(table: &Mat<f64>) -> f64 {
        (0..table.ncols()).flat_map(|c| table.col_as_slice(c)).map(|v| v * v).sum()
    }

    /// Σ_n ‖y_n − f(x_n)‖², cell by cell.
    fn loss(values: &Mat<f64>, targets: &Mat<f64>, machine: &Machine) -> f64 {
        let fit = times(values, &machine.weights);
        square(&Mat::from_fn(fit.nrows(), fit.ncols(), |n, c| targets[(n, c)] - fit[(n, c)] - machine.bias[c]))
    }

    /// Ω of coefficients for a kernel.
    fn omega(kernel: &Mat<f64>, beta: &Mat<f64>, regulariser: Regulariser) -> f64 {
        match regulariser {
            Regulariser::Function => {
                let product = times(kernel, beta);
                (0..beta.ncols()).map(|c| dot(beta.col_as_slice(c), product.col_as_slice(c))).sum()
            }
            Regulariser::Coefficients => square(beta),
        }
    }

    /// Central differences of an objective in every weight and bias; they are exact for quadratics, up to rounding.
    fn slopes(machine: &Machine, objective: impl Fn(&Machine) -> f64) -> Vec<f64> {
        let (rows, tasks) = (machine.weights.nrows(), machine.weights.ncols());
        let moved = |row: usize, task: usize, step: f64| {
            let mut moved = machine.clone();
            if row < rows {
                moved.weights[(row, task)] += step;
            } else {
                moved.bias[task] += step;
            }
            objective(&moved)
        };
        let cells = (0..tasks).flat_map(|task| (0..=rows).map(move |row| (row, task)));
        cells.map(|(row, task)| (moved(row, task, 1e-3) - moved(row, task, -1e-3)) / 2e-3).collect()
    }

    /// The written objective has no slope at the minimiser and is higher everywhere around it.
    fn is_minimum(what: &str, machine: &Machine, objective: impl Fn(&Machine) -> f64) {
        let lowest = objective(machine);
        let steepest = slopes(machine, &objective).into_iter().map(f64::abs).fold(0.0, f64::max);
        assert!(steepest < 1e-8 * (1.0 + lowest), "{what}: {steepest}");
        for seed in 0..20 {
            let step = normal(machine.weights.nrows() + 1, machine.weights.ncols(), 100 + seed);
            let mut moved = machine.clone();
            for task in 0..step.ncols() {
                let cells = moved.weights.col_as_slice_mut(task).iter_mut();
                cells.zip(step.col_as_slice(task)).for_each(|(cell, step)| *cell += 0.1 * step);
                moved.bias[task] += 0.1 * step[(step.nrows() - 1, task)];
            }
            assert!(objective(&moved) > lowest, "{what}: {seed}");
        }
    }

    #[test]
    fn the_kernel_problem_is_solved_as_written() {
        let (inputs, targets) = (normal(12, 2, 1), normal(12, 3, 2));
        let kernel = gaussian_kernel(inputs.as_ref(), inputs.as_ref(), GAMMA);
        let view = KernelMachine { kernel: kernel.as_ref(), targets: targets.as_ref() };
        for regulariser in REGULARISERS {
            let penalty = Penalty { regulariser, strength: 0.3 };
            let found = view.solve(penalty).unwrap();
            let written = |machine: &Machine| {
                loss(&kernel, &targets, machine) + 0.3 * omega(&kernel, &machine.weights, regulariser)
            };
            is_minimum(&format!("{regulariser:?}"), &found, written);
            let other = Machine { weights: normal(12, 3, 3), bias: vec![0.5, -1.0, 2.0] };
            assert!((view.objective(&other, penalty) / written(&other) - 1.0).abs() < 1e-12);
        }
    }

    /// Kernel ridge regression with an offset: [K + λI, 1; 1ᵀ, 0] [β; b] = [Y; 0].
    #[test]
    fn kernel_ridge_regression_in_closed_form() {
        let (inputs, targets) = (normal(15, 3, 4), normal(15, 2, 5));
        let kernel = gaussian_kernel(inputs.as_ref(), inputs.as_ref(), GAMMA);
        let system = Mat::from_fn(16, 16, |i, j| match (i < 15, j < 15) {
            (true, true) => kernel[(i, j)] + if i == j { 0.07 } else { 0.0 },
            (false, false) => 0.0,
            _ => 1.0,
        });
        let expected = eliminate(system, Mat::from_fn(16, 2, |i, c| if i < 15 { targets[(i, c)] } else { 0.0 }));
        let view = KernelMachine { kernel: kernel.as_ref(), targets: targets.as_ref() };
        let found = view.solve(Penalty { regulariser: Regulariser::Function, strength: 0.07 }).unwrap();
        for c in 0..2 {
            assert!((found.bias[c] - expected[(15, c)]).abs() < 1e-11);
            (0..15).for_each(|n| assert!((found.weights[(n, c)] - expected[(n, c)]).abs() < 1e-10));
        }
        for strength in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(view.solve(Penalty { regulariser: Regulariser::Function, strength }).is_err());
        }
    }

    #[test]
    fn the_elm_problem_is_solved_as_written() {
        let (inputs, targets) = (normal(9, 3, 6), normal(9, 2, 7));
        let features = basis(40, 3, 8).features(inputs.as_ref());
        let gram = times(&features, &features.transpose().to_owned());
        let view = Elm::new(features.as_ref(), targets.as_ref()).unwrap();
        assert!(relative_difference(&view.kernel(), &gram) < 1e-14);
        for regulariser in REGULARISERS {
            let penalty = Penalty { regulariser, strength: 0.2 };
            let found = view.solve(penalty).unwrap();
            let written = |machine: &Machine| {
                let beta = eliminate(gram.clone(), times(&features, &machine.weights));
                loss(&features, &targets, machine) + 0.2 * omega(&gram, &beta, regulariser)
            };
            is_minimum(&format!("{regulariser:?}"), &found, written);
            let other = Machine { weights: normal(40, 2, 9), bias: vec![0.5, -1.0] };
            assert!((view.objective(&other, penalty) / written(&other) - 1.0).abs() < 1e-9);
            // What is orthogonal to all training features is free: no other minimiser is shorter.
            let random = normal(40, 2, 10);
            let inside = times(&features.transpose().to_owned(), &eliminate(gram.clone(), times(&features, &random)));
            let free = random - inside;
            assert!(square(&free) > 1.0);
            let moved = Machine { weights: &found.weights + &free, ..found.clone() };
            assert!((written(&moved) / written(&found) - 1.0).abs() < 1e-10);
            assert!(square(&moved.weights) > square(&found.weights));
            assert!(inner(&free, &found.weights).abs() < 1e-10);
        }
    }

    /// With the kernel ΦΦᵀ the two problems are one: w = Φᵀβ, at any number of features.
    #[test]
    fn both_views_are_one_with_the_kernel_of_the_features() {
        let (inputs, others, targets) = (normal(25, 3, 11), normal(6, 3, 12), normal(25, 2, 13));
        for count in [5, 25, 60, 400] {
            let basis = basis(count, 3, 14);
            let (features, new) = (basis.features(inputs.as_ref()), basis.features(others.as_ref()));
            let elm = Elm::new(features.as_ref(), targets.as_ref()).unwrap();
            let kernel = elm.kernel();
            let machine = KernelMachine { kernel: kernel.as_ref(), targets: targets.as_ref() };
            for regulariser in REGULARISERS {
                let penalty = Penalty { regulariser, strength: 0.1 };
                let (by_kernel, by_weights) = (machine.solve(penalty).unwrap(), elm.solve(penalty).unwrap());
                let mapped = times(&features.transpose().to_owned(), &by_kernel.weights);
                let difference = relative_difference(&by_weights.weights, &mapped);
                assert!(difference < 1e-9, "{count} {regulariser:?}: {difference}");
                by_kernel.bias.iter().zip(&by_weights.bias).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
                let cross = times(&new, &features.transpose().to_owned());
                let (a, b) = (by_weights.predict(new.as_ref()), by_kernel.predict(cross.as_ref()));
                assert!(relative_difference(&a, &b) < 1e-9);
                let values = (machine.objective(&by_kernel, penalty), elm.objective(&by_weights, penalty));
                assert!((values.0 / values.1 - 1.0).abs() < 1e-9, "{count} {regulariser:?}: {values:?}");
            }
        }
    }

    #[test]
    fn the_error_of_the_kernel_is_the_expected_one() {
        let inputs = normal(8, 2, 15);
        let kernel = gaussian_kernel(inputs.as_ref(), inputs.as_ref(), GAMMA);
        let (x, y) = ((inputs[(2, 0)], inputs[(2, 1)]), (inputs[(5, 0)], inputs[(5, 1)]));
        let expected = (-GAMMA * ((x.0 - y.0).powi(2) + (x.1 - y.1).powi(2))).exp();
        assert!((kernel[(2, 5)] - expected).abs() < 1e-15);
        let draws = 3000;
        let error = |seed: u64| {
            let features = basis(16, 2, seed).features(inputs.as_ref());
            square(&(multiply(features.as_ref(), features.as_ref().transpose(), Threads::ONE) - &kernel))
        };
        let mean = (0..draws).map(error).sum::<f64>() / draws as f64;
        let ratio = (mean / square(&kernel)).sqrt() / expected_kernel_error(kernel.as_ref(), 16);
        assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
    }

    /// 256 times as many features: a difference 16 times smaller.
    #[test]
    fn the_views_approach_each_other_like_the_root_of_the_number_of_features() {
        let (inputs, targets) = (normal(20, 3, 16), normal(20, 2, 17));
        let kernel = gaussian_kernel(inputs.as_ref(), inputs.as_ref(), GAMMA);
        let machine = KernelMachine { kernel: kernel.as_ref(), targets: targets.as_ref() };
        for regulariser in REGULARISERS {
            let penalty = Penalty { regulariser, strength: 1.0 };
            let beta = machine.solve(penalty).unwrap().weights;
            let difference = |count: usize| {
                let of_draw = |seed: u64| {
                    let features = basis(count, 3, seed).features(inputs.as_ref());
                    let found = Elm::new(features.as_ref(), targets.as_ref()).unwrap().solve(penalty).unwrap();
                    let mapped = multiply(features.as_ref().transpose(), beta.as_ref(), Threads::ONE);
                    relative_difference(&found.weights, &mapped)
                };
                (0..20).map(of_draw).sum::<f64>() / 20.0
            };
            let ratio = difference(100) / difference(25_600);
            assert!((11.0..22.0).contains(&ratio), "{regulariser:?}: {ratio}");
        }
    }
}
