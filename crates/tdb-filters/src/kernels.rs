//! The inner loops of filters, compiled for the vector units of the machine they run on.
//!
//! Every kernel is written once, in plain and safe Rust that vectorises, and compiled several
//! times: for the target's base features, and on x86-64 for AVX2 and for AVX-512. Which one runs is
//! chosen at run time. If the compiler does not find the right instructions for a level, that level
//! has a separate body, which is tested against the plain one.
//!
//! This is the only module of the published crates where `unsafe` is allowed. Its only unsafe
//! operation is in [`kernel`]: the call of a function that needs the CPU features that
//! [`Level::detect`] has found.

use core::sync::atomic::{AtomicU8, Ordering};

/// The instruction sets that a machine can have, the best one last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The target's base features.
    Plain,
    /// x86-64-v3: 256-bit integers, and the bit manipulations that come with them.
    Avx2,
    /// x86-64-v4, byte permutations across a 512-bit register (VBMI) and 8×8 bit matrices (GFNI):
    /// Ice Lake, Zen 4 and later.
    Avx512,
}

impl Level {
    /// Every level, for tests that compare the bodies of a kernel.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 3] = [Self::Plain, Self::Avx2, Self::Avx512];

    /// The best level of this machine. It is detected once and then stored.
    #[inline]
    pub(crate) fn detect() -> Self {
        static KNOWN: AtomicU8 = AtomicU8::new(u8::MAX);
        match KNOWN.load(Ordering::Relaxed) {
            0 => Self::Plain,
            1 => Self::Avx2,
            2 => Self::Avx512,
            _ => {
                let level = Self::probe();
                // Threads that race here store the same value.
                KNOWN.store(level as u8, Ordering::Relaxed);
                level
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn probe() -> Self {
        macro_rules! have {
            ($($feature:tt),*) => { true $(&& std::arch::is_x86_feature_detected!($feature))* };
        }
        // These lists must contain every feature in the lists of `kernel!`: this makes its calls
        // sound.
        let avx2 = have!("avx2", "bmi1", "bmi2", "lzcnt", "popcnt");
        let avx512 = have!(
            "avx512f",
            "avx512bw",
            "avx512cd",
            "avx512dq",
            "avx512vl",
            "avx512vbmi",
            "avx512vbmi2",
            "gfni"
        );
        match (avx2, avx512) {
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            _ => Self::Plain,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    const fn probe() -> Self {
        Self::Plain
    }
}

/// Defines functions that run their body at the best level of this machine.
///
/// ```ignore
/// kernel! {
///     /// What it does.
///     pub(crate) fn name<const N: usize>(src: &[u8], dst: &mut [u8]) -> u64 { plain: plain_body::<N> }
/// }
/// kernel! {
///     pub(crate) fn name(src: &[u8], dst: &mut [u8]) { plain: a, avx2: b, avx512: c }
/// }
/// ```
///
/// `plain` must be an `#[inline(always)]` function with the same arguments; it is inlined into each
/// level that has no separate body, so it is compiled with that level's features. The bodies named
/// by `avx2` and `avx512` are safe functions marked `#[inline]` and `#[target_feature(enable = …)]`
/// with a subset of the level's list.
macro_rules! kernel {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<$(const $gen:ident : $ty:ty),+>)? (
        $($arg:ident : $argty:ty),* $(,)?
    ) $(-> $ret:ty)? { plain: $plain:expr }) => {
        kernel! {
            $(#[$meta])* $vis fn $name $(<$(const $gen: $ty),+>)? ($($arg: $argty),*) $(-> $ret)?
                { plain: $plain, avx2: $plain, avx512: $plain }
        }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<$(const $gen:ident : $ty:ty),+>)? (
        $($arg:ident : $argty:ty),* $(,)?
    ) $(-> $ret:ty)? { plain: $plain:expr, avx2: $avx2:expr, avx512: $avx512:expr }) => {
        $(#[$meta])*
        $vis fn $name $(<$(const $gen: $ty),+>)? ($($arg: $argty),*) $(-> $ret)? {
            $name::at $(::<$($gen),+>)? ($crate::kernels::Level::detect(), $($arg),*)
        }

        /// The same kernel at a given level. If the machine does not have that level, `at` uses the
        /// machine's best one.
        $vis mod $name {
            #[allow(unused_imports, reason = "not every kernel uses an item of its module")]
            use super::*;

            /// Runs the kernel at `level`, or at the machine's best if that is less.
            #[inline]
            #[allow(unsafe_code, reason = "the call of a function whose features were detected")]
            pub(crate) fn at $(<$(const $gen: $ty),+>)? (
                level: $crate::kernels::Level, $($arg: $argty),*
            ) $(-> $ret)? {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                    fn avx2 $(<$(const $gen: $ty),+>)? ($($arg: $argty),*) $(-> $ret)? { ($avx2)($($arg),*) }

                    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,gfni")]
                    fn avx512 $(<$(const $gen: $ty),+>)? ($($arg: $argty),*) $(-> $ret)? { ($avx512)($($arg),*) }

                    match level.min($crate::kernels::Level::detect()) {
                        $crate::kernels::Level::Plain => {}
                        // SAFETY: `detect` returns this level only on machines that have every
                        // feature that `avx2` enables.
                        $crate::kernels::Level::Avx2 => return unsafe { avx2 $(::<$($gen),+>)? ($($arg),*) },
                        // SAFETY: as above, for the features that `avx512` enables.
                        $crate::kernels::Level::Avx512 => return unsafe { avx512 $(::<$($gen),+>)? ($($arg),*) },
                    }
                }
                #[cfg(not(target_arch = "x86_64"))]
                let _ = level;
                ($plain)($($arg),*)
            }
        }
    };
}

mod bit_width;
mod bitshuffle;
mod byteshuffle;
mod delta;
mod double_delta;
mod runs;
mod scale;
mod xor;

pub(crate) use bit_width::{narrow_windows, widen_windows};
pub(crate) use bitshuffle::{BLOCK, Planes, shuffle_bits, unshuffle_bits};
pub(crate) use byteshuffle::{shuffle, unshuffle};
pub(crate) use delta::{differences, rising_differences, running_sums, running_sums_in_place};
pub(crate) use double_delta::{Survey, pack, survey, unpack};
pub(crate) use runs::{expand_runs, finish as finish_runs, push_runs, run_length};
pub(crate) use scale::{Float, scale_floats, unscale_floats};
pub(crate) use xor::{xor_previous, xor_scan, xor_scan_in_place};
