/* foliot for C, and for languages that call C: the timers of a service, and those of a program's own event loop, behind
 * opaque handles.
 *
 *   static void on_idle(void* session, const foliot_firing* firing) { … }
 *
 *   foliot_service* timers;
 *   foliot_timer* idle;
 *   if (foliot_service_create(NULL, &timers) != FOLIOT_OK) puts(foliot_error_message());
 *   foliot_timer_create(timers, on_idle, session, NULL, &idle);
 *   foliot_timer_reset(idle, 30 * FOLIOT_SECOND, NULL);
 *
 * Time is in nanoseconds, as a 64-bit integer: a length, or an instant of the service's clock. A delay of zero or less
 * means now; FOLIOT_NEVER, and a deadline past the end of time, mean never. A timer is never early. The results of stop
 * and reset, and what callbacks may do, are as in C++: docs/contract.md.
 *
 * Errors: a function that can fail returns a foliot_status. If that is not FOLIOT_OK, nothing was changed, and
 * foliot_error_message() describes the error. No function throws. A null handle is FOLIOT_INVALID, except that null may
 * be destroyed. Pointers to results may be null, except those of the create functions, of foliot_engine_find and of
 * foliot_service_get_counters.
 *
 * Threads: every function may be called from any thread and from callbacks, unless stated otherwise. While a thread
 * destroys or detaches a handle, no other thread may use that handle.
 *
 * Language: C89 or later with <stdint.h> and <stdbool.h>, so with 64-bit integers and _Bool as in C99; C++98 or later.
 */
#ifndef FOLIOT_FOLIOT_H
#define FOLIOT_FOLIOT_H

#include <foliot/core/export.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#if __cplusplus >= 201103L
#define FOLIOT_NOEXCEPT noexcept
#else
#define FOLIOT_NOEXCEPT throw()
#endif
extern "C" {
#else
#define FOLIOT_NOEXCEPT
#endif

typedef struct foliot_service foliot_service;
typedef struct foliot_timer foliot_timer;
typedef struct foliot_ticker foliot_ticker;
typedef struct foliot_virtual_clock foliot_virtual_clock;
typedef struct foliot_engine foliot_engine;

#define FOLIOT_MICROSECOND INT64_C(1000)    /* a length of time, in nanoseconds */
#define FOLIOT_MILLISECOND INT64_C(1000000) /* a length of time, in nanoseconds */
#define FOLIOT_SECOND INT64_C(1000000000)   /* a length of time, in nanoseconds */
#define FOLIOT_NEVER INT64_MAX              /* the delay and the deadline that never come */

/* ---------------------------------------------------------------- errors */

typedef enum foliot_status {
  FOLIOT_OK = 0,
  FOLIOT_INVALID = 1, /* an invalid argument: a null handle, the name of no engine, a period of zero */
  FOLIOT_NO_MEMORY = 2,
  FOLIOT_SYSTEM = 3,      /* the system refuses a thread or a file descriptor */
  FOLIOT_NOT_ALLOWED = 4, /* not allowed here: in a callback, to sleep on its service, to advance its clock, or to
                             expire its loop */
  FOLIOT_FAILED = 5       /* any other error */
} foliot_status;

/* A short description of a status. Valid for ever. */
FOLIOT_EXPORT const char* foliot_strerror(int status) FOLIOT_NOEXCEPT;
/* A description of the latest failed call of the calling thread; "" if none has failed. Valid until its next failure.
 */
FOLIOT_EXPORT const char* foliot_error_message(void) FOLIOT_NOEXCEPT;
/* The version of the library, which may differ from that of this header: "0.1.0". */
FOLIOT_EXPORT const char* foliot_version(void) FOLIOT_NOEXCEPT;

/* ---------------------------------------------------------------- virtual clocks */

/* A clock that stands still until it is advanced. */

/* Makes a clock that shows `start`, which must not be FOLIOT_NEVER. */
FOLIOT_EXPORT foliot_status foliot_virtual_clock_create(int64_t start, foliot_virtual_clock** result) FOLIOT_NOEXCEPT;
/* The clock must outlive the services on it. */
FOLIOT_EXPORT void foliot_virtual_clock_destroy(foliot_virtual_clock* time) FOLIOT_NOEXCEPT;
/* Moves time on by `length` and fires the timers that become due, in order, on the calling thread. */
FOLIOT_EXPORT foliot_status foliot_virtual_clock_advance(foliot_virtual_clock* time, int64_t length,
                                                         size_t* fired) FOLIOT_NOEXCEPT;
/* Moves time on to `target` in the same way, and fires at most `limit` timers; 0 means no limit. If more timers are due
 * on the way, time stays at the last deadline and `fired` equals `limit`: call again. */
FOLIOT_EXPORT foliot_status foliot_virtual_clock_advance_to(foliot_virtual_clock* time, int64_t target, size_t limit,
                                                            size_t* fired) FOLIOT_NOEXCEPT;
/* The present time of the clock; 0 for null. */
FOLIOT_EXPORT int64_t foliot_virtual_clock_now(const foliot_virtual_clock* time) FOLIOT_NOEXCEPT;

/* ---------------------------------------------------------------- services */

typedef enum foliot_clock {
  FOLIOT_MONOTONIC = 0, /* stands still while the machine is suspended */
  FOLIOT_BOOTTIME = 1,  /* counts suspend */
  FOLIOT_WALL = 2       /* since 1970; an administrator may set it */
} foliot_clock;

/* A field that is zero has its default. `size` tells the library which version of this structure it got: initialise the
 * structure with FOLIOT_SERVICE_OPTIONS_INIT. */
typedef struct foliot_service_options {
  size_t size;
  const foliot_engine* engine; /* null: "foliot"; others: foliot_engine_find */
  int clock;                   /* a foliot_clock */
  size_t shards;               /* the number of queues, with a thread each; 0: the engine's default */
  bool precise;                /* spin shortly before each deadline, to fire less late */
  size_t turn;                 /* how many timers fire between two readings of the clock; 0: the engine's default */
  foliot_virtual_clock* virtual_time; /* not null: the service has no thread, and this clock instead of `clock` */
} foliot_service_options;

/* clang-format off */
#define FOLIOT_SERVICE_OPTIONS_INIT {sizeof(foliot_service_options), NULL, FOLIOT_MONOTONIC, 0, false, 0, NULL}
/* clang-format on */

/* What a service has counted since it was made. */
typedef struct foliot_service_counters {
  uint64_t started;    /* starts of timers that were not pending */
  uint64_t superseded; /* resets of timers that were pending */
  uint64_t stopped;
  uint64_t fired;
  uint64_t skipped; /* ticks of tickers that were not called because they came too late */
  uint64_t dropped; /* timers that were pending when the service ended */
  uint64_t refused; /* starts, sleeps and watches that began nothing: the service was ending, or the timer was closed */
  uint64_t wake_ups;
  uint64_t wakes_with_work;    /* a thread woke and a timer was due */
  uint64_t wakes_without_work; /* a thread woke and no timer was due */
  uint64_t pending;            /* timers that are pending now */
  uint64_t peak_pending;
} foliot_service_counters;

/* Finds an engine by its name, for foliot_service_options. Valid for ever. For a name that no engine has the message
 * lists all. A statically linked program that calls this has all engines in it, and foliot's alone otherwise. */
FOLIOT_EXPORT foliot_status foliot_engine_find(const char* name, const foliot_engine** result) FOLIOT_NOEXCEPT;

/* Makes a service. `options` may be null for all defaults. */
FOLIOT_EXPORT foliot_status foliot_service_create(const foliot_service_options* options,
                                                  foliot_service** result) FOLIOT_NOEXCEPT;
/* Shuts the service down and destroys it. Handles of its timers stay valid and must still be destroyed; they start
 * nothing any more. Must not be called from a callback of this service. */
FOLIOT_EXPORT void foliot_service_destroy(foliot_service* service) FOLIOT_NOEXCEPT;
/* Ends the service: drops the pending timers, and waits for callbacks that are running; inside a callback of this
 * service it waits for none. */
FOLIOT_EXPORT foliot_status foliot_service_shut_down(foliot_service* service, size_t* dropped) FOLIOT_NOEXCEPT;
/* Ends the service gradually: refuses new starts, waits until the pending timers have fired, at most `at_most` by the
 * monotonic clock, and drops the rest. A foliot_service_shut_down by another thread ends the wait. Not on virtual
 * time. */
FOLIOT_EXPORT foliot_status foliot_service_drain(foliot_service* service, int64_t at_most,
                                                 size_t* dropped) FOLIOT_NOEXCEPT;
/* Reserves memory for `count` pending timers: up to that number no start allocates. */
FOLIOT_EXPORT foliot_status foliot_service_reserve(foliot_service* service, size_t count) FOLIOT_NOEXCEPT;
/* Copies the counters; `result` must not be null. */
FOLIOT_EXPORT foliot_status foliot_service_get_counters(const foliot_service* service,
                                                        foliot_service_counters* result) FOLIOT_NOEXCEPT;
/* The present time of the service's clock; 0 for null. */
FOLIOT_EXPORT int64_t foliot_service_now(const foliot_service* service) FOLIOT_NOEXCEPT;
/* Blocks the calling thread for at least `length`. Sets `whole` to false if the service ended before. Must not be
 * called from a callback of this service, whatever the length. */
FOLIOT_EXPORT foliot_status foliot_sleep(foliot_service* service, int64_t length, bool* whole) FOLIOT_NOEXCEPT;

/* ---------------------------------------------------------------- timers */

/* What a callback is told of its call. */
typedef struct foliot_firing {
  int64_t deadline; /* the deadline that has come */
  int64_t now;      /* the service's clock just before the callback */
  uint64_t skipped; /* for tickers: how many later ticks had passed as well */
} foliot_firing;

/* Called on a thread of the service, on the thread that advances the virtual clock, or in foliot_loop_expire. */
typedef void (*foliot_callback)(void* context, const foliot_firing* firing);
/* Called with a timer's context when the timer's callback is not running and will not run again: at the latest when the
 * handle is destroyed; for a detached timer after it has fired, or when the service ends. Not called if the create
 * function fails: then the context still belongs to the caller. */
typedef void (*foliot_release)(void* context);

/* What a stop found. */
typedef enum foliot_stop_result {
  FOLIOT_STOPPED = 0,      /* the timer was pending; it will not fire */
  FOLIOT_STOP_RUNNING = 1, /* the timer's callback is running now */
  FOLIOT_STOP_IDLE = 2     /* the timer had fired or been stopped before, or was never started */
} foliot_stop_result;

/* What a reset found. The timer is pending afterwards, except after FOLIOT_CLOSED. */
typedef enum foliot_reset_result {
  FOLIOT_SUPERSEDED = 0,    /* the timer was pending; it will fire at the new deadline only */
  FOLIOT_RESET_RUNNING = 1, /* the timer's callback is running now; it will run again at the new deadline */
  FOLIOT_RESET_IDLE = 2,    /* the timer had fired or been stopped before, or was never started */
  FOLIOT_CLOSED = 3         /* stop_and_wait, or the end of the service, came first: nothing was started */
} foliot_reset_result;

/* Makes an idle timer. `release` may be null. */
FOLIOT_EXPORT foliot_status foliot_timer_create(foliot_service* service, foliot_callback callback, void* context,
                                                foliot_release release, foliot_timer** result) FOLIOT_NOEXCEPT;
/* Stops the timer, waits for a running callback unless the caller is that callback, and destroys the handle. */
FOLIOT_EXPORT void foliot_timer_destroy(foliot_timer* timer) FOLIOT_NOEXCEPT;
/* Destroys the handle without stopping the timer: a pending timer still fires. */
FOLIOT_EXPORT void foliot_timer_detach(foliot_timer* timer) FOLIOT_NOEXCEPT;

/* Starts the timer, or gives a pending timer a new deadline, `delay` from now. */
FOLIOT_EXPORT foliot_status foliot_timer_reset(foliot_timer* timer, int64_t delay,
                                               foliot_reset_result* result) FOLIOT_NOEXCEPT;
/* As foliot_timer_reset, with the deadline itself. */
FOLIOT_EXPORT foliot_status foliot_timer_reset_at(foliot_timer* timer, int64_t deadline,
                                                  foliot_reset_result* result) FOLIOT_NOEXCEPT;
/* As foliot_timer_reset; the timer may fire up to `slack` later, so that several timers share a wake-up. */
FOLIOT_EXPORT foliot_status foliot_timer_reset_with_slack(foliot_timer* timer, int64_t delay, int64_t slack,
                                                          foliot_reset_result* result) FOLIOT_NOEXCEPT;
/* Stops the timer. Does not wait for a running callback. */
FOLIOT_EXPORT foliot_status foliot_timer_stop(foliot_timer* timer, foliot_stop_result* result) FOLIOT_NOEXCEPT;
/* Stops the timer for ever: on return the callback is not running and will not run, and the context was released.
   The caller must not hold a lock that the callback takes: each would wait for the other. */
FOLIOT_EXPORT foliot_status foliot_timer_stop_and_wait(foliot_timer* timer, foliot_stop_result* result) FOLIOT_NOEXCEPT;
/* Whether the timer will fire; false for null. */
FOLIOT_EXPORT bool foliot_timer_pending(const foliot_timer* timer) FOLIOT_NOEXCEPT;

/* ---------------------------------------------------------------- tickers */

/* Makes a ticker, which runs the callback every `period`, the first time one period from now, on a grid without
 * drift. `period` must be positive; `release` may be null. */
FOLIOT_EXPORT foliot_status foliot_ticker_create(foliot_service* service, int64_t period, foliot_callback callback,
                                                 void* context, foliot_release release,
                                                 foliot_ticker** result) FOLIOT_NOEXCEPT;
/* As foliot_timer_destroy. */
FOLIOT_EXPORT void foliot_ticker_destroy(foliot_ticker* ticker) FOLIOT_NOEXCEPT;
/* Begins a new grid: the next tick is one period from now. */
FOLIOT_EXPORT foliot_status foliot_ticker_reset(foliot_ticker* ticker, int64_t period,
                                                foliot_reset_result* result) FOLIOT_NOEXCEPT;
/* As foliot_timer_stop; foliot_ticker_reset starts the ticker again. */
FOLIOT_EXPORT foliot_status foliot_ticker_stop(foliot_ticker* ticker, foliot_stop_result* result) FOLIOT_NOEXCEPT;
/* As foliot_timer_stop_and_wait. */
FOLIOT_EXPORT foliot_status foliot_ticker_stop_and_wait(foliot_ticker* ticker,
                                                        foliot_stop_result* result) FOLIOT_NOEXCEPT;
/* Whether the ticker will tick; false for null. */
FOLIOT_EXPORT bool foliot_ticker_pending(const foliot_ticker* ticker) FOLIOT_NOEXCEPT;
/* How many ticks the ticker has skipped since it was made; 0 for null. */
FOLIOT_EXPORT uint64_t foliot_ticker_skipped(const foliot_ticker* ticker) FOLIOT_NOEXCEPT;

/* ---------------------------------------------------------------- event loops */

/* Timers in a loop of the program's own, which waits for descriptors with epoll, poll or select. No thread is made: the
 * loop waits no longer than foliot_loop_timeout_ms says, or until foliot_loop_fd is readable, and then calls
 * foliot_loop_expire.
 *
 *   foliot_loop* timers;
 *   foliot_loop_timer* idle;
 *   if (foliot_loop_create(NULL, &timers) != FOLIOT_OK) puts(foliot_error_message());
 *   foliot_loop_timer_create(timers, on_idle, session, NULL, &idle);
 *   foliot_loop_timer_reset(idle, 30 * FOLIOT_SECOND, NULL);
 *   for (;;) {
 *     poll(descriptors, count, foliot_loop_timeout_ms(timers));
 *     … the descriptors that are ready …
 *     foliot_loop_expire(timers, 256, NULL, NULL);
 *   }
 *
 * Threads: a loop, its timers and its tickers belong to one thread, which makes all calls.
 * Callbacks run inside foliot_loop_expire. They may create, reset, stop and destroy every timer and ticker, their own
 * included, but must not destroy the loop. */
typedef struct foliot_loop foliot_loop;
typedef struct foliot_loop_timer foliot_loop_timer;
typedef struct foliot_loop_ticker foliot_loop_ticker;

/* As foliot_service_options: initialise the structure with FOLIOT_LOOP_OPTIONS_INIT. */
typedef struct foliot_loop_options {
  size_t size;
  bool descriptor;                    /* the loop has a file descriptor: foliot_loop_fd */
  foliot_virtual_clock* virtual_time; /* not null: this clock instead of the monotonic one, and no descriptor */
} foliot_loop_options;

/* clang-format off */
#define FOLIOT_LOOP_OPTIONS_INIT {sizeof(foliot_loop_options), false, NULL}
/* clang-format on */

/* Makes the timers of a loop. `options` may be null for all defaults. FOLIOT_SYSTEM if a descriptor is wanted and the
 * process has none left. */
FOLIOT_EXPORT foliot_status foliot_loop_create(const foliot_loop_options* options,
                                               foliot_loop** result) FOLIOT_NOEXCEPT;
/* Pending timers end without firing. Handles of timers and tickers may still be destroyed, which releases their
 * contexts, but must not be used otherwise. */
FOLIOT_EXPORT void foliot_loop_destroy(foliot_loop* loop) FOLIOT_NOEXCEPT;
/* The present time of the loop's clock; 0 for null. */
FOLIOT_EXPORT int64_t foliot_loop_now(const foliot_loop* loop) FOLIOT_NOEXCEPT;
/* The instant at which foliot_loop_expire must be called at the latest; FOLIOT_NEVER if no timer is pending, and for
 * null. After a stop of the earliest timer it may be too early, so that the loop wakes once for nothing. */
FOLIOT_EXPORT int64_t foliot_loop_next_deadline(foliot_loop* loop) FOLIOT_NOEXCEPT;
/* The length of time until then: 0 if timers are due, FOLIOT_NEVER as above. */
FOLIOT_EXPORT int64_t foliot_loop_timeout(foliot_loop* loop) FOLIOT_NOEXCEPT;
/* The same for epoll_wait and poll: in milliseconds, rounded up, so that the loop does not wake before the deadline; -1
 * for never; at most the largest int. */
FOLIOT_EXPORT int foliot_loop_timeout_ms(foliot_loop* loop) FOLIOT_NOEXCEPT;
/* A file descriptor that is readable while a timer is due, for loops that wait for descriptors alone. The loop owns it:
 * do not read from it, and do not close it. -1 if there is none, and for null. The child of a fork has a copy of the
 * loop, behind a descriptor of the same number that is the child's own; it needs an epoll instance of its own, too. */
FOLIOT_EXPORT int foliot_loop_fd(const foliot_loop* loop) FOLIOT_NOEXCEPT;
/* Fires the timers that are due, at most `limit`; 0 means no limit. Sets `fired` to how many have fired, and `more` to
 * whether the limit has left timers that may be due: then the next wait must not block (the timeout is 0, and the
 * descriptor stays readable). FOLIOT_NOT_ALLOWED in a callback of this loop; FOLIOT_NO_MEMORY if there is no memory to
 * move timers or for a ticker's next tick: the timers before that have fired, and all others stay pending. */
FOLIOT_EXPORT foliot_status foliot_loop_expire(foliot_loop* loop, size_t limit, size_t* fired,
                                               bool* more) FOLIOT_NOEXCEPT;
/* How many timers and tickers are pending; 0 for null. */
FOLIOT_EXPORT size_t foliot_loop_pending(const foliot_loop* loop) FOLIOT_NOEXCEPT;
/* Reserves memory for `count` pending timers: up to that number neither a start nor a tick allocates. */
FOLIOT_EXPORT foliot_status foliot_loop_reserve(foliot_loop* loop, size_t count) FOLIOT_NOEXCEPT;

/* Makes an idle timer. `release` may be null. `now` of a foliot_firing is the instant at which the turn began. */
FOLIOT_EXPORT foliot_status foliot_loop_timer_create(foliot_loop* loop, foliot_callback callback, void* context,
                                                     foliot_release release,
                                                     foliot_loop_timer** result) FOLIOT_NOEXCEPT;
/* Stops the timer and destroys the handle. In the timer's own callback its context is released when that returns. */
FOLIOT_EXPORT void foliot_loop_timer_destroy(foliot_loop_timer* timer) FOLIOT_NOEXCEPT;
/* Starts the timer, or gives a pending timer a new deadline, `delay` from now. Never FOLIOT_CLOSED. */
FOLIOT_EXPORT foliot_status foliot_loop_timer_reset(foliot_loop_timer* timer, int64_t delay,
                                                    foliot_reset_result* result) FOLIOT_NOEXCEPT;
/* As foliot_loop_timer_reset, with the deadline itself. */
FOLIOT_EXPORT foliot_status foliot_loop_timer_reset_at(foliot_loop_timer* timer, int64_t deadline,
                                                       foliot_reset_result* result) FOLIOT_NOEXCEPT;
/* Stops the timer; foliot_loop_timer_reset starts it again. */
FOLIOT_EXPORT foliot_status foliot_loop_timer_stop(foliot_loop_timer* timer,
                                                   foliot_stop_result* result) FOLIOT_NOEXCEPT;
/* Whether the timer will fire; false for null. */
FOLIOT_EXPORT bool foliot_loop_timer_pending(const foliot_loop_timer* timer) FOLIOT_NOEXCEPT;

/* Makes a ticker, which runs the callback every `period`, the first time one period from now, on a grid without drift;
 * at most once in a turn. `period` must be positive; `release` may be null. */
FOLIOT_EXPORT foliot_status foliot_loop_ticker_create(foliot_loop* loop, int64_t period, foliot_callback callback,
                                                      void* context, foliot_release release,
                                                      foliot_loop_ticker** result) FOLIOT_NOEXCEPT;
/* As foliot_loop_timer_destroy. */
FOLIOT_EXPORT void foliot_loop_ticker_destroy(foliot_loop_ticker* ticker) FOLIOT_NOEXCEPT;
/* Begins a new grid: the next tick is one period from now. */
FOLIOT_EXPORT foliot_status foliot_loop_ticker_reset(foliot_loop_ticker* ticker, int64_t period,
                                                     foliot_reset_result* result) FOLIOT_NOEXCEPT;
/* Begins a new grid at `first`; if that has passed, the next tick is the first one of the grid that has not. */
FOLIOT_EXPORT foliot_status foliot_loop_ticker_reset_at(foliot_loop_ticker* ticker, int64_t first, int64_t period,
                                                        foliot_reset_result* result) FOLIOT_NOEXCEPT;
/* Stops the ticker; foliot_loop_ticker_reset starts it again. In its own callback FOLIOT_STOPPED. */
FOLIOT_EXPORT foliot_status foliot_loop_ticker_stop(foliot_loop_ticker* ticker,
                                                    foliot_stop_result* result) FOLIOT_NOEXCEPT;
/* Whether the ticker will tick; false for null. */
FOLIOT_EXPORT bool foliot_loop_ticker_pending(const foliot_loop_ticker* ticker) FOLIOT_NOEXCEPT;
/* How many ticks the ticker has skipped since it was made; 0 for null. */
FOLIOT_EXPORT uint64_t foliot_loop_ticker_skipped(const foliot_loop_ticker* ticker) FOLIOT_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOLIOT_FOLIOT_H */
