/*
 * step_ledger.pml - model of one training step of the swarm, for the spin model checker.
 * The prose is step-protocol.md; names are the same (FWD, BWD: FORWARD, BACKWARD). Run it with check.sh.
 *
 * Shape: one event loop. Every clause of the loop is one atomic "event -> actions" of one machine, exactly
 * as the real classes are written (no clock, no socket). The network is a BAG of messages: any message may be
 * delivered at any later time and in any order, so a slow peer, a frozen peer, a slow link and reordering
 * between connections need no extra code. Loss and duplication are explicit faults with a budget.
 *
 *   peers   0 .. P-1, each holds one stage          coordinator   one, its volatile state is lost on restart
 *   step    0 .. T-1 (= parameter version)          wal           number of committed steps, survives restart
 *   epoch   1, 2, ..  within a step: grows with every recall; an attempt's number is the epoch that launched it
 *
 * Abstractions: a gradient is a one-hot count, so a sum shows which microbatches it holds and how often; the
 * butterfly is "a member has a result once a part of every member reached it"; a lost control message is sent
 * again on reconnect and so equals a late one; timers may fire falsely (cost: one fault) and fire for free once
 * what they wait for can no longer come.
 *
 * Compile-time: CFG (1: 2+2 peers, 2: 1+2+1, 3: 3+1), M microbatches (2), T steps, F faults, NO_<fault>, MUT_<rule>;
 *   SYNC     reports to the coordinator are handled when sent, and its own next move follows at once (smaller)
 *   JOIN=p   peer p has the state but is no member at first; it may be admitted at any moment of any step
 *   READMIT  a fenced peer may come back within the step, in a new and empty slot
 *   MUT_SUPERSET weakens the id-set check to "at least"; with it the rules that the check backs up can be seen to matter
 * A counterexample is read with: spin <same -D flags> -t step_ledger.pml
 */
#ifndef CFG
#define CFG 1
#endif
#ifndef M
#define M 2
#endif
#ifndef T
#define T 2
#endif
#ifndef F
#define F 2
#endif
#ifndef K
#define K 16                       /* size of the bag, 12 or 16; overflow is an assertion */
#endif
#define P 4
#define EMAX 12                    /* epochs per step; exceeding it is an assertion (unbounded retry) */

#if CFG == 1
#define S 2
#define STAGE(p)  ((p) >> 1)
#define SMASK(s)  ((s) == 0 -> 3 : 12)
#define FIRST(s)  ((s) << 1)
#define CNT(s)    2
#elif CFG == 2
#define S 3
#define STAGE(p)  ((p) == 0 -> 0 : ((p) == 3 -> 2 : 1))
#define SMASK(s)  ((s) == 0 -> 1 : ((s) == 1 -> 6 : 8))
#define FIRST(s)  ((s) == 0 -> 0 : ((s) == 1 -> 1 : 3))
#define CNT(s)    ((s) == 1 -> 2 : 1)
#else
#define S 2
#define STAGE(p)  ((p) == 3 -> 1 : 0)
#define SMASK(s)  ((s) == 0 -> 7 : 8)
#define FIRST(s)  ((s) == 0 -> 0 : 3)
#define CNT(s)    ((s) == 0 -> 3 : 1)
#endif
#define ALLP      15
#define ALLS      ((1 << S) - 1)
#define ALLM      ((1 << M) - 1)
#define BIT(i)    (1 << (i))
#define TAIL(p)   (STAGE(p) == S - 1)

/* A sum of gradients: two bits per microbatch = how often it is in. ONCE(ids): every id of the set once. */
#define ONCE(ids) (((ids) & 1) | (((ids) & 2) << 1) | (((ids) & 4) << 2))
#define FULL      ONCE(ALLM)
#define HAS(c, m) (((c) >> (2 * (m))) & 3)
#define IDS(c)    ((HAS(c,0) != 0) | ((HAS(c,1) != 0) << 1) | ((HAS(c,2) != 0) << 2))

/* ---- messages: one int each ------------------------------------------------------------------------------ */
#define FWD       1                /* hop -> hop: activation.  mb, epoch = attempt, x = accumulate mask, y = path    */
#define BWD       2                /* hop -> hop: gradient, back along the path                                    */
#define PATH      3                /* tail -> coordinator: forward of (mb, attempt) done over this path             */
#define RECALL    4                /* coordinator -> member: x = set of mb; "report them and refuse older attempts" */
#define HELD      5                /* member -> coordinator: x = ids held out of the recalled set                   */
#define REDUCE    6                /* coordinator -> member: x = ids it must hold exactly, y = group                */
#define PART      7                /* member -> member of the stage: x = sender, y = its sum                        */
#define REDUCED   8                /* member -> coordinator: has the complete result of the epoch; y = its content  */
#define MISMATCH  9                /* member -> coordinator: I hold ids that REDUCE did not list                    */
#define COMMIT   10                /* coordinator -> all: step t is committed with the result of this epoch         */

#define MSG(k,p,t,m,e,x,y) ((k) | ((p) << 4) | ((t) << 7) | ((m) << 9) | ((e) << 11) | ((x) << 15) | ((y) << 19))
#define KIND(v)  ((v) & 15)
#define PEER(v)  (((v) >> 4) & 7)
#define STEP(v)  (((v) >> 7) & 3)
#define MB(v)    (((v) >> 9) & 3)
#define EP(v)    (((v) >> 11) & 15)
#define X(v)     (((v) >> 15) & 15)
#define Y(v)     ((v) >> 19)
#define HOP(y,s) (((y) >> (3 * (s))) & 7)            /* peer of stage s on a path */

int  net[K];                       /* the bag, sorted so that equal bags are equal states */

/* ---- peers (all volatile) ------------------------------------------------------------------------------- */
byte alive = ALLP;
byte ver[P];                       /* parameter version = step it works on          */
byte acc[P];                       /* accumulator of the step                        */
byte floor_[P * M];                /* lowest attempt accepted, per microbatch        */
byte seen[P * M];                  /* highest attempt whose forward was served       */
byte pe[P];                        /* highest epoch heard of from the coordinator    */
byte tgt[P];                       /* epoch of the reduce it was told, 0 = none      */
byte tids[P];                      /* ids it must hold for that reduce               */
byte grp[P];                       /* members of that reduce                         */
byte sealed;                       /* bit per peer: accumulator frozen for tgt       */
byte rx[P];                        /* whose parts came in                            */
byte sum_[P];                      /* result buffer, apart from the accumulator      */
byte rese[P];                      /* epoch of a complete result, 0 = none           */
byte hist[P];                      /* epoch applied at step 0                        */

/* ---- coordinator ----------------------------------------------------------------------------------------- */
byte wal;                          /* durable: committed steps; wal is also the step being worked on            */
byte wale[T];                      /* durable: epoch committed per step                                          */
byte emax = 1;                     /* durable: highest epoch of this step ever used (a reserved block in the WAL) */
#define RUN      0
#define RECALLING 1
#define REDUCING 2
#define DECIDED  3
byte phase;
byte e = 1;                        /* current epoch */
#ifdef JOIN
byte member = (ALLP & ~BIT(JOIN)); /* this peer has the state but is admitted later, at any moment */
byte joiner = BIT(JOIN);
#else
byte member = ALLP;
#endif
byte adm[P];                       /* epoch of admission: paths with an older attempt through p are void */
byte ids[P];                       /* the ledger: ids the coordinator holds p to have */
byte att[M];                       /* current attempt */
byte mask[M];                      /* stages that must accumulate in it */
byte lm[M];                        /* members when it was launched: what routers may still pick from */
byte todo = ALLM;                  /* to launch */
byte pathed;                       /* path known (or nothing left to do) */
byte need;                         /* must be recalled */
byte rset;                         /* set under recall */
byte wait_;                        /* members that still owe HELD */
byte red;                          /* members that reported REDUCED */
bool bad;                          /* some REDUCED of this epoch was not "every id once" */
bool hurt;                         /* a member was fenced, or complained, since REDUCE */
byte faults = F;
byte used;                         /* stages in which some replica was picked in the fault-free start */
#ifdef MUT_NOFENCE
byte susp;
#define LOST(p) (susp & BIT(p))
#else
#define LOST(p) 0
#endif

hidden int v; hidden int w;
hidden byte i; hidden byte j; hidden byte k; hidden byte p; hidden byte q; hidden byte m; hidden byte s; hidden byte c;
hidden int sel_; hidden byte sel; hidden byte r; hidden byte b;

/* ---- the bag --------------------------------------------------------------------------------------------- */
inline put(packed) {
  assert(net[K-1] == 0);
  w = packed; k = K - 1;
  do :: k > 0 && net[k-1] < w -> net[k] = net[k-1]; k-- :: else -> break od;
  net[k] = w
}
inline take(at) {
  k = at;
  do :: k < K-1 && net[k] != 0 -> net[k] = net[k+1]; k++ :: else -> break od;
  net[K-1] = 0
}
inline to_peer(who, val) {
  if
       :: (alive & BIT(who)) -> put(val)
       :: else
       fi
}

/* A message that its receiver would ignore now and for ever. Such messages are dropped at once: fewer states. */
#define FL(v)    floor_[PEER(v) * M + MB(v)]
#define SN(v)    seen[PEER(v) * M + MB(v)]
#define VER(v)   ver[PEER(v)]
#define GONE(v)  (!(alive & BIT(PEER(v))) || STEP(v) < VER(v))
#ifdef MUT_NOFLOOR
#define OLD(v)   0
#else
#define OLD(v)   (EP(v) < FL(v))
#endif
#ifdef MUT_NODEDUP
#define AGAIN(v) 0
#else
#define AGAIN(v) (EP(v) <= SN(v))
#endif
#ifdef MUT_NOEPOCH
#define OLDPART(v) 0
#else
#define OLDPART(v) (EP(v) < pe[PEER(v)] || (tgt[PEER(v)] == EP(v) && (rx[PEER(v)] & BIT(X(v)))))
#endif
#ifdef MUT_NOVERSION
#define GONED(v) (!(alive & BIT(PEER(v))))
#else
#define GONED(v) GONE(v)
#endif
#define NOOP(v) ( \
  (KIND(v) == FWD      && (GONED(v) || (STEP(v) == VER(v) && (OLD(v) || AGAIN(v))))) || \
  (KIND(v) == BWD      && (GONED(v) || (STEP(v) == VER(v) && (OLD(v) || ((X(v) & BIT(STAGE(PEER(v)))) && HAS(acc[PEER(v)], MB(v))))))) || \
  (KIND(v) == PATH     && (STEP(v) < wal || EP(v) != att[MB(v)] || (pathed & BIT(MB(v))) || phase > RECALLING)) || \
  (KIND(v) == RECALL   && (GONE(v) || (STEP(v) == VER(v) && EP(v) <= pe[PEER(v)]))) || \
  (KIND(v) == HELD     && (STEP(v) < wal || EP(v) != e || phase != RECALLING || !(wait_ & BIT(PEER(v))))) || \
  (KIND(v) == REDUCE   && (GONE(v) || (STEP(v) == VER(v) && (EP(v) < pe[PEER(v)] || EP(v) == tgt[PEER(v)])))) || \
  (KIND(v) == PART     && (GONE(v) || (STEP(v) == VER(v) && OLDPART(v)))) || \
  ((KIND(v) == REDUCED || KIND(v) == MISMATCH) && (STEP(v) < wal || EP(v) != e || phase != REDUCING || (red & BIT(PEER(v))))) || \
  (KIND(v) == COMMIT   && GONE(v)) )
inline purge() {
  i = 0;
  do
  :: i < K && net[i] != 0 -> if
       :: NOOP(net[i]) -> take(i)
       :: else -> i++
       fi
  :: else -> break
  od;
  v = 0; w = 0
}

/* Can this message be handled now? r: which replica of the next stage the router of a forward picks. */
#define SYNCABLE(v) ((alive & SMASK(STAGE(PEER(v)))) & ( (ver[0] > STEP(v)) | ((ver[1] > STEP(v)) << 1) | ((ver[2] > STEP(v)) << 2) | ((ver[3] > STEP(v)) << 3)))
#ifdef MUT_NOVERSION
#define SAMEV(v) 1
#else
#define SAMEV(v) (STEP(v) == VER(v))
#endif
/* Replicas nobody has used yet are alike: the first pick of a stage may as well be its first replica. */
#define PICKED(st, r) ((r) == 0 || (used & BIT(st)) || faults < F || wal > 0)
#define READY(v, r) ((v) != 0 && wal < T && ( \
  (KIND(v) == FWD && SAMEV(v) && (TAIL(PEER(v)) -> (r) == 0 : \
      ((r) < CNT(STAGE(PEER(v)) + 1) && PICKED(STAGE(PEER(v)) + 1, r) && (lm[MB(v)] & BIT(FIRST(STAGE(PEER(v)) + 1) + (r)))))) || \
  ((r) == 0 && ( \
    (KIND(v) == BWD && SAMEV(v)) || \
    (KIND(v) == PATH && STEP(v) == wal) || \
    ((KIND(v) == HELD || KIND(v) == REDUCED || KIND(v) == MISMATCH) && STEP(v) == wal) || \
    ((KIND(v) == RECALL || KIND(v) == REDUCE) && STEP(v) == VER(v)) || \
    (KIND(v) == PART && STEP(v) == VER(v) && PARTNOW(v)) || \
    (KIND(v) == COMMIT && STEP(v) == VER(v) && (rese[PEER(v)] == EP(v) || SYNCABLE(v))) ))))
#ifdef MUT_NOEPOCH
#define PARTNOW(v) 1
#else
#define PARTNOW(v) (tgt[PEER(v)] == EP(v))
#endif

/* ---- coordinator: reports from peers --------------------------------------------------------------------- */
inline on_path(val) {
  m = MB(val); s = 0; b = 1;
  do
  :: s < S ->
       p = HOP(Y(val), s);
       if :: (mask[m] & BIT(s)) && (!(member & BIT(p)) || EP(val) < adm[p]) -> b = 0 :: else fi; s++
  :: else -> break
  od;
  if
  :: b -> pathed = pathed | BIT(m); s = 0;
       do
       :: s < S -> p = HOP(Y(val), s); if :: (mask[m] & BIT(s)) -> ids[p] = ids[p] | BIT(m) :: else fi; s++
       :: else -> break
       od
  :: else -> need = need | BIT(m)                  /* went through a fenced slot: ask who has what */
  fi
}
inline on_held(val) {
  p = PEER(val);
  ids[p] = (ids[p] & ~rset) | (X(val) & rset);
  wait_ = wait_ & ~BIT(p)
}
inline on_reduced(val) {
  if :: (member & BIT(PEER(val))) -> red = red | BIT(PEER(val)); if :: Y(val) != FULL -> bad = 1 :: else fi :: else fi
}

/* ---- peer: reduce ---------------------------------------------------------------------------------------- */
inline clear_reduce(pp) {
  tgt[pp] = 0; tids[pp] = 0; grp[pp] = 0; rx[pp] = 0; sum_[pp] = 0; rese[pp] = 0; sealed = sealed & ~BIT(pp)
}
#if defined(MUT_NOIDCHECK)
#define MAYSEAL(pp) 1
#elif defined(MUT_SUPERSET)
#define MAYSEAL(pp) ((acc[pp] & ONCE(tids[pp])) == ONCE(tids[pp]))  /* "at least" instead of "exactly" */
#else
#define MAYSEAL(pp) (acc[pp] == ONCE(tids[pp]))      /* the id-set check: I hold exactly what the ledger says */
#endif
inline try_done(pp) {
  if
  :: (sealed & BIT(pp)) && (rx[pp] & grp[pp]) == grp[pp] && rese[pp] == 0 ->
       rese[pp] = tgt[pp];
#ifdef SYNC
       v = MSG(REDUCED, pp, ver[pp], 0, tgt[pp], 0, sum_[pp]);
       if :: !(NOOP(v)) -> on_reduced(v) :: else fi
#else
       put(MSG(REDUCED, pp, ver[pp], 0, tgt[pp], 0, sum_[pp]))
#endif
  :: else
  fi
}
inline try_seal(pp) {
  if
  :: tgt[pp] != 0 && !(sealed & BIT(pp)) && rese[pp] == 0 && MAYSEAL(pp) ->
       sealed = sealed | BIT(pp);
       sum_[pp] = sum_[pp] + acc[pp];
       rx[pp] = rx[pp] | BIT(pp);
       j = 0;
       do
       :: j < P -> if
            :: j != pp && (grp[pp] & BIT(j)) -> to_peer(j, MSG(PART, j, ver[pp], 0, tgt[pp], pp, acc[pp]))
            :: else
            fi; j++
       :: else -> break
       od;
       try_done(pp)
  :: tgt[pp] != 0 && !(sealed & BIT(pp)) && !MAYSEAL(pp) && (acc[pp] & ~ONCE(tids[pp])) ->
#ifdef SYNC
       v = MSG(MISMATCH, pp, ver[pp], 0, tgt[pp], 0, 0);
       if :: !(NOOP(v)) -> hurt = 1 :: else fi;
#else
       put(MSG(MISMATCH, pp, ver[pp], 0, tgt[pp], 0, 0));
#endif
       tgt[pp] = 0; tids[pp] = 0; grp[pp] = 0; rx[pp] = 0; sum_[pp] = 0
  :: else
  fi
}
inline on_recall(pp, val) {        /* Y = 1: void the accumulator first (new slot of a fenced or joining peer) */
  pe[pp] = EP(val);
  clear_reduce(pp);
  if :: Y(val) == 1 -> acc[pp] = 0 :: else fi;
  m = 0;
  do
  :: m < M -> if :: (X(val) & BIT(m)) -> floor_[pp * M + m] = EP(val) :: else fi; m++
  :: else -> break
  od;
#ifdef SYNC
  v = MSG(HELD, pp, ver[pp], 0, EP(val), (IDS(acc[pp]) & X(val)), 0);
  if :: !(NOOP(v)) -> on_held(v) :: else fi
#else
  put(MSG(HELD, pp, ver[pp], 0, EP(val), (IDS(acc[pp]) & X(val)), 0))
#endif
}
inline on_reduce(pp, val) {
  pe[pp] = EP(val); tgt[pp] = EP(val); tids[pp] = X(val); grp[pp] = Y(val);
  try_seal(pp)
}
inline on_part(pp, val) {
  rx[pp] = rx[pp] | BIT(X(val));
  sum_[pp] = sum_[pp] + Y(val);
  try_done(pp)
}
inline on_commit(pp, val) {
  if
#ifdef MUT_COMMITANY
  :: rese[pp] != 0 -> hist[pp] = rese[pp]                            /* applies whatever result it has */
#else
  :: rese[pp] == EP(val) -> assert(sum_[pp] == FULL); hist[pp] = EP(val)   /* applies that epoch's result */
#endif
  :: else -> hist[pp] = EP(val)                                      /* fetches the state from a holder */
  fi;
  ver[pp] = ver[pp] + 1;
#ifndef MUT_NOFSYNC
  assert(ver[pp] <= wal);                                            /* no peer is ahead of the WAL */
#endif
  assert(hist[pp] == wale[0] || wal == 0);                           /* one version history */
  acc[pp] = 0; pe[pp] = 0; clear_reduce(pp);
  m = 0; do :: m < M -> floor_[pp * M + m] = 0; seen[pp * M + m] = 0; m++ :: else -> break od
}

/* ---- peer: waves ----------------------------------------------------------------------------------------- */
inline pass_back(pp, val) {        /* hand the gradient to the hop below, unless nobody below accumulates */
  if
  :: STAGE(pp) > 0 && (X(val) & (BIT(STAGE(pp)) - 1)) ->
       q = HOP(Y(val), STAGE(pp) - 1);
       to_peer(q, MSG(BWD, q, STEP(val), MB(val), EP(val), X(val), Y(val)))
  :: else
  fi
}
inline accumulate(pp, val) {       /* add once, only if this stage is in the mask */
  if
  :: (X(val) & BIT(STAGE(pp))) && !(sealed & BIT(pp)) && !HAS(acc[pp], MB(val)) ->
       assert(STEP(val) == ver[pp]);               /* a gradient of these parameters */
       acc[pp] = acc[pp] + BIT(2 * MB(val))
  :: else
  fi
}
inline on_forward(pp, val) {
  c = pp * M + MB(val);
  if :: EP(val) > seen[c] -> seen[c] = EP(val) :: else fi;
  if
  :: TAIL(pp) ->                   /* loss, own backward, report the path */
       w = Y(val) | (pp << (3 * (S - 1)));
       v = MSG(FWD, pp, STEP(val), MB(val), EP(val), X(val), w);
       accumulate(pp, v);
       pass_back(pp, v);
#ifdef SYNC
       r = pp; sel_ = v;
       try_seal(r);
       v = MSG(PATH, 0, STEP(sel_), MB(sel_), EP(sel_), 0, Y(sel_));
       if :: !(NOOP(v)) && STEP(v) == wal -> on_path(v) :: else fi
#else
       put(MSG(PATH, 0, STEP(v), MB(v), EP(v), 0, Y(v)));
       try_seal(pp)
#endif
  :: else ->
       q = FIRST(STAGE(pp) + 1) + r; used = used | BIT(STAGE(pp) + 1);
       to_peer(q, MSG(FWD, q, STEP(val), MB(val), EP(val), X(val), (Y(val) | (pp << (3 * STAGE(pp))))))
  fi
}
inline on_backward(pp, val) {
  accumulate(pp, val);
  pass_back(pp, val);
  try_seal(pp)
}

/* ---- coordinator ----------------------------------------------------------------------------------------- */
#define STAFFED  ((member & SMASK(0)) && (member & SMASK(1)) && (S == 2 || (member & SMASK(S - 1))))
inline fence(pp) {
  printf("fence %d (alive %d)\n", pp, (alive & BIT(pp)) != 0);
#ifdef MUT_NOFENCE                                 /* its work is replayed, yet it stays in the reduce group */
  need = need | ids[pp]; wait_ = wait_ & ~BIT(pp); susp = susp | BIT(pp);
#else
  member = member & ~BIT(pp); wait_ = wait_ & ~BIT(pp); red = red & ~BIT(pp);
  need = need | ids[pp]; ids[pp] = 0; adm[pp] = 0;
#endif
  if :: phase == REDUCING -> hurt = 1 :: else fi
}
inline start_recall(set, voided) {
  e = emax + 1; emax = e; assert(e < EMAX);
  printf("recall: epoch %d, set %d, members %d, void %d\n", e, set, member, voided);
  phase = RECALLING; rset = set; wait_ = member; red = 0; bad = 0; hurt = 0;
  need = need & ~rset; pathed = pathed & ~rset; todo = todo & ~rset;
  m = 0;
  do
  :: m < M -> if :: (rset & BIT(m)) -> att[m] = e; mask[m] = 0; lm[m] = 0 :: else fi; m++
  :: else -> break
  od;
  p = 0;
  do
  :: p < P ->
       if :: (voided & BIT(p)) -> adm[p] = e; ids[p] = 0; c = ALLM; b = 1 :: else -> c = rset; b = 0 fi;
       if
       :: (member & BIT(p)) -> to_peer(p, MSG(RECALL, p, wal, 0, e, c, b))
       :: else
       fi; p++
  :: else -> break
  od
}
inline finish_recall() {
#ifndef MUT_NOFENCE
  p = 0;                                           /* two members with the same id (only after a restart): fence one */
  do
  :: p < P -> q = p + 1;
       do
       :: q < P -> if
            :: STAGE(p) == STAGE(q) && (member & BIT(p)) && (member & BIT(q)) && (ids[p] & ids[q]) -> fence(q)
            :: else
            fi; q++
       :: else -> break
       od; p++
  :: else -> break
  od;
#endif
  need = need & ~rset;
  m = 0;
  do
  :: m < M ->
       if
       :: (rset & BIT(m)) ->
            mask[m] = ALLS;
#ifndef MUT_NOMASK
            p = 0;
            do
            :: p < P -> if :: (ids[p] & BIT(m)) && !LOST(p) -> mask[m] = mask[m] & ~BIT(STAGE(p)) :: else fi; p++
            :: else -> break
            od;
#endif
            if :: mask[m] == 0 -> pathed = pathed | BIT(m) :: else -> todo = todo | BIT(m) fi
       :: else
       fi; m++
  :: else -> break
  od;
  phase = RUN; rset = 0
}
inline launch(pp) {                                /* the lowest microbatch to do goes to stage-0 peer pp */
  m = 0; do :: !(todo & BIT(m)) -> m++ :: else -> break od;
  printf("launch mb %d attempt %d mask %d at %d\n", m, att[m], mask[m], pp);
  todo = todo & ~BIT(m); lm[m] = member;
  to_peer(pp, MSG(FWD, pp, wal, m, att[m], mask[m], 0))
}
inline start_reduce() {
  phase = REDUCING; red = 0; bad = 0; hurt = 0;
  printf("reduce: step %d epoch %d, ids %d %d %d %d\n", wal, e, ids[0], ids[1], ids[2], ids[3]);
  p = 0;
  do
  :: p < P -> if
       :: (member & BIT(p)) -> to_peer(p, MSG(REDUCE, p, wal, 0, e, ids[p], (member & SMASK(STAGE(p)))))
       :: else
       fi; p++
  :: else -> break
  od
}
inline broadcast(st) {
  p = 0;
  do :: p < P -> if
       :: (alive & BIT(p)) && ver[p] == st -> put(MSG(COMMIT, p, st, 0, wale[st], 0, 0))
       :: else
       fi; p++ :: else -> break od
}
#ifdef MUT_NOHOLDER                                /* commits when one stage has reported, not every stage */
#define MAYCOMMIT (phase == REDUCING && ((red & SMASK(0)) || (red & SMASK(1))))
#else
#define MAYCOMMIT (phase == REDUCING && red == member && STAFFED)
#endif
inline decide() {                                  /* WAL append + fsync; nothing is said before it returns */
  printf("decide: step %d epoch %d\n", wal, e);
  assert(!bad);                                    /* every (stage, microbatch) exactly once */
  s = 0;
  do :: s < S -> assert(red & alive & SMASK(s)); s++ :: else -> break od;   /* a live holder per stage */
#ifdef MUT_NOFSYNC
  wale[wal] = e; broadcast(wal); phase = DECIDED; hurt = 0
}
#else
  wale[wal] = e; wal = wal + 1; phase = DECIDED; hurt = 0
}
#endif
inline next_step() {                               /* member: the holders; a fresh ledger */
  member = red; e = 1; emax = 1; red = 0; phase = RUN; todo = ALLM; pathed = 0; need = 0; hurt = 0; bad = 0; rset = 0; wait_ = 0;
  p = 0; do :: p < P -> ids[p] = 0; adm[p] = 0; p++ :: else -> break od;
  m = 0; do :: m < M -> att[m] = 1; mask[m] = ALLS; lm[m] = 0; m++ :: else -> break od
}
inline restart() {                                 /* volatile state is gone: recall everything from everybody */
  printf("FAULT restart of the coordinator\n");
#ifdef MUT_NOFSYNC
  wale[wal] = 0;
#else
  if :: phase == DECIDED -> broadcast(wal - 1); emax = 1 :: else fi;
#endif
#ifdef MUT_EPOCHREUSE
  emax = 0;
#endif
  member = ALLP; p = 0; do :: p < P -> ids[p] = 0; adm[p] = 0; p++ :: else -> break od;
  need = 0; todo = 0; pathed = 0;
  start_recall(ALLM, 0)
}

/* ---- fault model: at every moment each stage has a live, unfenced peer with the committed state ------------ */
#define CURRENT(p) (ver[p] == wal || (wal > 0 && ver[p] + 1 == wal && rese[p] == wale[(wal > 0 -> wal - 1 : 0)]))
#define OK(p)      ((alive & member & BIT(p)) && CURRENT(p))
#define OTHER(p)   ((STAGE(0) == STAGE(p) && (p) != 0 && OK(0)) || (STAGE(1) == STAGE(p) && (p) != 1 && OK(1)) || \
                    (STAGE(2) == STAGE(p) && (p) != 2 && OK(2)) || (STAGE(3) == STAGE(p) && (p) != 3 && OK(3)))
inline crash(pp, dropped) {
  printf("FAULT crash of %d, its messages %d (1 = lost)\n", pp, dropped);
  alive = alive & ~BIT(pp);
  ver[pp] = 0; acc[pp] = 0; pe[pp] = 0; hist[pp] = 0; clear_reduce(pp);
  m = 0; do :: m < M -> floor_[pp * M + m] = 0; seen[pp * M + m] = 0; m++ :: else -> break od;
  i = 0;                                           /* what it sent and nobody has read yet: all there, or all lost */
  do
  :: dropped && i < K && net[i] != 0 ->
       v = net[i];
       if
       :: (KIND(v) == PATH && HOP(Y(v), S - 1) == pp) ||
          ((KIND(v) == HELD || KIND(v) == REDUCED || KIND(v) == MISMATCH) && PEER(v) == pp) ||
          (KIND(v) == PART && X(v) == pp) ||
          (KIND(v) == BWD && HOP(Y(v), STAGE(PEER(v)) + 1) == pp) ||
          (KIND(v) == FWD && STAGE(PEER(v)) > 0 && HOP(Y(v), STAGE(PEER(v)) - 1) == pp) -> take(i)
       :: else -> i++
       fi
  :: else -> break
  od
}

inline settle() {                  /* after every event; with SYNC the coordinator's own next moves are immediate */
  purge();
#ifdef SYNC
  if
  :: phase == RECALLING && wait_ == 0 -> finish_recall()
  :: else
  fi;
  if
  :: phase == RUN && need == 0 && pathed == ALLM && STAFFED -> start_reduce()
  :: else
  fi;
  purge()
#endif
}

#if K == 16
#define MORE(f) ||f(12)||f(13)||f(14)||f(15)
#define MOREEACH(f) :: CAN && f(12) -> sel = 12 :: CAN && f(13) -> sel = 13 :: CAN && f(14) -> sel = 14 :: CAN && f(15) -> sel = 15
#define MOREPICK PICK(12) PICK(13) PICK(14) PICK(15)
#else                              /* K == 12 */
#define MORE(f)
#define MOREEACH(f)
#define MOREPICK
#endif
#define ANYK(f) (f(0)||f(1)||f(2)||f(3)||f(4)||f(5)||f(6)||f(7)||f(8)||f(9)||f(10)||f(11) MORE(f))
#define WAVE0(n) ((KIND(net[n]) == FWD || KIND(net[n]) == PATH) && STEP(net[n]) == wal && MB(net[n]) == 0 && EP(net[n]) == att[0])
#define WAVE1(n) ((KIND(net[n]) == FWD || KIND(net[n]) == PATH) && STEP(net[n]) == wal && MB(net[n]) == 1 && EP(net[n]) == att[1])
#define WAVE2(n) ((KIND(net[n]) == FWD || KIND(net[n]) == PATH) && STEP(net[n]) == wal && MB(net[n]) == 2 && EP(net[n]) == att[M - 1])
#define RELEV(n) (net[n] != 0 && STEP(net[n]) == wal && KIND(net[n]) != FWD && KIND(net[n]) != PATH && KIND(net[n]) != RECALL && KIND(net[n]) != HELD)
#define RELEVC(n) (KIND(net[n]) == COMMIT)
#define DEADWAVE(m) (!((m) == 0 -> ANYK(WAVE0) : ((m) == 1 -> ANYK(WAVE1) : ANYK(WAVE2))))
#define OUT(m)   (phase == RUN && !((todo | pathed | need) & BIT(m)))      /* launched, path not known */
#define STUCK    (phase == REDUCING && !(MAYCOMMIT) && !ANYK(RELEV) && !ANYK(RELEVC))

#define PICK(n)  :: READY(net[n], 0) -> sel = n; r = 0 :: READY(net[n], 1) -> sel = n; r = 1 :: READY(net[n], 2) -> sel = n; r = 2
#define DATA(n)  (KIND(net[n]) == FWD || KIND(net[n]) == BWD || KIND(net[n]) == PART)

#define ANY(n)   (net[n] != 0)
#define CAN      (wal < T && faults > 0)          /* first statement of an atomic must imply that the rest can run */
#define EACH(f)  :: CAN && f(0) -> sel = 0 :: CAN && f(1) -> sel = 1 :: CAN && f(2) -> sel = 2 :: CAN && f(3) -> sel = 3 :: CAN && f(4) -> sel = 4 :: CAN && f(5) -> sel = 5 \
                 :: CAN && f(6) -> sel = 6 :: CAN && f(7) -> sel = 7 :: CAN && f(8) -> sel = 8 :: CAN && f(9) -> sel = 9 :: CAN && f(10) -> sel = 10 :: CAN && f(11) -> sel = 11 \
                 MOREEACH(f)
#define PEERS(x) :: ((x) & 1) -> sel = 0 :: ((x) & 2) -> sel = 1 :: ((x) & 4) -> sel = 2 :: ((x) & 8) -> sel = 3
#define LIVE     :: CAN && (alive & 1) && OTHER(0) -> sel = 0 :: CAN && (alive & 2) && OTHER(1) -> sel = 1 \
                 :: CAN && (alive & 4) && OTHER(2) -> sel = 2 :: CAN && (alive & 8) && OTHER(3) -> sel = 3
#define LIVEMEMBER :: CAN && phase != DECIDED && (alive & member & 1) && OTHER(0) -> sel = 0 :: CAN && phase != DECIDED && (alive & member & 2) && OTHER(1) -> sel = 1 \
                 :: CAN && phase != DECIDED && (alive & member & 4) && OTHER(2) -> sel = 2 :: CAN && phase != DECIDED && (alive & member & 8) && OTHER(3) -> sel = 3
/* who may be given a new, empty slot: with READMIT (or JOIN) anybody current, at any time of RUN; else only a peer of an empty stage */
#define EMPTY(p)  ((alive & ~member & BIT(p)) && CURRENT(p) && !(member & SMASK(STAGE(p))))
#define BACK(p)   ((alive & ~member & BIT(p)) && CURRENT(p))
#if defined(READMIT) || defined(JOIN)
#define READMITTABLE (((phase == RUN && (BACK(0))) || (phase == REDUCING && EMPTY(0))) | (((phase == RUN && BACK(1)) || (phase == REDUCING && EMPTY(1))) << 1) | \
                     (((phase == RUN && BACK(2)) || (phase == REDUCING && EMPTY(2))) << 2) | (((phase == RUN && BACK(3)) || (phase == REDUCING && EMPTY(3))) << 3))
#else
#define READMITTABLE ((phase == RUN || phase == REDUCING) -> (EMPTY(0) | (EMPTY(1) << 1) | (EMPTY(2) << 2) | (EMPTY(3) << 3)) : 0)
#endif

init {
  d_step { m = 0; do :: m < M -> att[m] = 1; mask[m] = ALLS; m++ :: else -> break od }
  do
  /* ---------- a message arrives ---------- */
  :: atomic {
       if
       PICK(0) PICK(1) PICK(2) PICK(3) PICK(4) PICK(5) PICK(6) PICK(7) PICK(8) PICK(9) PICK(10) PICK(11) MOREPICK
       fi;
       d_step {
         v = net[sel]; take(sel); p = PEER(v);
         printf("deliver kind %d peer %d step %d mb %d epoch %d x %d y %d\n", KIND(v), p, STEP(v), MB(v), EP(v), X(v), Y(v));
         if
         :: KIND(v) == FWD      -> on_forward(p, v)
         :: KIND(v) == BWD      -> on_backward(p, v)
         :: KIND(v) == PATH     -> on_path(v)
         :: KIND(v) == RECALL   -> on_recall(p, v)
         :: KIND(v) == HELD     -> on_held(v)
         :: KIND(v) == REDUCE   -> on_reduce(p, v)
         :: KIND(v) == PART     -> on_part(p, v)
         :: KIND(v) == REDUCED  -> on_reduced(v)
         :: KIND(v) == MISMATCH -> hurt = 1
         :: KIND(v) == COMMIT   -> on_commit(p, v)
         fi;
         settle()
       } }
  /* ---------- the coordinator decides ---------- */
  :: atomic { wal < T && phase == RUN && todo != 0 && STAFFED ->
       if
       :: (member & SMASK(0) & 1) -> r = 0          /* (a lone first replica that is not 0 is reached through faults < F) */
       :: (member & SMASK(0) & 2) && PICKED(0, 1) -> r = 1
       :: (member & SMASK(0) & 4) && PICKED(0, 2) -> r = 2
       fi;
       d_step { used = used | 1; launch(r); settle() } }
  :: d_step { wal < T && phase == RUN && need != 0 && STAFFED -> start_recall(need, 0); settle() }
  :: d_step { wal < T && phase == RECALLING && wait_ == 0 -> finish_recall(); settle() }
  :: d_step { wal < T && phase == RUN && need == 0 && pathed == ALLM && STAFFED -> start_reduce(); settle() }
  :: d_step { wal < T && phase == REDUCING && (hurt || STUCK) && STAFFED -> start_recall(ALLM, 0); settle() }
  :: d_step { wal < T && MAYCOMMIT -> decide(); settle() }
#ifdef MUT_NOFSYNC
  :: d_step { wal < T && phase == DECIDED -> wal = wal + 1; if
       :: wal < T -> next_step()
       :: else
       fi; settle() }
#else
  :: d_step { wal < T && phase == DECIDED -> broadcast(wal - 1); next_step(); settle() }
#endif
  /* ---------- timers that fire because what they wait for cannot come ---------- */
  :: d_step { wal < T && OUT(0) && DEADWAVE(0) -> need = need | 1 }
  :: d_step { wal < T && OUT(1) && DEADWAVE(1) -> need = need | 2 }
#if M > 2
  :: d_step { wal < T && OUT(2) && DEADWAVE(2) -> need = need | 4 }
#endif
  :: atomic { wal < T && phase != DECIDED && (member & ~alive) != 0 ->        /* a dead member is found dead */
       if PEERS(member & ~alive) fi; d_step { fence(sel); settle() } }
  :: atomic { wal < T && READMITTABLE != 0 ->                                 /* a new, empty slot in this step */
       if PEERS(READMITTABLE) fi; d_step {
         member = member | BIT(sel);
         if :: phase == REDUCING -> r = ALLM :: else -> r = need fi;
         start_recall(r, BIT(sel));
         settle()
       } }
  /* ---------- faults ---------- */
#ifndef NO_CRASH
  :: atomic { if LIVE fi; if :: c = 0 :: c = 1 fi;
       d_step { faults--; crash(sel, c); settle() } }
#endif
#ifndef NO_SUSPECT   /* freeze and return, one-way partition, slow peer: fenced although alive */
  :: atomic { if LIVEMEMBER fi;
       d_step { faults--; fence(sel); settle() } }
#endif
#ifndef NO_LOSS      /* a connection dies with a data message in it */
  :: atomic { if EACH(DATA) fi; d_step { faults--;
       printf("FAULT loss of kind %d to %d, mb %d, epoch %d\n", KIND(net[sel]), PEER(net[sel]), MB(net[sel]), EP(net[sel]));
       take(sel); settle() } }
#endif
#ifndef NO_DUP       /* any message delivered twice */
  :: atomic { if EACH(ANY) fi; d_step { faults--; v = net[sel];
       printf("FAULT duplicate of kind %d to %d, mb %d, epoch %d\n", KIND(v), PEER(v), MB(v), EP(v));
       put(v); settle() } }
#endif
#ifndef NO_TIMEOUT   /* a timer fires although nothing is wrong */
  :: d_step { wal < T && faults > 0 && OUT(0) -> faults--; need = need | 1 }
  :: d_step { wal < T && faults > 0 && OUT(1) -> faults--; need = need | 2 }
  :: d_step { wal < T && faults > 0 && phase == REDUCING && hurt == 0 -> faults--; hurt = 1 }
#endif
#ifndef NO_RESTART   /* the coordinator crashes and comes back from its WAL */
  :: d_step { wal < T && faults > 0 -> faults--; restart(); settle() }
#endif
  :: wal == T -> break
  od
}
