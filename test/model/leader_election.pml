// The lease of LeaderElector (workqueue/leader_election/leader_elector.h). Electors send
// requests to a server, which executes each at any later time, or never. The
// reply comes at any later time, or never. An elector may stop waiting for it.
//
// The clock of an elector may fall behind the server's by DRIFT in all. The
// model asserts that no two electors lead at a time.
//
// Checked with:
//   -DFIRST=3                         | holds | slow
//   -DFIRST=2 -DLEASE=3 -DLAST=6      | holds
//   -DELECTORS=3 -DFIRST=1 -DLAST=4   | holds | slow
//   -DBROKEN_TIME_FROM_REPLY          | assertion .*others_lead
//   -DBROKEN_GIVES_UP_LATE            | assertion .*others_lead
//   -DBROKEN_SLOW_CLOCK               | assertion .*others_lead
//   -DBROKEN_RENEWS_IN_VAIN           | assertion .*others_lead
//   -DBROKEN_RELEASES_ANY             | assertion .*others_lead
//   -DBROKEN_RELEASES_BEFORE_END      | assertion .*others_lead

#ifndef ELECTORS
#define ELECTORS 2
#endif
// The number of requests of the first elector, and of each other one.
#ifndef FIRST
#define FIRST 3
#endif
#ifndef OTHERS
#define OTHERS 1
#endif
#ifndef LAST  // the last time; the first is 1
#define LAST 5
#endif
#ifndef LEASE  // lease_duration
#define LEASE 2
#endif
#ifdef BROKEN_GIVES_UP_LATE
#define RENEW LEASE
#else
#define RENEW (LEASE - 1)  // renew_deadline
#endif
#ifdef BROKEN_SLOW_CLOCK
#define DRIFT (LEASE - RENEW + 1)
#endif
#ifndef DRIFT
#define DRIFT 1
#endif

mtype = { take, renew, release };

// The server.
byte now = 1;
byte holder;  // number of the elector plus 1; 0 if there is none
byte token;
byte expiry;

// Of each elector.
byte clock[ELECTORS];
bool led[ELECTORS];       // it has a term that it does not know to be lost
byte led_token[ELECTORS];
byte deadline[ELECTORS];  // when it stops to lead, by its clock
byte requests[ELECTORS];  // the number of requests, which is that of the last
bool awaits[ELECTORS];    // it awaits the reply to the last one
bool granted[ELECTORS];   // that reply, and what is in it
byte granted_token[ELECTORS];
bool replied[ELECTORS];
mtype sent_mode[ELECTORS];  // of the last request
byte sent_token[ELECTORS];

#define LEADS(i) (led[i] && clock[i] < deadline[i])

// Any clock may advance, but no elector's falls too far behind.
#define NOT_BEHIND(i) (now < clock[i] + DRIFT)
#if ELECTORS > 2
#define NONE_BEHIND (NOT_BEHIND(0) && NOT_BEHIND(1) && NOT_BEHIND(2))
#else
#define NONE_BEHIND (NOT_BEHIND(0) && NOT_BEHIND(1))
#endif
active proctype Time() {
  do
  :: atomic { now < LAST && NONE_BEHIND -> now++ }
  :: atomic { clock[0] < now -> clock[0]++ }
  :: atomic { clock[1] < now -> clock[1]++ }
#if ELECTORS > 2
  :: atomic { clock[2] < now -> clock[2]++ }
#endif
  :: atomic { now == LAST -> break }
  od
}

// The script.
inline Execute(self, mode, its_token, done) {
  if
  :: mode == take ->
    if
    :: holder == self + 1 || expiry <= now ->
      holder = self + 1;
      token++;
      expiry = now + LEASE;
      done = true
    :: else
    fi
  :: mode == renew ->
    if
#ifdef BROKEN_RENEWS_IN_VAIN
    :: true ->
#else
    :: holder == self + 1 && token == its_token ->
#endif
      holder = self + 1;
      expiry = now + LEASE;
      done = true
    :: else
    fi
  :: mode == release ->
    if
#ifdef BROKEN_RELEASES_ANY
    :: true ->
#else
    :: holder == self + 1 && token == its_token ->
#endif
      holder = 0;
      expiry = 0
    :: else
    fi
  fi
}

// A request on its way, and its reply. Either may stay on its way for ever.
proctype Request(byte self; byte number) {
  bool done;
  mtype mode;
  byte its_token;
end_not_sent:
  atomic {
    requests[self] == number ->
    mode = sent_mode[self];
    its_token = sent_token[self]
  };
end_not_executed:
  atomic {
    true ->
    Execute(self, mode, its_token, done);
    mode = 0;
    its_token = token
  };
end_no_reply:
  atomic {
    awaits[self] && requests[self] == number ->
    granted[self] = done;
    granted_token[self] = its_token;
    replied[self] = true;
    done = false;
    its_token = 0
  }
}

// Begins or goes on to lead. Nobody else may lead now.
byte i;
byte others_lead;
inline Lead(self, from) {
  led[self] = true;
  led_token[self] = granted_token[self];
  deadline[self] = from + RENEW;
  for (i : 0 .. ELECTORS - 1) {
    if
    :: i != self && LEADS(i) && LEADS(self) -> others_lead++
    :: else
    fi
  }
  i = 0;
  assert(others_lead == 0)
}

inline Send(self, mode) {
  requests[self]++;
  sent_mode[self] = mode;
  sent_token[self] = led_token[self]
}

#define ALLOWED(i) ((i) == 0 -> FIRST : OTHERS)

proctype Elector(byte self) {
  byte sent;
  bool renews;
  do
  :: atomic {
       requests[self] < ALLOWED(self) ->
       led[self] = LEADS(self);
       renews = led[self];
       sent = clock[self];
       awaits[self] = true;
       if
       :: renews -> Send(self, renew)
       :: else -> Send(self, take)
       fi
     };
     atomic {
       if
       :: replied[self] ->
#ifdef BROKEN_TIME_FROM_REPLY
         sent = clock[self];
#endif
         led[self] = LEADS(self);
         if
         :: granted[self] && (!renews || led[self]) &&
            clock[self] < sent + RENEW ->
           Lead(self, sent)
         :: !granted[self] -> led[self] = false
         :: else
         fi
       :: true  // the time for the request is over
       fi;
       awaits[self] = false;
       replied[self] = false;
       granted[self] = false;
       granted_token[self] = 0;
       sent = 0;
       renews = false
     }
  // The callbacks have returned.
  :: atomic {
       led[self] && requests[self] < ALLOWED(self) ->
#ifndef BROKEN_RELEASES_BEFORE_END
       led[self] = false;
#endif
       Send(self, release)
     }
  :: atomic { now == LAST -> break }
  od
}

init {
  byte n;
  byte r;
  atomic {
    for (n : 0 .. ELECTORS - 1) {
      clock[n] = 1;
      run Elector(n);
      for (r : 1 .. ALLOWED(n)) { run Request(n, r) }
    }
  }
}
