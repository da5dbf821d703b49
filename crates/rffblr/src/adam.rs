//! Adam: gradient steps whose length is set by the recent size of the gradient (Kingma and Ba, 2015).
//!
//! m ← 0.9 m + 0.1 g and v ← 0.999 v + 0.001 g² are running means that start at zero; step t moves by
//! η √(1 − 0.999ᵗ)/(1 − 0.9ᵗ) · m/(√v + 10⁻⁸), where the first fraction undoes that start.

const DECAY_FIRST: f64 = 0.9;
const DECAY_SECOND: f64 = 0.999;
/// Keeps a gradient that has always been zero from dividing by zero.
const FLOOR: f64 = 1e-8;

/// The running means, one pair for each parameter.
pub struct Adam {
    rate: f64,
    steps: i32,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Adam {
    /// Before the first step.
    pub fn new(rate: f64, parameters: usize) -> Self {
        Adam { rate, steps: 0, first: vec![0.0; parameters], second: vec![0.0; parameters] }
    }

    /// Steps of another length from here on.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// One step uphill from `values`.
    pub fn ascend(&mut self, values: &mut [f64], gradient: &[f64]) {
        self.step(values, gradient, 1.0);
    }

    /// One step downhill from `values`.
    pub fn descend(&mut self, values: &mut [f64], gradient: &[f64]) {
        self.step(values, gradient, -1.0);
    }

    fn step(&mut self, values: &mut [f64], gradient: &[f64], sign: f64) {
        self.steps = self.steps.saturating_add(1);
        let correction = (1.0 - DECAY_SECOND.powi(self.steps)).sqrt() / (1.0 - DECAY_FIRST.powi(self.steps));
        let rate = self.rate * correction;
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((value, g), (first, second)) in values.iter_mut().zip(gradient).zip(moments) {
            *first = DECAY_FIRST * *first + (1.0 - DECAY_FIRST) * g;
            *second = DECAY_SECOND * *second + (1.0 - DECAY_SECOND) * g * g;
            *value += sign * rate * *first / (second.sqrt() + FLOOR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let mut adam = Adam::new(0.1, 2);
        let mut values = [1.0, -2.0];
        adam.descend(&mut values, &[0.5, -4.0]);
        // m = 0.1 g and v = 0.001 g²: the corrections make the first step η g/(|g| + 10⁻⁸/√0.001).
        let floor = 1e-8 / 0.001f64.sqrt();
        assert!((values[0] - (1.0 - 0.1 * 0.5 / (0.5 + floor))).abs() < 1e-14, "{}", values[0]);
        assert!((values[1] - (-2.0 + 0.1 * 4.0 / (4.0 + floor))).abs() < 1e-14, "{}", values[1]);
        let before = values[0];
        adam.descend(&mut values, &[-0.25, 0.0]);
        // m = 0.9·0.05 − 0.025 = 0.02, v = 0.999·0.00025 + 0.0000625 = 0.00031225; m/(1 − 0.81), v/(1 − 0.998001).
        let (m, v): (f64, f64) = (0.02 / 0.19, 0.000_312_25 / 0.001_999);
        assert!((values[0] - (before - 0.1 * m / v.sqrt())).abs() < 1e-7, "{}", values[0]);
    }

    #[test]
    fn another_rate_is_a_step_of_another_length() {
        let step = |rate: f64| {
            let (mut adam, mut values) = (Adam::new(0.1, 2), [1.0, -2.0]);
            adam.ascend(&mut values, &[0.5, -4.0]);
            let before = values;
            adam.set_rate(rate);
            adam.ascend(&mut values, &[0.25, 1.0]);
            [values[0] - before[0], values[1] - before[1]]
        };
        let (long, short, none) = (step(0.1), step(0.025), step(0.0));
        assert!((0..2).all(|i| (long[i] - 4.0 * short[i]).abs() < 1e-15 && long[i] != 0.0 && none[i] == 0.0));
    }

    #[test]
    fn it_finds_the_bottom_of_a_bowl_and_stays_where_there_is_no_slope() {
        let mut adam = Adam::new(0.05, 3);
        let mut at = [3.0, -1.0, 7.0];
        for _ in 0..2000 {
            let gradient = [2.0 * (at[0] - 1.0), 200.0 * (at[1] - 0.5), 0.0];
            adam.descend(&mut at, &gradient);
        }
        assert!((at[0] - 1.0).abs() < 1e-3 && (at[1] - 0.5).abs() < 1e-3 && at[2] == 7.0, "{at:?}");
    }
}
