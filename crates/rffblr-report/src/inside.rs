//! The model from inside: how the fit went, its sinusoids, its kernel, its straight lines.

use super::verdict::REACH as INTERVAL;
use super::{brief, briefly};
use rffblr::fourier::Spectrum;
use rffblr::kernel::{Family, Kernel};
use rffblr::{Model, Sinusoid};
use serde::Serialize;
use std::f64::consts::TAU;

/// Sinusoids shown, by falling weight.
const SINUSOIDS: usize = 300;
/// Inputs named for each of them.
const NAMED: usize = 3;
/// Inputs whose kernel is drawn, by falling scale.
const PROFILES: usize = 12;
/// Points of a kernel curve, and how many standard deviations of the input it reaches.
const POINTS: usize = 61;
const REACH: f64 = 4.0;

#[derive(Serialize)]
pub(super) struct Inside {
    trace: Trace,
    /// How many sinusoids there are; the largest are listed.
    sinusoid_count: usize,
    sinusoids: Vec<Wave>,
    /// One for each group of targets that share a kernel.
    kernels: Vec<KernelFacts>,
    links: Vec<LinkFacts>,
}

#[derive(Serialize)]
struct Trace {
    objective: Vec<f64>,
    active: Vec<usize>,
    bandwidth: Vec<f64>,
}

#[derive(Serialize)]
struct Wave {
    /// Periods over one standard deviation, in the direction the wave travels.
    turns: f64,
    phase: f64,
    weight: Vec<f64>,
    weight_std: Vec<f64>,
    /// Input and wavelength in its unit, the inputs along which it turns fastest first.
    along: Vec<(usize, f64)>,
}

#[derive(Serialize)]
struct KernelFacts {
    targets: Vec<usize>,
    /// None for cosines that were drawn.
    families: Option<Vec<FamilyFacts>>,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct FamilyFacts {
    name: &'static str,
    variance: f64,
    /// None for straight lines.
    scale: Option<f64>,
}

/// Prior correlation of the function at two points, by their distance along one input.
#[derive(Serialize)]
struct Profile {
    input: usize,
    distance: Vec<f64>,
    kernel: Vec<f64>,
    /// The same of the kept sinusoids, each counted by its squared weight, for each target of the kernel.
    sinusoids: Vec<Vec<f64>>,
}

#[derive(Serialize)]
struct LinkFacts {
    input: usize,
    /// Change of each target, in its unit, when the input rises by one standard deviation, and the ends of its 90 % interval: of
    /// a transformed one where its transform is average.
    effect: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Inside {
    pub(super) fn new(model: &Model) -> Inside {
        let trace = model.trace();
        let mut sinusoids = model.sinusoids();
        let kernels = kernels(model, &sinusoids);
        let size = |s: &Sinusoid| s.weight.iter().zip(model.target_std()).map(|(w, t)| (w / t).powi(2)).sum::<f64>();
        sinusoids.sort_by(|a, b| size(b).total_cmp(&size(a)));
        Inside {
            trace: Trace {
                objective: briefly(trace.iter().map(|step| step.objective)),
                active: trace.iter().map(|step| step.active).collect(),
                bandwidth: briefly(trace.iter().map(|step| step.bandwidth)),
            },
            sinusoid_count: sinusoids.len(),
            sinusoids: sinusoids.iter().take(SINUSOIDS).map(|s| wave(model, s)).collect(),
            kernels,
            links: links(model),
        }
    }
}

fn wave(model: &Model, s: &Sinusoid) -> Wave {
    let speed = |d: usize| s.frequency[d].abs() * model.input_std()[d];
    let mut inputs: Vec<usize> = (0..s.frequency.len()).filter(|&d| s.frequency[d] != 0.0).collect();
    inputs.sort_by(|&a, &b| speed(b).total_cmp(&speed(a)));
    Wave {
        turns: brief(inputs.iter().map(|&d| speed(d).powi(2)).sum::<f64>().sqrt() / TAU),
        phase: brief(s.phase),
        weight: briefly(s.weight.iter().copied()),
        weight_std: briefly(s.weight_std.iter().copied()),
        along: inputs.iter().take(NAMED).map(|&d| (d, brief(s.wavelength[d]))).collect(),
    }
}

fn families(kernel: &Kernel) -> Vec<FamilyFacts> {
    let family = |name, family: &Family| FamilyFacts {
        name,
        variance: brief(family.variance),
        scale: Some(brief(family.bandwidth)),
    };
    vec![
        FamilyFacts { name: "straight lines", variance: brief(kernel.linear), scale: None },
        family("smooth (RBF)", &kernel.rbf),
        family("rough along the axes (Laplace L1)", &kernel.laplace_l1),
    ]
}

fn kernels(model: &Model, sinusoids: &[Sinusoid]) -> Vec<KernelFacts> {
    let kernels = model.kernels();
    let facts = |(g, targets): (usize, Vec<usize>)| {
        let kernel = kernels.get(g).map(|(_, kernel)| *kernel);
        KernelFacts { families: kernel.map(families), profiles: profiles(model, kernel, &targets, sinusoids), targets }
    };
    model.task_groups().into_iter().enumerate().map(facts).collect()
}

/// The kernel of some targets along the inputs of largest scale, without its constant and straight lines, one at distance
/// zero.
fn profiles(model: &Model, kernel: Option<&Kernel>, targets: &[usize], sinusoids: &[Sinusoid]) -> Vec<Profile> {
    let lengths = model.kernel_lengths();
    let lengths = lengths.col_as_slice(targets[0]);
    let mut inputs: Vec<usize> = (0..lengths.len()).filter(|&d| lengths[d].is_finite()).collect();
    let order = |d: usize| model.input_std()[d] / lengths[d];
    inputs.sort_by(|&a, &b| order(b).total_cmp(&order(a)));
    inputs.truncate(PROFILES);
    let spectrum = model.settings().form.cosines().map_or(Spectrum::Rbf, |cosines| cosines.spectrum);
    let at = |i: usize| REACH * i as f64 / (POINTS - 1) as f64;
    let kernel = |d: usize, z: f64| match kernel {
        Some(kernel) => kernel.along(d, z),
        None => spectrum.kernel([order(d) * z].into_iter()),
    };
    let waves = |d: usize, c: usize| {
        let total: f64 = sinusoids.iter().map(|s| s.weight[c].powi(2)).sum();
        let unit = model.input_std()[d];
        let value = |i: usize| -> f64 {
            sinusoids.iter().map(|s| s.weight[c].powi(2) * (s.frequency[d] * unit * at(i)).cos()).sum()
        };
        briefly((0..POINTS).map(|i| if total > 0.0 { value(i) / total } else { 0.0 }))
    };
    let drawn = if sinusoids.is_empty() { &[] } else { targets };
    let profile = |d: usize| Profile {
        input: d,
        distance: briefly((0..POINTS).map(|i| at(i) * model.input_std()[d])),
        kernel: briefly((0..POINTS).map(|i| kernel(d, at(i)))),
        sinusoids: drawn.iter().map(|&c| waves(d, c)).collect(),
    };
    inputs.into_iter().map(profile).collect()
}

fn links(model: &Model) -> Vec<LinkFacts> {
    let middle = model.target_shift();
    let change = |c: usize, by: f64| match &model.transforms()[c] {
        Some(transform) => transform.invert(middle[c] + by) - transform.invert(middle[c]),
        None => by,
    };
    let facts = |link: rffblr::Link| {
        let unit = model.input_std()[link.input];
        let pairs = || link.slope.iter().zip(&link.slope_std).enumerate();
        let end = |z: f64| briefly(pairs().map(|(c, (slope, std))| change(c, (slope + z * std) * unit)));
        LinkFacts { input: link.input, effect: end(0.0), low: end(-INTERVAL), high: end(INTERVAL) }
    };
    model.links().into_iter().map(facts).collect()
}
