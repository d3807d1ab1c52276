// The processes of a SharedQueue (workqueue/shared/internal/shared_queue_core.h)
// and its engine (queue_script.cc): threads and callbacks that wait for items,
// the pushes and messages of the engine, and requests whose replies come late.
// There are two processes with workers. request_combining.pml models how the
// threads of a process send together.
//
// Whenever all is at rest, no worker waits although an item is ready or due, or
// although the queue has been shut down, and no process has an item in hand.
// There is no heartbeat, except where the server goes on to push to a connection
// that is broken. Leases that nobody renews expire at the last time, or BACKOFF
// before it: then the items wait until the last time.
//
// A lease may also expire while the first worker has its item, which is its
// *holder* then. What the engine hands out to this process after that is the
// holder's item, or another one. The former is held back until the holder ends.
//
// Checked with:
//   -DGETTERS=2                                                                                  | holds
//   -DGETTERS=2 -DOTHERS=0                                                                       | holds
//   -DGETTERS=2 -DOTHERS=0 -DMAX_WOKEN=1                                                         | holds
//   -DTIMEOUTS=1 -DGETTERS=2 -DOTHERS=0 -DMAX_WOKEN=1                                            | holds
//   -DTIMEOUTS=2                                                                                 | holds
//   -DTIMEOUTS=1 -DLEAVES=1                                                                      | holds
//   -DCALLBACKS=1 -DCANCELS=1 -DOTHERS=0                                                         | holds
//   -DSTOPPERS=1 -DITEMS=1                                                                       | holds
//   -DSTOPPERS=1 -DITEMS=1 -DOTHERS=0 -DGETTERS=2                                                | holds
//   -DSTOPPERS=1 -DITEMS=1 -DOTHERS=0 -DTIMEOUTS=2                                               | holds
//   -DSTOPPERS=1 -DITEMS=0 -DGETTERS=0 -DCALLBACKS=1 -DCANCELS=1                                 | holds
//   -DDELAYED=1 -DLAST=3 -DOTHERS=0                                                              | holds
//   -DDELAYED=1 -DLAST=2 -DITEMS=1                                                               | holds
//   -DBREAKS=1 -DLAST=2 -DITEMS=1                                                                | holds
//   -DBREAKS=1 -DLAST=2 -DOTHERS=0                                                               | holds
//   -DBREAKS=1 -DLAST=2 -DOTHERS=0 -DUNNOTICED=1                                                 | holds
//   -DBREAKS=1 -DLAST=3 -DITEMS=1 -DOTHERS=0 -DBACKOFF=1                                         | holds
//   -DFAILURES=1 -DLAST=2 -DITEMS=1                                                              | holds
//   -DEXPIRES=1 -DGETTERS=2 -DOTHERS=0                                                           | holds
//   -DEXPIRES=2 -DGETTERS=2 -DITEMS=1                                                            | holds
//   -DEXPIRES=1 -DTIMEOUTS=1 -DGETTERS=2 -DITEMS=1 -DOTHERS=0                                    | holds
//   -DEXPIRES=2 -DSTOPPERS=1 -DGETTERS=2 -DITEMS=1 -DOTHERS=0                                    | holds
//   -DEXPIRES=1 -DSTOPPERS=1 -DCALLBACKS=1 -DITEMS=1 -DOTHERS=0                                  | holds
//   -DEXPIRES=1 -DCLOSES=1 -DCALLBACKS=1 -DITEMS=1                                               | holds
//   -DEXPIRES=2 -DCLOSES=1 -DGETTERS=2 -DITEMS=1                                                 | holds | slow
//   -DEXPIRES=2 -DTIMEOUTS=1 -DLEAVES=1 -DGETTERS=2 -DITEMS=1                                    | holds | slow
//   -DBROKEN_TAKER_TELLS_NOBODY -DGETTERS=2 -DOTHERS=0                                           | assertion .*ready
//   -DBROKEN_TAKER_WAKES_NOBODY -DGETTERS=2 -DOTHERS=0 -DMAX_WOKEN=1                             | assertion .*in_hand
//   -DBROKEN_WOKEN_FOR_EVER -DTIMEOUTS=1                                                         | assertion .*in_hand
//   -DBROKEN_SURPLUS_IS_KEPT -DTIMEOUTS=1 -DLEAVES=1                                             | assertion .*in_hand
//   -DBROKEN_RECEIPT_IS_NOT_COUNTED                                                              | assertion .*unchanged
//   -DBROKEN_ENGINE_IGNORES_RECEIVED -DGETTERS=2 -DOTHERS=0 -DITEMS=3                            | assertion .*surplus
//   -DBROKEN_CLIENT_EXPECTS_NOTHING                                                              | assertion .*unchanged
//   -DBROKEN_REPLY_HIDES_MESSAGE -DSTOPPERS=1 -DITEMS=0                                          | assertion .*shut
//   -DBROKEN_REPLY_HIDES_MESSAGE -DDELAYED=1 -DLAST=3 -DOTHERS=0                                 | assertion .*waiting
//   -DBROKEN_LOOP_FORGETS_TO_LOOK -DSTOPPERS=1 -DITEMS=0                                         | assertion .*shut
//   -DBROKEN_DUE_IS_NOT_SENT -DDELAYED=1 -DLAST=3 -DOTHERS=0                                     | assertion .*waiting
//   -DBROKEN_REPLY_FORGETS_CALLBACK -DSTOPPERS=1 -DGETTERS=0 -DCALLBACKS=1 -DCANCELS=1 -DITEMS=0 | assertion .*shut
//   -DBROKEN_ENDS_BEFORE_PUSH -DSTOPPERS=1 -DOTHERS=0 -DGETTERS=2 -DITEMS=1                      | assertion .*surplus
//   -DBROKEN_GIVES_BACK_TOO_EARLY -DSTOPPERS=1 -DOTHERS=0 -DTIMEOUTS=2 -DITEMS=1                 | assertion .*added
//   -DBROKEN_NEW_CLIENT_DOES_NOT_ASK -DBREAKS=1 -DLAST=2 -DOTHERS=0                              | assertion
//   -DBROKEN_BACKOFF_IS_NOT_DUE -DBREAKS=1 -DLAST=3 -DITEMS=1 -DOTHERS=0 -DBACKOFF=1             | assertion .*waiting
//   -DBROKEN_NO_HEARTBEAT -DBREAKS=1 -DLAST=2 -DOTHERS=0 -DUNNOTICED=1                           | assertion .*lost
//   -DBROKEN_HOLDER_WAKES_NOBODY -DEXPIRES=1 -DGETTERS=2 -DITEMS=1 -DOTHERS=0                    | assertion .*in_hand
//   -DBROKEN_HELD_BACK_SERVES_A_WAITER -DEXPIRES=1 -DGETTERS=2 -DOTHERS=0                        | assertion .*ready
//   -DBROKEN_ENDS_WHILE_HELD_BACK -DEXPIRES=1 -DSTOPPERS=1 -DGETTERS=2 -DITEMS=1 -DOTHERS=0      | assertion .*held_back
//   -DBROKEN_LOST_WAKES_NOBODY -DEXPIRES=2 -DSTOPPERS=1 -DGETTERS=2 -DITEMS=1 -DOTHERS=0         | assertion .*shut
//   -DBROKEN_CLOSED_HOLDS_BACK -DEXPIRES=1 -DCLOSES=1 -DGETTERS=2 -DITEMS=1                      | assertion .*closed

#ifndef ITEMS  // added by a process without workers
#define ITEMS 2
#endif
#ifndef GETTERS  // threads of the first process; with CALLBACKS at most 2
#define GETTERS 1
#endif
#ifndef CALLBACKS  // of the first process
#define CALLBACKS 0
#endif
#ifndef OTHERS  // threads of the second process; at most 1
#define OTHERS 1
#endif
#ifndef STOPPERS  // calls of ShutDown(); at most 1
#define STOPPERS 0
#endif
#ifndef MAX_WOKEN  // how many waiters of a process are woken at a time; each wakes the next
#define MAX_WOKEN 9
#endif
#ifndef TIMEOUTS  // how often a thread of the first process waits too long
#define TIMEOUTS 0
#endif
#ifndef LEAVES  // whether such a thread never comes back
#define LEAVES 0
#endif
#ifndef CANCELS  // how often a callback is cancelled
#define CANCELS 0
#endif
#ifndef DELAYED  // whether items may be added for later
#define DELAYED 0
#endif
#ifndef BREAKS  // how often the connection of the first process breaks
#define BREAKS 0
#endif
#ifndef UNNOTICED  // whether the server may go on to send to that connection
#define UNNOTICED 0
#endif
#ifndef BACKOFF  // how long an item waits whose lease has expired; at most 1
#define BACKOFF 0
#endif
#ifndef FAILURES  // requests that fail, or whose reply is lost
#define FAILURES 0
#endif
#ifdef BROKEN_NO_HEARTBEAT
#define HEARTBEAT 0
#else
#define HEARTBEAT UNNOTICED  // whether there is one, at the last time
#endif
#ifndef EXPIRES  // how often the lease of the first worker expires, or of what is held back
#define EXPIRES 0
#endif
#ifndef CLOSES  // whether the first process is closed
#define CLOSES 0
#endif
#ifndef LAST  // the last time; the first is 1
#define LAST 1
#endif

#define EXPIRY (LAST - BACKOFF)  // when leases expire that nobody renews
#define WAITS (DELAYED || BACKOFF)

#define WORKERS (GETTERS + CALLBACKS)  // of the first process
#define ALL (WORKERS + OTHERS)
#define BEGIN(c) (c == 0 -> 0 : WORKERS)
#define END(c) (c == 0 -> WORKERS : ALL)
#define BIT(w) (1 << (w))
#define LOOP BIT(ALL)
#define CLIENTS (2 + BREAKS)  // by name: the first process gets a new one

#define PAST 0
#define NEVER 255
#if HEARTBEAT
#define BEAT (now < LAST -> LAST : NEVER)  // when a process asks in any case
#else
#define BEAT NEVER
#endif
byte now = 1;

mtype = { push, due, shutdown };  // messages
mtype = { process, sleep, tell, acquire, leave };  // what a worker does next

// The engine. A request is an atomic block.
byte ready;
byte waiting[LAST + 1];   // items, by the time when they are due
byte due_before = NEVER;
bool shut;
byte wanted[CLIENTS];
byte pushed[CLIENTS];
bool receives[CLIENTS];   // whether a push to the client has a receiver
byte lost;                // pushes and replies that nobody has received
byte ended;               // items whose processing has ended

// What the engine has sent to the connection of a process.
chan messages[2] = [6] of { mtype, byte };
byte connected[2];        // as which client; NEVER if not at all

// Of each process, guarded by its mu_. A critical section is an atomic block.
byte client[2];
bool listening[2];
byte received[2];
byte pushes[2];
byte told_pushed[2];  // pushed_
byte in_hand[2];
bool shut_down[2];
byte look_at[2];
bool noticed[2];        // whether notices_ has changed since the request was sent
byte wake_time[2];    // of the loop, which is awake at PAST
byte waiters[2];      // the number of those that wait, and of the woken ones
byte woken[2];
byte taking[2];
// The calls that wait to be sent, and those that are in the request, a bit for
// each thread, and their operations.
byte calls[2];
byte sent[2];
byte dones[2];
byte give_backs[2];
byte failed[2];       // calls that have failed

// Of the first process, which may be closed, and of its first worker: whether
// it has an item, has lost the lease of it, and whether the item is held back
// until it ends, and has been lost, too.
bool closed;
bool has;
bool has_lost;
bool held_back;
bool held_back_lost;

// Of each worker.
bool is_waiter[ALL];
bool is_woken[ALL];
bool not_counted[ALL];  // no request counts it yet: see first_request
bool has_ended[ALL];    // as of the last reply
bool unparked[ALL];     // or the callback's task has been submitted

// State of the model that the code does not have.
byte added;
byte timeouts = TIMEOUTS;
byte cancels = CANCELS;
byte failures = FAILURES;
byte expiries = EXPIRES;
bool given_up;        // whether any worker has waited in vain, or lost an item
bool resume;          // what pauses must continue

hidden byte i, n, m;

#define least(a, b) ((a) < (b) -> (a) : (b))
#define minus(a, b) ((a) < (b) -> 0 : (a) - (b))

// ---------------------------------------------------------------------------
// The engine.

// Pushes ready items to other clients than `me`, which has been served.
inline PushToOthers(me) {
  do
  :: ready > 0 ->
    n = CLIENTS;
    if
    :: me != 0 && wanted[0] > 0 -> n = 0
    :: me != 1 && wanted[1] > 0 -> n = 1
#if BREAKS
    :: me != 2 && wanted[2] > 0 -> n = 2
#endif
    :: else -> break
    fi;
    if
    :: receives[n] && (n == 1 || connected[0] == n || now < LAST) ->
      wanted[n]--;
      pushed[n]++;
      ready--;
      m = (n == 2 -> 0 : n);
      if
      :: connected[m] == n -> messages[m]!push(0)
      :: else -> lost++; assert(now < LAST)
      fi
    :: else -> wanted[n] = 0
    fi
  :: else -> break
  od;
  n = 0;
  m = 0
}

// Sends to all, or to nobody who does not listen.
inline Publish(what, when) {
  if
  :: connected[0] != NEVER -> messages[0]!what(when)
  :: else
  fi;
#if OTHERS
  messages[1]!what(when)
#endif
}

inline FindFirstDue() {
  n = NEVER;
#if WAITS && !defined(BROKEN_BACKOFF_IS_NOT_DUE)
  for (i : 1 .. LAST) {
    if
    :: waiting[i] > 0 && n == NEVER -> n = i
    :: else
    fi
  }
  i = 0
#endif
}

// What is due, and leases that have expired.
inline BeginRequest() {
#if WAITS
  for (i : 1 .. LAST) {
    if
    :: i <= now && waiting[i] > 0 -> ready = ready + waiting[i]; waiting[i] = 0
    :: else
    fi
  }
  i = 0;
#endif
#if BREAKS || FAILURES
  if
  :: now == LAST -> ready = ready + lost; lost = 0
#if BACKOFF
  :: now == EXPIRY -> waiting[LAST] = waiting[LAST] + lost; lost = 0
#endif
  :: else
  fi;
#endif
  skip
}

#define NOBODY CLIENTS
inline EndRequest(me) {
  PushToOthers(me);
  FindFirstDue();
  if
  :: n < due_before ->
#ifndef BROKEN_DUE_IS_NOT_SENT
    Publish(due, n)
#endif
  :: else
  fi;
  due_before = n;
  n = 0
}

// ---------------------------------------------------------------------------
// A process.

#define Closed(c) (c == 0 && closed)
#define HoldsBack(c) (c == 0 && held_back)
#define Waiters(c) (Closed(c) -> 0 : waiters[c])
#ifdef BROKEN_HELD_BACK_SERVES_A_WAITER
#define Wanted(c) minus(Waiters(c), in_hand[c] + HoldsBack(c))
#else
#define Wanted(c) minus(Waiters(c), in_hand[c])
#endif
#ifdef BROKEN_CLIENT_EXPECTS_NOTHING
#define Expected(c) 0
#else
#define Expected(c) minus(pushes[c], received[c])
#endif
#ifdef BROKEN_SURPLUS_IS_KEPT
#define Surplus(c) 0
#else
#define Surplus(c) minus(in_hand[c], Waiters(c) + taking[c])
#endif
#define Disagrees(c) (listening[c] && Wanted(c) != Expected(c))
#define Differs(c) (listening[c] && (Wanted(c) > Expected(c) || (Wanted(c) < Expected(c) && pushes[c] > told_pushed[c])))
#ifdef BROKEN_CLOSED_HOLDS_BACK
#define MustTell(c) (Surplus(c) > 0 || Differs(c))
#else
#define MustTell(c) (Surplus(c) > 0 || (Closed(c) && HoldsBack(c)) || Differs(c))
#endif
#ifdef BROKEN_ENDS_WHILE_HELD_BACK
#define Ended(c, w) (Closed(c) || has_ended[w])
#else
#define Ended(c, w) (Closed(c) || (has_ended[w] && !HoldsBack(c)))
#endif

inline WakeLoop(c, at) {
  if
  :: at < wake_time[c] -> wake_time[c] = PAST
  :: else
  fi
}

inline Notice(c, time) {
  noticed[c] = true;
  look_at[c] = least(look_at[c], time);
  WakeLoop(c, look_at[c])
}

inline LookAt(c, time) {
#ifdef BROKEN_REPLY_HIDES_MESSAGE
  look_at[c] = time;
#else
  look_at[c] = (noticed[c] -> least(look_at[c], time) : time);
#endif
  WakeLoop(c, look_at[c])
}

inline WakeWaiters(c) {
  for (i : BEGIN(c) .. END(c) - 1) {
    if
    :: is_waiter[i] && !is_woken[i] &&
       ((woken[c] < in_hand[c] && woken[c] < MAX_WOKEN) || Ended(c, i)) ->
      is_woken[i] = true;
      woken[c]++;
      unparked[i] = true
    :: else
    fi
  }
  i = 0
}

inline WaitersChanged(c) {
  WakeWaiters(c);
  if
  :: MustTell(c) -> WakeLoop(c, PAST)
  :: else
  fi
}

inline Sleep(c, w) {
  if
  :: is_woken[w] -> woken[c]--; is_woken[w] = false
  :: else
  fi
}

inline Remove(c, w) {
#ifdef BROKEN_WOKEN_FOR_EVER
  is_woken[w] = false;
#else
  Sleep(c, w);
#endif
  is_waiter[w] = false;
  waiters[c]--
}

inline AddWaiter(c, w) {
  is_waiter[w] = true;
  not_counted[w] = true;
  has_ended[w] = false;
  unparked[w] = false;
  waiters[c]++
}

// Takes in `n` items that the engine has handed out. AddHolder()
inline AddHolders(c, n) {
#if EXPIRES
  do
  :: n > 0 ->
    n--;
    if
    :: in_hand[c]++
    :: c == 0 && has && has_lost && !held_back -> held_back = true
    :: c == 0 && has && held_back_lost -> held_back_lost = false
    fi
  :: else -> break
  od
#else
  in_hand[c] = in_hand[c] + n;
  n = 0
#endif
}

inline Call(c, who) {
  calls[c] = calls[c] | (who);
  failed[c] = failed[c] & ~(who)
}
#define call_ends(c, who) (((calls[c] | sent[c]) & (who)) == 0)

// Sends the calls that wait, one request at a time. SendTogether() and TakeIn()
proctype Connection(byte c) {
  byte name, wants, takes, has_received, next, items;
  byte has_dones, has_give_backs, has_pushed, new_pushes;
  bool none_ready, is_shut, fails, has_operations, unchanged;
end:
  do
  ::
    atomic {
      calls[c] != 0 ->
      sent[c] = calls[c];
      calls[c] = 0;
      has_dones = dones[c];
      dones[c] = 0;
      has_give_backs = give_backs[c];
      give_backs[c] = 0;
      name = client[c];
      if
      :: listening[c] -> wants = Wanted(c)
      :: else -> takes = Wanted(c)
      fi;
      has_received = received[c];
      noticed[c] = false;
      for (i : BEGIN(c) .. END(c) - 1) { not_counted[i] = false }
      i = 0
    }
    atomic {
#if FAILURES
      has_operations = has_dones + has_give_backs > 0;
      if
      :: failures > 0 && now < LAST && !has_operations -> failures--; fails = true; goto not_applied
      :: true
      fi;
#endif
      BeginRequest();
      ended = ended + has_dones;
      has_dones = 0;
      ready = ready + has_give_backs;
      has_give_backs = 0;
      wanted[name] = wants;
#ifndef BROKEN_ENGINE_IGNORES_RECEIVED
      wanted[name] = minus(wants, pushed[name] - has_received);
#endif
      items = least(ready, takes + wanted[name]);
      takes = 0;
      ready = ready - items;
      wanted[name] = minus(wanted[name], items);
      EndRequest(name);
      has_pushed = pushed[name];
      new_pushes = wanted[name] + pushed[name];
      next = least(due_before, BEAT);
#if BREAKS || FAILURES
      // Leases that nobody renews. More may be so later.
      if
      :: lost + len(messages[0]) + len(messages[1]) > 0 -> next = least(next, EXPIRY)
      :: else
      fi;
#endif
#if FAILURES
      if
      :: failures > 0 && now < LAST && !has_operations ->
        failures--;
        fails = true;
        lost = lost + items;
        items = 0
      :: true
      fi;
#endif
      none_ready = ready == 0;
      is_shut = shut
    }
not_applied:
    atomic {
#if FAILURES
      has_operations = false;
      if
      :: fails ->
        given_up = true;
        fails = false;
        failed[c] = failed[c] | sent[c];
        sent[c] = 0;
        wants = 0;
        takes = 0;
        has_received = 0;
        name = 0;
        is_shut = false;
        none_ready = false;
        has_pushed = 0;
        new_pushes = 0;
        next = 0;
        LookAt(c, PAST);
        goto end
      :: else
      fi;
#endif
      sent[c] = 0;
      // Nothing has changed meanwhile, no push is on its way, and no item is to be
      // held back.
      unchanged = listening[c] && !(c == 0 && has_lost) && name == client[c] && connected[c] == name &&
                  wants == Wanted(c) && has_received == received[c] &&
                  empty(messages[c]);
      if
      :: name == client[c] ->
        pushes[c] = new_pushes;
        told_pushed[c] = has_pushed
      :: else
      fi;
      if
      :: name != client[c] || !listening[c] -> has_pushed = 0
      :: else
      fi;
      name = 0;
      wants = 0;
      has_received = 0;
      AddHolders(c, items);
      shut_down[c] = is_shut;
      for (i : BEGIN(c) .. END(c) - 1) {
        if
        :: !is_shut -> has_ended[i] = false
#ifdef BROKEN_ENDS_BEFORE_PUSH
        :: is_shut && none_ready && !not_counted[i] ->
#else
        :: is_shut && none_ready && !not_counted[i] && has_pushed <= received[c] ->
#endif
          has_ended[i] = true
        :: else
        fi;
#ifndef BROKEN_REPLY_FORGETS_CALLBACK
        if
        :: is_shut && is_waiter[i] && not_counted[i] -> next = PAST
        :: else
        fi
#endif
      }
      i = 0;
      is_shut = false;
      none_ready = false;
      has_pushed = 0;
      WakeWaiters(c);
      assert(!unchanged || !Disagrees(c));
      unchanged = false;
      LookAt(c, (MustTell(c) -> PAST : next));
      next = 0;
      new_pushes = 0
    }
  od
}

// OnPush() and so on.
proctype Listener(byte c) {
  byte time, items;
end:
  do
  :: atomic {
      messages[c]?push(_) ->
#ifndef BROKEN_RECEIPT_IS_NOT_COUNTED
      received[c]++;
#endif
      items = 1;
      AddHolders(c, items);
      WaitersChanged(c);
#ifndef BROKEN_ENDS_BEFORE_PUSH
      if
      :: shut_down[c] -> Notice(c, PAST)
      :: else
      fi
#endif
    }
  :: atomic { messages[c]?due(time) -> Notice(c, time); time = 0 }
  :: atomic {
      messages[c]?shutdown(_) ->
      shut_down[c] = true;
      Notice(c, PAST)
    }
#if BREAKS
  :: connected[c] == NEVER ->
    // OnDisconnected()
    atomic { listening[c] = false; Notice(c, PAST) }
    atomic { connected[c] = 2; receives[2] = true }
    // OnListening()
    atomic {
      client[c] = 2;
      received[c] = 0;
      told_pushed[c] = 0;
      pushes[c] = 0;
      listening[c] = true;
#ifndef BROKEN_NEW_CLIENT_DOES_NOT_ASK
      Notice(c, PAST)
#endif
    }
#endif
  od
}

// The loop that runs the process' part. Run()
proctype Loop(byte c) {
  byte surplus;
end:
  do
#if EXPIRES
  // A renewal has told so.
  :: atomic {
      c == 0 && held_back_lost ->
      held_back = false;
      held_back_lost = false;
#ifndef BROKEN_LOST_WAKES_NOBODY
      WakeWaiters(c)
#endif
    }
#endif
  ::
    atomic {
      now >= wake_time[c] ->
      wake_time[c] = PAST;
      surplus = Surplus(c);
#if CLOSES && EXPIRES && !defined(BROKEN_CLOSED_HOLDS_BACK)
      if
      :: Closed(c) && held_back ->
        held_back = false;
        if
        :: held_back_lost -> held_back_lost = false
        :: else -> in_hand[c]++; surplus++
        fi
      :: else
      fi;
#endif
      if
      :: surplus > 0 || (sent[c] == 0 && (now >= look_at[c] || MustTell(c))) ->
        assert(surplus == 0 || given_up);
        give_backs[c] = give_backs[c] + surplus;
        in_hand[c] = in_hand[c] - surplus;
        look_at[c] = BEAT;
        Call(c, LOOP)
      :: else
#ifdef BROKEN_LOOP_FORGETS_TO_LOOK
        look_at[c] = BEAT
#endif
      fi;
      surplus = 0
    }
    atomic {
      call_ends(c, LOOP) ->
      // The reply to a request that is on its way wakes the loop.
      wake_time[c] = (sent[c] != 0 -> NEVER : (MustTell(c) -> PAST : look_at[c]))
    }
  od
}

inline Rest() {
  if
  :: true
  :: true -> resume
  fi
}

// End()
inline LetGo(c, w) {
  atomic {
    if
    :: w == 0 ->
      has = false;
      if
      :: held_back ->
        if
        :: held_back_lost  // DropLostInHand()
        :: else -> in_hand[c]++
        fi;
        held_back = false;
        held_back_lost = false;
#ifndef BROKEN_HOLDER_WAKES_NOBODY
        WaitersChanged(c)
#endif
      :: else
      fi
    :: else
    fi
  }
  Rest()
}

// Done()
inline Finish(c, w) {
  Rest();
#if EXPIRES
  LetGo(c, w);
#endif
  atomic {
    if
    :: w == 0 && has_lost -> has_lost = false
    :: else -> dones[c]++
    fi;
    Call(c, BIT(w))
  }
  call_ends(c, BIT(w))
}

inline Has(w) {
#if EXPIRES
  has = has || w == 0
#else
  skip
#endif
}

// Acquire()
proctype Getter(byte c; byte w) {
  bool expired, told, refused;
  mtype then;
again:
  atomic {
    expired = false;
    told = false;
    refused = false;
    if
    :: Closed(c) -> goto over
    :: !Closed(c) && in_hand[c] > 0 ->
      in_hand[c]--;
      Has(w);
#ifndef BROKEN_TAKER_TELLS_NOBODY
      WaitersChanged(c);
#endif
      goto got
    :: else
    fi;
    AddWaiter(c, w);
    Call(c, BIT(w))
  }
look:
  atomic {
    call_ends(c, BIT(w)) ->
    if
    :: told ->
      is_waiter[w] = true;
      waiters[c]++;
#ifndef BROKEN_GIVES_BACK_TOO_EARLY
      taking[c]--
#endif
    :: else
    fi;
    if
    :: in_hand[c] > 0 -> in_hand[c]--; Has(w); then = process
    :: in_hand[c] == 0 && Ended(c, w) -> assert(Closed(c) || !HoldsBack(c)); then = leave
    :: in_hand[c] == 0 && !Ended(c, w) && !told && (failed[c] & BIT(w)) ->
      // It waits for a while before it makes the next request.
      then = (refused -> acquire : sleep);
      refused = true
    :: else ->
      if
      :: c == 0 && timeouts > 0 && !expired -> timeouts--; expired = true
      :: true
      fi;
      if
      :: !expired -> then = sleep
      :: expired && !told && Expected(c) > 0 -> then = tell
      :: expired && (told || Expected(c) == 0) -> then = (LEAVES -> leave : acquire)
      fi
    fi;
    given_up = given_up || expired;
    if
    :: then == sleep -> Sleep(c, w)
    :: else -> Remove(c, w)
    fi;
    if
    :: then == tell ->
      told = true;
#ifndef BROKEN_GIVES_BACK_TOO_EARLY
      taking[c]++;
#endif
      Call(c, BIT(w))
#ifdef BROKEN_TAKER_TELLS_NOBODY
    :: then == sleep -> WakeWaiters(c)
    :: then != tell && then != sleep -> WaitersChanged(c)
#elif defined(BROKEN_TAKER_WAKES_NOBODY)
    :: then == sleep -> WaitersChanged(c)
    :: then != tell && then != sleep && MustTell(c) -> WakeLoop(c, PAST)
    :: then != tell && then != sleep && !MustTell(c)
#else
    :: else -> WaitersChanged(c)
#endif
    fi
  }
end_asleep:
  atomic {
    if
    :: then == sleep && unparked[w] -> unparked[w] = false; then = 0; goto look
#if FAILURES
    :: then == sleep && refused -> then = 0; goto look
#endif
    :: then == sleep && c == 0 && timeouts > 0 ->
      timeouts--;
      expired = true;
      then = 0;
      goto look
    :: then == tell -> then = 0; goto look
    :: then == acquire -> then = 0; goto again
    :: then == leave -> then = 0; goto over
    :: then == process -> then = 0
    fi
  }
got:
  Finish(c, w);
  goto again;
over:
}

// AcquireAsync() and CancelAcquire(), and the task of the executor.
// RunCallback()
proctype Callback(byte c; byte w) {
  mtype then;
again:
  atomic {
    AddWaiter(c, w);
    WakeWaiters(c);
    if
    :: shut_down[c] -> look_at[c] = PAST
    :: else
    fi;
    if
    :: shut_down[c] || MustTell(c) -> WakeLoop(c, PAST)
    :: else
    fi
  }
end_waits:
  atomic {
    if
    :: unparked[w] ->
      unparked[w] = false;
      if
      :: in_hand[c] > 0 -> in_hand[c]--; Has(w); then = process
      :: in_hand[c] == 0 && Ended(c, w) -> assert(Closed(c) || !HoldsBack(c)); then = leave
      :: else -> then = sleep
      fi
    :: cancels > 0 -> cancels--; given_up = true; then = acquire
    fi;
    if
    :: then == sleep -> Sleep(c, w)
    :: else -> Remove(c, w)
    fi;
    WaitersChanged(c);
    if
    :: then == sleep -> then = 0; goto end_waits
    :: then == acquire -> then = 0; goto again
    :: then == leave -> then = 0; goto over
    :: then == process -> then = 0
    fi
  }
  Finish(c, w);
  goto again;
over:
}

// ---------------------------------------------------------------------------
// Calls of processes without workers.

// Add() and AddAfter()
proctype Adder() {
  byte time;
  atomic {
    BeginRequest();
    time = now;
#if DELAYED
    do
    :: time < LAST -> time++
    :: true -> break
    od;
#endif
    if
    :: shut
    :: !shut && time == now -> ready++; added++
    :: !shut && time > now -> waiting[time]++; added++
    fi;
    time = 0;
    EndRequest(NOBODY)
  }
}

proctype Stopper() {
  atomic {
    BeginRequest();
    for (i : 1 .. LAST) { added = added - waiting[i]; waiting[i] = 0 }
    i = 0;
    shut = true;
    Publish(shutdown, 0);
    EndRequest(NOBODY)
  }
}

// The lease expires of what the first worker has, or of what is held back.
proctype Expirer() {
end:
  do
  :: atomic {
      expiries > 0 && has && (!has_lost || (held_back && !held_back_lost)) ->
      expiries--;
      given_up = true;
      held_back_lost = has_lost;
      has_lost = true;
      BeginRequest();
      ready++;
      EndRequest(NOBODY)
    }
  od
}

// Close() of the first process.
proctype Closer() {
  atomic { closed = true; given_up = true; WaitersChanged(0) }
}

// The connection of the first process breaks.
proctype Breaker() {
end:
  atomic {
    now < LAST ->
    given_up = true;
    connected[0] = NEVER;
    do
    :: messages[0]?push(_) -> lost++
    :: messages[0]?due(_)
    :: messages[0]?shutdown(_)
    :: empty(messages[0]) -> break
    od;
#if !UNNOTICED
    receives[0] = false
#endif
  }
#if UNNOTICED
  if
  :: receives[0] = false
  :: true
  fi
#endif
}

inline CheckAtRest() {
  atomic {
    for (i : 1 .. LAST) {
      assert(i > now || waiting[i] == 0 || waiters[0] + waiters[1] == 0)
    }
    i = 0;
    assert(ready == 0 || waiters[0] + waiters[1] == 0);
    assert(in_hand[0] + in_hand[1] == 0);
    assert(now < LAST || lost == 0 || waiters[0] + waiters[1] == 0);
    assert(!shut || waiters[1] + (held_back -> 0 : waiters[0]) == 0);
    assert(!closed || (waiters[0] == 0 && !held_back));
    assert(!held_back || has)
  }
}

init {
  byte w;
  atomic {
    for (w : 0 .. OTHERS) {
      client[w] = w;
      connected[w] = w;
      receives[w] = true;
      listening[w] = true;
      look_at[w] = NEVER;
      wake_time[w] = NEVER;
      run Connection(w);
      run Listener(w);
      run Loop(w)
    }
#if ITEMS
    for (w : 1 .. ITEMS) { run Adder() }
#endif
#if STOPPERS
    run Stopper();
#endif
#if BREAKS
    run Breaker();
#endif
#if EXPIRES
    run Expirer();
#endif
#if CLOSES
    run Closer();
#endif
#if GETTERS
    for (w : 1 .. GETTERS) { run Getter(0, w - 1) }
#endif
#if CALLBACKS
    for (w : 1 .. CALLBACKS) { run Callback(0, GETTERS + w - 1) }
#endif
#if OTHERS
    run Getter(1, WORKERS);
#endif
    w = 0
  }
  do
  :: now < LAST -> now++
  :: true ->
    timeout;
    CheckAtRest();
    if
    :: now < LAST -> now++
    :: else -> break
    fi
  od;
  resume = true;
  timeout;
  CheckAtRest();
  assert(ended == added)
}
