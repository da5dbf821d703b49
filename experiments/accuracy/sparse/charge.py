"""How large the weights of few sinusoids are, and what a charge on the weight itself would do: a prototype in numpy.

    python charge.py BINARY charge.jsonl NAME,NAME,...

BINARY is the command, NAME development tables of ../../trust (collect.py there writes them); numbers without gaps are the inputs.
One of five folds is held out. Needs numpy, scipy and pandas. The teacher is the posterior mean of the model file, which is
compared with `rffblr predict`; what follows is (28) and (29) of docs/derivation.md, with s_k^2 + own in the place of s_k^2.
"""

import csv, io, json, os, pathlib, subprocess, sys, tempfile, time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np, pandas as pd
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

TRUST = pathlib.Path(__file__).parent.parent.parent / "trust"
BIN = sys.argv[1]


def listed(n):
    l = io.StringIO()
    csv.writer(l, lineterminator="").writerow(n)
    return l.getvalue()


def gram(k, A, B):
    r = np.array(k["input_scales"])
    D = A.shape[1]
    out = 1 + k["linear"] / D * (A @ B.T)
    out += k["rbf"]["variance"] * np.exp(-k["rbf"]["bandwidth"] * cdist(A, B, "sqeuclidean"))
    out += k["laplace_l1"]["variance"] * np.exp(-k["laplace_l1"]["bandwidth"] * cdist(A * r, B * r, "cityblock"))
    return out


def teacher(m):
    f = m["function"]["kernel"]
    rows = table(f["rows"])
    C = len(m["targets"]["names"])

    def mean(X):
        out = np.zeros((len(X), C))
        for g in f["groups"]:
            out[:, g["tasks"]] += gram(g["kernel"], X, rows) @ table(g["coefficients"])
        return out

    return f, rows, mean


def table(t):
    return np.array(t["values"]).reshape(t["columns"], t["rows"]).T


def draw(kernels, X, K, rng):
    out = []
    D = X.shape[1]
    count = max(256, 2 * K // len(kernels))
    for k in kernels:
        v1, v2 = k["rbf"]["variance"], k["laplace_l1"]["variance"]
        n1 = int(round(count * (v1 / (v1 + v2)))) if v1 + v2 > 0 else 0
        a = rng.normal(size=(D, n1)) * np.sqrt(2 * k["rbf"]["bandwidth"])
        b = rng.standard_cauchy(size=(D, count - n1)) * k["laplace_l1"]["bandwidth"] * np.array(k["input_scales"])[:, None]
        out += [a, b]
    W = np.concatenate(out, 1)
    s = np.sqrt(((X @ W) ** 2).mean(0))
    W = W * np.minimum(1, 6 / np.maximum(s, 1e-300))
    return W


def typical(kernels):
    num = 0
    tot = 0
    for k in kernels:
        v1, v2 = k["rbf"]["variance"], k["laplace_l1"]["variance"]
        num = num + v1 * 2 * k["rbf"]["bandwidth"] + v2 * (k["laplace_l1"]["bandwidth"] * np.array(k["input_scales"])) ** 2
        tot += v1 + v2
    t = np.sqrt(num / tot)
    return np.where(t > 0, t, 1)


def pick(X, F, W, K):
    A = np.concatenate([np.cos(X @ W), np.sin(X @ W)], 1)
    A -= A.mean(0)
    own = (A**2).sum(0)
    M = W.shape[1]
    F = F - F.mean(0)
    H = A.T @ F
    sq = own.copy()
    cr = (A[:, :M] * A[:, M:]).sum(0)
    Q = np.zeros((len(X), 0))
    order = []
    ph = []
    every = (F**2).sum()
    while len(order) < K:
        g0 = sq[:M] + 1e-3 * own[:M] + 1e-300
        g2 = sq[M:] + 1e-3 * own[M:] + 1e-300
        l11 = np.sqrt(g0)
        l21 = cr / l11
        l22 = np.sqrt(np.maximum(g2 - l21**2, 1e-3 * g2))
        u = H[:M] / l11[:, None]
        w = (H[M:] - l21[:, None] * u) / l22[:, None]
        uu, uw, ww = (u * u).sum(1), (u * w).sum(1), (w * w).sum(1)
        gain = 0.5 * (uu + ww) + np.sqrt(0.25 * (uu - ww) ** 2 + uw**2)
        m = int(gain.argmax())
        if gain[m] <= 1e-13 * every:
            break
        ang = 0.5 * np.arctan2(2 * uw[m], uu[m] - ww[m])
        s2 = np.sin(ang) / l22[m]
        mix = ((np.cos(ang) - l21[m] * s2) / l11[m], s2)
        q = mix[0] * A[:, m] + mix[1] * A[:, M + m]
        for _ in range(2):
            q = q - Q @ (Q.T @ q)
        n = np.sqrt(q @ q)
        if not n > 0:
            break
        q /= n
        Q = np.c_[Q, q]
        t = A.T @ q
        H -= np.outer(t, q @ F)
        sq = np.maximum(sq - t * t, 0)
        cr -= t[:M] * t[M:]
        order.append(m)
        ph.append(np.arctan2(-mix[1], mix[0]))
    return W[:, order], np.array(ph)


def solve(X, F, W, p, lam, own):
    n = len(X)
    Z = X @ W + p
    P = np.cos(Z)
    mu = P.mean(0)
    P = P - mu
    s2 = np.maximum((P**2).mean(0), 1e-12)
    G = P.T @ P
    G[np.diag_indices_from(G)] += lam * n * (s2 + own)
    w = np.linalg.solve(G, P.T @ F)
    R = F - P @ w
    J = ((R**2).sum() + lam * n * ((s2 + own)[:, None] * w**2).sum()) / (2 * n * F.shape[1])
    return Z, P, mu, s2, w, R, J


def refine(X, F, W, p, lam, own, typ, steps=40):
    D, K = W.shape
    N = X.shape[0] * F.shape[1]

    def fun(v):
        W = v[: D * K].reshape(K, D).T * typ[:, None]
        p = v[D * K :]
        Z, P, mu, s2, w, R, J = solve(X, F, W, p, lam, own)
        S = (lam * P * (w**2).sum(1) - R @ w.T) / N
        S = -np.sin(Z) * S
        return J, np.r_[((X.T @ S) * typ[:, None]).T.ravel(), S.sum(0)]

    v = np.r_[(W / typ[:, None]).T.ravel(), p]
    J0 = (F**2).sum() / (2 * N)
    o = minimize(fun, v, jac=True, method="L-BFGS-B", options=dict(maxiter=steps, maxcor=10, ftol=1e-9))
    v = o.x
    return v[: D * K].reshape(K, D).T * typ[:, None], v[D * K :]


def main(out, names):
    T = {t["name"]: t for t in json.loads((TRUST / "tables.json").read_text())}
    with open(out, "a") as file:
        for name in names:
            t = T[name]
            d = pd.read_csv(TRUST / t["file"])
            targets = t["targets"]
            d = d.drop(columns=[c for c in t["ignore"] if c in d])
            num = d.select_dtypes("number").columns
            inputs = [c for c in num if c not in targets and d[c].notna().all() and d[c].nunique() > 1]
            d = d[inputs + targets].dropna().reset_index(drop=True)
            if not inputs or len(d) < 40:
                print("skip", name)
                continue
            rng = np.random.default_rng(1)
            fold = rng.permutation(len(d)) % 5
            tr, te = d[fold != 0], d[fold == 0]
            with tempfile.TemporaryDirectory() as f:
                tr.to_csv(f + "/t.csv", index=False)
                te.to_csv(f + "/n.csv", index=False)
                subprocess.run(
                    [
                        BIN,
                        "fit",
                        f + "/t.csv",
                        "--targets",
                        listed(targets),
                        "-o",
                        f + "/m.json",
                        "--threads",
                        "1",
                        "--quiet",
                        "--check",
                        "off",
                        "--transform",
                        "none",
                    ],
                    check=True,
                    capture_output=True,
                )
                m = json.load(open(f + "/m.json"))
                pr = subprocess.run(
                    [BIN, "predict", f + "/m.json", f + "/n.csv", "-q"], check=True, capture_output=True, text=True
                ).stdout
                pr = pd.read_csv(io.StringIO(pr))
            if "kernel" not in m["function"] or m["inputs"]["names"] != inputs:
                print("other", name, m["inputs"]["names"][:4])
                continue
            fk, rows, teach = teacher(m)
            im, isc = np.array(m["inputs"]["mean"]), np.array(m["inputs"]["scale"])
            tm, ts = np.array(m["targets"]["mean"]), np.array(m["targets"]["scale"])
            Xe = (te[inputs].to_numpy() - im) / isc
            ye = (te[targets].to_numpy() - tm) / ts
            if np.abs(teach(Xe) - (pr[targets].to_numpy() - tm) / ts).max() > 1e-6:
                print("teacher differs", name)
                continue
            kernels = [g["kernel"] for g in fk["groups"]]
            noise = [0] * len(targets)
            for g in fk["groups"]:
                a = np.array(g.get("amplitude", [1] * len(g["tasks"])))
                nz = np.array(g["noise"])
                for c, v, q in zip(g["tasks"], nz, a):
                    noise[c] = v * q
            N = len(rows)
            K = max(1, round(N / 4))
            sc = np.mean([k["input_scales"] for k in kernels], 0)
            Y = rows * np.sqrt(sc)
            dd = cdist(Y, Y, "sqeuclidean")
            np.fill_diagonal(dd, np.inf)
            near = np.argsort(dd, 1)[:, :10]
            n = min(8 * N, max(N, 4096 - N))
            i = np.arange(n) % N
            j = rng.integers(0, N, n)
            k = near[j, rng.integers(0, near.shape[1], n)]
            X = np.r_[rows, rows[i] + rows[j] - rows[k]]
            F = teach(X)
            fm = F.mean(0)
            F = F - fm
            W0 = draw(kernels, rows, K, rng)
            W1, p1 = pick(X, F, W0, K)
            lam = max(5 * np.mean(noise) * K / N, 1e-8)
            typ = typical(kernels)
            r2 = lambda y, g: float(np.mean(np.maximum(1 - ((y - g) ** 2).sum(0) / ((y - y.mean(0)) ** 2).sum(0), -0.5)))
            full = teach(Xe)
            rec = dict(
                table=name,
                rows=N,
                inputs=len(inputs),
                targets=len(targets),
                K=K,
                noise=float(np.mean(noise)),
                lam=lam,
                full=r2(ye, full),
            )
            for own in (0, 1e-3, 1e-2, 1e-1, 0.5):
                s = time.time()
                W, p = refine(X, F, W1, p1, lam, own, typ)
                Z, P, mu, s2, w, R, J = solve(X, F, W, p, lam, own)
                g = (np.cos(Xe @ W + p) - mu) @ w + fm
                rec[str(own)] = dict(
                    r2=r2(ye, g),
                    to_full=r2(full, g),
                    max=float(np.abs(w).max()),
                    median=float(np.median(np.abs(w))),
                    sum=float(np.abs(w).sum(0).max()),
                    s=round(time.time() - s, 2),
                )
            file.write(json.dumps(rec) + "\n")
            file.flush()
            print(
                name,
                rec["full"],
                [(o, round(rec[o]["r2"], 4), "%.3g" % rec[o]["max"]) for o in ("0", "0.001", "0.01", "0.1", "0.5")],
                flush=True,
            )


main(sys.argv[2], sys.argv[3].split(","))
