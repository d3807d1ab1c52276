// An informer and a source of a controller that is made of it
// (workqueue/controller/informer.h, informer_source.h). A server changes one
// object. The informer's thread watches it, changes the store and calls the
// handler of the source, which adds an item to the queue. The handler may throw
// for a while; the informer's second thread then tells it again. The queue may
// refuse the item for a while; a thread of the controller
// (workqueue/controller/internal/kept_adds.h) tries again what was refused. The
// source's thread adds its handler at any time. A worker reads the store.
//
// The model asserts that the worker has seen the last state when nothing more
// happens. With -DSTOP everything must end after a stop at any time.
//
// Checked with:
//   -DCHANGES=3                  | holds
//   -DCHANGES=2 -DBREAKS=2       | holds
//   -DSTOP                       | holds
//   -DBROKEN_REGISTERS_LATE      | assertion .*reconciled
//   -DBROKEN_STORES_LATE         | assertion .*reconciled
//   -DBROKEN_DROPS_REFUSED       | assertion .*reconciled
//   -DBROKEN_DROPS_THROWN        | assertion .*reconciled
//   -DBROKEN_TELLS_ONCE_MORE     | assertion .*reconciled
//   -DBROKEN_LOWERS_LATE         | assertion .*reconciled
//   -DBROKEN_FORGETS_LATE        | assertion .*reconciled
//   -DBROKEN_RESUMES_LATE        | assertion .*reconciled
//   -DSTOP -DBROKEN_NO_INTERRUPT | invalid end state
//   -DSTOP -DBROKEN_DEAF_SLEEP   | invalid end state
//   -DSTOP -DBROKEN_DEAF_SOURCE  | invalid end state
//   -DSTOP -DBROKEN_DEAF_KEEPER  | invalid end state
//   -DSTOP -DBROKEN_DEAF_TELLER  | invalid end state

#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef BREAKS  // how often the watch breaks
#define BREAKS 1
#endif

byte server;   // the version of the object; 0 if there is none
byte version;  // that of the last event that the informer has handled
byte stored;   // the version of the object in the store

bool handling;        // Informer::handling_ is held
bool has_handler;     // the source's handler has been added
bool throws = true;   // the handler throws
bool untold;          // the handler must be told of the object
bool must_tell;       // Reflector::must_tell_again_
bool refuses = true;  // the queue refuses items
bool kept;            // KeptAdds keeps an item, under its mutex
bool queued;          // an item is in the queue
byte reconciled;      // the version that the worker has seen last

bool stopping;         // Reflector::stopping_
bool interrupted;      // ListerWatcher::Stop() has been called
bool source_stopping;  // InformerSource::stopping_
bool source_ended;
bool keeper_stopping;  // KeptAdds::stopping_
bool keeper_ended;
bool informer_ended;
bool teller_ended;

#define saw_all (reconciled == CHANGES)

inline lock() { atomic { !handling; handling = true } }
inline unlock() { handling = false }

// The handler, or a retry, adds an item.
inline add() {
  if
  :: !refuses -> queued = true
#ifndef BROKEN_DROPS_REFUSED
  :: refuses -> kept = true
#else
  :: refuses
#endif
  fi
}

inline call_handler() {
  if
  :: !throws -> untold = false; add()
#ifndef BROKEN_DROPS_THROWN
  :: throws -> untold = true; must_tell = true
#else
  :: throws
#endif
  fi
}

inline tell() {
  if
  :: has_handler -> call_handler()
  :: !has_handler
  fi
}

active proctype Server() {
  do
  :: server < CHANGES -> server++
  :: server == CHANGES -> break
  od
}

active proctype Queue() { refuses = false }

active proctype Handler() { throws = false }

// Reflector::Run()
active proctype Informer() {
  byte breaks;
end_watching:
  do
  :: server > version && !interrupted ->
     version++;
     lock();
#ifdef BROKEN_STORES_LATE
     tell();
     stored = version;
#else
     stored = version;
     tell();
#endif
     unlock()
  :: breaks < BREAKS ->
     breaks++;
#ifdef BROKEN_RESUMES_LATE
     version = server;
#endif
     goto end_sleeping
  :: interrupted -> goto end_sleeping
  od;
end_sleeping:
  // The watch has ended with an error. The time may pass at once or never.
  if
  :: !stopping && !interrupted -> goto end_watching
#ifndef BROKEN_DEAF_SLEEP
  :: stopping
#endif
  fi;
  informer_ended = true
}

// Reflector::RunTellAgain()
active proctype Teller() {
end_waiting:
  if
  :: stopping -> goto ends
  :: must_tell
  fi;
#ifndef BROKEN_LOWERS_LATE
  must_tell = false;
#endif
  // Sleeps. The time may pass at once or never.
end_sleeping:
  if
#ifndef BROKEN_DEAF_TELLER
  :: stopping -> goto ends
#endif
  :: !stopping
  fi;
  lock();
  if
  :: has_handler && untold ->
#ifdef BROKEN_TELLS_ONCE_MORE
     if
     :: !throws -> untold = false; add()
     :: throws
     fi
#else
     call_handler()
#endif
  :: else
  fi;
  unlock();
#ifdef BROKEN_LOWERS_LATE
  must_tell = false;
#endif
  goto end_waiting;
ends:
  teller_ended = true
}

// InformerSource::Run()
active proctype Source() {
#ifdef BROKEN_REGISTERS_LATE
  if
  :: stored > 0 -> call_handler()
  :: stored == 0
  fi;
  has_handler = true;
#else
  lock();
  if
  :: stored > 0 -> call_handler()
  :: stored == 0
  fi;
  has_handler = true;
  unlock();
#endif
end_waiting:
#ifdef BROKEN_DEAF_SOURCE
  false;
#endif
  source_stopping;
  lock();  // RemoveHandler()
  has_handler = false;
  unlock();
  source_ended = true
}

// KeptAdds::Run()
active proctype Keeper() {
end_waiting:
  if
#ifndef BROKEN_DEAF_KEEPER
  :: keeper_stopping -> goto ends
#endif
  :: kept
  fi;
  // After a sleep, which a stop ends, too.
  if
  :: keeper_stopping -> goto ends
  :: true
  fi;
#ifdef BROKEN_FORGETS_LATE
  add();
  kept = false;
#else
  kept = false;
  add();
#endif
  goto end_waiting;
ends:
  keeper_ended = true
}

active proctype Worker() {
end_working:
  do
  :: atomic { queued -> queued = false };
     reconciled = stored
  od
}

#ifdef STOP
// The controller stops, and then the informer is destroyed.
active proctype Stopper() {
  source_stopping = true;  // on_stop, under the mutex of the source
  keeper_stopping = true;
  keeper_ended;
  source_ended;
  stopping = true;
#ifndef BROKEN_NO_INTERRUPT
  interrupted = true;
#endif
  informer_ended;
  teller_ended
}
#else
active proctype Judge() {
  timeout ->
  assert(saw_all)
}
#endif
