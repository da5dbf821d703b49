//! A model as a formula: what every writer of this crate writes down in its own language.
//!
//! ```text
//! inputs ─▶ columns ─▶ z ─▶ terms φ ─▶ mean, variance ─▶ targets on their own scale, with intervals
//! ```
//!
//! 1. A raw input, a number, a text or a date, becomes columns of numbers; each is standardised, z = (x − mean)/scale.
//! 2. A part of the function has terms φ(z), cosines or kernels, and weights: f = Σ w φ.
//! 3. The variance of the function is v = unit·‖Rφ‖², and for kernels unit·left·(1 − correction·near) with
//!    left = max(κ(z, z) − ‖Rφ‖², 0) and near = 1 − left/(v₁ + v₂) within 0 and 1, R lower triangular.
//! 4. A target is normal with location shift + scale·f and deviation scale·√(v + noise). A transformed one is brought back
//!    by its transform, its mean and deviation by 65 nodes from −8 to 8 in steps of ¼.
//! 5. The ends of the interval are at `reach` deviations from the location.

use rffblr::data::{Encoding, MissingInputs, RawInput};
use rffblr::internals::{MISSING_WORDS, Plain, PlainPart, Spread as PlainSpread, Terms as PlainTerms, plain};
use rffblr::linalg::Mat;
use rffblr::{Form, Model, Point, Result, Shape, Transform};
use serde::Serialize;

/// Steps of the quadrature of moments, and how many of them there are on each side.
pub(crate) const STEP: f64 = 0.25;
pub(crate) const SIDE: i32 = 32;

/// A model, written out.
#[derive(Serialize)]
pub(crate) struct Formula {
    pub inputs: Vec<Input>,
    pub columns: Vec<Column>,
    pub parts: Vec<Part>,
    pub targets: Vec<Target>,
    /// Probability of the interval; zero if there are neither deviations nor intervals.
    pub coverage: f64,
    /// Texts that mean a missing cell, in capitals, unless they are levels.
    pub missing: Vec<String>,
    #[serde(skip)]
    pub about: String,
}

/// A column of the user's table.
#[derive(Serialize)]
pub(crate) struct Input {
    pub name: String,
    pub kind: Kind,
    /// One if a missing cell is an error.
    pub required: u8,
    /// Of a text, the known levels.
    pub levels: Vec<String>,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Number,
    Text,
    /// A moment: seconds since 1970 by the clock of the place.
    Date,
    /// The time of a day: seconds since midnight.
    Time,
}

/// A column of numbers, made of an input.
#[derive(Serialize)]
pub(crate) struct Column {
    pub input: usize,
    pub cell: Cell,
    pub mean: f64,
    pub scale: f64,
}

/// What a cell of it holds.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Cell {
    /// The number, the median where it is missing.
    Number {
        median: f64,
    },
    /// One where the input is missing.
    Missing {},
    /// One where the text is this.
    Level {
        level: String,
    },
    /// One where there is a text that is none of the levels.
    Rare {},
    /// One where the text is missing or none of the levels.
    Unknown {},
    /// Days since a moment, the median where missing.
    Days {
        start: f64,
        median: f64,
    },
    /// Cosine, or sine, of 2π(days + shift)/period; of whole days if `whole` is one. Zero where missing.
    Cos {
        period: f64,
        shift: f64,
        whole: u8,
    },
    Sin {
        period: f64,
        shift: f64,
        whole: u8,
    },
}

/// Some tasks, and the terms they are the weighted sums of.
#[derive(Serialize)]
pub(crate) struct Part {
    pub tasks: Vec<usize>,
    #[serde(flatten)]
    pub terms: Terms,
    /// For each task a weight for each term.
    pub weights: Vec<Vec<f64>>,
    pub spreads: Vec<Spread>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Terms {
    /// amplitude·cos(frequency·z + phase) for each cosine, link·z_d for each d in `links`, and 1.
    Waves { amplitude: f64, frequencies: Vec<Vec<f64>>, phases: Vec<f64>, link: f64, links: Vec<usize> },
    /// κ(row, z) = 1 + linear·row·z + rbf[0] exp(−rbf[1] Σ Δ²) + laplace[0] exp(−Σ scales|Δ|), Δ = row − z.
    Kernel { rows: Vec<Vec<f64>>, linear: f64, rbf: [f64; 2], laplace: [f64; 1], scales: Vec<f64> },
}

impl Terms {
    pub fn count(&self) -> usize {
        match self {
            Terms::Waves { phases, links, .. } => phases.len() + links.len() + 1,
            Terms::Kernel { rows, .. } => rows.len(),
        }
    }
}

/// The posterior covariance of some tasks, with what is their own in the same order.
#[derive(Serialize)]
pub(crate) struct Spread {
    pub tasks: Vec<usize>,
    pub unit: Vec<f64>,
    pub correction: Vec<f64>,
    /// The terms that the columns of R are of, if not all of them in their order.
    pub terms: Vec<usize>,
    /// The rows of R, each to its diagonal.
    pub factor: Vec<Vec<f64>>,
}

#[derive(Serialize)]
pub(crate) struct Target {
    pub name: String,
    pub shift: f64,
    pub scale: f64,
    /// Variance of the noise, standardised.
    pub noise: f64,
    /// Ends of the interval, in deviations.
    pub reach: [f64; 2],
    /// None, or one.
    pub transform: Vec<Back>,
}

/// The way back from the scale of a transform: y = centre + width·shape(u) for a u between `low` and `high`, and then
/// between `least` and `most`.
#[derive(Serialize, Clone, Copy)]
pub(crate) struct Back {
    pub shape: Curve,
    pub centre: f64,
    pub width: f64,
    pub low: f64,
    pub high: f64,
    pub least: f64,
    pub most: f64,
    /// One if the point prediction is the median, zero if it is the mean.
    pub median: u8,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Curve {
    Exp,
    Sinh,
}

impl Formula {
    /// Of a model; without a coverage, without deviations and intervals.
    pub fn new(model: &Model, coverage: Option<f64>, about: String) -> Result<Formula> {
        let Plain { inputs: standard, targets, noise, parts } = plain(model, coverage.is_some())?;
        let encoder = model.table_encoder();
        let required = u8::from(encoder.missing_inputs() == MissingInputs::Error);
        let (mut inputs, mut columns) = (Vec::new(), Vec::new());
        for (at, raw) in encoder.raw_inputs().iter().enumerate() {
            let (input, cells) = encoded(raw, required);
            inputs.push(input);
            for cell in cells {
                let (mean, scale) = (standard.mean[columns.len()], standard.scale[columns.len()]);
                columns.push(Column { input: at, cell, mean, scale });
            }
        }
        let reach = coverage.map(|coverage| model.reach(coverage)).transpose()?;
        let target = |(c, name): (usize, &String)| Target {
            name: name.clone(),
            shift: targets.mean[c],
            scale: targets.scale[c],
            noise: noise[c],
            reach: reach.as_ref().map_or([0.0; 2], |reach| reach[c].into()),
            transform: model.transforms()[c].iter().map(Back::from).collect(),
        };
        Ok(Formula {
            inputs,
            columns,
            parts: parts.into_iter().map(Part::from).collect(),
            targets: model.target_names().iter().enumerate().map(target).collect(),
            coverage: coverage.unwrap_or(0.0),
            missing: MISSING_WORDS.map(str::to_uppercase).into(),
            about,
        })
    }

    /// Whether it has deviations and intervals.
    pub fn uncertain(&self) -> bool {
        self.coverage > 0.0
    }

    /// Terms, and rows of factors, of all parts together.
    pub fn width(&self) -> usize {
        let rows = |part: &Part| part.spreads.iter().map(|spread| spread.factor.len()).max().unwrap_or(0);
        let terms: usize = self.parts.iter().map(|part| part.terms.count()).sum();
        terms.max(self.columns.len()).max(self.parts.iter().map(rows).max().unwrap_or(0))
    }

    /// Names of the columns of predictions of a target.
    pub fn outputs(&self, target: &Target) -> Vec<String> {
        let endings: &[&str] = if self.uncertain() { &["", "_std", "_lower", "_upper"] } else { &[""] };
        endings.iter().map(|ending| format!("{}{ending}", target.name)).collect()
    }
}

/// An input, and the cells of the columns it becomes.
fn encoded(raw: &RawInput, required: u8) -> (Input, Vec<Cell>) {
    let (mut kind, mut known) = (Kind::Number, Vec::new());
    let cells = match &raw.encoding {
        Encoding::Numeric { median, indicator } => {
            [Cell::Number { median: *median }].into_iter().chain(indicator.then_some(Cell::Missing {})).collect()
        }
        Encoding::Presence => vec![Cell::Missing {}],
        Encoding::Categorical { levels, rare, .. } => {
            kind = Kind::Text;
            known = levels[..levels.len() - usize::from(*rare > 0)].to_vec();
            let ones = known.iter().map(|level| Cell::Level { level: level.clone() });
            let rest = if *rare > 0 { vec![Cell::Rare {}, Cell::Missing {}] } else { vec![Cell::Unknown {}] };
            ones.chain(rest).collect()
        }
        Encoding::Date(date) => {
            kind = if date.is_clock() { Kind::Time } else { Kind::Date };
            let mut cells = vec![Cell::Days { start: date.start, median: date.median }];
            for cycle in &date.cycles {
                let (period, shift, whole) = cycle.terms();
                let whole = u8::from(whole);
                cells.extend([Cell::Cos { period, shift, whole }, Cell::Sin { period, shift, whole }]);
            }
            cells.extend(date.indicator.then_some(Cell::Missing {}));
            cells
        }
    };
    (Input { name: raw.name.clone(), kind, required, levels: known }, cells)
}

fn columns(table: &Mat<f64>) -> Vec<Vec<f64>> {
    (0..table.ncols()).map(|j| table.col_as_slice(j).to_vec()).collect()
}

fn rows(table: &Mat<f64>) -> Vec<Vec<f64>> {
    (0..table.nrows()).map(|i| table.row(i).iter().copied().collect()).collect()
}

impl From<PlainPart> for Part {
    fn from(PlainPart { tasks, terms, weights, spreads }: PlainPart) -> Part {
        let terms = match terms {
            PlainTerms::Waves(basis) => Terms::Waves {
                amplitude: basis.amplitude,
                frequencies: columns(&basis.directions),
                phases: basis.offsets.clone(),
                link: basis.link_factor(),
                links: basis.links.clone(),
            },
            PlainTerms::Kernel(kernel, inputs) => Terms::Kernel {
                rows: rows(&inputs),
                linear: kernel.linear / inputs.ncols() as f64,
                rbf: [kernel.rbf.variance, kernel.rbf.bandwidth],
                laplace: [kernel.laplace_l1.variance],
                scales: kernel.input_scales.iter().map(|r| kernel.laplace_l1.bandwidth * r).collect(),
            },
        };
        let count = terms.count();
        let spread = |PlainSpread { tasks, terms, factor }: PlainSpread| Spread {
            unit: tasks.iter().map(|own| own.unit).collect(),
            correction: tasks.iter().map(|own| own.correction).collect(),
            tasks: tasks.iter().map(|own| own.task).collect(),
            factor: (0..factor.nrows()).map(|i| (0..=i).map(|j| factor[(i, j)]).collect()).collect(),
            terms: if terms.len() == count { Vec::new() } else { terms },
        };
        Part { tasks, terms, weights: columns(&weights), spreads: spreads.into_iter().map(spread).collect() }
    }
}

impl From<&Transform> for Back {
    fn from(transform: &Transform) -> Back {
        // The exponential of less is zero to any precision, and more does not occur within the bounds.
        const FARTHEST: f64 = 700.0;
        let (least, most) = transform.bounds();
        let (shape, centre, width) = match transform.shape {
            Shape::Log => (Curve::Exp, 0.0, 1.0),
            Shape::Asinh { centre, width } => (Curve::Sinh, centre, width),
        };
        // A little beyond the bounds, which then decide.
        let end = |y: f64, side: f64| (transform.shape.apply(y) + side).clamp(-FARTHEST, FARTHEST);
        let median = u8::from(transform.point == Point::Median);
        Back { shape, centre, width, low: end(least, -1.0), high: end(most, 1.0), least, most, median }
    }
}

/// What a form is called in messages.
pub(crate) fn called(model: &Model) -> String {
    let terms = model.active_features();
    match model.settings().form {
        Form::Kernel => format!("a kernel machine of {terms} rows"),
        Form::Sinusoids { .. } => format!("a formula of {terms} sinusoids"),
        Form::Drawn { .. } => format!("{terms} features drawn from a kernel"),
        _ => format!("{terms} cosines"),
    }
}

#[cfg(test)]
mod tests;
