// Debounce in C: a document is saved when there has been no change for 300 ms. (debounce.cpp has more to say.)
//
// The service is on a virtual clock, so that the program takes no time. Without one, leave the options out.
#include <foliot/foliot.h>

#include <stdio.h>

typedef struct document {
  foliot_timer* save;
  int unsaved; /* on a service with threads, a lock guards this */
} document;

static void save(void* context, const foliot_firing* firing) {
  document* saved = context;
  printf("at %d ms: %d changes saved\n", (int)(firing->deadline / FOLIOT_MILLISECOND), saved->unsaved);
  saved->unsaved = 0;
}

static void change(document* changed) {
  ++changed->unsaved;
  foliot_timer_reset(changed->save, 300 * FOLIOT_MILLISECOND, NULL);
}

int main(void) {
  foliot_service_options options = FOLIOT_SERVICE_OPTIONS_INIT;
  foliot_service* timers = NULL;
  document text = {NULL, 0};
  if (foliot_virtual_clock_create(0, &options.virtual_time) != FOLIOT_OK ||
      foliot_service_create(&options, &timers) != FOLIOT_OK ||
      foliot_timer_create(timers, save, &text, NULL, &text.save) != FOLIOT_OK) {
    fprintf(stderr, "%s\n", foliot_error_message());
    return 1;
  }
  for (int key = 0; key < 5; ++key) {
    change(&text);
    foliot_virtual_clock_advance(options.virtual_time, 100 * FOLIOT_MILLISECOND, NULL);
  }
  foliot_virtual_clock_advance(options.virtual_time, FOLIOT_SECOND, NULL);
  foliot_timer_destroy(text.save);
  foliot_service_destroy(timers);
  foliot_virtual_clock_destroy(options.virtual_time);
  return 0;
}
