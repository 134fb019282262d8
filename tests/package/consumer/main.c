// A C program of somebody who uses foliot.
#include <foliot/foliot.h>
#include <stdio.h>

static void count(void* fired, const foliot_firing* firing) {
  (void)firing;
  ++*(int*)fired;
}

int main(void) {
  int fired = 0;
  foliot_virtual_clock* time = NULL;
  foliot_service* timers = NULL;
  foliot_timer* lease = NULL;
  foliot_service_options options = FOLIOT_SERVICE_OPTIONS_INIT;
  if (foliot_virtual_clock_create(0, &time) != FOLIOT_OK) return 1;
  options.virtual_time = time;
  if (foliot_service_create(&options, &timers) != FOLIOT_OK) return 1;
  if (foliot_timer_create(timers, count, &fired, NULL, &lease) != FOLIOT_OK) return 1;
  foliot_timer_reset(lease, 3600 * FOLIOT_SECOND, NULL);
  foliot_virtual_clock_advance(time, 3600 * FOLIOT_SECOND, NULL);
  foliot_timer_destroy(lease);
  foliot_service_destroy(timers);
  foliot_virtual_clock_destroy(time);
  if (fired == 1) printf("foliot %s works\n", foliot_version());
  return fired == 1 ? 0 : 1;
}
