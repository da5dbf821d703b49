"""Sparse end by distillation; numpy or torch (batched)."""
import os,sys,json,time,math
os.environ.setdefault('OMP_NUM_THREADS','1')
import numpy as np
try:
    import torch; torch.set_default_dtype(torch.float64); GPU=torch.cuda.is_available()
except (ImportError,OSError): torch=None; GPU=False
here=os.path.dirname(os.path.abspath(__file__))
Z=np.load(here+'/data.npz'); NAMES=[str(n) for n in Z['names']]; FOLDS=json.loads(str(Z['folds'])); H=np.load(here+'/h0.npz')
if torch is not None:
    DEV='cuda' if GPU else 'cpu'
    arr=lambda a:torch.as_tensor(np.asarray(a),device=DEV); host=lambda a:a.cpu().numpy(); xp=torch; T=lambda a:a.transpose(1,2)
    clip=lambda a,l:a.clamp_min(l); cat=torch.cat
    def l1(a,b): return torch.cdist(a,b,p=1.0)
    def gather(a,i): return torch.gather(a,2,i[:,None,None].expand(-1,a.shape[1],1))[:,:,0]
    
    def solve(G,B): return torch.cholesky_solve(B,torch.linalg.cholesky_ex(G)[0])
    f32=lambda a:a.float()
else:
    arr=np.asarray; host=lambda a:a; xp=np; T=lambda a:a.swapaxes(1,2); clip=np.maximum; cat=lambda l,dim:np.concatenate(l,dim)
    from scipy.spatial.distance import cdist
    def l1(a,b): return np.stack([cdist(x,y,'cityblock') for x,y in zip(a,b)])
    def gather(a,i): return np.take_along_axis(a,i[:,None,None],2)[:,:,0]
    solve=np.linalg.solve; f32=lambda a:a.astype(np.float32)
def standardise(X):
    m=X.mean(0); s=X.std(0); s[s<1e-12*np.maximum(1,np.abs(m))]=1; return m,s
def problems(which,folds):
    P=[]
    for i,n in enumerate(NAMES):
        if not any(n.startswith(w) for w in which): continue
        X,Y=Z[f'{i}_X'],Z[f'{i}_Y']
        for f,te in enumerate(FOLDS[i]):
            if f>=folds: break
            te=np.array(te); tr=np.setdiff1d(np.arange(len(X)),te)
            mx,sx=standardise(X[tr]); my,sy=standardise(Y[tr]); keep=X[tr].std(0)>1e-12*np.maximum(1,np.abs(mx))
            S=((X-mx)/sx)[:,keep]; D=S.shape[1]; h=H[f'tri|{n}|{f}|h'].astype(float)
            P.append(dict(name=n,fold=f,X=S[tr],Xt=S[te],Y=(Y[tr]-my)/sy,Yt=(Y[te]-my)/sy,r=np.exp(H[f'tri|{n}|{f}|lr'][0,:D].astype(float)),g=np.exp(h[:4]),v=np.exp(h[4:8]),s2=np.exp(h[8]),hm=H[f'tri|{n}|{f}|mean'].astype(float)))
    return P
def pad(arrs,shape):
    t=np.zeros((len(arrs),)+shape)
    for i,a in enumerate(arrs): t[(i,)+tuple(slice(0,s) for s in a.shape)]=a
    return arr(t)
def augment(p,kind,times,rng):
    X=p['X']; N,D=X.shape; want=int(times*N)
    if want==0: return X
    i=np.tile(np.arange(N),-(-want//N))[:want]
    S=X*np.sqrt(p['r']); 
    d=(S**2).sum(1)[:,None]+(S**2).sum(1)[None]-2*S@S.T; np.fill_diagonal(d,np.inf)
    parts=kind.split(':'); kind=parts[0]; h=float(parts[1]) if len(parts)>1 else .5; k=min(N-1,int(parts[2]) if len(parts)>2 else 5); nn=np.argsort(d,1)[:,:k]
    j=nn[i,rng.integers(0,k,want)]; any_=rng.integers(0,N,want)
    def one(kind):
        if kind=='mix': t=rng.random((want,1)); return X[i]+t*(X[j]-X[i])
        if kind=='swap': return np.where(rng.random((want,D))<.5,X[j],X[i])
        if kind=='swapany': return np.where(rng.random((want,D))<rng.random((want,1))*h,X[any_],X[i])
        if kind=='diff': l=rng.integers(0,N,want); m=nn[l,rng.integers(0,k,want)]; return X[i]+h*(X[l]-X[m])
        if kind=='blend': return np.sqrt(1-h*h)*X[i]+h*X[any_]
        if kind=='blendu': u=h*rng.random((want,1)); return np.sqrt(1-u*u)*X[i]+u*X[any_]
        if kind=='move': u=h*rng.random((want,1)); return X[i]+u*(X[any_]-X[i])
    if '+' in kind:
        a,b=kind.split('+'); A=np.where(np.arange(want)[:,None]%2==0,one(a),one(b))
    else: A=one(kind)
    return np.concatenate([X,A])
def spectrum_draw(p,P,cap,rng,pure=None):
    D=p['X'].shape[1]; v=p['v'][1:]; v=v/v.sum()
    if pure is not None: v=np.array(pure)/np.sum(pure)
    fam=rng.choice(3,P,p=v); z=rng.standard_normal((D,P)); g=p['g']
    l2=g[2]*np.sqrt(p['r'])[:,None]*z/np.abs(rng.standard_normal(P)); l1_=g[3]*p['r'][:,None]*rng.standard_cauchy((D,P)); rb=np.sqrt(2*g[1])*z
    O=np.where(fam==0,rb,np.where(fam==1,l2,l1_)); X=p['X']
    sd=np.sqrt(np.maximum((( X@O)**2).mean(0),1e-300)); return O*np.minimum(1,cap/sd)
def scale_of(p):
    v=p['v'][1:]; g=p['g']; D=p['X'].shape[1]; a=np.stack([np.full(D,2*g[1]),g[2]**2*p['r'],(g[3]*p['r'])**2])
    return np.sqrt((v[:,None]*a).sum(0)/v.sum())
class Bucket:
    def __init__(s,ps,cfg):
        rng=np.random.default_rng(1); s.ps=ps; s.B=len(ps)
        aug=[augment(p,cfg.get('aug','diff:.7:5'),cfg.get('times',3),rng) for p in ps]
        D=max(p['X'].shape[1] for p in ps); N=max(len(p['X']) for p in ps); C=max(p['Y'].shape[1] for p in ps); M=max(map(len,aug)); Tn=max(len(p['Xt']) for p in ps)
        s.D,s.N,s.C,s.M=D,N,C,M
        s.X=pad([p['X'] for p in ps],(N,D)); s.Xt=pad([p['Xt'] for p in ps],(Tn,D)); s.Xa=pad(aug,(M,D)); Y=pad([p['Y'] for p in ps],(N,C)); s.Y=Y
        r=pad([p['r'] for p in ps],(D,))[:,None]; s.r=r; s.dd=arr(np.array([float(p['X'].shape[1]) for p in ps])); g=arr(np.stack([p['g'] for p in ps])); v=arr(np.stack([p['v'] for p in ps]))
        s.live=pad([np.ones(len(p['X'])) for p in ps],(N,)); s.ma=pad([np.ones(len(a)) for a in aug],(M,)); s.na=s.ma.sum(1); s.n=s.live.sum(1)
        s.c=arr(np.array([float(p['Y'].shape[1]) for p in ps]))
        def kern(a,b):
            sq=lambda a,b:clip((a**2).sum(2)[:,:,None]+(b**2).sum(2)[:,None]-2*a@T(b),0.0)
            w=lambda t,i:t[:,i][:,None,None]
            return 1+w(v,0)*(a@T(b))/s.dd[:,None,None]+w(v,1)*xp.exp(-w(g,1)*sq(a,b))+w(v,2)*xp.exp(-w(g,2)*xp.sqrt(sq(a*xp.sqrt(r),b*xp.sqrt(r))+1e-12))+w(v,3)*xp.exp(-w(g,3)*l1(a*r,b*r))
        lv=s.live; eye=arr(np.eye(N))[None]
        K=kern(s.X,s.X)*(lv[:,:,None]*lv[:,None]); w,Q=xp.linalg.eigh(K); w=clip(w,0.0)+1e-7; Zt=T(Q)@Y
        # padded rows give zero eigenvalues with zero coordinates: their share of the log determinant is a constant in l only up to count
        s2=arr(np.array([p['s2'] for p in ps])); best=arr(np.full((s.B,C),-1e300)); lam=best*0+1; amp0=best*0; npad=N-s.n
        for o in np.linspace(-3,3,25):
            l=s2*math.exp(o); d=w+l[:,None]; amp=(Zt**2/d[:,:,None]).sum(1)/s.n[:,None]
            e=-.5*(xp.log(d).sum(1)-npad*xp.log(l+1e-7))[:,None]-.5*s.n[:,None]*xp.log(amp+1e-300)-.5*(o/2)**2
            up=e>best; best=xp.where(up,e,best); lam=xp.where(up,l[:,None]+0*best,lam); amp0=xp.where(up,amp,amp0)
        A=Q@(Zt/(w[:,:,None]+lam[:,None])); s.lam=lam; s.noise=(lam*amp0).sum(1)/s.c
        s.F=(kern(s.Xa,s.X)@A)*s.ma[:,:,None]; s.Ft=kern(s.Xt,s.X)@A
        s.s=pad([scale_of(p) for p in ps],(D,))[:,:,None]+1e-9
def centre(A,m,n): return (A-((A*m[:,:,None]).sum(1)/n[:,None])[:,None])*m[:,:,None]
def ridge(bk,Phi,F,lam):
    """centred features, penalty lam n s_k^2; returns W, centred residual, centred Phi, s2"""
    m,n=bk.ma,bk.na
    P=centre(Phi,m,n); s2=(P**2).sum(1)/n[:,None]+1e-12; R0=centre(F,m,n)
    G=T(P)@P; K=P.shape[2]; G=G+arr(np.eye(K))[None]*((lam*n)[:,None]*s2)[:,:,None]
    W=solve(G,T(P)@R0); return W,R0-P@W,P,s2
def value_grad(bk,O,p,km,lam,eta):
    A=bk.Xa@O+p[:,None]; Phi=xp.cos(A)*km[:,None]; W,R,P,s2=ridge(bk,Phi,bk.F,lam)
    nc=(bk.na*bk.c)
    J=.5*((R**2).sum(2).sum(1)+(lam*bk.na)*(s2*(W**2).sum(2)).sum(1))/nc
    G=(-R@T(W)+P*(lam[:,None]*(W**2).sum(2))[:,None])/nc[:,None,None]
    dA=-xp.sin(A)*G*km[:,None]
    gO=T(bk.Xa)@dA; gp=dA.sum(1); z=O/bk.s
    J=J+.5*eta*(z**2).sum(2).sum(1)
    return J,gO*bk.s+eta[:,None,None]*z,gp,W
def learn(bk,O,p,km,lam,eta,steps,lr):
    z=O/bk.s; mz=z*0; vz=z*0; mp=p*0; vp=p*0; b1,b2=.9,.95
    for t in range(steps):
        J,gz,gp,_=value_grad(bk,z*bk.s,p,km,lam,eta)
        a=lr*min(1,(t+1)/5)*(.5*(1+math.cos(math.pi*t/steps))+.02)
        mz=b1*mz+(1-b1)*gz; vz=b2*vz+(1-b2)*gz**2; mp=b1*mp+(1-b1)*gp; vp=b2*vp+(1-b2)*gp**2
        c1,c2=1-b1**(t+1),1-b2**(t+1)
        z=z-a*(mz/c1)/(xp.sqrt(vz/c2)+1e-12); p=p-a*(mp/c1)/(xp.sqrt(vp/c2)+1e-12)
    return z*bk.s,p
def omp(bk,pool,O,p,count,lam):
    """adds count features from the pool; O,p current (may be None)"""
    m,n=bk.ma,bk.na; A=bk.Xa@pool; Q=f32(centre(cat([xp.cos(A),xp.sin(A)],2),m,n)); P=pool.shape[2]; R=centre(bk.F,m,n); norm0=(Q**2).sum(1)+1e-30
    if O is not None:
        W,R,Pc,_=ridge(bk,xp.cos(bk.Xa@O+p[:,None]),bk.F,lam)
        G=T(Pc)@Pc; tr=(Pc**2).sum(1).sum(1)/G.shape[1]; G=G+arr(np.eye(G.shape[1]))[None]*(1e-8*tr)[:,None,None]
        Q=Q-f32(Pc@solve(G,T(Pc)@(Q.double() if torch is not None else Q)))
    R=f32(R); newO=[];newp=[]
    for k in range(count):
        c,s=Q[:,:,:P],Q[:,:,P:]
        Hh=T(Q)@R; hc,hs=Hh[:,:P],Hh[:,P:]
        e=1e-3; a=(c**2).sum(1)+e*norm0[:,:P]; b=(s**2).sum(1)+e*norm0[:,P:]; x=(c*s).sum(1)
        # whiten by L of [[a,x],[x,b]]
        l11=xp.sqrt(a); l21=x/l11; l22=xp.sqrt(clip(b-l21**2,1e-30)+1e-6*b)
        u=hc/l11[:,:,None]; w=(hs-l21[:,:,None]*u)/l22[:,:,None]
        A11=(u*u).sum(2);A22=(w*w).sum(2);A12=(u*w).sum(2)
        th=.5*xp.arctan2(2*A12,A11-A22); ev=.5*(A11+A22)+.5*xp.sqrt((A11-A22)**2+4*A12**2)
        i=xp.argmax(ev,1)
        pick=lambda t:gather(t[:,None],i)[:,0]
        y1,y2=pick(xp.cos(th)),pick(xp.sin(th)); v2=y2/pick(l22); v1=(y1-pick(l21)*v2)/pick(l11)
        q=gather(c,i)*v1[:,None]+gather(s,i)*v2[:,None]; q=q/(xp.sqrt((q**2).sum(1))+1e-20)[:,None]
        R=R-q[:,:,None]*(q[:,:,None]*R).sum(1)[:,None]; Q=Q-q[:,:,None]*(T(q[:,:,None])@Q)
        newO.append(gather(pool,i)); newp.append(xp.arctan2(-v2,v1)+0.0)
    nO=xp.stack(newO,2); np_=xp.stack(newp,1); 
    if torch is not None: np_=np_.double()
    else: np_=np_.astype(float)
    return (nO,np_) if O is None else (cat([O,nO],2),cat([p,np_],1))
def linear_candidates(bk):
    """low-frequency directions of the linear part of F: at most C, as D x C"""
    XtX=T(bk.Xa)@bk.Xa; D=bk.D; G=XtX+arr(np.eye(D))[None]*(1e-2*bk.na+1e-6)[:,None,None]
    Bc=solve(G,T(bk.Xa)@bk.F)            # D x C
    U,S,_=xp.linalg.svd(bk.Xa@Bc,full_matrices=False); V=Bc@T(_) if torch is None else Bc@_.transpose(1,2)
    sd=xp.sqrt(((bk.Xa@V)**2).sum(1)/bk.na[:,None])+1e-12
    return V/sd[:,None]*.2
def blr(bk,O,p,km,pertask=True):
    """tied precision in the standardised features, noise ratio per task by evidence, on the real targets"""
    m,n=bk.live,bk.n; Phi=xp.cos(bk.X@O+p[:,None])*km[:,None]; mu=(Phi*m[:,:,None]).sum(1)/n[:,None]; P=centre(Phi,m,n)
    s2=(P**2).sum(1)/n[:,None]+1e-12; P=P/xp.sqrt(s2)[:,None]; w,V=xp.linalg.eigh(T(P)@P); w=clip(w,0.0); Zt=T(V)@(T(P)@bk.Y); yy=(bk.Y**2).sum(1)
    best=arr(np.full((bk.B,bk.C),-1e300)); lam=best*0+1
    for l in np.exp(np.linspace(-7,8,46)):   # penalty: prior variance 1 , noise l ; data var amp
        d=w+l; quad=(yy-(Zt**2/d[:,:,None]).sum(1))/l; amp=clip(quad,1e-30)/n[:,None]
        e=-.5*(xp.log(d/l).sum(1)+n*math.log(l))[:,None]-.5*n[:,None]*xp.log(amp)
        up=e>best; best=xp.where(up,e,best); lam=xp.where(up,lam*0+l,lam)
    W=V@(Zt/(w[:,:,None]+lam[:,None]))/xp.sqrt(s2)[:,:,None]
    return W,-(mu[:,None]@W)[:,0]
def r2(p,M):
    Y=p['Yt']; sst=((Y-Y.mean(0))**2).sum(0); ok=sst>0; return (1-((Y-M)**2).sum(0)[ok]/sst[ok]).mean()
def run(bk,cfg,ratio,pools):
    """fraction ratio of N features; batch with a common K: mask by km"""
    Ks=[max(1,int(ratio*len(p['X']))) for p in bk.ps]; K=max(Ks); rng=np.random.default_rng(7)
    km=pad([np.ones(k) for k in Ks],(K,))
    lam=cfg.get('lam',.1)*bk.noise*(arr(np.array(Ks,float)))/bk.n+1e-9; eta=cfg.get('eta',.1)*bk.noise/(bk.n*bk.c)
    steps=cfg.get('steps',200); lr=cfg.get('lr',.05); rounds=cfg.get('rounds',1)
    t0=time.time(); cap=cfg.get('cap',3.0)
    pool=pad([spectrum_draw(p,cfg.get('pool',512),cap,rng,cfg.get('pure')) for p in bk.ps],(bk.D,cfg.get('pool',512)))
    if cfg.get('linear',True): pool=cat([linear_candidates(bk),pool],2)
    if cfg.get('init','omp')=='rand': O=pool[:,:,:K]; p=arr(rng.uniform(0,2*np.pi,(bk.B,K)))
    else:
        O=p=None
        for r in range(rounds):
            kr=math.ceil(K*(r+1)/rounds); have=0 if O is None else O.shape[2]
            if kr<=have: continue
            O,p=omp(bk,pool,O,p,kr-have,lam)
            if r+1<rounds: O,p=learn(bk,O,p,km[:,:kr],lam,eta,steps//rounds,lr)
    if rounds>1: steps=steps//rounds
    if steps: O,p=learn(bk,O,p,km,lam,eta,steps,lr)
    out={}
    Wl=cfg.get('lamfinal'); lf=lam if Wl is None else Wl*bk.noise*(arr(np.array(Ks,float)))/bk.n+1e-9
    W,R,_,_=ridge(bk,xp.cos(bk.Xa@O+p[:,None])*km[:,None],bk.F,lf)
    Phi=xp.cos(bk.Xa@O+p[:,None])*km[:,None]; b=(((bk.F-Phi@W)*bk.ma[:,:,None]).sum(1)/bk.na[:,None])
    Pt=xp.cos(bk.Xt@O+p[:,None])*km[:,None]
    out['dist']=Pt@W+b[:,None]; Wb,bb=blr(bk,O,p,km); out['blr']=Pt@Wb+bb[:,None]; out['dense']=bk.Ft
    fit=host(1-(R**2).sum(2).sum(1)/(centre(bk.F,bk.ma,bk.na)**2).sum(2).sum(1))
    res=[]
    for i,q in enumerate(bk.ps):
        Tn,C=q['Yt'].shape; f=host(bk.Ft[i,:Tn,:C]); d={k:r2(q,host(v[i,:Tn,:C])) for k,v in out.items()}
        d['fit']=float(fit[i]); d['fitt']=float(1-((host(out['dist'][i,:Tn,:C])-f)**2).sum()/((f-f.mean(0))**2).sum()); d['K']=Ks[i]; d['N']=len(q['X'])
        res.append((q['name'],q['fold'],d))
    return res
def main(spec,out):
    P=problems(spec['which'],spec.get('folds',5)); bks={}
    for p in P: bks.setdefault((math.ceil(len(p['Y'])/spec.get('grain',120)),p['X'].shape[1]>60,p['Y'].shape[1]>8),[]).append(p)
    cache={}; t0=time.time()
    for name,cfg in spec['cfgs'].items():
        if time.time()-t0>spec.get('limit',1e9): print('limit'); break
        key=(cfg.get('aug','diff:.7:5'),cfg.get('times',3))
        try:
            if key not in cache:
                cache.clear(); 
                if GPU: torch.cuda.empty_cache()
                cache[key]=[Bucket(b,cfg) for b in bks.values()]
            for ratio in cfg.get('ratios',[.25]):
                t=time.time(); rec={}
                for bk in cache[key]:
                    for n,f,d in run(bk,cfg,ratio,None): rec.setdefault(n,[]).append(d)
                avg={n:{k:float(np.mean([d[k] for d in v])) for k in v[0]} for n,v in rec.items()}
                with open(out+'/sparse.jsonl','a') as fh: fh.write(json.dumps(dict(cfg=name,set=cfg,ratio=ratio,res=avg))+'\n')
                for gname in('dev','syn','real'):
                    a=[v for n,v in avg.items() if n.startswith(gname)]
                    if a: print('%-14s %.2f %-4s dense %.4f dist %.4f blr %.4f fit %.4f fit-test %.4f  %.1fs'%(name,ratio,gname,*[np.mean([max(x[k],-.5) for x in a]) for k in('dense','dist','blr')],np.mean([x['fit'] for x in a]),np.median([x['fitt'] for x in a]),time.time()-t),flush=True)
        except Exception as e:
            import traceback; print(name,'failed'); traceback.print_exc()
if __name__=='__main__': main(json.load(open(here+'/'+sys.argv[1])),sys.argv[2])
