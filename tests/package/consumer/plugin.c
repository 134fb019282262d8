/* A program that loads foliot when it runs: plugin LIBRARY. */
#include <dlfcn.h>
#include <stdio.h>

#include <foliot/foliot.h>

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  foliot_status (*create)(const foliot_service_options*, foliot_service**);
  void (*destroy)(foliot_service*);
  foliot_status (*sleep_in)(foliot_service*, int64_t, bool*);
  foliot_service* timers = NULL;
  bool whole = false;
  if (library == NULL) {
    fprintf(stderr, "plugin: %s\n", dlerror());
    return 1;
  }
  *(void**)&create = dlsym(library, "foliot_service_create");
  *(void**)&destroy = dlsym(library, "foliot_service_destroy");
  *(void**)&sleep_in = dlsym(library, "foliot_sleep");
  if (create == NULL || destroy == NULL || sleep_in == NULL) return 1;
  if (create(NULL, &timers) != FOLIOT_OK || sleep_in(timers, FOLIOT_MILLISECOND, &whole) != FOLIOT_OK) return 1;
  destroy(timers);
  if (whole) printf("a loaded foliot works\n");
  return whole ? 0 : 1;
}
