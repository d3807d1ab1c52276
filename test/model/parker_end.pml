// ConditionVariableParker
// (workqueue/clock/internal/condition_variable_parker.h): a thread that parks
// and then destroys its parker, while other threads that unpark it are about to
// return.
//
// Checked with:
//   -DUNPARKERS=1                          | holds
//   -DUNPARKERS=3                          | holds
//   -DUNPARKERS=2 -DDEADLINE               | holds
//   -DUNPARKERS=1 -DBROKEN_SETS_UNLOCKED   | assertion .*gone
//   -DUNPARKERS=1 -DBROKEN_NOTIFIES_BEFORE | assertion .*gone
//   -DUNPARKERS=1 -DBROKEN_COUNTS_LATE     | assertion violated  !
//   -DUNPARKERS=1 -DBROKEN_COUNTS_SHORT    | assertion violated  !
//   -DUNPARKERS=1 -DBROKEN_NO_COUNT        | assertion violated  !

// mu_ and what it guards.
bool locked;
bool unparked;

byte notifying;
bool asleep;  // whether the thread sleeps on cv_

// Whether other threads may call Unpark(), and how many have begun to, but not
// taken mu_. The owner of the parker ensures that there are none when it
// destroys the parker.
bool in_use = true;
byte beginning;

// State of the model that the code does not have.
bool gone;  // the parker's memory has been freed

inline Notify() {
  atomic {
    assert(!gone);
    asleep = false
  }
}

proctype Unparker() {
  atomic {
    if
    :: !in_use -> goto end
    :: else
    fi;
    beginning++
  }
#ifdef BROKEN_NOTIFIES_BEFORE
  Notify();
#endif
  atomic {
#ifndef BROKEN_SETS_UNLOCKED
    !locked;
#endif
    assert(!gone);
    unparked = true;
    beginning--;
#ifndef BROKEN_COUNTS_LATE
    notifying++
  }
#else
  }
  notifying++;
#endif
#ifdef BROKEN_COUNTS_SHORT
  notifying--;
#endif
#ifndef BROKEN_NOTIFIES_BEFORE
  Notify();
#endif
#ifndef BROKEN_COUNTS_SHORT
  atomic {
    assert(!gone);
    notifying--
  }
#endif
end:
}

proctype Parking() {
  atomic { !locked -> locked = true }
  do
  :: unparked -> break
#ifdef DEADLINE
  :: !unparked -> break
#endif
  :: !unparked ->
    atomic {
      asleep = true;
      locked = false
    }
    atomic { !asleep && !locked -> locked = true }
  od;
  unparked = false;
  locked = false;
  atomic { beginning == 0 -> in_use = false }
#ifndef BROKEN_NO_COUNT
  notifying == 0;
#endif
  gone = true
}

init {
  byte n;
  atomic {
    run Parking();
    for (n : 1 .. UNPARKERS) { run Unparker() }
  }
  timeout;
  assert(gone)
}
