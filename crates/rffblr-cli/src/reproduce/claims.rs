//! What the paper says in words, and whether it is so here. Every experiment judges the claims that its own raw results
//! can; those of Table 2 are in this file.

use super::document::{Block, Entry, Table};
use super::record::Record;
use super::summary::{Comparison, POOLED_R2, Quantity, TASK_R2, standard_error};
use rffblr_methods::evaluate::Summary;

/// A claim of the text, judged.
pub struct Claim {
    /// In our words, and where the paper has it.
    pub claim: &'static str,
    pub place: &'static str,
    pub measured: String,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    InPart,
    Fails,
}

impl Verdict {
    /// Of a claim about several things, by how many are so: as many as it says, at least half of that, fewer.
    pub fn of(met: usize, claimed: usize) -> Verdict {
        match met {
            _ if met >= claimed => Verdict::Holds,
            _ if 2 * met >= claimed => Verdict::InPart,
            _ => Verdict::Fails,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::InPart => "holds in part",
            Verdict::Fails => "does not hold",
        }
    }
}

/// The section of a summary; nothing if nothing could be judged.
pub fn section(explanation: &str, claims: Vec<Claim>) -> Vec<Block> {
    if claims.is_empty() {
        return Vec::new();
    }
    let row = |claim: Claim| {
        [claim.claim, claim.place, &claim.measured, claim.verdict.words()].into_iter().map(Entry::plain).collect()
    };
    let header = ["the paper says", "where", "measured here", "verdict"].map(str::to_owned).into();
    vec![
        Block::Heading("What the paper says".into()),
        Block::Paragraph(explanation.into()),
        Block::Words(Table { header, rows: claims.into_iter().map(row).collect() }),
    ]
}

/// The form by which claims about RFF-BLR are judged: its algorithm with the values of its authors' implementation.
const JUDGED: &str = "rffblr-authors";
/// Shown beside it.
const BESIDE: [&str; 3] = ["rffblr-paper-links", "rffblr-paper", "rffblr"];
const BASELINES: [&str; 6] = ["mmr", "gor-elm", "mtfl", "sb-elm", "fnn", "hi-vae"];
/// Baselines that learn all tasks together.
const MULTITASK: [&str; 5] = ["mmr", "gor-elm", "mtfl", "fnn", "hi-vae"];

const EXPLANATION: &str = "\
Claims on RFF-BLR are judged by rffblr-authors, the published algorithm with the values of its authors' implementation, and \
by task R², the measure that the text names; other forms and pooled R² stand beside it. The paper's own column is a pooled R² \
and its baselines' are task R², so that its printed gains compare two measures. A gain holds if it is at least half as large \
as claimed.";

/// The claims on accuracy, as far as the records go.
pub fn of_accuracy(comparison: &Comparison) -> Vec<Block> {
    let claims = [
        best_on_all_but_one(comparison),
        named_gains(comparison),
        average_gain(comparison),
        significance(comparison),
        above_deeper_networks(comparison),
        above_single_task(comparison),
        shallow_above_deep(comparison),
        best_baselines(comparison),
    ];
    let explanation = [EXPLANATION.to_owned()].into_iter().chain(weak_cells(comparison));
    section(&explanation.collect::<Vec<_>>().join(" "), claims.into_iter().flatten().collect())
}

/// Which cells that are judged are not what a run of this version with the full grids would give.
fn weak_cells(comparison: &Comparison) -> Vec<String> {
    let list = |is_weak: &dyn Fn(&str, &str) -> bool| {
        let methods = [JUDGED].into_iter().chain(BESIDE).chain(BASELINES);
        let found = methods.filter_map(|method| {
            let weak = comparison.datasets.iter().map(String::as_str).filter(|dataset| is_weak(method, dataset));
            let weak: Vec<&str> = weak.collect();
            (!weak.is_empty()).then(|| format!("{method} on {}", weak.join(", ")))
        });
        found.collect::<Vec<_>>().join("; ")
    };
    let coarse = list(&|method, dataset| comparison.is_coarse(method, dataset));
    let older = list(&|method, dataset| comparison.is_older(method, dataset));
    let mut out = Vec::new();
    if !coarse.is_empty() {
        out.push(format!("Cells of the coarse grid among them: {coarse}."));
    }
    if !older.is_empty() {
        out.push(format!("Cells of an older version (without scores in the training range) among them: {older}."));
    }
    out
}

/// The mean of a cell with all its folds.
fn mean(comparison: &Comparison, method: &str, dataset: &str, quantity: &Quantity) -> Option<f64> {
    let summary = comparison.summary(method, dataset, quantity)?;
    comparison.is_complete(method, dataset).then_some(summary.mean)
}

/// The best baseline of a data set, if all of them were run there.
fn best_baseline(comparison: &Comparison, dataset: &str, quantity: &Quantity) -> Option<(&'static str, f64)> {
    let means: Option<Vec<(&str, f64)>> =
        BASELINES.iter().map(|name| Some((*name, mean(comparison, name, dataset, quantity)?))).collect();
    means?.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// What a method gains over the best baseline of a data set.
fn gain(comparison: &Comparison, method: &str, dataset: &str, quantity: &Quantity) -> Option<f64> {
    Some(mean(comparison, method, dataset, quantity)? - best_baseline(comparison, dataset, quantity)?.1)
}

/// The judged form, then the others, each described if it can be.
fn each(describe: impl Fn(&str) -> Option<String>) -> String {
    let of = |name: &&str| Some(format!("{name}: {}", describe(name)?));
    [JUDGED].iter().chain(&BESIDE).filter_map(of).collect::<Vec<_>>().join("; ")
}

fn best_on_all_but_one(comparison: &Comparison) -> Option<Claim> {
    let wins = |method: &str, quantity: &Quantity| {
        let gains = comparison.datasets.iter().filter_map(|dataset| gain(comparison, method, dataset, quantity));
        let gains: Vec<f64> = gains.collect();
        (!gains.is_empty()).then(|| (gains.iter().filter(|gain| **gain > 0.0).count(), gains.len()))
    };
    let (won, all) = wins(JUDGED, &TASK_R2)?;
    let describe = |name: &str| {
        let ((task, all), (pooled, _)) = (wins(name, &TASK_R2)?, wins(name, &POOLED_R2)?);
        Some(format!("{task} of {all} by task R², {pooled} by pooled R²"))
    };
    Some(Claim {
        claim: "RFF-BLR is better than every baseline on all data sets but one",
        place: "Results, first paragraph",
        measured: format!("data sets won over the best baseline: {}", each(describe)),
        verdict: Verdict::of(won, all - 1),
    })
}

fn named_gains(comparison: &Comparison) -> Option<Claim> {
    let claimed = [("oes97", 0.14), ("jura", 0.21)];
    let gains = |name: &str, quantity: &Quantity| -> Option<Vec<f64>> {
        claimed.iter().map(|(dataset, _)| gain(comparison, name, dataset, quantity)).collect()
    };
    let found = gains(JUDGED, &TASK_R2)?;
    let met = found.iter().zip(&claimed).filter(|(gain, (_, claim))| **gain >= 0.5 * claim).count();
    let describe = |name: &str| {
        let (task, pooled) = (gains(name, &TASK_R2)?, gains(name, &POOLED_R2)?);
        let parts = claimed.iter().enumerate();
        let parts = parts.map(|(at, (set, _))| format!("{set} {:+.3} (pooled {:+.3})", task[at], pooled[at]));
        Some(parts.collect::<Vec<_>>().join(", "))
    };
    Some(Claim {
        claim: "It gains about 0.14 on oes97 and 0.21 on jura over the best baseline",
        place: "Results, first paragraph",
        measured: each(describe),
        verdict: Verdict::of(met, claimed.len()),
    })
}

fn average_gain(comparison: &Comparison) -> Option<Claim> {
    let gain = |name: &str, quantity: &Quantity| {
        let average = |name: &str| comparison.average(name, quantity);
        Some(average(name)? - average("gor-elm")?.max(average("mtfl")?))
    };
    let found = gain(JUDGED, &TASK_R2)?;
    let describe = |name: &str| Some(format!("{:+.3} (pooled {:+.3})", gain(name, &TASK_R2)?, gain(name, &POOLED_R2)?));
    Some(Claim {
        claim: "On average it gains 0.11 over the best baselines, GOR-ELM and MTFL",
        place: "Results, first paragraph",
        measured: each(describe),
        verdict: if found >= 0.055 { Verdict::Holds } else { Verdict::Fails },
    })
}

/// Mean difference to the best baseline, fold by fold, in standard errors.
fn difference_in_errors(comparison: &Comparison, method: &str, dataset: &str) -> Option<f64> {
    let (rival, _) = best_baseline(comparison, dataset, &TASK_R2)?;
    let (ours, theirs) = (comparison.records(method, dataset), comparison.records(rival, dataset));
    let difference = |fold: &Record| {
        let other = theirs.iter().find(|other| (other.key.fold, other.key.seed) == (fold.key.fold, fold.key.seed))?;
        Some(fold.scores.task_r2 - other.scores.task_r2)
    };
    in_errors(&ours.iter().map(difference).collect::<Option<Vec<f64>>>()?)
}

/// The mean of differences of folds in units of its standard error.
pub fn in_errors(differences: &[f64]) -> Option<f64> {
    let Summary { mean, sd } = Summary::of(differences)?;
    Some(mean / standard_error(sd, differences.len()))
}

fn significance(comparison: &Comparison) -> Option<Claim> {
    let count = |name: &str| {
        let found = comparison.datasets.iter().filter_map(|dataset| difference_in_errors(comparison, name, dataset));
        let found: Vec<f64> = found.collect();
        let of = |wanted: fn(f64) -> bool| found.iter().filter(|errors| wanted(**errors)).count();
        (!found.is_empty()).then(|| (of(|errors| errors > 2.0), of(|errors| errors < -2.0), found.len()))
    };
    let (above, _, all) = count(JUDGED)?;
    let describe = |name: &str| {
        let (above, below, all) = count(name)?;
        Some(format!("above on {above}, below on {below} of {all}"))
    };
    Some(Claim {
        claim: "Its performance is significantly better than that of the state of the art",
        place: "abstract; Results; Conclusions",
        measured: format!(
            "difference to the best baseline beyond two standard errors of the folds: {}",
            each(describe)
        ),
        verdict: Verdict::of(above, all),
    })
}

fn above_deeper_networks(comparison: &Comparison) -> Option<Claim> {
    let rivals = ["fnn", "hi-vae"];
    let wins = |name: &str| {
        let won = |dataset: &String| {
            let ours = mean(comparison, name, dataset, &TASK_R2)?;
            let theirs: Option<Vec<f64>> =
                rivals.iter().map(|rival| mean(comparison, rival, dataset, &TASK_R2)).collect();
            Some(theirs?.iter().all(|theirs| ours > *theirs))
        };
        let won: Vec<bool> = comparison.datasets.iter().filter_map(won).collect();
        (!won.is_empty()).then(|| (won.iter().filter(|won| **won).count(), won.len()))
    };
    let (won, all) = wins(JUDGED)?;
    let describe = |name: &str| wins(name).map(|(won, all)| format!("{won} of {all}"));
    Some(Claim {
        claim: "It is better than networks with more hidden layers",
        place: "Conclusions",
        measured: format!("data sets on which it is above both FNN and HI-VAE: {}", each(describe)),
        verdict: Verdict::of(won, all),
    })
}

/// Averages of methods in words, and how often the first of a pair is above the second.
fn order(comparison: &Comparison, pairs: &[(&str, &str)], names: &[&str]) -> Option<(usize, String)> {
    let average = |name: &str| comparison.average(name, &TASK_R2);
    let met: Option<Vec<bool>> = pairs.iter().map(|(above, below)| Some(average(above)? > average(below)?)).collect();
    let words: Option<Vec<String>> = names.iter().map(|name| Some(format!("{name} {:.3}", average(name)?))).collect();
    Some((met?.into_iter().filter(|met| *met).count(), format!("average task R²: {}", words?.join(", "))))
}

fn above_single_task(comparison: &Comparison) -> Option<Claim> {
    let pairs = MULTITASK.map(|name| (name, "sb-elm"));
    let (met, measured) = order(comparison, &pairs, &BASELINES)?;
    Some(Claim {
        claim: "Multitask baselines are clearly superior to the single-task SB-ELM",
        place: "Results, second paragraph",
        measured,
        verdict: Verdict::of(met, pairs.len()),
    })
}

fn shallow_above_deep(comparison: &Comparison) -> Option<Claim> {
    let pairs = [("mtfl", "fnn"), ("mtfl", "hi-vae"), ("gor-elm", "fnn"), ("gor-elm", "hi-vae")];
    let (met, measured) = order(comparison, &pairs, &["mtfl", "gor-elm", "fnn", "hi-vae"])?;
    Some(Claim {
        claim: "MTFL and GOR-ELM, with one hidden layer, are better than FNN and HI-VAE, with several",
        place: "Results, second paragraph",
        measured,
        verdict: Verdict::of(met, pairs.len()),
    })
}

fn best_baselines(comparison: &Comparison) -> Option<Claim> {
    let claimed = [("atp1d", "gor-elm"), ("jura", "gor-elm"), ("wq", "mmr"), ("oes97", "mtfl"), ("oes10", "mtfl")];
    let found: Option<Vec<(&str, f64)>> =
        claimed.iter().map(|(dataset, _)| best_baseline(comparison, dataset, &TASK_R2)).collect();
    let found = found?;
    let met = claimed.iter().zip(&found).filter(|((_, name), (best, _))| name == best).count();
    let words = claimed.iter().zip(&found).map(|((dataset, name), (best, value))| {
        let claimed = mean(comparison, name, dataset, &TASK_R2).map_or(String::new(), |mean| format!(" {mean:.3}"));
        match name == best {
            true => format!("{dataset} {best} {value:.3}"),
            false => format!("{dataset} {best} {value:.3} ({name}{claimed})"),
        }
    });
    Some(Claim {
        claim: "The best baseline is GOR-ELM on atp1d and jura, MMR on wq, MTFL on oes97 and oes10",
        place: "Results, second paragraph",
        measured: words.collect::<Vec<_>>().join(", "),
        verdict: Verdict::of(met, claimed.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::published;
    use super::*;

    #[test]
    fn verdicts() {
        let verdicts = [(8, 8), (8, 7), (4, 8), (3, 8), (0, 1)].map(|(met, claimed)| Verdict::of(met, claimed));
        use Verdict::{Fails, Holds, InPart};
        assert_eq!(verdicts, [Holds, Holds, InPart, Fails, Fails]);
    }

    /// A fold with these scores and nothing else that counts.
    fn record(method: &str, dataset: &str, fold: usize, task_r2: f64, pooled_r2: f64) -> Record {
        let list = serde_json::json!([0.0]);
        let per_task = serde_json::json!({
            "observed": [10], "r2": list, "rrmse": list, "rmse": list, "mae": list, "nlpd": list, "crps": list,
            "coverage": list
        });
        let scores = serde_json::json!({
            "task_r2": task_r2, "pooled_r2": pooled_r2, "arrmse": 1.0, "rmse": 1.0, "mae": 1.0, "nlpd": null,
            "crps": null, "coverage": null, "level": 0.9, "per_task": per_task
        });
        let record = serde_json::json!({
            "method": method, "dataset": dataset, "fold": fold, "seed": 0, "grid": "full", "folds": 2, "data_sha256": "",
            "folds_sha256": "", "inner_sha256": "", "version": "", "machine": "", "train_rows": 9, "test_rows": 1,
            "fit_seconds": 0.0, "predict_seconds": 0.0, "cpu_seconds": null, "inner_folds_remembered": 0,
            "active_features": null, "chosen": {}, "scores": scores
        });
        serde_json::from_value(record).unwrap()
    }

    /// On the paper's own numbers its claims hold, all but one: on oes10 it is as good as MTFL, not better.
    #[test]
    fn the_printed_numbers_bear_the_claims_out() {
        let mut records = Vec::new();
        for method in BASELINES.into_iter().chain([JUDGED]) {
            for dataset in published::DATASETS {
                let Summary { mean, sd } = published::column(method).unwrap().cell(dataset).unwrap();
                records
                    .extend([(1, mean + sd), (2, mean - sd)].map(|(fold, r2)| record(method, dataset, fold, r2, r2)));
            }
        }
        let comparison = Comparison::new(&records);
        let verdict = |claim: Option<Claim>| claim.unwrap().verdict;
        let first = best_on_all_but_one(&comparison).unwrap();
        assert_eq!(first.verdict, Verdict::InPart);
        assert!(first.measured.contains("rffblr-authors: 6 of 8 by task R²"), "{}", first.measured);
        for claim in [named_gains, average_gain, above_single_task, shallow_above_deep, best_baselines] {
            assert_eq!(verdict(claim(&comparison)), Verdict::Holds);
        }
        // Above both deeper networks everywhere but on enb.
        let deeper = above_deeper_networks(&comparison).unwrap();
        assert!(deeper.verdict == Verdict::InPart && deeper.measured.contains("7 of 8"), "{}", deeper.measured);
        // All records of the test are of an older version, one is of a coarse grid.
        records[0].setting.grid = "coarse".into();
        let (weak, first) = (weak_cells(&Comparison::new(&records)), &records[0].key);
        let [coarse, older] = &weak[..] else { panic!("{weak:?}") };
        assert!(coarse.ends_with(&format!(": {} on {}.", first.method, first.dataset)), "{coarse}");
        assert!(older.contains("rffblr-authors on atp1d, atp7d, oes97") && older.contains("; mmr on"), "{older}");
        let text = Comparison::new(&records).glance(&TASK_R2);
        let row = text.rows.iter().find(|row| row[0].text == first.method).unwrap();
        assert!(row[1].text.ends_with('°') && row[2].text.ends_with(|c: char| c.is_ascii_digit()));
        assert!(row.last().unwrap().text.ends_with('°'), "the average has the mark of its cell");
        // What is not there is not judged.
        records.retain(|record| record.key.method != "mtfl");
        let comparison = Comparison::new(&records);
        assert!(named_gains(&comparison).is_none() && above_deeper_networks(&comparison).is_some());
    }

    #[test]
    fn nothing_to_judge_is_no_section() {
        assert!(section("x", Vec::new()).is_empty());
        let claim = Claim { claim: "c", place: "p", measured: "m".into(), verdict: Verdict::Fails };
        let blocks = section("x", vec![claim]);
        let [_, _, Block::Words(table)] = &blocks[..] else { panic!() };
        assert_eq!(
            table.rows[0].iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(),
            ["c", "p", "m", "does not hold"]
        );
    }
}
