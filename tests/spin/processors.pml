/* Processors that come and go, and the end of the runtime (src/runtime/scheduler.cpp: set_processors, try_leave,
   try_keep, end_workers), as a protocol: which thread waits for the end of which, and for which lock.

   The worker of processor 0 is the thread that called run(). Each of the others has a worker of its own. Tasks ask for
   more or fewer processors; the main task ends at any moment. In the end every worker has been joined, and no thread
   waits.

   With HOLDS_THE_LOCK_AND_JOINS, JOINS_WHO_MAY_RUN_TASKS or STARTS_WITHOUT_THE_LOCK the protocol lacks a defence,
   and Spin must find what is wrong with it. */

#define PROCESSORS 3
#ifndef CHANGES
#define CHANGES 3 /* how often tasks ask for another number, in all */
#endif

bool changing = false;   /* the lock of the thread that changes the number */
byte count = 2;          /* how many processors there are now */
byte changes = 0;
bool ending = false;
bool retires[PROCESSORS];
bool left[PROCESSORS];   /* it runs no tasks any more */
bool has_worker[PROCESSORS];
byte alive[PROCESSORS];  /* workers that have not ended: never two */

inline lock() { atomic { !changing; changing = true } }
inline unlock() { changing = false }

inline start_worker(p) {
  atomic {
    assert(alive[p] == 0); /* no processor has two workers */
    retires[p] = false;
    left[p] = false;
    has_worker[p] = true;
    alive[p] = 1;
    run worker(p)
  }
}
inline join(p) {
  alive[p] == 0;
  has_worker[p] = false
}

/* scheduler::set_processors(wanted) */
inline set_processors(wanted, now, stays) {
  lock();
  now = count;
  do
  :: now < wanted && !ending ->
#ifdef JOINS_WHO_MAY_RUN_TASKS
    stays = false;
#else
    atomic { /* under the scheduler's lock */
      stays = has_worker[now] && !left[now];
      if :: stays -> retires[now] = false :: else fi
    };
#endif
    if
    :: stays
    :: else ->
      if :: has_worker[now] -> join(now) :: else fi;
      start_worker(now)
    fi;
    now++;
    count = now
  :: else -> break
  od;
  do
  :: now > wanted -> now--; count = now; retires[now] = true
  :: else -> break
  od;
  unlock()
}

/* What tasks do, on any processor: now and then one asks for another number of processors, or main ends. */
inline run_a_task(wanted, now, stays) {
  if
  :: atomic { changes < CHANGES -> changes++ };
    if :: wanted = 1 :: wanted = 2 :: wanted = 3 fi;
    set_processors(wanted, now, stays)
  :: ending = true
  :: skip
  fi
}

proctype worker(byte me) {
  byte wanted, now; bool stays;
  do
  :: ending -> break
  :: !ending && retires[me] -> /* leaves(): under the scheduler's lock */
    atomic { left[me] = retires[me] };
    if :: left[me] -> break :: else fi
  :: !ending && !retires[me] -> run_a_task(wanted, now, stays)
  od;
  alive[me] = 0
}

active proctype main() {
  byte wanted, now, i; bool stays;
#ifndef STARTS_WITHOUT_THE_LOCK
  lock();
#endif
  i = 1;
  do
  :: i < count -> start_worker(i); i++
  :: else -> break
  od;
#ifndef STARTS_WITHOUT_THE_LOCK
  unlock();
#endif
  do
  :: ending -> break
  :: !ending -> run_a_task(wanted, now, stays)
  od;
  /* end_workers() */
#ifdef HOLDS_THE_LOCK_AND_JOINS
  lock();
#else
  lock();
  unlock();
#endif
  for (i : 1 .. PROCESSORS - 1) {
    if :: has_worker[i] -> join(i) :: else fi
  }
  for (i : 1 .. PROCESSORS - 1) { assert(alive[i] == 0) }
}
