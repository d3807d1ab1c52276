// A controller with a Source::term (workqueue/controller/controller.h): the
// source's thread, which wakes those that stand by, workers on threads
// (internal/lifecycle.cc), an asynchronous one (internal/async_workers.h), and a
// stop.
//
// Each worker reconciles one item of its own, and ends. So without a stop no
// worker may sleep at the end, when the process leads: TERMS, the number of changes
// of the term, is odd then. With a stop, all must end. A reconciliation of the
// asynchronous worker goes on until it is cancelled, which the end of its term must do,
// also when the source has ended.
//
// Checked with:
//   -DTERMS=3                                | holds
//   -DTERMS=2 -DSTOP                         | holds
//   -DTERMS=3 -DSTOP                         | holds
//   -DTERMS=1 -DBROKEN_NOTIFIES_EARLY        | invalid end state
//   -DTERMS=1 -DBROKEN_COUNTS_LATE           | invalid end state
//   -DTERMS=1 -DBROKEN_LOOKS_ONCE            | invalid end state
//   -DTERMS=1 -DBROKEN_STAYS                 | assertion .*tasks
//   -DTERMS=3 -DBROKEN_BEGINS_LOST           | assertion .*cancelled
//   -DTERMS=1 -DSTOP -DBROKEN_CLOSES_QUIETLY | invalid end state
//   -DTERMS=2 -DSTOP -DBROKEN_NEVER_LOOKS    | assertion .*cancelled

bool leads;
byte term;         // the number of changes
byte changed;      // SourceSignal: something has changed
bool told_all;     // the term changes no more
bool stopping;
bool closed;       // the queue
byte wakes;        // wakes_
bool standing_by;  // of the asynchronous worker
byte tasks;        // of the executor: those of GoOn()
bool in_flight;    // The asynchronous worker reconciles, in the term begun_in.
byte begun_in;
bool cancelled;

// Each worker has a queue with one item of its own.
bool item[2] = true;

inline GoOn() {
  atomic {
    if
    :: standing_by ->
#ifndef BROKEN_STAYS
      standing_by = false;
#endif
      tasks++;
      assert(tasks <= 1)
    :: else
    fi
  }
}

inline CancelLost() {
  atomic {
    if
    :: in_flight && begun_in != term -> cancelled = true
    :: else
    fi
  }
}

// The elector: terms end and begin, the last one lasts.
proctype Elector() {
  byte i = 0;
  do
  :: i < TERMS ->
#ifdef BROKEN_NOTIFIES_EARLY
    changed = true;
#endif
    atomic { leads = !leads; term++ };
#ifndef BROKEN_NOTIFIES_EARLY
    changed = true;
#endif
    i++
  :: i == TERMS -> break
  od;
  told_all = true
}

proctype Source() {
  do
  :: atomic { changed && !stopping -> changed = false };
    atomic { wakes++ };  // LookAtTerm()
    CancelLost();
    GoOn()
  :: stopping -> break
#ifndef STOP
  :: told_all && !changed -> break
#endif
  od
}

#ifdef STOP
// AsyncWorkers::Start() lets deadlines_ look each second. As long as the source runs,
// nothing needs that.
proctype Deadlines() {
end_waiting:
#ifdef BROKEN_NEVER_LOOKS
  false;
#endif
  do
  :: stopping && in_flight && begun_in != term && !cancelled -> CancelLost()
  od
}
#endif

proctype Stop() {
  skip;
#ifdef STOP
  stopping = true;
  closed = true;
#ifndef BROKEN_CLOSES_QUIETLY
  GoOn()
#endif
#endif
}

proctype Worker() {
  byte seen;
  bool has_seen;
  // AwaitTerm()
await:
  has_seen = false;
#ifdef BROKEN_COUNTS_LATE
  has_seen = true;
#endif
  do
  :: leads -> break
  :: !leads ->
#ifdef BROKEN_COUNTS_LATE
    seen = wakes;
#endif
    if
    :: has_seen -> wakes != seen || stopping
    :: !has_seen
    fi;
    atomic {
      if
      :: stopping -> goto end
      :: else
      fi;
      seen = wakes;
      has_seen = true
    }
  od;
  atomic {
    if
    :: item[0] -> item[0] = false
    :: !item[0] && closed -> goto end
    fi
  }
  if
  :: leads  // reconciles
  :: !leads -> item[0] = true; goto await  // gives it back
  fi;
end:
}

proctype AsyncWorker() {
acquire:
  atomic {
    if
    :: item[1] -> item[1] = false
    :: !item[1] && closed -> goto end
    fi
  }
  // OnAcquired()
  if
  :: atomic { leads -> begun_in = term }; goto reconcile
  :: !leads -> item[1] = true
  fi;
  if
  :: stopping -> goto end
  :: !stopping
  fi;
stand_by:
  standing_by = true;
#ifndef BROKEN_LOOKS_ONCE
  if
  :: leads || stopping -> GoOn()
  :: else
  fi;
#endif
  atomic { tasks > 0 -> tasks-- };
  if
  :: leads -> goto acquire
  :: !leads
  fi;
  if
  :: stopping -> goto end
  :: !stopping -> goto stand_by
  fi;
reconcile:
  in_flight = true;
#ifndef BROKEN_BEGINS_LOST
  CancelLost();  // Begin()
#endif
end:
}

init {
  atomic {
    run Elector();
    run Source();
#ifdef STOP
    run Deadlines();
#endif
    run Stop();
    run Worker();
    run AsyncWorker()
  }
  // The others have ended, or the search finds an invalid end state.
  timeout -> assert(!in_flight || cancelled || begun_in == term)
}
