import sys,json,time,math,os
import numpy as np, torch
dev='cuda' if torch.cuda.is_available() else 'cpu'
torch.set_default_dtype(torch.float64)
here=os.path.dirname(os.path.abspath(__file__))
Z=np.load(here+'/data.npz'); NAMES=[str(n) for n in Z['names']]; FOLDS=json.loads(str(Z['folds']))
def standardise(X):
    m=X.mean(0); s=X.std(0); s[s<1e-12*np.maximum(1,np.abs(m))]=1; return m,s
from math import erf
def ndtri(p): return torch.special.ndtri(torch.as_tensor(p)).numpy()
def ranknormal(A,B):
    out=[np.zeros_like(A),np.zeros_like(B)]
    for d in range(A.shape[1]):
        u,inv,cnt=np.unique(A[:,d],return_inverse=True,return_counts=True)
        mid=(np.cumsum(cnt)-cnt/2)/len(A); z=ndtri(mid)
        out[0][:,d]=z[inv]; out[1][:,d]=np.interp(B[:,d],u,z)
    m,s=standardise(out[0]); return (out[0]-m)/s,(out[1]-m)/s
WARP=False; LOOK=False # LOOK: show the test scores of the eight sets too
def problems(which):
    P=[]
    for i,n in enumerate(NAMES):
        if not any(n.startswith(w) for w in which): continue
        X,Y=Z[f'{i}_X'],Z[f'{i}_Y']
        for f,te in enumerate(FOLDS[i]):
            te=np.array(te); tr=np.setdiff1d(np.arange(len(X)),te)
            mx,sx=standardise(X[tr]); my,sy=standardise(Y[tr]); keep=X[tr].std(0)>1e-12*np.maximum(1,np.abs(mx))
            A=((X-mx)/sx)[tr][:,keep]; B=((X-mx)/sx)[te][:,keep]
            RA,RB=ranknormal(A,B)
            def slog(v): return np.sign(v)*np.log1p(np.abs(v))
            def restd(a,b):
                m,q=standardise(a); return (a-m)/q,(b-m)/q
            def warp(a,b,k):
                out=[],[]
                qs=np.quantile(a,np.arange(1,k)/k,axis=0)
                for d in range(a.shape[1]):
                    e=np.r_[-np.inf,qs[:,d],np.inf]
                    for j in range(k):
                        for o,v in zip(out,(a,b)): o.append(np.clip(v[:,d],e[j],e[j+1])-(0 if j==0 and k==1 else np.clip(0,e[j],e[j+1])))
                return np.stack(out[0],1),np.stack(out[1],1)
            U,S_,Vt=np.linalg.svd(A,full_matrices=False); kk=S_>1e-3*S_[0]; W_=(Vt[kk].T/S_[kk])*np.sqrt(len(A))
            PC=tuple(np.pad(v@W_,((0,0),(0,A.shape[1]-kk.sum()))) for v in (A,B))
            P.append(dict(pc=PC,name=n,fold=f,raw=(A,B),rank=(RA,RB),slog=restd(slog(A),slog(B)),clip=(np.clip(A,-3,3),np.clip(B,-3,3)),**({'w3':warp(A,B,3),'w6':warp(A,B,6)} if WARP else {}),Y=(Y[tr]-my)/sy,Yt=(Y[te]-my)/sy,my=my,sy=sy))
    return P
def split_tasks(P):
    out=[]
    for p in P:
        for c in range(p['Y'].shape[1]):
            q=dict(p); q['Y']=p['Y'][:,c:c+1]; q['Yt']=p['Yt'][:,c:c+1]; q['my']=p['my'][c:c+1]; q['sy']=p['sy'][c:c+1]; q['task']=c; out.append(q)
    return out
def buckets(P):
    key=lambda p:(math.ceil(len(p['Y'])/120),p['raw'][0].shape[1]>60,p['Y'].shape[1]>8)
    out={}
    for p in P: out.setdefault(key(p),[]).append(p)
    return list(out.values())
def pad(arrs,shape): 
    t=np.zeros((len(arrs),)+shape)
    for i,a in enumerate(arrs): t[(i,)+tuple(slice(0,s) for s in a.shape)]=a
    return torch.as_tensor(t,device=dev)
def yj(y,l):
    p=y>=0; yp=torch.where(p,y,torch.zeros_like(y)); yn=torch.where(p,torch.zeros_like(y),-y)
    sm=lambda e:torch.where(e.abs()<1e-4,torch.full_like(e,1e-4),e)
    a=sm(l); b=sm(2-l)
    return torch.where(p,(torch.exp(a*torch.log1p(yp))-1)/a,-(torch.exp(b*torch.log1p(yn))-1)/b), torch.where(p,(l-1)*torch.log1p(yp),(1-l)*torch.log1p(yn))
def yj_inv(z,l):
    p=z>=0; sm=lambda e:torch.where(e.abs()<1e-4,torch.full_like(e,1e-4),e); a=sm(l); b=sm(2-l)
    zp=torch.where(p,z,torch.zeros_like(z)); zn=torch.where(p,torch.zeros_like(z),-z)
    return torch.where(p,torch.exp(torch.log1p((a*zp).clamp_min(-.999))/a)-1,1-torch.exp(torch.log1p((b*zn).clamp_min(-.999))/b))
def run_bucket(ps,cfg):
    B=len(ps); N=max(len(p['Y']) for p in ps); T=max(len(p['Yt']) for p in ps)
    D=max(p['raw'][0].shape[1] for p in ps); W=cfg.get('warp',0); C=max(p['Y'].shape[1] for p in ps)
    fams=cfg['fams']; F=len(fams); spaces=sorted(set(s for _,s in fams))
    wd=lambda s:D*(int(s[1:]) if s[0]=='w' else 1)
    X={s:pad([p[s][0] for p in ps],(N,wd(s))) for s in spaces}; Xt={s:pad([p[s][1] for p in ps],(T,wd(s))) for s in spaces}
    Y=pad([p['Y'] for p in ps],(N,C)); n=torch.tensor([len(p['Y']) for p in ps],device=dev).double()
    c=torch.tensor([p['Y'].shape[1] for p in ps],device=dev).double(); dd=torch.tensor([p['raw'][0].shape[1] for p in ps],device=dev).double()
    rowpad=(torch.arange(N,device=dev)[None]>=n[:,None]).double()*1e6
    dmask=(torch.arange(D,device=dev)[None]<dd[:,None]).double()
    tw=torch.ones(B,device=dev)
    if cfg.get('temper'):
        for b,p in enumerate(ps):
            if p['Y'].shape[1]>1:
                ev=np.linalg.eigvalsh(np.corrcoef(p['Y'].T)); tw[b]=(ev.sum()**2/(ev**2).sum())/len(ev)
    AD={}; ADt={}
    for k,s in fams:
        k=k.split('_')[0]
        if (k in('l1','add','anova') or k[:2] in('rr','cc')) and s not in AD:
            AD[s]=(X[s][:,:,None,:]-X[s][:,None,:,:]).abs().float()
            ADt[s]=(Xt[s][:,:,None,:]-X[s][:,None,:,:]).abs().float()
        if k[0]=='p' and (s,k) not in AD:
            AD[s,k]=((X[s][:,:,None,:]-X[s][:,None,:,:]).abs()**float(k[1:])).float()
            ADt[s,k]=((Xt[s][:,:,None,:]-X[s][:,None,:,:]).abs()**float(k[1:])).float()
    def lg_init(k):
        k=k.split('_')[0]
        base={'lin':torch.zeros(B),'slin':torch.zeros(B),'rbf':-torch.log(2*dd.cpu()),'rq':-torch.log(2*dd.cpu()),'l2':-.5*torch.log(2*dd.cpu()),'m3':math.log(1.7)-.5*torch.log(2*dd.cpu()),'m5':math.log(2.2)-.5*torch.log(2*dd.cpu()),'l1':-torch.log(1.13*dd.cpu()),'add':torch.zeros(B),'quad':torch.zeros(B),'anova':torch.zeros(B),'arc':torch.zeros(B)}.get(k,-torch.log(1.5*dd.cpu()))
        return base.to(dev)
    lg0=torch.stack([lg_init(k) for k,_ in fams],1)
    lh0=-torch.log(dd)[:,None].expand(B,F)*cfg.get('hpow',1.0); sep=cfg.get('sep',False); nr=F if sep else 1
    def kern(par,Xa,Xb,ADx):
        rho_all=torch.exp(par['lr'])*dmask[:,None,:]; out=0
        for i,(k,s) in enumerate(fams):
            rho=rho_all[:,i if sep else 0]; g=torch.exp(par['lg'][:,i])[:,None,None]; v=torch.exp(par['lv'][:,i])[:,None,None]
            if k.endswith('_i'): rho=dmask; k=k[:-2]
            if k.endswith('_h'): rho=torch.sqrt(rho+1e-30)*dmask; k=k[:-2]
            a,b=Xa[s],Xb[s]
            if k=='lin': K=(a@b.transpose(1,2))/dd[:,None,None]
            elif k=='slin': K=((a*(rho**2)[:,None])@b.transpose(1,2))/dd[:,None,None]
            elif k=='quad': K=((a*rho[:,None])@b.transpose(1,2)/dd[:,None,None])**2
            elif k=='arc':
                w=rho/dd[:,None]; aw=a*w[:,None]
                ip=aw@b.transpose(1,2)+g; na=torch.sqrt((aw*a).sum(2)+g[:,:,0]); nb=torch.sqrt(((b*w[:,None])*b).sum(2)+g[:,:,0])
                nn=na[:,:,None]*nb[:,None]; cs=(ip/nn).clamp(-1+1e-9,1-1e-9); th=torch.acos(cs)
                K=nn/math.pi*(torch.sqrt(1-cs*cs)+(math.pi-th)*cs)
            elif k=='anova':
                w=torch.exp(par['lh'][:,i])[:,None]*rho; h=torch.log1p((w.float()*dmask.float())[:,None,None]*torch.exp(-g.float()[...,None]*ADx[s]))
                K=torch.exp(h.double().sum(3)-torch.log1p(w*dmask).sum(1)[:,None,None])
            elif k[0]=='p':
                d=torch.matmul(ADx[s,k].view(B,-1,a.shape[2]),rho.float()[:,:,None]).view(B,a.shape[1],b.shape[1]).double(); K=torch.exp(-g*d)
            elif k[:2]=='rr':
                q_=float(k[2:]); d=torch.matmul(ADx[s].view(B,-1,D),rho.float()[:,:,None]).view(B,a.shape[1],b.shape[1]).double(); K=(1+g*d/q_)**(-q_)
            elif k[:2]=='cc':
                q_=float(k[2:]); K=torch.exp(-q_*torch.log1p((g[...,None]*rho[:,None,None]).float()*ADx[s]/q_).sum(3).double())
            elif k=='l1':
                d=torch.matmul(ADx[s].view(B,-1,D),rho.float()[:,:,None]).view(B,a.shape[1],b.shape[1]).double()
                K=torch.exp(-g*d)
            else:
                as_,bs=a*rho[:,None],b*rho[:,None]
                d2=((as_**2).sum(2)[:,:,None]+(bs**2).sum(2)[:,None]-2*as_@bs.transpose(1,2)).clamp_min(0)
                if k=='rbf': K=torch.exp(-g*d2)
                else:
                    d=torch.sqrt(d2+1e-12); K=torch.exp(-g*d)
                    if k=='m3': K=K*(1+g*d)
            out=out+v*K
        return out+1.0
    def selfk(par,Xa):
        rho_all=torch.exp(par['lr'])*dmask[:,None,:]; out=0
        for i,(k,s) in enumerate(fams):
            v=torch.exp(par['lv'][:,i])[:,None]; rho=rho_all[:,i if sep else 0]
            if k=='lin': out=out+v*(Xa[s]**2).sum(2)/dd[:,None]
            elif k=='slin': out=out+v*((Xa[s]*rho[:,None])**2).sum(2)/dd[:,None]
            elif k.startswith('quad'): r_=dmask if k.endswith('_i') else rho; out=out+v*((Xa[s]**2*r_[:,None]).sum(2)/dd[:,None])**2
            elif k.startswith('arc'):
                r_=dmask if k.endswith('_i') else rho; out=out+v*((Xa[s]**2*r_[:,None]).sum(2)/dd[:,None]+torch.exp(par['lg'][:,i])[:,None])
            else: out=out+v*torch.ones(Xa[s].shape[:2],device=dev)
        return out+1.0
    ard=cfg.get('shrink',1.0)>0; sh=cfg.get('shrink',1.0); steps=cfg.get('steps',100); lr0=cfg.get('lr',.1)
    live=(rowpad==0).double()[:,:,None]
    def warped(lam):
        w,j=yj(Y*cfg.get('yscale',1.0),lam[:,None]); m=(w*live).sum(1,keepdim=True)/n[:,None,None]; v=(((w-m)**2)*live).sum(1,keepdim=True)/n[:,None,None]+1e-12
        return (w-m)/v.sqrt()*live,(j-.5*torch.log(v))*live*(v>1e-10)
    iu=torch.ones(B,N,device=dev)
    def learn(X,Y,AD,n,rowpad,anchor,start=None):
        nonlocal iu
        nul=torch.full((B,1),30.,device=dev)
        par=dict(lh=lh0.clone(),lam=torch.ones(B,C,device=dev),lg=lg0.clone(),lv=torch.full((B,F),math.log(.7/F),device=dev),ls=torch.full((B,),math.log(.3),device=dev),lr=anchor.clone())
        if start is not None: par={k:v.detach().clone() for k,v in start.items()}
        for v in par.values(): v.requires_grad_(True)
        opt=torch.optim.Adam([v for k,v in par.items() if (ard or k!='lr') and (k!='lam' or cfg.get('yj')) and (k!='lh' or any(f[0].startswith('anova') for f in fams))],lr=lr0,betas=(.9,.95))
        sch=torch.optim.lr_scheduler.OneCycleLR(opt,lr0,total_steps=steps,pct_start=.1,div_factor=3,final_div_factor=30,cycle_momentum=False)
        for it in range(steps):
            opt.zero_grad()
            K=kern(par,X,X,AD)+torch.diag_embed(torch.exp(par['ls'])[:,None]*iu+1e-7+rowpad)
            if cfg.get('yj'): Yw,lj=warped(par['lam']); Yc=Yw.detach()
            else: Yc=Y
            with torch.no_grad():
                L,_=torch.linalg.cholesky_ex(K); Ki=torch.cholesky_inverse(L); A=Ki@Yc
                G=.5*(A@A.transpose(1,2)-c[:,None,None]*Ki)*tw[:,None,None]
            if cfg.get('nu') and it>=cfg.get('from',30):
                with torch.no_grad():
                    S=(torch.exp(par['ls'])[:,None]*iu); r_=S[:,:,None]*A; v_=(S-S*S*torch.diagonal(Ki,dim1=1,dim2=2)).clamp_min(0)
                    nu=nul if cfg['nu']=='learn' else cfg['nu']; q_=((r_**2).sum(2)+c[:,None]*v_)/torch.exp(par['ls'])[:,None]
                    if cfg['nu']=='learn':
                        a_=(nu+c[:,None])/2; b_=(nu+q_)/2; st=((torch.digamma(a_)-torch.log(b_)-a_/b_)*live[:,:,0]).sum(1,keepdim=True)
                        gr=torch.tensor([[2.5,3,4,5,7,10,15,20,30,50,100,300,1000.]],device=dev); ob=n[:,None]*(gr/2*torch.log(gr/2)-torch.lgamma(gr/2))+gr/2*st-.5*((torch.log(gr)-math.log(cfg.get('nu0',30.)))/cfg.get('nus',1.))**2
                        nul=gr[0,ob.argmax(1)][:,None]
                    u=(nu+c[:,None])/(nu+((r_**2).sum(2)+c[:,None]*v_)/torch.exp(par['ls'])[:,None]); u=u/((u*live[:,:,0]).sum(1)/n)[:,None] if cfg.get('norm') else u
                    iu=torch.exp(.7*torch.log(iu)-.3*torch.log(u))
            K.backward(-G)
            if cfg.get('yj'): ((A*Yw).sum()-lj.sum()+((par['lam']-1)**2).sum()/(2*cfg['yj']**2)).backward()
            prior=((par['lh']-lh0)**2).sum()/18+((par['lg']-lg0)**2).sum()/18+((par['lv']-math.log(.5))**2).sum()/18+((par['ls']-math.log(.2))**2).sum()/18
            if ard: prior=prior+.5*((par['lr']-anchor)**2).sum()/sh**2
            prior.backward(); opt.step(); sch.step()
        if cfg.get('nu')=='learn': print('nu',[(p['name'].split('/')[1][:5],float(v)) for p,v in zip(ps,nul[:,0]) if p['fold']==0])
        with torch.no_grad(): ev=-c*torch.log(torch.diagonal(L,dim1=1,dim2=2)).sum(1)-.5*(A*Y).sum((1,2))
        return {k:v.detach() for k,v in par.items()},ev
    Yk=Y
    if cfg.get('pre'):
        Yn=np.zeros(tuple(Y.shape))
        for b,p in enumerate(ps):
            y=p['Y']
            if cfg['pre']=='rank': z,_=ranknormal(y,y)
            elif cfg['pre']=='yjm':
                z=np.empty_like(y)
                for j in range(y.shape[1]):
                    best=None
                    for l_ in np.arange(-1,3.01,.05):
                        w,jac=yj(torch.as_tensor(y[:,j]),torch.tensor(float(l_))); w=w.numpy(); e=-.5*len(y)*np.log(w.var()+1e-300)+float(jac.sum())-.5*((l_-1)/cfg.get('sl',.25))**2
                        if best is None or e>best[0]: best=(e,w)
                    z[:,j]=best[1]
            elif cfg['pre']=='wins': z=np.clip(y,-2,2)
            elif cfg['pre']=='asinh': z=np.arcsinh(y)
            m_,s_=standardise(z); Yn[b,:len(y),:y.shape[1]]=(z-m_)/s_
        Yk=torch.as_tensor(Yn,device=dev)
        if cfg.get('both'): Yk=torch.cat([Y,Yk],2); c=c*2; tw=tw*cfg.get('bt',.5)
    members=[]; gen=torch.Generator().manual_seed(5)
    for m in range(cfg.get('members',1)):
        anchor=torch.zeros(B,nr,D,device=dev)
        if cfg.get('anchor'): anchor=(torch.randn(B,nr,D,generator=gen)*sh*cfg['anchor']).to(dev)
        if cfg.get('frac',1)<1:
            nm=torch.floor(n*cfg['frac']).long(); Nm=int(nm.max()); idx=torch.zeros(B,Nm,dtype=torch.long)
            for b in range(B):
                pick=torch.randperm(int(n[b]),generator=gen)[:nm[b]]; idx[b,:len(pick)]=pick
            idx=idx.to(dev); live=(torch.arange(Nm,device=dev)[None]<nm[:,None]).double()
            Xm={s:torch.gather(X[s],1,idx[:,:,None].expand(-1,-1,X[s].shape[2]))*live[:,:,None] for s in X}
            Ym=torch.gather(Y,1,idx[:,:,None].expand(-1,-1,C))*live[:,:,None]
            ADm={s:(Xm[s][:,:,None,:]-Xm[s][:,None,:,:]).abs().float() for s in AD}
            pr,ev=learn(Xm,Ym,ADm,nm.double(),(1-live)*1e6,anchor)
            del ADm
        else: pr,ev=learn(X,Yk,AD,n,rowpad,anchor)
        members.append(pr)
        if cfg.get('two'): members.append(learn(X,Y,AD,n,rowpad,anchor)[0])
    if cfg.get('both'): c=c/2
    if cfg.get('draws'):
        # Langevin dynamics (BAOAB) from the maximum: draws from the posterior of all hyper-parameters
        anchor=torch.zeros(B,nr,D,device=dev); scale=dict(lg=.3,lv=.3,ls=.3,lr=cfg.get('rscale',1.0)); eps=cfg.get('eps',.1); a=math.exp(-eps)
        torch.manual_seed(7)
        th={k:v.clone() for k,v in members[0].items()}; vel={k:torch.randn_like(v) for k,v in th.items()}
        def grad(th):
            q={k:v.detach().requires_grad_(True) for k,v in th.items()}
            K=kern(q,X,X,AD)+torch.diag_embed(torch.exp(q['ls'])[:,None]+1e-7+rowpad)
            with torch.no_grad():
                L,_=torch.linalg.cholesky_ex(K); Ki=torch.cholesky_inverse(L); A=Ki@Y
                G=.5*(A@A.transpose(1,2)-c[:,None,None]*Ki)*tw[:,None,None]
            K.backward(-G)
            prior=((q['lg']-lg0)**2).sum()/18+((q['lv']-math.log(.5))**2).sum()/18+((q['ls']-math.log(.2))**2).sum()/18
            prior=prior+.5*((q['lr']-anchor)**2).sum()/sh**2
            prior.backward()
            return {k:torch.nan_to_num(v.grad)*scale[k] for k,v in q.items()}
        g=grad(th); drawn=[]; burn=cfg.get('burn',60); gap=cfg.get('gap',12)
        for it in range(burn+gap*cfg['draws']):
            for k in th:
                vel[k]=vel[k]-.5*eps*g[k]; th[k]=th[k]+.5*eps*scale[k]*vel[k]
                vel[k]=a*vel[k]+math.sqrt(1-a*a)*torch.randn_like(vel[k]); th[k]=(th[k]+.5*eps*scale[k]*vel[k]).clamp(-12,8)
            g=grad(th)
            for k in th: vel[k]=vel[k]-.5*eps*g[k]
            if it>=burn and (it-burn)%gap==gap-1: drawn.append({k:v.clone() for k,v in th.items()})
        members=drawn if cfg.get('only',True) else members+drawn
    par={k:torch.stack([q[k] for q in members]).mean(0) for k in members[0]}
    if cfg.get('spread'): print('sd of lr',float(torch.stack([q['lr'] for q in members]).std(0).mean()),'lv',float(torch.stack([q['lv'] for q in members]).std(0).mean()))
    if cfg.get('combine')=='par': members=[par]
    with torch.no_grad():
        mean_of=lambda f:sum(f(q) for q in members)/len(members)
        K=mean_of(lambda q:kern(q,X,X,AD))+torch.diag_embed(1e-7+rowpad); Kt=mean_of(lambda q:kern(q,Xt,X,ADt)); kd=mean_of(lambda q:selfk(q,Xt))
        Y0=Y
        if cfg.get('climb'): iu=torch.ones(B,N,device=dev)
        if cfg.get('yj') and not cfg.get('climb'):
            lam_=par['lam']; w,_j=yj(Y*cfg.get('yscale',1.0),lam_[:,None]); wm=(w*live).sum(1,keepdim=True)/n[:,None,None]; ws=((((w-wm)**2)*live).sum(1,keepdim=True)/n[:,None,None]+1e-12).sqrt(); Y=(w-wm)/ws*live
        best=torch.full((B,C),-1e300,device=dev); bloo=best.clone()
        mean=torch.zeros(B,T,C,device=dev); var=mean.clone(); loo=torch.zeros(B,N,C,device=dev); loov=loo.clone(); lam=torch.zeros(B,C,device=dev)
        grid=torch.linspace(-3,3,25).tolist() if cfg.get('pertask',True) else [0.0]
        for o in grid:
            l=torch.exp(par['ls']+o)
            L,_=torch.linalg.cholesky_ex(K+torch.diag_embed(l[:,None]*iu)); Ki=torch.cholesky_inverse(L); A=Ki@Y
            q=torch.diagonal(Ki,dim1=1,dim2=2)
            amp=(A*Y).sum(1)/n[:,None]
            e=-torch.log(torch.diagonal(L,dim1=1,dim2=2)).sum(1)[:,None]-.5*n[:,None]*torch.log(amp+1e-300)-.5*(o/2)**2
            E=A/q[:,:,None]
            if cfg.get('final','evidence')=='loo': e=-.5*n[:,None]*torch.log((E**2).sum(1)+1e-300)-.5*(o/2)**2
            up=e>best; best=torch.where(up,e,best); lam=torch.where(up,l[:,None],lam)
            m_=Kt@A; V=(kd-((Kt@Ki)*Kt).sum(2)).clamp_min(0)[:,:,None]
            v_=amp[:,None]*(V+l[:,None,None]*cfg.get('tvar',1.0)); u=up[:,None]
            mean=torch.where(u,m_,mean); var=torch.where(u,v_,var); loo=torch.where(u,Y-E,loo); loov=torch.where(u,(amp[:,None]/q[:,:,None]),loov)
        if cfg.get('yj') and not cfg.get('climb'):
            hx,hw=np.polynomial.hermite_e.hermegauss(15); hw=hw/hw.sum()
            def back(m,v):
                sd=v.clamp_min(0).sqrt(); e1=0; e2=0
                for x_,w_ in zip(hx,hw):
                    t_=yj_inv((m+sd*float(x_))*ws+wm,lam_[:,None])/cfg.get('yscale',1.0); t_=t_.clamp(-30,30); e1=e1+float(w_)*t_; e2=e2+float(w_)*t_*t_
                return e1,(e2-e1*e1).clamp_min(1e-9)
            mean,var=back(mean,var); loo,loov=back(loo,loov)
    res=[]
    for b,p in enumerate(ps):
        N_,C_=p['Y'].shape; T_=len(p['Yt'])
        M=mean[b,:T_,:C_].cpu().numpy(); S=np.sqrt(var[b,:T_,:C_].cpu().numpy()); LO=loo[b,:N_,:C_].cpu().numpy(); LV=np.sqrt(loov[b,:N_,:C_].cpu().numpy())
        res.append(dict(name=p['name'],fold=p['fold'],mean=M,std=S,loo=LO,loostd=LV,ev=float(ev[b]),par={k:v[b].detach().cpu().numpy() for k,v in par.items()}))
    return res
def score(p,M,S):
    Y=p['Yt']; sst=((Y-Y.mean(0))**2).sum(0); ok=sst>0
    r=1-((Y-M)**2).sum(0)[ok]/sst[ok]
    raw=Y*p['sy']+p['my']; pm=M*p['sy']+p['my']
    pooled=1-((raw-pm)**2).sum()/((raw-raw.mean())**2).sum()
    nl=(.5*np.log(2*np.pi*S**2)+.5*((Y-M)/S)**2).mean(); cov=(np.abs(Y-M)<1.6449*S).mean()
    return r.mean(),pooled,nl,cov
def main(which,cfgs,out,save):
    global WARP
    WARP=any(c.get('warp') for c in cfgs.values())
    P=problems(which); idx={(p['name'],p['fold']):p for p in P}; bs=buckets(P)
    store={}
    for ci,(cname,cfg) in enumerate(cfgs.items()):
        t=time.time(); rec={}
        try:
            def results():
                if cfg.get('single'):
                    acc={}
                    for b in buckets(split_tasks(P)):
                        for h in range(0,len(b),120):
                            for q,r in zip(b[h:h+120],run_bucket(b[h:h+120],cfg)): acc.setdefault((r['name'],r['fold']),{})[q['task']]=r
                    for (n_,f_),t_ in acc.items():
                        r=dict(t_[0]); 
                        for k in('mean','std','loo'): r[k]=np.concatenate([t_[c][k] for c in sorted(t_)],1)
                        r['ev']=sum(v['ev'] for v in t_.values()); yield r
                elif cfg.get('stage2'):
                    first={}
                    for b in bs:
                        for r in run_bucket(b,cfg): first[r['name'],r['fold']]=r
                    P2=[]
                    for p in P:
                        r=first[p['name'],p['fold']]; q=dict(p); a,b_=r['loo'],r['mean']; m_,s_=standardise(a)
                        q['raw']=(np.c_[p['raw'][0],(a-m_)/s_],np.c_[p['raw'][1],(b_-m_)/s_]); P2.append(q)
                    for b in buckets(P2):
                        for r in run_bucket(b,dict(cfg,**cfg['stage2'])):
                            f_=first[r['name'],r['fold']]
                            if cfg.get('half'):
                                for k in('mean','loo','std'): r[k]=.5*r[k]+.5*f_[k]
                            yield r
                else:
                    for b in bs: yield from run_bucket(b,cfg)
            if 1:
                for r in results():
                    p=idx[r['name'],r['fold']]; s=score(p,r['mean'],r['std'])
                    l=1-((p['Y']-r['loo'])**2).mean()/1.0
                    rl=1-(((p['Y']-r['loo'])*p['sy'])**2).sum()/(lambda R:((R-R.mean())**2).sum())(p['Y']*p['sy']+p['my']); rec.setdefault(r['name'],[]).append(list(s)+[l,r['ev'],rl])
                    if save:
                        for k in('mean','std','loo'): store[f'{cname}|{r["name"]}|{r["fold"]}|{k}']=r[k].astype(np.float16 if k=='loo' else np.float32)
                        store[f'{cname}|{r["name"]}|{r["fold"]}|lr']=r['par']['lr'].astype(np.float32); store[f'{cname}|{r["name"]}|{r["fold"]}|h']=np.r_[r['par']['lg'],r['par']['lv'],r['par']['ls']].astype(np.float32)
        except torch.cuda.OutOfMemoryError as e: print(cname,'OOM'); continue
        torch.cuda.empty_cache() if dev=='cuda' else None
        avg={n:np.mean(v,0).tolist() for n,v in rec.items()}
        with open(out+'/res.jsonl','a') as f: f.write(json.dumps(dict(cfg=cname,set=cfg,res=avg))+'\n')
        for nm in avg:
            if nm.startswith('real'): print('   %-12s %-10s loo task %.4f pooled raw %.4f'%(cname,nm,avg[nm][4],avg[nm][6]),'| test task %.4f pooled %.4f nlpd %.3f cov %.3f'%tuple(avg[nm][:4]) if LOOK else '')
        for g in('dev','syn','real'):
            a=[v for n,v in avg.items() if n.startswith(g)]
            if a:
                a=np.array(a); a[:,:4]*=(g!='real' or LOOK); print('%-18s %-4s task %.4f pooled %.4f nlpd %.3f cov %.3f loo %.4f ev %.1f  %.0fs'%(cname,g,np.maximum(a[:,0],-.5).mean(),np.maximum(a[:,1],-.5).mean(),np.median(a[:,2]),a[:,3].mean(),a[:,4].mean(),a[:,5].mean(),time.time()-t),flush=True)
        if save and (ci%8==7 or ci==len(cfgs)-1): np.savez_compressed(out+'/'+save+str(ci//8)+'.npz',**store); store.clear()
if __name__=='__main__':
    spec=json.load(open(here+'/'+sys.argv[1])); LOOK=spec.get('look',False); main(spec['which'],spec['cfgs'],sys.argv[2],spec.get('save'))
