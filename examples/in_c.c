// Timers in C: a watchdog that is reset twice, and a ticker.
#include <foliot/foliot.h>

#include <stdio.h>

static void say(void* words, const foliot_firing* firing) {
  (void)firing;
  puts(words);
}

int main(void) {
  foliot_service* timers = NULL;
  foliot_timer* watchdog = NULL;
  foliot_ticker* ticker = NULL;
  if (foliot_service_create(NULL, &timers) != FOLIOT_OK ||
      foliot_timer_create(timers, say, "no reset in time", NULL, &watchdog) != FOLIOT_OK ||
      foliot_ticker_create(timers, 15 * FOLIOT_MILLISECOND, say, "tick", NULL, &ticker) != FOLIOT_OK) {
    fprintf(stderr, "%s\n", foliot_error_message());
    return 1;
  }
  for (int i = 0; i < 2; ++i) {
    foliot_timer_reset(watchdog, 10 * FOLIOT_SECOND, NULL);
    foliot_sleep(timers, 20 * FOLIOT_MILLISECOND, NULL);
  }
  foliot_ticker_stop_and_wait(ticker, NULL);
  foliot_timer_reset(watchdog, 10 * FOLIOT_MILLISECOND, NULL);
  foliot_service_drain(timers, 60 * FOLIOT_SECOND, NULL);  // until the watchdog has fired
  foliot_timer_destroy(watchdog);
  foliot_ticker_destroy(ticker);
  foliot_service_destroy(timers);
  return 0;
}
