/* foliot for C, and for what calls C: a service's timers behind opaque handles.
 *
 *   static void on_idle(void* session, const foliot_firing* firing) { … }
 *
 *   foliot_service* timers;
 *   foliot_timer* idle;
 *   if (foliot_service_create(NULL, &timers) != FOLIOT_OK) puts(foliot_error_message());
 *   foliot_timer_create(timers, on_idle, session, NULL, &idle);
 *   foliot_timer_start(idle, 30 * FOLIOT_SECOND, NULL);
 *
 * Time is nanoseconds in 64 bits: a length, or an instant of the service's clock. Zero and less mean now, FOLIOT_NEVER
 * and past the end of time never. A timer is never early; what stop and reset answer, what a callback may do, and
 * which threads may do what is as in C++: docs/contract.md.
 *
 * Errors: a call that can fail returns a foliot_status; after one that is not FOLIOT_OK nothing has changed, and
 * foliot_error_message() says what was wrong. No exception comes out of any of these functions. A null handle is
 * FOLIOT_INVALID; to destroy null is allowed. Outputs that nobody wants may be null, but for those of a create.
 *
 * Threads: everything from any thread, and from callbacks; destroying and detaching need the handle to oneself.
 *
 * Language: C89 or later, with <stdint.h> and <stdbool.h>, so 64-bit integers and _Bool, as C99 and every compiler of
 * today has them; C++98 or later. */
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

#define FOLIOT_MICROSECOND INT64_C(1000)
#define FOLIOT_MILLISECOND INT64_C(1000000)
#define FOLIOT_SECOND INT64_C(1000000000)
#define FOLIOT_NEVER INT64_MAX

/* ---------------------------------------------------------------- errors */

typedef enum foliot_status {
  FOLIOT_OK = 0,
  FOLIOT_INVALID = 1, /* an argument that cannot be: null, an unknown engine, a period of zero */
  FOLIOT_NO_MEMORY = 2,
  FOLIOT_SYSTEM = 3,      /* the system has no thread, or no file descriptor, to give */
  FOLIOT_NOT_ALLOWED = 4, /* not here: a callback that sleeps on its own service, or advances its own clock */
  FOLIOT_FAILED = 5       /* anything else */
} foliot_status;

/* A few words for each status, for ever. */
FOLIOT_EXPORT const char* foliot_strerror(int status) FOLIOT_NOEXCEPT;
/* What was wrong with the latest call of this thread that failed; "" before there was one. Until the next one fails. */
FOLIOT_EXPORT const char* foliot_error_message(void) FOLIOT_NOEXCEPT;
/* "0.1.0": of the library, not of this header. */
FOLIOT_EXPORT const char* foliot_version(void) FOLIOT_NOEXCEPT;

/* ---------------------------------------------------------------- virtual clocks */

/* A clock that stands still until it is advanced, and then fires what becomes due, in order, on the calling thread.
 * It outlives the services on it. `limit` is how many timers fire at most, 0 for no limit; where more are due time
 * stays, `fired` equals `limit`, and the next advance goes on. */
FOLIOT_EXPORT foliot_status foliot_virtual_clock_create(int64_t start, foliot_virtual_clock** result) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT void foliot_virtual_clock_destroy(foliot_virtual_clock* time) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT foliot_status foliot_virtual_clock_advance(foliot_virtual_clock* time, int64_t length,
                                                         size_t* fired) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT foliot_status foliot_virtual_clock_advance_to(foliot_virtual_clock* time, int64_t target, size_t limit,
                                                            size_t* fired) FOLIOT_NOEXCEPT;
/* What it shows; 0 for null. */
FOLIOT_EXPORT int64_t foliot_virtual_clock_now(const foliot_virtual_clock* time) FOLIOT_NOEXCEPT;

/* ---------------------------------------------------------------- services */

typedef enum foliot_clock {
  FOLIOT_MONOTONIC = 0, /* stands still while the machine is suspended */
  FOLIOT_BOOTTIME = 1,  /* counts suspend */
  FOLIOT_WALL = 2       /* since 1970, and set by whoever may */
} foliot_clock;

/* What is zero is as it comes. `size` tells the library which version of this structure it got. */
typedef struct foliot_service_options {
  size_t size;
  const char* engine;                 /* null: "foliot" */
  int clock;                          /* a foliot_clock */
  size_t shards;                      /* queues with a thread each; 0: what the engine has by itself */
  bool precise;                       /* spin the last stretch before a deadline */
  size_t turn;                        /* how many timers a thread fires before it looks at the clock again; 0: the engine's own */
  foliot_virtual_clock* virtual_time; /* not null: no thread, and this clock instead of `clock` */
} foliot_service_options;

/* clang-format off */
#define FOLIOT_SERVICE_OPTIONS_INIT {sizeof(foliot_service_options), NULL, FOLIOT_MONOTONIC, 0, false, 0, NULL}
/* clang-format on */

typedef struct foliot_service_counters {
  uint64_t started;    /* of timers that were not pending */
  uint64_t superseded; /* resets of timers that were */
  uint64_t stopped;
  uint64_t fired;
  uint64_t skipped; /* beats of tickers that came too late */
  uint64_t dropped; /* pending when the service ended */
  uint64_t wake_ups;
  uint64_t wakes_with_work;    /* a thread woke, and something was due */
  uint64_t wakes_without_work; /* and nothing was */
  uint64_t pending;            /* now */
  uint64_t peak_pending;
} foliot_service_counters;

/* `options` may be null: all as it comes. */
FOLIOT_EXPORT foliot_status foliot_service_create(const foliot_service_options* options,
                                                  foliot_service** result) FOLIOT_NOEXCEPT;
/* Shuts it down. The handles that it leaves behind must still be destroyed; they answer, and start nothing. Not from
 * a callback of this service. */
FOLIOT_EXPORT void foliot_service_destroy(foliot_service* service) FOLIOT_NOEXCEPT;
/* Drops what is pending, and waits for the callbacks that run. */
FOLIOT_EXPORT foliot_status foliot_service_shut_down(foliot_service* service, size_t* dropped) FOLIOT_NOEXCEPT;
/* Starts nothing new, waits for what is pending, at most so long by the monotonic clock, and drops the rest. A
 * foliot_service_shut_down by another thread ends the wait. Not on virtual time. */
FOLIOT_EXPORT foliot_status foliot_service_drain(foliot_service* service, int64_t at_most,
                                                 size_t* dropped) FOLIOT_NOEXCEPT;
/* Room for so many pending timers: up to there no start allocates. FOLIOT_NO_MEMORY: nothing has changed. */
FOLIOT_EXPORT foliot_status foliot_service_reserve(foliot_service* service, size_t count) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT foliot_status foliot_service_get_counters(const foliot_service* service,
                                                        foliot_service_counters* result) FOLIOT_NOEXCEPT;
/* What the service's clock shows; 0 for null. */
FOLIOT_EXPORT int64_t foliot_now(const foliot_service* service) FOLIOT_NOEXCEPT;
/* Blocks the calling thread for at least `length`; `whole`: unless the service ended first. Not from a callback of this
 * service, whatever the length. */
FOLIOT_EXPORT foliot_status foliot_sleep(foliot_service* service, int64_t length, bool* whole) FOLIOT_NOEXCEPT;

/* ---------------------------------------------------------------- timers */

typedef struct foliot_firing {
  int64_t deadline; /* when it was to fire */
  int64_t now;      /* the clock just before the callback */
  uint64_t skipped; /* tickers: how many later beats had passed too */
} foliot_firing;

/* Runs on a thread of the service, or on that which advances the virtual clock. */
typedef void (*foliot_callback)(void* context, const foliot_firing* firing);
/* Gets a timer's context once its callback does not run and will not: at the latest when the handle is destroyed, for
 * a detached timer after it has fired, or when the service ends. Not where a create fails: the context is the caller's.
 */
typedef void (*foliot_release)(void* context);

/* What became of the latest start. */
typedef enum foliot_stop_result {
  FOLIOT_STOPPED = 0, /* it was pending; it will not fire */
  FOLIOT_STOP_RUNNING = 1,
  FOLIOT_STOP_IDLE = 2
} foliot_stop_result;

typedef enum foliot_reset_result {
  FOLIOT_SUPERSEDED = 0, /* it was pending; only the new deadline counts */
  FOLIOT_RESET_RUNNING = 1,
  FOLIOT_RESET_IDLE = 2,
  FOLIOT_CLOSED = 3 /* stop_and_wait or the end of its service came first: nothing was started */
} foliot_reset_result;

/* An idle timer. `release` may be null. */
FOLIOT_EXPORT foliot_status foliot_timer_create(foliot_service* service, foliot_callback callback, void* context,
                                                foliot_release release, foliot_timer** result) FOLIOT_NOEXCEPT;
/* Stops it, and waits for a callback that runs, unless that is the caller. */
FOLIOT_EXPORT void foliot_timer_destroy(foliot_timer* timer) FOLIOT_NOEXCEPT;
/* Lets the timer go its way, and destroys the handle. One that is not pending goes at once. */
FOLIOT_EXPORT void foliot_timer_detach(foliot_timer* timer) FOLIOT_NOEXCEPT;

/* Arm the timer, wherever it was. start and reset are two names for one thing. */
FOLIOT_EXPORT foliot_status foliot_timer_start(foliot_timer* timer, int64_t delay,
                                               foliot_reset_result* result) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT foliot_status foliot_timer_reset(foliot_timer* timer, int64_t delay,
                                               foliot_reset_result* result) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT foliot_status foliot_timer_start_at(foliot_timer* timer, int64_t deadline,
                                                  foliot_reset_result* result) FOLIOT_NOEXCEPT;
/* Fires up to `slack` later, so that timers share wake-ups. */
FOLIOT_EXPORT foliot_status foliot_timer_start_with_slack(foliot_timer* timer, int64_t delay, int64_t slack,
                                                          foliot_reset_result* result) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT foliot_status foliot_timer_stop(foliot_timer* timer, foliot_stop_result* result) FOLIOT_NOEXCEPT;
/* Stops it for good: on return the callback does not run and will not, and the context has been released. */
FOLIOT_EXPORT foliot_status foliot_timer_stop_and_wait(foliot_timer* timer, foliot_stop_result* result) FOLIOT_NOEXCEPT;
/* Whether it will fire; false for null. */
FOLIOT_EXPORT bool foliot_timer_pending(const foliot_timer* timer) FOLIOT_NOEXCEPT;

/* ---------------------------------------------------------------- tickers */

/* Runs the callback every `period`, on a grid that does not drift, the first time one period from now. */
FOLIOT_EXPORT foliot_status foliot_ticker_create(foliot_service* service, int64_t period, foliot_callback callback,
                                                 void* context, foliot_release release,
                                                 foliot_ticker** result) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT void foliot_ticker_destroy(foliot_ticker* ticker) FOLIOT_NOEXCEPT;
/* A new grid from now on. */
FOLIOT_EXPORT foliot_status foliot_ticker_reset(foliot_ticker* ticker, int64_t period,
                                                foliot_reset_result* result) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT foliot_status foliot_ticker_stop(foliot_ticker* ticker, foliot_stop_result* result) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT foliot_status foliot_ticker_stop_and_wait(foliot_ticker* ticker,
                                                        foliot_stop_result* result) FOLIOT_NOEXCEPT;
FOLIOT_EXPORT bool foliot_ticker_pending(const foliot_ticker* ticker) FOLIOT_NOEXCEPT;
/* How many beats it has skipped in its life; 0 for null. */
FOLIOT_EXPORT uint64_t foliot_ticker_skipped(const foliot_ticker* ticker) FOLIOT_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOLIOT_FOLIOT_H */
