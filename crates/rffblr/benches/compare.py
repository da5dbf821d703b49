"""The same feature matrix, sweep and bandwidth step in numpy/scipy and in rffblr, interleaved in one run.

    pip install numpy scipy
    python crates/rffblr/benches/compare.py [--rounds 5] [--threads 1]

Prints milliseconds of both and their ratio. The numpy side is written for speed: LAPACK's potrf/potri and BLAS's syrk
and trsm on Fortran-ordered arrays, the smaller of the two systems, no inverse where a factor will do.
"""

import argparse
import os
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--threads", type=int, default=1)
options = parser.parse_args()
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(options.threads)

import numpy as np  # noqa: E402
import scipy  # noqa: E402
from scipy.linalg import blas, lapack  # noqa: E402
from scipy.special import digamma, gammaln  # noqa: E402

D = 16


def make(n, c, m):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, D))
    y = np.sin(x[:, np.arange(c) % D] + x[:, :1]) + 0.3 * rng.standard_normal((n, c))
    y = np.asfortranarray((y - y.mean(0)) / y.std(0))
    omega = np.asfortranarray(rng.standard_normal((D, m)))
    offset = rng.uniform(0, 2 * np.pi, m)
    return np.asfortranarray(x), y, omega, offset


def features(x, omega, offset, gamma, angles, phi):
    """Writes into memory that is there already; row-major or column-major is all the same to these loops."""
    np.matmul(x, np.sqrt(2 * gamma) * omega, out=angles)
    np.add(angles, offset, out=angles)
    np.cos(angles, out=phi)
    np.multiply(phi, np.sqrt(2 / len(offset)), out=phi)


class Sweep:
    """One round of the updates and the bound, q(τ) shared and one α per feature."""

    def __init__(self, n, c, m):
        self.n, self.c, self.m = n, c, m
        self.x, self.y, self.omega, self.offset = make(n, c, m)
        self.alpha, self.tau, self.bias, self.gamma = np.ones(m), 10.0, np.zeros(c), 0.05
        self.phi, self.angles = (np.zeros((n, m), order="F") for _ in range(2))
        self.features()
        self.prior = 1e-6
        self.gram = None

    def features(self):
        features(self.x, self.omega, self.offset, self.gamma, self.angles, self.phi)

    def moments(self):
        self.gram = blas.dsyrk(1.0, self.phi, trans=1, lower=1)
        self.cross, self.sum = self.phi.T @ self.y, self.phi.sum(0)
        self.square = (self.y**2).sum()

    def run(self, learn):
        n, c, m, tau, phi = self.n, self.c, self.m, self.tau, self.phi
        whiten = 1 / np.sqrt(self.alpha)
        if m <= n:
            if learn or self.gram is None:
                self.moments()
            system = tau * self.gram * whiten[:, None] * whiten
            system[np.diag_indices(m)] += 1
            factor, _ = lapack.dpotrf(np.asfortranarray(system), lower=1, overwrite_a=1)
            right = whiten[:, None] * (self.cross - np.outer(self.sum, self.bias))
            w = tau * whiten[:, None] * lapack.dpotrs(factor, right, lower=1)[0]
            log_det = 2 * np.log(np.diag(factor)).sum()
            if learn:
                inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
                q = np.diag(inverse)
            else:
                half, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
                half = np.tril(half)
                q = np.einsum("ij,ij->j", half, half)
            variance, trace = q * whiten**2, (m - q.sum()) / tau
            residual = self.square - 2 * (w * self.cross).sum()
            residual += (w * (self.cross - np.outer(self.sum, self.bias) - self.alpha[:, None] * w / tau)).sum()
            residual_sum = self.y.sum(0) - self.sum @ w
            if learn:
                full = (np.tril(inverse) + np.tril(inverse, -1).T) * whiten[:, None] * whiten
                phi_sigma = phi @ full
        else:
            psi = phi * whiten
            system = blas.dsyrk(tau, psi, lower=1)
            system[np.diag_indices(n)] += 1
            factor, _ = lapack.dpotrf(system, lower=1, overwrite_a=1)
            v = lapack.dpotrs(factor, self.y - self.bias, lower=1)[0]
            w = tau * (phi.T @ v) / self.alpha[:, None]
            log_det = 2 * np.log(np.diag(factor)).sum()
            z = blas.dtrsm(1.0, factor, psi, lower=1)
            used = np.einsum("ij,ij->j", z, z)
            variance, trace = (1 - tau * used) / self.alpha, used.sum()
            r = v + self.bias
            residual, residual_sum = (r**2).sum(), r.sum(0)
            if learn:
                phi_sigma = blas.dtrsm(1.0, factor, z, lower=1, trans_a=1, overwrite_b=1) * whiten
        if learn:
            error = self.y - self.bias - phi @ w
            g = tau * (error @ w.T - c * phi_sigma)
            slope = -0.5 * np.sqrt(2 / m) * (g * np.sin(self.angles) * (self.angles - self.offset)).sum()
        square = (w**2).sum(1) + c * variance
        a, b = self.prior + c / 2, self.prior + square / 2
        self.alpha = a / b
        bias_variance = 1 / (n * tau + 1)
        self.bias = tau * bias_variance * residual_sum
        total = residual - 2 * (self.bias * residual_sum).sum() + n * (self.bias**2).sum()
        total += c * trace + n * c * bias_variance
        at, bt = self.prior + n * c / 2, self.prior + total / 2
        self.tau = at / bt
        ln_tau, ln_alpha = digamma(at) - np.log(bt), digamma(a) - np.log(b)
        bound = 0.5 * n * c * (ln_tau - np.log(2 * np.pi)) - 0.5 * self.tau * total
        bound += (0.5 * c * ln_alpha - 0.5 * self.alpha * square).sum()
        bound += ((self.prior - 1) * ln_alpha - self.prior * self.alpha).sum()
        bound += (a - np.log(b) + gammaln(a) + (1 - a) * digamma(a)).sum()
        bound += -0.5 * c * (log_det - 2 * np.log(whiten).sum())
        if learn:
            self.gamma *= np.exp(0.01 * np.sign(slope))
            self.features()
        return bound


def best(f, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def binary():
    build = ["cargo", "bench", "--bench", "speed", "--no-run", "--message-format=short"]
    text = subprocess.run(build, capture_output=True, text=True, check=True).stderr
    return text[text.rindex("(") + 1 : text.rindex(")")]


def main():
    speed = binary()

    def rust(kind, n, c, m, repeats):
        call = [speed, kind, str(n), str(c), str(m), str(repeats)]
        return float(subprocess.run(call, capture_output=True, text=True, check=True).stdout)

    print(f"numpy {np.__version__}, scipy {scipy.__version__}, {options.threads} thread(s) each, D = {D}, milliseconds")
    print(f"{'':10} {'N':>5} {'C':>3} {'M':>5} {'numpy':>9} {'rffblr':>9} {'ratio':>6}")
    worst = {}
    for n in (150, 400, 1000):
        for c in (2, 16):
            for m in (n // 2, 2 * n, 8 * n):
                repeats = int(np.clip(1_000_000_000 // (min(n, m) ** 2 * max(n, m)), 3, 30))
                state = Sweep(n, c, m)
                here = {
                    "features": state.features,
                    "sweep": lambda: state.run(False),
                    "bandwidth": lambda: state.run(True),
                }
                for kind, f in here.items():
                    if kind == "features" and c != 2:
                        continue
                    f()
                    theirs, ours = [], []
                    for _ in range(options.rounds):
                        theirs.append(best(f, repeats))
                        ours.append(rust(kind, n, c, m, repeats))
                    ratio = min(ours) / min(theirs)
                    worst[kind] = max(worst.get(kind, 0), ratio)
                    print(f"{kind:10} {n:5} {c:3} {m:5} {1e3 * min(theirs):9.3f} {1e3 * min(ours):9.3f} {ratio:6.2f}", flush=True)
    print("largest ratio: " + ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in worst.items()))


if __name__ == "__main__":
    sys.exit(main())
