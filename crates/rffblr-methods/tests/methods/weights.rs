//! Row weights: what they mean and what they must not do.

use crate::{normal, smooth, with_gaps};
use rffblr::data::{Dataset, Weights};
use rffblr_methods::method::by_name;
use rffblr_methods::select::{Grid, Plan};

#[test]
fn a_factor_on_all_relative_weights_changes_nothing() {
    let (data, new) = (with_gaps(&smooth(50, 3, 2, 3), 7), normal(9, 3, 8));
    let weights: Vec<f64> = (0..50).map(|n| if n % 9 == 4 { 0.0 } else { 0.3 + (n % 5) as f64 }).collect();
    let relative = |data: &Dataset, factor: f64| {
        data.clone().with_weights(Weights::Relative(weights.iter().map(|w| factor * w).collect())).unwrap()
    };
    for name in ["mean", "ridge", "gp", "gor-elm", "sb-elm"] {
        let complete = smooth(50, 3, 2, 3);
        let data = if name == "ridge" { &data } else { &complete };
        let forecast = |factor: f64| {
            let plan = Plan { grid: Grid::Coarse, ..Plan::seeded(1) };
            let fitted = by_name(name).unwrap().fit(&relative(data, factor), &plan).unwrap();
            fitted.predict(new.as_ref()).unwrap()
        };
        let (one, two) = (forecast(1.0), forecast(2.0));
        assert_eq!((&one.mean, &one.std), (&two.mean, &two.std), "{name}");
    }
}
