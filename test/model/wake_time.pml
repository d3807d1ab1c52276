// WakeTime (workqueue/base/wake_time.h). `wake_time` is a variable of type
// byte, which begins as PAST. Other models include this file after parker.pml.
// Every call is part of a critical section.

// IsAfter()
#define IS_AFTER(wake_time, time) ((time) < wake_time)

// Set()
inline SetWakeTime(wake_time, time) { wake_time = time }

// Clear()
inline ClearWakeTime(wake_time) { wake_time = PAST }

#ifdef BROKEN_WAKE_TIME_WAKES_IF_LATER
#define MUST_WAKE_BY(wake_time, time) (wake_time != PAST && (time) > wake_time)
#else
#define MUST_WAKE_BY(wake_time, time) IS_AFTER(wake_time, time)
#endif

inline ForgetWakeTime(wake_time) {
#ifdef BROKEN_WAKE_TIME_NOT_FORGOTTEN
  skip
#else
  ClearWakeTime(wake_time)
#endif
}

// WakeBy(), and `wake` if it returns true. An inline takes no statement.
#define IF_WAKE_BY(wake_time, time, wake)                             \
  if                                                                  \
  :: MUST_WAKE_BY(wake_time, time) -> ForgetWakeTime(wake_time); wake \
  :: else                                                             \
  fi
