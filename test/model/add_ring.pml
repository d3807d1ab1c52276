// AddRing (workqueue/internal/add_ring.h) as QueueCore uses it: threads
// that add items by a push or with the lock, and a thread that gets them.
//
// Checked with:
//   -DADDS=2                               | holds
//   -DADDS=3                               | holds | slow
//   -DADDERS=3 -DADDS=1                    | holds
//   -DADDS=1 -DGETTERS=2                   | holds
//   -DBROKEN_LEAVES_CLAIMED                | assertion .*before
//   -DADDS=1 -DBROKEN_PUBLISHES_BLINDLY    | assertion .*asleep
//   -DADDS=3 -DBROKEN_REUSES_CANCELLED     | assertion .*
//   -DADDS=3 -DBROKEN_OPENS_CANCELLED      | assertion .*
//   -DBROKEN_SLEEPS_UNSEALED               | assertion .*asleep
//   -DBROKEN_SEAL_LEAVES_CLAIMED           | assertion .*asleep
//   -DADDS=3 -DBROKEN_FULL_IS_UNSEALED     | assertion .*asleep
//   -DGETTERS=2 -DBROKEN_OPENS_FOR_SLEEPERS | assertion .*asleep

#ifndef ADDERS  // at most 3
#define ADDERS 2
#endif
#ifndef ADDS  // for each adder
#define ADDS 2
#endif

#define CAPACITY 2

#ifndef GETTERS  // at most 2
#define GETTERS 1
#endif

// The phases, and the state of a slot.
#define FREE 0
#define CLAIMED 1
#define FILLED 2
#define CANCELLED 3
#define ABANDONED 4
#define SEALED 5
#define State(position, phase) ((position) * 6 + (phase))
#define SlotAt(position) slot[(position) % CAPACITY]

// The atomic variables.
byte slot[CAPACITY];
byte tail;
bool shared;  // whether shared_ is not null

// Guarded by the lock.
bool locked;
byte head = CAPACITY;
byte end = CAPACITY;
bool is_active;
bool sealed = true;
byte queued;
byte asleep;  // the getters that sleep, a bit for each

// The item in each slot: its adder and its number. Written by the push that has
// claimed the slot, and read with the lock.
byte item_adder[CAPACITY];
byte item_number[CAPACITY];

// State of the model that the code does not have.
byte returned[3];  // the number of the last add of each adder that has returned
byte applied[3];   // the number of the last item of each adder in the queue
byte left = ADDERS * ADDS;  // the items that no getter has got
bool resume;       // getters that pause must continue
bool over;         // the getters end

// Apply one item: the items of an adder come in their order, and each comes once.
inline AddToQueue(adder, number) {
  assert(number == applied[adder] + 1);
  applied[adder] = number;
  queued++
}

inline PassHead() {
  atomic {
#ifdef BROKEN_FULL_IS_UNSEALED
    SlotAt(head) = State(head + CAPACITY, FREE);
#else
    SlotAt(head) = State(head + CAPACITY,
                         (sealed && head + CAPACITY == end -> SEALED : FREE));
#endif
    head++
  }
}

// AddRing::Cancel()
inline Cancel(position) {
  atomic {
    if
    :: SlotAt(position) == State(position, CLAIMED) ->
      SlotAt(position) = State(position, CANCELLED)
    :: else
    fi
  }
}

// AddRing::SealAt(), for each position until it returns true.
inline Seal() {
  if
  :: !sealed ->
    shared = false;
    end = head;
    do
    :: end == head + CAPACITY -> break
    :: else ->
      atomic {
        state = SlotAt(end);
        if
        :: state == State(end, FREE) -> SlotAt(end) = State(end, SEALED)
        :: else
        fi
      }
      if
      :: state <= State(end, FREE) -> break
      :: else
      fi;
#ifndef BROKEN_SEAL_LEAVES_CLAIMED
      Cancel(end);
#endif
      end++
    od;
    sealed = true;
    is_active = (head != end)
  :: else
  fi
}

// AddRing::Apply() until AddRing::ApplyOne() returns false. It may seal a ring
// that it finds empty.
inline Apply() {
  if
  :: is_active ->
    first = head;
    do
    :: head == first + CAPACITY -> break
    :: else ->
      state = SlotAt(head);
      if
#ifndef BROKEN_LEAVES_CLAIMED
      :: state == State(head, CLAIMED) ->
        // AddRing::AwaitOrCancel(), without patience
        state = SlotAt(head + 1);
        if
        :: state >= State(head + 1, CLAIMED) &&
           state != State(head + 1, SEALED) -> Cancel(head)
        :: else
        fi;
        state = SlotAt(head)
#endif
      :: else
      fi;
      if
      :: state == State(head, FILLED) ->
        atomic {
          AddToQueue(item_adder[head % CAPACITY], item_number[head % CAPACITY]);
          item_adder[head % CAPACITY] = 0;
          item_number[head % CAPACITY] = 0
        }
        PassHead()
      :: state == State(head, CANCELLED) ->
#ifdef BROKEN_REUSES_CANCELLED
        PassHead()
#else
        head++
#endif
      :: state == State(head, ABANDONED) -> PassHead()
      :: state == State(head - CAPACITY, ABANDONED) && !sealed ->
        SlotAt(head) = State(head, FREE);
        break
      :: else -> break
      fi
    od;
    if
    :: sealed -> is_active = (head != end)
    :: !sealed && head == first -> Seal()
    :: !sealed
    fi
  :: else
  fi
}

// QueueCore::OpenRing() and AddRing::Open()
#ifdef BROKEN_OPENS_FOR_SLEEPERS
#define nobody_blocks true
#else
#define nobody_blocks (asleep == 0)
#endif
#ifdef BROKEN_OPENS_CANCELLED
#define head_is_unused true
#else
#define head_is_unused (SlotAt(head) != State(head - CAPACITY, CANCELLED))
#endif
inline Open() {
  if
  :: !is_active && nobody_blocks && head_is_unused ->
    SlotAt(head) = State(head, FREE);
    tail = head;
    shared = true;
    is_active = true;
    sealed = false
  :: else
  fi
}

// The beginning of a critical section: takes the lock and applies what has been
// pushed. An add that had returned before must be in the queue then.
inline Lock() {
  atomic {
    !locked;
    locked = true;
    before[0] = returned[0];
    before[1] = returned[1];
    before[2] = returned[2]
  }
  Apply();
  assert(applied[0] >= before[0]);
  assert(applied[1] >= before[1]);
  assert(applied[2] >= before[2]);
  atomic { before[0] = 0; before[1] = 0; before[2] = 0; state = 0; first = 0 }
}

// The end of a critical section: wakes a getter if there is an item for it.
inline Unlock() {
  if
  :: queued > 0 && (asleep & 1) -> asleep = asleep & ~1
  :: queued > 0 && (asleep & 2) -> asleep = asleep & ~2
  :: queued == 0 || asleep == 0
  fi
  locked = false
}

// Queue::Add(), with AddRing::TryPush()
proctype Adder(byte self) {
  byte number = 1, position, state, first;
  byte before[3];
  do
  :: number > ADDS -> break
  :: else ->
    if
    :: !shared -> goto lock
    :: else
    fi;
    position = tail;
    do
    ::
      atomic {
        state = SlotAt(position);
        if
        :: state == State(position, FREE) ->
          SlotAt(position) = State(position, CLAIMED);
          break
        :: state < State(position, FREE) || state == State(position, SEALED) ->
          goto lock
        :: else -> position++
        fi
      }
    od;
    tail = position + 1;
    item_adder[position % CAPACITY] = self;
    item_number[position % CAPACITY] = number;
#ifdef BROKEN_PUBLISHES_BLINDLY
    atomic {
      SlotAt(position) = State(position, FILLED);
      returned[self] = number
    }
    goto next;
#else
    atomic {
      if
      :: SlotAt(position) == State(position, CLAIMED) ->
        SlotAt(position) = State(position, FILLED);
        returned[self] = number;
        goto next
      :: else
      fi
    }
#endif
    item_adder[position % CAPACITY] = 0;
    item_number[position % CAPACITY] = 0;
    SlotAt(position) = State(position, ABANDONED);
lock:
    Lock();
    AddToQueue(self, number);
    // The lock may have been contended.
    if
    :: Open()
    :: true
    fi;
    atomic {
      Unlock();
      returned[self] = number
    }
next:
    position = 0;
    number++
  od
}

// A worker that calls Get() again and again.
proctype Getter(byte self) {
  byte state, first;
  byte before[3];
  do
  :: over -> break
  :: !over ->
    Lock();
    // QueueCore::AwaitItem()
    if
#ifndef BROKEN_SLEEPS_UNSEALED
    :: queued == 0 -> Seal(); Apply()
#endif
    :: else
    fi;
    // QueueState::AwaitItem()
    do
    :: queued > 0 || over -> break
    :: else ->
      atomic { asleep = asleep | (1 << self); locked = false }
      atomic { (!(asleep & (1 << self)) || over) && !locked -> locked = true }
    od;
    atomic {
      if
      :: queued > 0 -> queued--; left--
      :: else
      fi;
      Unlock()
    }
    // A worker may take any time with its item.
    if
    :: true
    :: true -> resume
    fi
  od
}

init {
  byte n;
  atomic {
    for (n : 0 .. CAPACITY - 1) { slot[n] = State(CAPACITY + n, FREE) }
    for (n : 1 .. ADDERS) { run Adder(n - 1) }
    for (n : 1 .. GETTERS) { run Getter(n - 1) }
  }
  // Every adder has ended, and every getter sleeps or pauses. No getter sleeps
  // while there is an item.
  timeout;
  assert(asleep == 0 || (queued == 0 && applied[0] == returned[0] &&
                         applied[1] == returned[1] &&
                         applied[2] == returned[2]));
  resume = true;
  timeout;
  assert(left == 0);
  over = true
}
