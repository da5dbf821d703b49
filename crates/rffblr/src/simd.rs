//! One body, compiled for several generations of processors and chosen when the program runs.
//!
//! Bodies are plain loops that the compiler turns into vector instructions. Every step of theirs is a fused multiply-add,
//! which is rounded once wherever it runs, or rounded exactly, and every sum has a fixed shape: all variants give the same
//! bits.

/// Instructions that bodies are compiled for.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Level {
    Avx512,
    Avx2,
    /// Those that every processor of the architecture has.
    Plain,
}

impl Level {
    /// The best that this machine has.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) fn best() -> Level {
        #[cfg(test)]
        if let Some(level) = tests::FORCED.get() {
            return level;
        }
        [Level::Avx512, Level::Avx2].into_iter().find(|level| level.is_here()).unwrap_or(Level::Plain)
    }

    /// Whether this machine has its instructions.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) fn is_here(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let wide = match self {
            Level::Avx512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq"),
            Level::Avx2 => is_x86_feature_detected!("avx2"),
            Level::Plain => return true,
        };
        #[cfg(target_arch = "x86_64")]
        return wide && is_x86_feature_detected!("fma");
        #[cfg(not(target_arch = "x86_64"))]
        return self == Level::Plain;
    }
}

/// Defines a function by an `#[inline(always)]` body with the same arguments:
/// `vectorised!(fn sum(x: &[f64]) -> f64 = sum_body);`
macro_rules! vectorised {
    ($(#[$doc:meta])* $seen:vis fn $name:ident($($argument:ident: $type:ty),*) $(-> $output:ty)? = $body:ident) => {
        $(#[$doc])*
        $seen fn $name($($argument: $type),*) $(-> $output)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,fma")]
                fn avx512($($argument: $type),*) $(-> $output)? {
                    $body($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($argument: $type),*) $(-> $output)? {
                    $body($($argument),*)
                }
                let level = crate::simd::Level::best();
                debug_assert!(level.is_here(), "{level:?}");
                match level {
                    // SAFETY: the machine has these instructions, or else the level would be another.
                    crate::simd::Level::Avx512 => return unsafe { avx512($($argument),*) },
                    // SAFETY: as above.
                    crate::simd::Level::Avx2 => return unsafe { avx2($($argument),*) },
                    crate::simd::Level::Plain => {}
                }
            }
            $body($($argument),*)
        }
    };
}

pub(crate) use vectorised;

#[cfg(test)]
pub(crate) mod tests {
    use super::Level;
    use std::cell::Cell;

    thread_local! {
        /// Taken for the best level by what this thread calls.
        pub(super) static FORCED: Cell<Option<Level>> = const { Cell::new(None) };
    }

    /// Asserts that a computation gives the same at every level this machine has.
    pub(crate) fn same_at_every_level<T: PartialEq + std::fmt::Debug>(run: impl Fn() -> T) {
        let levels: &[Level] = match Level::best() {
            Level::Avx512 => &[Level::Avx512, Level::Avx2, Level::Plain],
            Level::Avx2 => &[Level::Avx2, Level::Plain],
            Level::Plain => &[Level::Plain],
        };
        let at = |level: Level| {
            FORCED.set(Some(level));
            let found = run();
            FORCED.set(None);
            found
        };
        let first = at(levels[0]);
        for &level in &levels[1..] {
            assert_eq!(at(level), first, "{level:?} differs from {:?}", levels[0]);
        }
    }

    #[inline(always)]
    fn fused_body(x: &[f64], y: f64) -> Vec<f64> {
        x.iter().map(|x| x.mul_add(y, 1.0 / 3.0)).collect()
    }
    vectorised!(fn fused(x: &[f64], y: f64) -> Vec<f64> = fused_body);

    #[test]
    fn levels_agree_and_fuse() {
        let x: Vec<f64> = (0..37).map(|i| (f64::from(i) * 0.7).sin()).collect();
        same_at_every_level(|| fused(&x, 0.1));
        assert_eq!(fused(&x, 0.1), fused_body(&x, 0.1));
    }
}
