/* Parking and waking of the runtime's workers (src/runtime/scheduler.cpp, idle_workers.hpp), as a protocol:
   threads that make work, and workers that go to sleep, each do one step at a time, in every order. Memory is
   sequentially consistent here; the model checker (tests/model) has the weaker orders.

   A maker stands for a task that makes others and then computes for ever: only the workers can run those. In the end
   all tasks have been run and all workers have left: a worker that sleeps through work, or through the end, is an
   invalid end state.

   With LOOKS_BEFORE_IT_IS_LISTED, LOOKS_WHILE_IT_IS_COUNTED, FORGETS_WAKE_UPS, DOES_NOT_TRY_AGAIN or LEAVES_COUNTED one
   defence is gone, and Spin must find that. */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef MAKERS
#define MAKERS 2
#endif
#ifndef EACH
#define EACH 1
#endif
#define TASKS (MAKERS * EACH)

#define AWAKE 0
#define ASLEEP 1
#define NOTIFIED 2

byte queue = 0;          /* tasks that any worker may take; put there without the scheduler's lock */
byte idle = 0;           /* how many are listed */
byte spinning = 0;       /* workers that look for work and have found none */
bool listed[WORKERS];    /* with the next one under the scheduler's lock: one atomic step each */
bool spins[WORKERS];
byte park[WORKERS];
byte done = 0;
bool ending = false;
byte left = 0;
byte makers_gone = 0;

inline notify(which) { park[which] = NOTIFIED }

/* idle_workers::claim_one, scheduler::wake_one */
inline wake_one(won, woken) {
  do
  :: idle == 0 -> break
  :: else ->
    atomic { won = false; if :: spinning == 0 -> spinning = 1; won = true :: else fi };
    if :: !won -> break :: else fi;
    woken = WORKERS;
    atomic {
      if
      :: listed[0] -> woken = 0
      :: listed[1] -> woken = 1
#if WORKERS > 2
      :: listed[2] -> woken = 2
#endif
      :: else
      fi;
      if
      :: woken < WORKERS -> listed[woken] = false; idle--; spins[woken] = true
      :: else
      fi
    };
    if :: woken < WORKERS -> notify(woken); break :: else fi;
    atomic { spinning-- };
#ifdef DOES_NOT_TRY_AGAIN
    break
#else
    skip /* a maker may have relied on the count, and a worker may have been listed since */
#endif
  od
}

/* scheduler::stop_spinning */
inline stop_spinning(me, won, woken) {
  if
  :: spins[me] ->
    spins[me] = false;
    atomic { spinning-- };
    if :: queue > 0 -> wake_one(won, woken) :: else fi
  :: else
  fi
}

/* scheduler::look_again: while a worker is counted as spinning, that one finds the work, or looks for it in
   stop_spinning() or here, and then sees that this worker is listed */
inline look_again(result) {
  result = queue > 0;
  if :: result -> result = spinning == 0 :: else fi;
  result = result || ending
}

proctype maker() {
  bool won; byte woken; byte made = 0;
  do
  :: made < EACH -> atomic { queue++ }; made++; wake_one(won, woken)
  :: else -> break
  od;
  atomic { makers_gone++ }
}

proctype worker(byte me) {
  bool took, was, again, won; byte woken, i;
find:
  if :: ending -> goto leave :: else fi;
  atomic { took = false; if :: queue > 0 -> queue--; took = true :: else fi };
  if
  :: took ->
    stop_spinning(me, won, woken);
    atomic { done++ };
    if
    :: done == TASKS ->
      ending = true;
      for (i : 0 .. WORKERS - 1) { notify(i) }
    :: else
    fi;
    goto find
  :: else
  fi;
  /* steal: one more look, by those that are counted */
  if
  :: !spins[me] ->
    atomic { if :: 2 * spinning < WORKERS - idle -> spinning++; spins[me] = true :: else fi };
    if :: spins[me] -> goto find :: else fi
  :: else
  fi;
  /* scheduler::sleep */
#ifdef LOOKS_BEFORE_IT_IS_LISTED
  look_again(again);
#endif
  atomic { was = spins[me]; spins[me] = false; listed[me] = true; idle++ };
#ifdef LOOKS_WHILE_IT_IS_COUNTED
  look_again(again);
#endif
  if :: was -> atomic { spinning-- } :: else fi;
#ifndef LOOKS_BEFORE_IT_IS_LISTED
#ifndef LOOKS_WHILE_IT_IS_COUNTED
  look_again(again);
#endif
#endif
  if
  :: again
  :: else ->
#ifdef FORGETS_WAKE_UPS
    park[me] = ASLEEP;
    park[me] != ASLEEP
#else
    atomic { if :: park[me] == AWAKE -> park[me] = ASLEEP :: else fi };
    park[me] != ASLEEP
#endif
  fi;
  park[me] = AWAKE;
  atomic { if :: listed[me] -> listed[me] = false; idle-- :: else fi };
  goto find;
leave:
#ifdef LEAVES_COUNTED
  skip;
#else
  stop_spinning(me, won, woken);
#endif
  atomic { left++ }
}

init {
  byte i;
  atomic {
    for (i : 0 .. WORKERS - 1) { run worker(i) }
    for (i : 1 .. MAKERS) { run maker() }
  }
  left == WORKERS && makers_gone == MAKERS;
  assert(done == TASKS && queue == 0);
  assert(spinning == 0)
}
