// Timers of a C program's own event loop: every function, every status that one can ask for, null wherever it fits.
#include <foliot/foliot.h>

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"

typedef struct {
  int fired;
  int released;
  foliot_firing last;
  foliot_loop* loop;
  foliot_loop_timer* timer;
  foliot_loop_ticker* ticker;
} record;

static foliot_virtual_clock* time_ = NULL;

static void on_firing(void* context, const foliot_firing* firing) {
  record* r = context;
  ++r->fired;
  r->last = *firing;
}

static void on_release(void* context) { ++((record*)context)->released; }

static void destroy_itself(void* context, const foliot_firing* firing) {
  record* r = context;
  on_firing(context, firing);
  foliot_loop_timer_destroy(r->timer);
  foliot_loop_ticker_destroy(r->ticker);
  EXPECT(r->released == 0);
}

static void again(void* context, const foliot_firing* firing) {
  record* r = context;
  foliot_reset_result reset = FOLIOT_CLOSED;
  on_firing(context, firing);
  EXPECT(!foliot_loop_timer_pending(r->timer));
  if (r->fired < 3) {
    EXPECT(foliot_loop_timer_reset(r->timer, 0, &reset) == FOLIOT_OK && reset == FOLIOT_RESET_RUNNING);
  }
  EXPECT(foliot_loop_expire(r->loop, 0, NULL, NULL) == FOLIOT_NOT_ALLOWED);
}

static void three_times(void* context, const foliot_firing* firing) {
  record* r = context;
  foliot_stop_result stop = FOLIOT_STOP_IDLE;
  on_firing(context, firing);
  EXPECT(foliot_loop_ticker_pending(r->ticker));
  if (r->fired < 3) return;
  EXPECT(foliot_loop_ticker_stop(r->ticker, &stop) == FOLIOT_OK && stop == FOLIOT_STOPPED);
  EXPECT(foliot_loop_ticker_stop(r->ticker, &stop) == FOLIOT_OK && stop == FOLIOT_STOP_RUNNING);
}

static foliot_loop* new_loop(void) {
  foliot_loop_options options = FOLIOT_LOOP_OPTIONS_INIT;
  foliot_loop* loop = NULL;
  options.virtual_time = time_;
  EXPECT(foliot_loop_create(&options, &loop) == FOLIOT_OK);
  return loop;
}

/* Moves time on, and fires what is due. */
static size_t after(foliot_loop* loop, int64_t length) {
  size_t fired = 99;
  bool more = true;
  EXPECT(foliot_virtual_clock_advance(time_, length, NULL) == FOLIOT_OK);
  EXPECT(foliot_loop_expire(loop, 0, &fired, &more) == FOLIOT_OK && !more);
  return fired;
}

static void a_timers_life(void) {
  foliot_loop* loop = new_loop();
  record r = {0};
  foliot_reset_result reset = FOLIOT_CLOSED;
  foliot_stop_result stop = FOLIOT_STOP_RUNNING;
  const int64_t start = foliot_loop_now(loop);
  EXPECT(start == foliot_virtual_clock_now(time_));
  EXPECT(foliot_loop_timer_create(loop, on_firing, &r, on_release, &r.timer) == FOLIOT_OK);
  EXPECT(!foliot_loop_timer_pending(r.timer) && foliot_loop_pending(loop) == 0);
  EXPECT(foliot_loop_timer_reset(r.timer, 2 * FOLIOT_SECOND, &reset) == FOLIOT_OK && reset == FOLIOT_RESET_IDLE);
  EXPECT(foliot_loop_timer_reset(r.timer, 3 * FOLIOT_SECOND, &reset) == FOLIOT_OK && reset == FOLIOT_SUPERSEDED);
  EXPECT(foliot_loop_timer_pending(r.timer) && foliot_loop_pending(loop) == 1);
  EXPECT(foliot_loop_next_deadline(loop) == start + 3 * FOLIOT_SECOND);
  EXPECT(after(loop, 3 * FOLIOT_SECOND - 1) == 0);
  EXPECT(after(loop, 1) == 1);
  EXPECT(r.fired == 1 && r.last.deadline == start + 3 * FOLIOT_SECOND && r.last.now == r.last.deadline);
  EXPECT(foliot_loop_timer_stop(r.timer, &stop) == FOLIOT_OK && stop == FOLIOT_STOP_IDLE);
  EXPECT(foliot_loop_timer_reset_at(r.timer, start, NULL) == FOLIOT_OK);
  EXPECT(after(loop, 0) == 1 && r.last.deadline == start);
  EXPECT(foliot_loop_timer_reset(r.timer, -1, NULL) == FOLIOT_OK && after(loop, 0) == 1);
  EXPECT(foliot_loop_timer_reset(r.timer, FOLIOT_NEVER, NULL) == FOLIOT_OK);
  EXPECT(after(loop, 1000 * FOLIOT_SECOND) == 0);
  EXPECT(foliot_loop_timer_stop(r.timer, &stop) == FOLIOT_OK && stop == FOLIOT_STOPPED);
  EXPECT(r.released == 0);
  foliot_loop_timer_destroy(r.timer);
  EXPECT(r.released == 1 && r.fired == 3);
  foliot_loop_destroy(loop);
}

static void timeouts_are_rounded_up(void) {
  foliot_loop* loop = new_loop();
  record r = {0};
  EXPECT(foliot_loop_timeout(loop) == FOLIOT_NEVER && foliot_loop_timeout_ms(loop) == -1);
  EXPECT(foliot_loop_next_deadline(loop) == FOLIOT_NEVER);
  EXPECT(foliot_loop_timer_create(loop, on_firing, &r, NULL, &r.timer) == FOLIOT_OK);
  static const struct {
    int64_t delay;
    int milliseconds;
  } cases[] = {{0, 0},
               {1, 1},
               {FOLIOT_MILLISECOND - 1, 1},
               {FOLIOT_MILLISECOND, 1},
               {FOLIOT_MILLISECOND + 1, 2},
               {INT_MAX * FOLIOT_MILLISECOND - 1, INT_MAX},
               {INT_MAX * FOLIOT_MILLISECOND, INT_MAX},
               {INT_MAX * FOLIOT_MILLISECOND + 1, INT_MAX},
               {FOLIOT_NEVER, -1}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    EXPECT(foliot_loop_timer_reset(r.timer, cases[i].delay, NULL) == FOLIOT_OK);
    EXPECT(foliot_loop_timeout(loop) == cases[i].delay);
    EXPECT(foliot_loop_timeout_ms(loop) == cases[i].milliseconds);
  }
  EXPECT(foliot_loop_timer_reset(r.timer, 5, NULL) == FOLIOT_OK);
  EXPECT(foliot_virtual_clock_advance(time_, 10, NULL) == FOLIOT_OK);
  EXPECT(foliot_loop_timeout(loop) == 0 && foliot_loop_timeout_ms(loop) == 0);
  EXPECT(foliot_loop_timer_reset(r.timer, -5, NULL) == FOLIOT_OK);
  EXPECT(foliot_loop_timeout(loop) == 0 && foliot_loop_timeout_ms(loop) == 0);
  foliot_loop_timer_destroy(r.timer);
  foliot_loop_destroy(loop);
}

static void a_limit_leaves_the_rest(void) {
  foliot_loop* loop = new_loop();
  record r = {0};
  foliot_loop_timer* timers[5];
  size_t fired = 0;
  bool more = false;
  EXPECT(foliot_loop_reserve(loop, 5) == FOLIOT_OK);
  EXPECT(foliot_loop_reserve(loop, SIZE_MAX) == FOLIOT_NO_MEMORY);
  for (int i = 0; i < 5; ++i) {
    EXPECT(foliot_loop_timer_create(loop, on_firing, &r, NULL, &timers[i]) == FOLIOT_OK);
    foliot_loop_timer_reset(timers[i], i + 1, NULL);
  }
  EXPECT(foliot_virtual_clock_advance(time_, 10, NULL) == FOLIOT_OK);
  EXPECT(foliot_loop_expire(loop, 3, &fired, &more) == FOLIOT_OK && fired == 3 && more);
  EXPECT(foliot_loop_timeout(loop) == 0 && foliot_loop_pending(loop) == 2);
  EXPECT(foliot_loop_expire(loop, 3, &fired, &more) == FOLIOT_OK && fired == 2 && !more);
  EXPECT(foliot_loop_expire(loop, 3, &fired, &more) == FOLIOT_OK && fired == 0 && !more);
  for (int i = 0; i < 5; ++i) foliot_loop_timer_destroy(timers[i]);
  foliot_loop_destroy(loop);
}

static void callbacks_of_their_own_timers(void) {
  foliot_loop* loop = new_loop();
  record repeats = {0};
  record gone = {0};
  record ticks = {0};
  record gone_ticks = {0};
  repeats.loop = loop;
  EXPECT(foliot_loop_timer_create(loop, again, &repeats, on_release, &repeats.timer) == FOLIOT_OK);
  EXPECT(foliot_loop_timer_create(loop, destroy_itself, &gone, on_release, &gone.timer) == FOLIOT_OK);
  EXPECT(foliot_loop_ticker_create(loop, FOLIOT_SECOND, three_times, &ticks, on_release, &ticks.ticker) == FOLIOT_OK);
  EXPECT(foliot_loop_ticker_create(loop, FOLIOT_SECOND, destroy_itself, &gone_ticks, on_release, &gone_ticks.ticker) ==
         FOLIOT_OK);
  foliot_loop_timer_reset(repeats.timer, FOLIOT_SECOND, NULL);
  foliot_loop_timer_reset(gone.timer, FOLIOT_SECOND, NULL);
  EXPECT(after(loop, FOLIOT_SECOND) == 6);
  EXPECT(repeats.fired == 3 && gone.fired == 1 && gone.released == 1 && gone_ticks.released == 1);
  for (int i = 0; i < 10; ++i) after(loop, FOLIOT_SECOND);
  EXPECT(ticks.fired == 3 && gone_ticks.fired == 1 && foliot_loop_pending(loop) == 0);
  foliot_loop_timer_destroy(repeats.timer);
  foliot_loop_ticker_destroy(ticks.ticker);
  EXPECT(repeats.released == 1 && ticks.released == 1);
  foliot_loop_destroy(loop);
}

static void tickers(void) {
  foliot_loop* loop = new_loop();
  record r = {0};
  foliot_reset_result reset = FOLIOT_CLOSED;
  foliot_stop_result stop = FOLIOT_STOP_IDLE;
  const int64_t start = foliot_loop_now(loop);
  EXPECT(foliot_loop_ticker_create(loop, 0, on_firing, &r, on_release, &r.ticker) == FOLIOT_INVALID);
  EXPECT(r.ticker == NULL && r.released == 0 && strstr(foliot_error_message(), "period") != NULL);
  EXPECT(foliot_loop_ticker_create(loop, 10, on_firing, &r, on_release, &r.ticker) == FOLIOT_OK);
  EXPECT(foliot_loop_ticker_pending(r.ticker));
  EXPECT(after(loop, 9) == 0 && after(loop, 1) == 1 && r.last.deadline == start + 10 && r.last.skipped == 0);
  EXPECT(after(loop, 35) == 1); /* at 45: the tick at 20; those at 30 and 40 have passed */
  EXPECT(r.last.deadline == start + 20 && r.last.now == start + 45 && r.last.skipped == 2);
  EXPECT(after(loop, 4) == 0 && after(loop, 1) == 1 && r.last.deadline == start + 50);
  EXPECT(foliot_loop_ticker_skipped(r.ticker) == 2);
  EXPECT(foliot_loop_ticker_reset(r.ticker, -1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_loop_ticker_reset(r.ticker, 7, &reset) == FOLIOT_OK && reset == FOLIOT_SUPERSEDED);
  EXPECT(after(loop, 6) == 0 && after(loop, 1) == 1);
  EXPECT(foliot_loop_ticker_reset_at(r.ticker, start, 0, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_loop_ticker_reset_at(r.ticker, start, 100, &reset) == FOLIOT_OK && reset == FOLIOT_SUPERSEDED);
  EXPECT(foliot_loop_next_deadline(loop) == start + 100);
  EXPECT(foliot_loop_ticker_stop(r.ticker, &stop) == FOLIOT_OK && stop == FOLIOT_STOPPED);
  EXPECT(foliot_loop_ticker_stop(r.ticker, &stop) == FOLIOT_OK && stop == FOLIOT_STOP_IDLE);
  EXPECT(!foliot_loop_ticker_pending(r.ticker) && after(loop, FOLIOT_SECOND) == 0);
  EXPECT(foliot_loop_ticker_reset(r.ticker, 5, &reset) == FOLIOT_OK && reset == FOLIOT_RESET_IDLE);
  foliot_loop_destroy(loop); /* before its handle */
  EXPECT(r.released == 0);
  foliot_loop_ticker_destroy(r.ticker);
  EXPECT(r.released == 1);
}

static void the_descriptor(void) {
  foliot_loop_options options = FOLIOT_LOOP_OPTIONS_INIT;
  foliot_loop* loop = NULL;
  record r = {0};
  size_t fired = 0;
  struct pollfd readable = {0};
  EXPECT(foliot_loop_create(NULL, &loop) == FOLIOT_OK && foliot_loop_fd(loop) == -1);
  foliot_loop_destroy(loop);
  options.descriptor = true;
  EXPECT(foliot_loop_create(&options, &loop) == FOLIOT_OK && foliot_loop_fd(loop) >= 0);
  readable.fd = foliot_loop_fd(loop);
  readable.events = POLLIN;
  EXPECT(poll(&readable, 1, 0) == 0);
  EXPECT(foliot_loop_ticker_create(loop, FOLIOT_MILLISECOND, on_firing, &r, NULL, &r.ticker) == FOLIOT_OK);
  while (r.fired < 3) {
    EXPECT(poll(&readable, 1, -1) == 1 && readable.revents == POLLIN);
    EXPECT(foliot_loop_expire(loop, 256, &fired, NULL) == FOLIOT_OK && fired == 1);
    EXPECT(r.last.now >= r.last.deadline);
  }
  foliot_loop_ticker_destroy(r.ticker);
  EXPECT(foliot_loop_expire(loop, 256, &fired, NULL) == FOLIOT_OK && fired == 0);
  EXPECT(poll(&readable, 1, 0) == 0);
  foliot_loop_destroy(loop);
}

static void a_loop_that_polls_with_a_timeout(void) {
  foliot_loop* loop = NULL;
  record r = {0};
  EXPECT(foliot_loop_create(NULL, &loop) == FOLIOT_OK);
  EXPECT(foliot_loop_timer_create(loop, on_firing, &r, NULL, &r.timer) == FOLIOT_OK);
  const int64_t before = foliot_loop_now(loop);
  EXPECT(foliot_loop_timer_reset(r.timer, 1500 * FOLIOT_MICROSECOND, NULL) == FOLIOT_OK);
  int turns = 0;
  for (; foliot_loop_pending(loop) > 0; ++turns) {
    poll(NULL, 0, foliot_loop_timeout_ms(loop));
    EXPECT(foliot_loop_expire(loop, 256, NULL, NULL) == FOLIOT_OK);
  }
  EXPECT(r.fired == 1 && r.last.now >= before + 1500 * FOLIOT_MICROSECOND);
  EXPECT(turns == 1); /* the timeout was rounded up, so the loop woke once */
  foliot_loop_timer_destroy(r.timer);
  foliot_loop_destroy(loop);
}

static void bad_arguments(void) {
  foliot_loop* loop = new_loop();
  foliot_loop* none = NULL;
  foliot_loop_options options = FOLIOT_LOOP_OPTIONS_INIT;
  record r = {0};
  EXPECT(foliot_loop_create(NULL, NULL) == FOLIOT_INVALID);
  options.size = 1;
  EXPECT(foliot_loop_create(&options, &none) == FOLIOT_INVALID && strstr(foliot_error_message(), "size") != NULL);
  options.size = sizeof(options);
  options.virtual_time = time_;
  options.descriptor = true;
  EXPECT(foliot_loop_create(&options, &none) == FOLIOT_INVALID && none == NULL);
  EXPECT(strstr(foliot_error_message(), "descriptor") != NULL);
  EXPECT(foliot_loop_now(NULL) == 0 && foliot_loop_next_deadline(NULL) == FOLIOT_NEVER);
  EXPECT(foliot_loop_timeout(NULL) == FOLIOT_NEVER && foliot_loop_timeout_ms(NULL) == -1);
  EXPECT(foliot_loop_fd(NULL) == -1 && foliot_loop_pending(NULL) == 0);
  EXPECT(foliot_loop_expire(NULL, 0, NULL, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_loop_reserve(NULL, 1) == FOLIOT_INVALID);
  EXPECT(foliot_loop_timer_create(NULL, on_firing, NULL, NULL, &r.timer) == FOLIOT_INVALID);
  EXPECT(foliot_loop_timer_create(loop, NULL, NULL, NULL, &r.timer) == FOLIOT_INVALID);
  EXPECT(strstr(foliot_error_message(), "callback") != NULL);
  EXPECT(foliot_loop_timer_create(loop, on_firing, &r, on_release, NULL) == FOLIOT_INVALID);
  EXPECT(r.timer == NULL && r.released == 0);
  EXPECT(foliot_loop_timer_reset(NULL, 1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_loop_timer_reset_at(NULL, 1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_loop_timer_stop(NULL, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_loop_ticker_create(NULL, 1, on_firing, NULL, NULL, &r.ticker) == FOLIOT_INVALID);
  EXPECT(foliot_loop_ticker_create(loop, 1, NULL, NULL, NULL, &r.ticker) == FOLIOT_INVALID);
  EXPECT(foliot_loop_ticker_create(loop, 1, on_firing, NULL, NULL, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_loop_ticker_reset(NULL, 1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_loop_ticker_reset_at(NULL, 0, 1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_loop_ticker_stop(NULL, NULL) == FOLIOT_INVALID);
  EXPECT(!foliot_loop_timer_pending(NULL) && !foliot_loop_ticker_pending(NULL));
  EXPECT(foliot_loop_ticker_skipped(NULL) == 0);
  EXPECT(foliot_loop_pending(loop) == 0);
  foliot_loop_timer_destroy(NULL);
  foliot_loop_ticker_destroy(NULL);
  foliot_loop_destroy(NULL);
  foliot_loop_destroy(loop);
}

int main(void) {
  EXPECT(foliot_virtual_clock_create(5, &time_) == FOLIOT_OK);
  a_timers_life();
  timeouts_are_rounded_up();
  a_limit_leaves_the_rest();
  callbacks_of_their_own_timers();
  tickers();
  the_descriptor();
  a_loop_that_polls_with_a_timeout();
  bad_arguments();
  foliot_virtual_clock_destroy(time_);
  return failures == 0 ? 0 : 1;
}
