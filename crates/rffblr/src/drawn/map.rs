//! What turns rows into features, fixed before the rows are added up.

use super::accumulator::{Accumulator, Solvable};
use super::features::Draw;
use super::learn::{self, Group};
use super::posterior::{Context, at_precisions, free, solve};
use crate::data::{Dataset, Standardiser, Weights, expect_count, expect_repeats};
use crate::device::{Backend, Host, caught};
use crate::error::{Error, Result};
use crate::linalg::Threads;
use crate::model::{self, Drawn, DrawnMember, Function, Learning, Model, Parts, Waves};
use crate::settings::{Device, Form, Precision, Settings};
use crate::steps::{Iteration, Observer, Stop};
use crate::transform::Transform;
use serde::{Deserialize, Serialize};

/// Learned kernels and frequencies, scales of inputs and targets: with these every worker computes the same features of any
/// rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureMap {
    pub(super) settings: Settings,
    pub(super) input_names: Vec<String>,
    pub(super) target_names: Vec<String>,
    pub(super) input_scale: Standardiser,
    pub(super) target_scale: Standardiser,
    pub(super) transforms: Vec<Option<Transform>>,
    /// What weights mean, and what they are divided by.
    weighting: Option<(Weights<()>, f64)>,
    rounding: Vec<f64>,
    pub(super) groups: Vec<Group>,
    /// The frequencies of each group.
    pub(super) draws: Vec<Draw>,
    features: usize,
    trace: Vec<Iteration>,
    stop: Stop,
}

/// Numbers of features, and rows for each of the larger ones.
const FEATURES: [usize; 3] = [2048, 1024, 512];
const ROWS_EACH: f64 = 100.0;
/// Those that are taken too if more than the usual effort is made.
const MORE_FEATURES: [usize; 2] = [8192, 4096];
/// Fewest rows for each feature, whatever the effort.
const LEAST_ROWS_EACH: f64 = 30.0;
/// What the pass over the rows may cost with the larger ones: rows times features squared, for all groups of tasks.
const PASS: f64 = 1.2e13;

/// Number of features for so many rows and groups of tasks with a kernel of their own: 1024 or 2048 if there are 100 rows for
/// each and rows × groups × features² is at most 1.2·10¹³, else 512. More effort e allows e times the product, 4096 and 8192
/// features, and fewer rows for each: 100/√e, but at least 30.
pub(crate) fn features_for(rows: f64, groups: usize, effort: f64) -> usize {
    let each = (ROWS_EACH / effort.max(1.0).sqrt()).max(LEAST_ROWS_EACH);
    let fits = |features: f64| rows >= each * features && rows * groups as f64 * features.powi(2) <= PASS * effort;
    let more = MORE_FEATURES.into_iter().filter(|_| effort > 1.0);
    let [.., least] = FEATURES;
    more.chain(FEATURES).find(|features| fits(*features as f64)).unwrap_or(least)
}

impl FeatureMap {
    /// Learns from a sample of the data, which has about so many rows in all.
    pub fn learn(sample: &Dataset, rows: f64, settings: &Settings, observer: Observer<'_>) -> Result<FeatureMap> {
        settings.validate()?;
        settings.expect_device()?;
        let Form::Drawn { features, effort, .. } = settings.form else {
            return Err(Error::Setting { name: "preset", problem: "a feature map needs preset cosines".into() });
        };
        model::expect_memory(sample, settings)?;
        let input_scale = Standardiser::of_inputs(sample);
        let inputs = input_scale.apply(sample.inputs(), sample.input_names())?;
        let Learning { problem, groups, target_scale, transforms } = model::learn(sample, inputs, settings, observer)?;
        let rounding = problem.rounding.clone();
        let count = |groups: usize| features.unwrap_or_else(|| features_for(rows, groups, effort));
        let host = Host(Threads::current());
        let learn::Found { groups, trace, stop } = match learn::device(&problem, rows, count, (settings, effort))? {
            None => learn::learn(&problem, groups, rows, count, (settings, effort, &host), observer)?,
            Some(cuda) => caught(|| learn::learn(&problem, groups, rows, count, (settings, effort, &cuda), observer))?,
        };
        let (groups, draws): (Vec<Group>, Vec<Draw>) = groups.into_iter().unzip();
        let features = count(groups.len());
        // What the given weights were divided by, from a row that has one.
        let weighting = sample.given_weights().map(|given| {
            let mut pairs = given.values().iter().zip(sample.weights().into_iter().flatten());
            let unit = pairs.find(|(_, scaled)| **scaled > 0.0).map_or(1.0, |(given, scaled)| given / scaled);
            (given.as_ref().map(|_| ()), unit)
        });
        Ok(FeatureMap {
            // Where it was learned is no property of a map.
            settings: Settings { device: Device::Auto, ..settings.clone() },
            input_names: sample.input_names().to_vec(),
            target_names: sample.target_names().to_vec(),
            input_scale,
            target_scale,
            transforms,
            weighting,
            rounding,
            groups,
            draws,
            features,
            trace,
            stop,
        })
    }

    /// Number of cosines and sines.
    pub fn features(&self) -> usize {
        self.features
    }

    /// As JSON.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|problem| Error::Json { what: "the feature map", problem: problem.to_string() })
    }

    /// From JSON.
    pub fn from_json(text: &str) -> Result<FeatureMap> {
        let wrong = |problem: serde_json::Error| Error::Json { what: "the feature map", problem: problem.to_string() };
        let map: FeatureMap = serde_json::from_str(text).map_err(wrong)?;
        let (inputs, tasks) = (map.input_names.len(), map.target_names.len());
        let mut times = vec![0; tasks];
        map.groups.iter().flat_map(|group| &group.tasks).filter(|task| **task < tasks).for_each(|&t| times[t] += 1);
        let whole = times.iter().all(|times| *times == 1)
            && map.groups.iter().all(|group| {
                group.kernel.input_scales.len() == inputs
                    && group.noise.len() == group.tasks.len()
                    && group.tasks.iter().all(|task| *task < tasks)
            })
            && map.draws.len() == map.groups.len()
            && map.draws.iter().all(|draw| draw.inputs() == inputs)
            && map.rounding.len() == tasks
            && map.transforms.len() == tasks
            && map.transforms.iter().flatten().all(|transform| transform.check().is_ok())
            && [&map.input_scale.mean, &map.input_scale.scale].iter().all(|list| list.len() == inputs)
            && [&map.target_scale.mean, &map.target_scale.scale].iter().all(|list| list.len() == tasks);
        match whole {
            true => Ok(map),
            false => Err(Error::Json { what: "the feature map", problem: "its lists contradict each other".into() }),
        }
    }

    /// Roots of the weights of some rows.
    pub(super) fn root_weights(&self, rows: usize, weights: Option<&[f64]>) -> Result<Vec<f64>> {
        match (&self.weighting, weights) {
            (None, None) => Ok(vec![1.0; rows]),
            (Some((_, unit)), Some(weights)) => {
                expect_count("the list of row weights", "entries", weights.len(), rows)?;
                if let Some(row) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
                    return Err(Error::Accumulator(format!(
                        "weight {} of row {} is not a weight",
                        weights[row],
                        row + 1
                    )));
                }
                Ok(weights.iter().map(|w| (w / unit).sqrt()).collect())
            }
            (Some(_), None) => Err(Error::Accumulator("the map was learned with row weights: give them".into())),
            (None, Some(_)) => Err(Error::Accumulator("the map was learned without row weights".into())),
        }
    }

    /// The model of the rows that were added up.
    pub fn model(&self, sums: &Accumulator) -> Result<Model> {
        if sums.map() != self {
            return Err(Error::Accumulator("it is for features of another map".into()));
        }
        Ok(self.model_of(sums, self.solved(sums, None)?))
    }

    /// Every group of tasks, solved; at the prior variances and noise of `earlier` if that is given.
    pub(super) fn solved(&self, sums: &Accumulator, earlier: Option<&[DrawnMember]>) -> Result<Vec<DrawnMember>> {
        sums.solve(
            |host, solvable| self.solved_by(host, solvable, earlier),
            |cuda, solvable| self.solved_by(cuda, solvable, earlier),
        )
    }

    fn solved_by<B: Backend>(
        &self,
        backend: &B,
        solvable: Vec<Solvable<B::Matrix>>,
        earlier: Option<&[DrawnMember]>,
    ) -> Result<Vec<DrawnMember>> {
        let relative = matches!(self.weighting, Some((Weights::Relative(()), _)));
        let host = Host(Threads::current());
        if matches!(self.weighting, Some((Weights::Repeats(()), _))) {
            let most = solvable.iter().flat_map(|(.., systems)| systems).map(|system| system.mass).fold(0.0, f64::max);
            // No row at all is another error.
            if most > 0.0 {
                expect_repeats(most)?;
            }
        }
        let mut members = Vec::new();
        for (g, ((draw, basis, systems), group)) in solvable.into_iter().zip(&self.groups).enumerate() {
            if let Some(place) = (0..group.tasks.len()).find(|c| systems.iter().all(|s| !s.tasks.contains(c))) {
                let column = self.target_names[group.tasks[place]].clone();
                return Err(Error::Accumulator(format!("target \"{column}\" was not observed in any row")));
            }
            let on_host = || systems.iter().map(|system| system.on_host(backend)).collect::<Vec<_>>();
            let rounding: Vec<f64> = group.tasks.iter().map(|&task| self.rounding[task]).collect();
            let context = Context { backend, rounding: &rounding, relative };
            let earlier = earlier.and_then(|earlier| earlier.get(g));
            if let Some(member @ DrawnMember { kept: Some(kept), .. }) = earlier {
                let (precision, tau) = (&member.waves.posterior.precision, &member.waves.posterior.tau);
                let posterior = at_precisions(&host, &on_host(), kept, precision.clone(), tau.clone())?;
                members.push(DrawnMember { waves: Waves { posterior, ..member.waves.clone() }, ..member.clone() });
                continue;
            }
            let (group, refined) = match earlier {
                None => (group.clone(), false),
                Some(earlier) => (earlier.group(group.shared_noise), true),
            };
            let (group, posterior) = solve(&systems, &draw, group, refined, context)?;
            let Group { tasks, kernel, .. } = group;
            let mut member =
                DrawnMember { tasks, kernel, pairs: draw.counts(), kept: None, waves: Waves { basis, posterior } };
            if self.precision() == Precision::Free {
                let context = Context { backend: &host, rounding: &rounding, relative };
                let (kept, posterior) =
                    free(&on_host(), &member.waves.posterior, self.settings.max_iterations, context)?;
                member.waves.basis.keep(&kept);
                member.waves.posterior = posterior;
                member.kept = Some(kept);
            }
            members.push(member);
        }
        match members.is_empty() {
            true => Err(Error::Accumulator("no rows were added".into())),
            false => Ok(members),
        }
    }

    fn precision(&self) -> Precision {
        match self.settings.form {
            Form::Drawn { precision, .. } => precision,
            _ => Precision::Tied,
        }
    }

    /// The model made of solved groups.
    pub(super) fn model_of(&self, sums: &Accumulator, members: Vec<DrawnMember>) -> Model {
        let form = Form::Drawn { features: Some(self.features), precision: self.precision(), effort: 1.0 };
        let settings = Settings { form, device: sums.device(), ..self.settings.clone() };
        Model::of_parts(Parts {
            settings,
            input_names: self.input_names.clone(),
            target_names: self.target_names.clone(),
            input_scale: self.input_scale.clone(),
            target_scale: self.target_scale.clone(),
            transforms: self.transforms.clone(),
            function: Function::Drawn(Box::new(Drawn::new(members))),
            trace: self.trace.clone(),
            stop: self.stop,
            rows: sums.rows() as usize,
            weighting: self.weighting.map(|(meaning, _)| meaning),
        })
        .with_training_rows(&sums.seen())
    }
}

#[cfg(test)]
mod tests {
    use super::features_for;

    #[test]
    fn features_grow_with_the_rows_until_the_pass_costs_too_much() {
        let found = [(5e3, 1), (1e5, 1), (1.1e5, 1), (3e5, 3), (1e6, 4), (1e7, 1), (1e8, 1)]
            .map(|(n, g)| features_for(n, g, 1.0));
        assert_eq!(found, [512, 512, 1024, 2048, 1024, 1024, 512]);
        // 3·10⁵ × 3 × 4096² is 1.5·10¹³; 8192 features need four times that, and 30 rows each 2.5·10⁵.
        assert_eq!([1.0, 2.0, 5.0, 12.0].map(|effort| features_for(3e5, 3, effort)), [2048, 4096, 4096, 8192]);
        assert_eq!([0.1, 100.0].map(|effort| features_for(2e4, 1, effort)), [512, 512]);
    }
}
