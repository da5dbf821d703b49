//! How far a comparison is and how long it will still take: a bar on a terminal, elsewhere one line for each series of
//! fits that takes long. A series is what one method does on one table.

use crate::output;
use indicatif::ProgressBar;
use rffblr_methods::select::Progress;
use std::sync::{Mutex, PoisonError};

/// Shorter waits are not announced where there is no terminal.
const WORTH_TELLING: f64 = 30.0;

/// What is known of the time one series takes.
#[derive(Clone, Debug, Default)]
struct Pace {
    name: String,
    /// How many there are to do.
    fits: usize,
    /// Inner folds of one fit; 0 until the first one is reported.
    inner_folds: usize,
    inner_done: usize,
    /// Those that were not found in a journal, and their seconds.
    inner_timed: usize,
    inner_seconds: f64,
    fits_done: usize,
    /// Seconds of the fits apart from their inner folds.
    other_seconds: f64,
    is_told: bool,
}

impl Pace {
    /// Seconds of work left on one thread; `None` as long as nothing was timed.
    fn left(&self) -> Option<f64> {
        let inner_left = (self.inner_folds * self.fits).saturating_sub(self.inner_done);
        if self.fits_done == 0 && self.inner_timed == 0 {
            return None;
        }
        // All inner folds so far may come from a journal, and no fit be finished yet; neither then counts.
        let mean = |seconds: f64, count: usize| if count > 0 { seconds / count as f64 } else { 0.0 };
        let inner = mean(self.inner_seconds, self.inner_timed) * inner_left as f64;
        Some(inner + mean(self.other_seconds, self.fits_done) * self.fits.saturating_sub(self.fits_done) as f64)
    }
}

/// Watches all fits of a comparison.
pub struct Watch {
    workers: usize,
    quiet: bool,
    bar: ProgressBar,
    paces: Mutex<Vec<Pace>>,
}

impl Watch {
    /// Watches series, each with its name and the number of its fits.
    pub fn new(series: impl IntoIterator<Item = (String, usize)>, workers: usize, quiet: bool) -> Self {
        let pace = |(name, fits)| Pace { name, fits, ..Pace::default() };
        let paces: Vec<Pace> = series.into_iter().map(pace).collect();
        let fits: usize = paces.iter().map(|pace| pace.fits).sum();
        let template = "{bar:30} {pos} of {len} folds, inner ones too  {elapsed}{msg}";
        let bar = if quiet { ProgressBar::hidden() } else { output::progress(fits as u64, template) };
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        Watch { workers, quiet, bar, paces: Mutex::new(paces) }
    }

    /// An inner fold of this series is finished.
    pub fn inner_fold(&self, series: usize, progress: Progress) {
        self.update(series, |pace| {
            pace.inner_folds = progress.total;
            pace.inner_done += 1;
            if let Some(seconds) = progress.seconds {
                pace.inner_timed += 1;
                pace.inner_seconds += seconds;
            }
        });
    }

    /// A fit of this series is finished, which took so long apart from its inner folds.
    pub fn fit(&self, series: usize, other_seconds: f64) {
        self.update(series, |pace| {
            pace.fits_done += 1;
            pace.other_seconds += other_seconds;
        });
    }

    /// Prints something above the bar.
    pub fn tell(&self, text: &str) {
        self.bar.suspend(|| output::tell(text));
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn update(&self, series: usize, change: impl FnOnce(&mut Pace)) {
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pace) = paces.get_mut(series) else { return };
        change(pace);
        if self.bar.is_hidden() && !self.quiet {
            if let Some(text) = self.announcement(pace) {
                output::note(&text);
            }
            return;
        }
        self.bar.set_length(paces.iter().map(|pace| pace.fits * (1 + pace.inner_folds)).sum::<usize>() as u64);
        self.bar.set_position(paces.iter().map(|pace| pace.inner_done + pace.fits_done).sum::<usize>() as u64);
        self.bar.set_message(self.time_left(&paces));
    }

    /// How long a series will take, once it is known and only if it is long.
    fn announcement(&self, pace: &mut Pace) -> Option<String> {
        let left = pace.left()? / self.workers as f64;
        if pace.is_told || left <= WORTH_TELLING {
            return None;
        }
        pace.is_told = true;
        let basis = match (pace.inner_timed, pace.inner_folds) {
            (0, _) | (_, 0) => {
                let each = duration(pace.other_seconds / pace.fits_done.max(1) as f64);
                format!("{} fits of {each}", pace.fits)
            }
            (timed, folds) => {
                let each = duration(pace.inner_seconds / timed as f64);
                format!("{} fits with {folds} inner folds of {each}", pace.fits)
            }
        };
        let (name, left, threads) = (&pace.name, duration(left), self.workers);
        Some(format!("{name} will take about {left} more: {basis}, {threads} at a time"))
    }

    fn time_left(&self, paces: &[Pace]) -> String {
        let known: Vec<f64> = paces.iter().filter_map(Pace::left).collect();
        let left = duration(known.iter().sum::<f64>() / self.workers as f64);
        match known.len() {
            0 => String::new(),
            count if count < paces.len() => format!(", at least {left} left"),
            _ => format!(", about {left} left"),
        }
    }
}

/// A time to read at a glance.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(fits: usize, workers: usize) -> Watch {
        Watch::new([("slow".to_owned(), fits), ("quick".to_owned(), fits)], workers, true)
    }

    fn announced(watch: &Watch, method: usize) -> Option<String> {
        let mut paces = watch.paces.lock().unwrap();
        watch.announcement(&mut paces[method])
    }

    fn told(seconds: Option<f64>) -> Progress {
        Progress { done: 1, total: 10, seconds }
    }

    #[test]
    fn the_first_inner_fold_announces_the_rest_once() {
        let watch = watch(10, 2);
        assert_eq!(announced(&watch, 0), None);
        watch.inner_fold(0, told(Some(61.0)));
        // 99 inner folds are left: 6039 s on one thread.
        let text = announced(&watch, 0).unwrap();
        assert_eq!(text, "slow will take about 50 min more: 10 fits with 10 inner folds of 61 s, 2 at a time");
        assert_eq!(announced(&watch, 0), None);
        // 0.6 s are 29.7 s for 99 on two threads.
        watch.inner_fold(1, told(Some(0.6)));
        assert_eq!(announced(&watch, 1), None);
    }

    #[test]
    fn folds_from_a_journal_take_no_time_and_are_not_left() {
        let watch = watch(10, 1);
        (0..60).for_each(|_| watch.inner_fold(0, told(None)));
        assert_eq!(announced(&watch, 0), None);
        watch.inner_fold(0, told(Some(2.0)));
        // 100 - 61 folds of 2 s.
        assert!(announced(&watch, 0).unwrap().starts_with("slow will take about 78 s more"));
    }

    #[test]
    fn methods_without_inner_folds_are_known_after_a_fit() {
        let watch = watch(5, 2);
        watch.fit(0, 100.0);
        watch.fit(0, 500.0);
        // Three fits of 300 s on two threads.
        assert_eq!(announced(&watch, 0).unwrap(), "slow will take about 8 min more: 5 fits of 5 min, 2 at a time");
    }

    #[test]
    fn time_left_adds_up() {
        let watch = watch(4, 2);
        let left = |watch: &Watch| watch.time_left(&watch.paces.lock().unwrap());
        assert_eq!(left(&watch), "");
        (0..10).for_each(|_| watch.inner_fold(0, told(Some(3.0))));
        watch.fit(0, 6.0);
        // 30 inner folds of 3 s and 3 fits of 6 s more: 108 s on one thread.
        assert_eq!(left(&watch), ", at least 54 s left");
        watch.fit(1, 4.0);
        assert_eq!(left(&watch), ", about 60 s left");
    }

    #[test]
    fn durations_read_well() {
        for (seconds, text) in
            [(0.04, "0.0 s"), (9.9, "9.9 s"), (12.3, "12 s"), (150.0, "2 min"), (6000.0, "1 h 40 min")]
        {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!(duration(7199.0), "1 h 59 min");
    }
}
