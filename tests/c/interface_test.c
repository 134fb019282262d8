// The C interface, by a C program: every function, every status that one can ask for, null wherever it fits.
#include <foliot/foliot.h>

#include <stdio.h>
#include <string.h>

#include "expect.h"

/* What a timer of these tests has as its context. */
typedef struct {
  int fired;
  int released;
  foliot_firing last;
  foliot_timer* timer;
  foliot_service* service;
  foliot_virtual_clock* time;
  foliot_status inside;
} record;

static void on_firing(void* context, const foliot_firing* firing) {
  record* r = context;
  ++r->fired;
  r->last = *firing;
}

static void on_release(void* context) { ++((record*)context)->released; }

static void again(void* context, const foliot_firing* firing) {
  record* r = context;
  on_firing(context, firing);
  if (r->fired < 3) foliot_timer_reset(r->timer, FOLIOT_SECOND, NULL);
}

static void destroy_itself(void* context, const foliot_firing* firing) {
  record* r = context;
  on_firing(context, firing);
  foliot_timer_destroy(r->timer);
  EXPECT(r->released == 0);
}

static void sleeps(void* context, const foliot_firing* firing) {
  record* r = context;
  (void)firing;
  EXPECT(foliot_sleep(r->service, 0, NULL) == FOLIOT_NOT_ALLOWED);
  r->inside = foliot_sleep(r->service, FOLIOT_SECOND, NULL);
  EXPECT(foliot_virtual_clock_advance(r->time, FOLIOT_SECOND, NULL) == FOLIOT_NOT_ALLOWED);
}

static foliot_virtual_clock* time_ = NULL;

static foliot_service* new_service(void) {
  foliot_service_options options = FOLIOT_SERVICE_OPTIONS_INIT;
  foliot_service* service = NULL;
  options.virtual_time = time_;
  EXPECT(foliot_service_create(&options, &service) == FOLIOT_OK);
  return service;
}

static size_t advance(int64_t length) {
  size_t fired = 0;
  EXPECT(foliot_virtual_clock_advance(time_, length, &fired) == FOLIOT_OK);
  return fired;
}

static void a_timers_life(void) {
  foliot_service* service = new_service();
  record r = {0};
  foliot_reset_result reset = FOLIOT_CLOSED;
  foliot_stop_result stop = FOLIOT_STOP_RUNNING;
  foliot_timer* timer = NULL;
  EXPECT(foliot_timer_create(service, on_firing, &r, on_release, &timer) == FOLIOT_OK);
  EXPECT(!foliot_timer_pending(timer));
  const int64_t start = foliot_service_now(service);
  EXPECT(start == foliot_virtual_clock_now(time_));
  EXPECT(foliot_timer_reset(timer, 2 * FOLIOT_SECOND, &reset) == FOLIOT_OK && reset == FOLIOT_RESET_IDLE);
  EXPECT(foliot_timer_reset(timer, 3 * FOLIOT_SECOND, &reset) == FOLIOT_OK && reset == FOLIOT_SUPERSEDED);
  EXPECT(foliot_timer_pending(timer));
  EXPECT(advance(3 * FOLIOT_SECOND - 1) == 0);
  EXPECT(advance(1) == 1);
  EXPECT(r.fired == 1 && r.last.deadline == start + 3 * FOLIOT_SECOND && r.last.now == r.last.deadline);
  EXPECT(foliot_timer_stop(timer, &stop) == FOLIOT_OK && stop == FOLIOT_STOP_IDLE);
  EXPECT(foliot_timer_reset_at(timer, start, NULL) == FOLIOT_OK);
  EXPECT(advance(0) == 1);
  EXPECT(foliot_timer_reset(timer, FOLIOT_NEVER, NULL) == FOLIOT_OK);
  EXPECT(advance(1000 * FOLIOT_SECOND) == 0);
  EXPECT(foliot_timer_stop(timer, &stop) == FOLIOT_OK && stop == FOLIOT_STOPPED);
  EXPECT(foliot_timer_reset_with_slack(timer, FOLIOT_SECOND, FOLIOT_MILLISECOND, NULL) == FOLIOT_OK);
  EXPECT(advance(FOLIOT_SECOND - 1) == 0 && advance(FOLIOT_MILLISECOND + 1) == 1);
  EXPECT(r.released == 0);
  EXPECT(foliot_timer_stop_and_wait(timer, NULL) == FOLIOT_OK && r.released == 1);
  EXPECT(foliot_timer_reset(timer, 0, &reset) == FOLIOT_OK && reset == FOLIOT_CLOSED);
  foliot_timer_destroy(timer);
  EXPECT(r.released == 1 && r.fired == 3);
  foliot_service_destroy(service);
}

static void timers_of_their_own_callbacks(void) {
  foliot_service* service = new_service();
  record loop = {0};
  record gone = {0};
  record bad = {0};
  EXPECT(foliot_timer_create(service, again, &loop, on_release, &loop.timer) == FOLIOT_OK);
  EXPECT(foliot_timer_create(service, destroy_itself, &gone, on_release, &gone.timer) == FOLIOT_OK);
  bad.service = service;
  bad.time = time_;
  EXPECT(foliot_timer_create(service, sleeps, &bad, NULL, &bad.timer) == FOLIOT_OK);
  foliot_timer_reset(loop.timer, FOLIOT_SECOND, NULL);
  foliot_timer_reset(gone.timer, FOLIOT_SECOND, NULL);
  foliot_timer_reset(bad.timer, FOLIOT_SECOND, NULL);
  EXPECT(advance(10 * FOLIOT_SECOND) == 5);
  EXPECT(loop.fired == 3 && gone.fired == 1 && gone.released == 1);
  EXPECT(bad.inside == FOLIOT_NOT_ALLOWED && strlen(foliot_error_message()) > 0);
  foliot_timer_destroy(loop.timer);
  foliot_timer_destroy(bad.timer);
  EXPECT(loop.released == 1);
  foliot_service_destroy(service);
}

static void detached_timers(void) {
  foliot_service* service = new_service();
  record r[3] = {{0}, {0}, {0}};
  for (int i = 0; i < 3; ++i) {
    EXPECT(foliot_timer_create(service, on_firing, &r[i], on_release, &r[i].timer) == FOLIOT_OK);
    if (i < 2) foliot_timer_reset(r[i].timer, (i + 1) * FOLIOT_SECOND, NULL);
    foliot_timer_detach(r[i].timer);
  }
  EXPECT(r[2].released == 1); /* it was not pending */
  EXPECT(advance(FOLIOT_SECOND) == 1 && r[0].fired == 1 && r[0].released == 1);
  size_t dropped = 0;
  EXPECT(foliot_service_shut_down(service, &dropped) == FOLIOT_OK && dropped == 1);
  EXPECT(r[1].fired == 0 && r[1].released == 1);
  foliot_service_destroy(service);
}

static void tickers(void) {
  foliot_service* service = new_service();
  record r = {0};
  foliot_ticker* ticker = NULL;
  foliot_stop_result stop = FOLIOT_STOP_IDLE;
  EXPECT(foliot_ticker_create(service, 0, on_firing, &r, on_release, &ticker) == FOLIOT_INVALID);
  EXPECT(ticker == NULL && r.released == 0 && strstr(foliot_error_message(), "period") != NULL);
  EXPECT(foliot_ticker_create(service, FOLIOT_SECOND, on_firing, &r, on_release, &ticker) == FOLIOT_OK);
  EXPECT(advance(10 * FOLIOT_SECOND) == 10 && r.fired == 10);
  EXPECT(foliot_ticker_reset(ticker, 2 * FOLIOT_SECOND, NULL) == FOLIOT_OK);
  EXPECT(foliot_ticker_reset(ticker, -1, NULL) == FOLIOT_INVALID);
  EXPECT(advance(10 * FOLIOT_SECOND) == 5 && foliot_ticker_pending(ticker));
  EXPECT(foliot_ticker_skipped(ticker) == 0);
  EXPECT(foliot_ticker_stop(ticker, &stop) == FOLIOT_OK && stop == FOLIOT_STOPPED);
  EXPECT(foliot_ticker_stop_and_wait(ticker, NULL) == FOLIOT_OK && r.released == 1);
  foliot_ticker_destroy(ticker);
  foliot_service_destroy(service);
}

static void clocks_and_counters(void) {
  foliot_service* service = new_service();
  foliot_service_counters counters;
  record r = {0};
  foliot_timer* timers[4];
  size_t fired = 0;
  const int64_t now = foliot_service_now(service);
  EXPECT(foliot_service_reserve(service, 1000) == FOLIOT_OK);
  EXPECT(foliot_service_reserve(service, SIZE_MAX) == FOLIOT_NO_MEMORY);
  EXPECT(foliot_service_reserve(service, SIZE_MAX / 2 - 20000) == FOLIOT_NO_MEMORY);
  for (int i = 0; i < 4; ++i) {
    EXPECT(foliot_timer_create(service, on_firing, &r, NULL, &timers[i]) == FOLIOT_OK);
    foliot_timer_reset(timers[i], FOLIOT_SECOND, NULL);
  }
  EXPECT(foliot_virtual_clock_advance_to(time_, now + 5 * FOLIOT_SECOND, 3, &fired) == FOLIOT_OK && fired == 3);
  EXPECT(foliot_virtual_clock_now(time_) == now + FOLIOT_SECOND);
  EXPECT(foliot_service_get_counters(service, &counters) == FOLIOT_OK);
  EXPECT(counters.started == 4 && counters.fired == 3 && counters.pending == 1 && counters.peak_pending == 4);
  EXPECT(counters.refused == 0);
  EXPECT(foliot_virtual_clock_advance_to(time_, now + 5 * FOLIOT_SECOND, 0, &fired) == FOLIOT_OK && fired == 1);
  EXPECT(foliot_virtual_clock_now(time_) == now + 5 * FOLIOT_SECOND);
  EXPECT(foliot_service_drain(service, FOLIOT_SECOND, NULL) == FOLIOT_NOT_ALLOWED);
  foliot_service_shut_down(service, NULL);
  foliot_timer_reset(timers[0], FOLIOT_SECOND, NULL);
  EXPECT(foliot_service_get_counters(service, &counters) == FOLIOT_OK && counters.refused == 1);
  for (int i = 0; i < 4; ++i) foliot_timer_destroy(timers[i]);
  foliot_service_destroy(service);
}

static void real_time(void) {
  foliot_service* service = NULL;
  record r = {0};
  bool whole = false;
  size_t dropped = 9;
  EXPECT(foliot_service_create(NULL, &service) == FOLIOT_OK);
  EXPECT(foliot_timer_create(service, on_firing, &r, on_release, &r.timer) == FOLIOT_OK);
  const int64_t before = foliot_service_now(service);
  EXPECT(foliot_timer_reset(r.timer, FOLIOT_MILLISECOND, NULL) == FOLIOT_OK);
  EXPECT(foliot_sleep(service, 2 * FOLIOT_MILLISECOND, &whole) == FOLIOT_OK && whole);
  EXPECT(foliot_service_now(service) >= before + 2 * FOLIOT_MILLISECOND);
  EXPECT(foliot_service_drain(service, 60 * FOLIOT_SECOND, &dropped) == FOLIOT_OK && dropped == 0);
  EXPECT(r.fired == 1 && r.last.now >= r.last.deadline);
  foliot_service_destroy(service); /* before its handle */
  foliot_timer_destroy(r.timer);
  EXPECT(r.released == 1);
}

static void engines_by_name(void) {
  const char* names[] = {"foliot", "hashed-wheel", "quad-heap-lazy"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    foliot_service_options options = FOLIOT_SERVICE_OPTIONS_INIT;
    const foliot_engine* again = NULL;
    foliot_service* service = NULL;
    record r = {0};
    EXPECT(foliot_engine_find(names[i], &options.engine) == FOLIOT_OK && options.engine != NULL);
    EXPECT(foliot_engine_find(names[i], &again) == FOLIOT_OK && again == options.engine);
    options.virtual_time = time_;
    EXPECT(foliot_service_create(&options, &service) == FOLIOT_OK);
    EXPECT(foliot_timer_create(service, on_firing, &r, NULL, &r.timer) == FOLIOT_OK);
    EXPECT(foliot_timer_reset(r.timer, FOLIOT_SECOND, NULL) == FOLIOT_OK);
    advance(2 * FOLIOT_SECOND);
    EXPECT(r.fired == 1);
    foliot_timer_destroy(r.timer);
    foliot_service_destroy(service);
  }
}

static void bad_arguments(void) {
  foliot_service* service = new_service();
  foliot_service* none = NULL;
  foliot_timer* timer = NULL;
  foliot_service_options options = FOLIOT_SERVICE_OPTIONS_INIT;
  record r = {0};
  EXPECT(foliot_virtual_clock_create(0, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_virtual_clock_create(FOLIOT_NEVER, &r.time) == FOLIOT_INVALID && r.time == NULL);
  EXPECT(foliot_virtual_clock_advance(NULL, 1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_virtual_clock_advance_to(NULL, 1, 0, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_service_create(NULL, NULL) == FOLIOT_INVALID);
  options.size = 1;
  EXPECT(foliot_service_create(&options, &none) == FOLIOT_INVALID && strstr(foliot_error_message(), "size") != NULL);
  options.size = sizeof(options);
  EXPECT(foliot_engine_find("sundial", &options.engine) == FOLIOT_INVALID && options.engine == NULL);
  EXPECT(strstr(foliot_error_message(), "sundial") != NULL && strstr(foliot_error_message(), "hashed-wheel") != NULL);
  EXPECT(foliot_engine_find(NULL, &options.engine) == FOLIOT_INVALID);
  EXPECT(foliot_engine_find("foliot", NULL) == FOLIOT_INVALID);
  options.clock = 7;
  EXPECT(foliot_service_create(&options, &none) == FOLIOT_INVALID);
  EXPECT(foliot_service_shut_down(NULL, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_service_drain(NULL, 0, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_service_reserve(NULL, 1) == FOLIOT_INVALID);
  EXPECT(foliot_service_get_counters(NULL, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_service_get_counters(service, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_sleep(NULL, 1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_timer_create(NULL, on_firing, NULL, NULL, &timer) == FOLIOT_INVALID);
  EXPECT(foliot_timer_create(service, NULL, NULL, NULL, &timer) == FOLIOT_INVALID);
  EXPECT(strstr(foliot_error_message(), "callback") != NULL);
  EXPECT(foliot_timer_create(service, on_firing, &r, on_release, NULL) == FOLIOT_INVALID);
  EXPECT(timer == NULL && r.released == 0);
  EXPECT(foliot_timer_reset(NULL, 1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_timer_reset_at(NULL, 1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_timer_stop(NULL, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_timer_stop_and_wait(NULL, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_ticker_create(NULL, 1, on_firing, NULL, NULL, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_ticker_reset(NULL, 1, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_ticker_stop(NULL, NULL) == FOLIOT_INVALID);
  EXPECT(foliot_ticker_stop_and_wait(NULL, NULL) == FOLIOT_INVALID);
  EXPECT(!foliot_timer_pending(NULL) && !foliot_ticker_pending(NULL) && foliot_ticker_skipped(NULL) == 0);
  EXPECT(foliot_service_now(NULL) == 0 && foliot_virtual_clock_now(NULL) == 0);
  foliot_timer_destroy(NULL);
  foliot_timer_detach(NULL);
  foliot_ticker_destroy(NULL);
  foliot_service_destroy(NULL);
  foliot_virtual_clock_destroy(NULL);
  foliot_service_destroy(service);
}

static void words(void) {
  for (int i = FOLIOT_OK; i <= FOLIOT_FAILED + 1; ++i) {
    for (int other = FOLIOT_OK; other < i; ++other) {
      EXPECT(strcmp(foliot_strerror(i), foliot_strerror(other)) != 0);
    }
  }
  EXPECT(strchr(foliot_version(), '.') != NULL);
}

int main(void) {
  EXPECT(strcmp(foliot_error_message(), "") == 0);
  EXPECT(foliot_virtual_clock_create(5, &time_) == FOLIOT_OK && foliot_virtual_clock_now(time_) == 5);
  a_timers_life();
  timers_of_their_own_callbacks();
  detached_timers();
  tickers();
  clocks_and_counters();
  real_time();
  engines_by_name();
  bad_arguments();
  words();
  foliot_virtual_clock_destroy(time_);
  return failures == 0 ? 0 : 1;
}
