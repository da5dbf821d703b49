import sys; sys.argv=['x']; sys.path.insert(0,'.')
import prototype as sp, numpy as np, time
from scipy.optimize import minimize
skip={'dev/cox2','dev/pdspeech','syn/lowrank16','dev/gasoline'}
P=[p for p in sp.problems(['dev/','syn/'],1) if p['name'] not in skip]
def lbfgs(bk,O,p,km,lam,eta,maxfun):
    sh=O.shape; n=O.size; x0=np.r_[(O/bk.s).ravel(),p.ravel()]
    def f(x):
        J,gz,gp,_=sp.value_grad(bk,x[:n].reshape(sh)*bk.s,x[n:].reshape(p.shape),km,lam,eta); return J[0]*1e3,np.r_[gz.ravel(),gp.ravel()]*1e3
    r=minimize(f,x0,jac=True,method='L-BFGS-B',options=dict(maxfun=maxfun,maxiter=maxfun,maxcor=10)); x=r.x
    return x[:n].reshape(sh)*bk.s,x[n:].reshape(p.shape)
base=dict(steps=60,eta=0.,lam=10.,times=8,lr=.1,aug='diff:1:10',linear=False,pool=256)
adam=sp.learn
rows=[]
t={}
for p in P:
    bk=sp.Bucket([p],base); row=[]
    for tag,fn,cfg in (('adam',adam,base),('lb60',lambda bk,O,q,km,lam,eta,steps,lr:lbfgs(bk,O,q,km,lam,eta,60),base),('lb30',lambda bk,O,q,km,lam,eta,steps,lr:lbfgs(bk,O,q,km,lam,eta,30),base),('cap6',adam,dict(base,cap=6.)),('lam3',adam,dict(base,lam=3.))):
        sp.learn=fn; t0=time.time(); d=sp.run(bk,cfg,.25,None)[0][2]; row.append((d['dist'],d['fit'],d['fitt'])); t[tag]=t.get(tag,0)+time.time()-t0
    rows.append((d['dense'],row)); print(p['name'],round(d['dense'],3),[tuple(round(float(v),3) for v in r) for r in row],flush=True)
for i,k in enumerate(t): print(k,'loss',np.mean([max(-.5,r[0])-max(-.5,r[1][i][0]) for r in rows]),'fit',np.mean([r[1][i][1] for r in rows]),'fit-test med',np.median([r[1][i][2] for r in rows]),'s',t[k])
