"""Puts the development data into data.npz, which explore.py reads.

python prepare.py SETS [DATASETS FOLDS]
SETS: folder written by export.R. DATASETS, FOLDS: folders of NAME.arff and NAME.json of the eight test data sets;
left out, only development data are prepared.
"""
import glob, json, os, sys
import numpy as np

TARGETS = {"atp1d": 6, "atp7d": 6, "oes97": 16, "oes10": 16, "edm": 2, "jura": 3, "wq": 14, "enb": 2}
# Too odd or too small for five folds.
LEFT_OUT = ("solubility", "nox", "yarn", "oliveoil", "crickets", "heptathlon")


def folds(rows, count=5, seed=3):
    dealt = np.random.default_rng(seed).permutation(rows)
    return [np.sort(dealt[i::count]) for i in range(count)]


out = {}
for path in sorted(glob.glob(sys.argv[1] + "/*.csv")):
    name, count = os.path.basename(path)[:-4].split("__")
    if name not in LEFT_OUT:
        table = np.genfromtxt(path, delimiter=",", skip_header=1)
        out["dev/" + name] = (table[:, : -int(count)], table[:, -int(count) :], folds(len(table)))

# synthetic, known truth
rng=np.random.default_rng(11)
def add(name,X,F,noise):
    Y=F+noise*F.std(0)*rng.normal(size=F.shape); out['syn/'+name]=(X,Y,folds(len(X)))
X=rng.uniform(size=(200,10)); add('friedman',X,np.c_[10*np.sin(np.pi*X[:,0]*X[:,1])+20*(X[:,2]-.5)**2+10*X[:,3]+5*X[:,4],10*np.sin(np.pi*X[:,1]*X[:,2])+10*X[:,0]],.3)
X=rng.normal(size=(250,10)); add('steps',X,np.c_[[np.sign(X[:,a])*(1+(X[:,b]>.5))+(X[:,c]>-.3)*1. for a,b,c in((0,1,2),(1,2,3),(0,2,4))]].T,.3)
X=rng.normal(size=(200,12)); add('additive',X,np.c_[np.sin(2*X[:,0])+X[:,1]**2+np.abs(X[:,2]),np.tanh(3*X[:,0])+X[:,3],np.exp(-X[:,1]**2)*2+X[:,4]],.4)
X=rng.normal(size=(200,100)); add('irrelevant',X,np.c_[np.sin(1.5*X[:,0])+X[:,1]*X[:,2],X[:,3]+X[:,1]**2],.3)
Z=rng.normal(size=(300,5)); X=Z@rng.normal(size=(5,200))+.5*rng.normal(size=(300,200)); add('lowrank16',X,(Z[:,:4]+.3*Z[:,:4]**2)@rng.normal(size=(4,16)),.5)
X=rng.uniform(size=(150,8)); add('smooth2',X,np.c_[np.sin(3*X[:,0]+2*X[:,1])+X[:,2]*X[:,3],np.cos(4*X[:,0])+X[:,4]],.03)
X=np.exp(1.2*rng.normal(size=(220,12))); L=np.log(X); add('skewed',X,np.c_[L[:,0]+np.tanh(L[:,1])*L[:,2],np.log1p(X[:,0]+X[:,3]),L[:,1]**2],.4)
X=rng.integers(0,4,size=(200,14)).astype(float); add('ordinal14',X,np.tanh(X@rng.normal(size=(14,14))*.4)+(X[:,:1]>1)*1.,2.0)
X=rng.normal(size=(80,20)); add('small',X,np.c_[X[:,0]+np.maximum(X[:,1],0)*2,X[:,0]-np.maximum(X[:,2],0)],.5)
X=rng.normal(size=(300,6)); add('twoscale',X,np.c_[np.sin(6*X[:,0])+X[:,1],np.sin(6*X[:,0])*X[:,2]],.2)

for name, count in TARGETS.items() if len(sys.argv) > 3 else []:
    text = open(f"{sys.argv[2]}/{name}.arff").read()
    rows = text[text.lower().index("@data") + 5 :].strip().split("\n")
    table = np.array([[float(v) for v in r.split(",")] for r in rows if r.strip() and r[0] != "%"])
    out["real/" + name] = (table[:, :-count], table[:, -count:], json.load(open(f"{sys.argv[3]}/{name}.json")))

arrays = {f"{i}_{k}": v for i, (X, Y, _) in enumerate(out.values()) for k, v in (("X", X), ("Y", Y))}
lists = json.dumps([[[int(r) for r in test] for test in f] for _, _, f in out.values()])
np.savez_compressed("data.npz", names=np.array(list(out)), folds=np.array(lists), **arrays)
