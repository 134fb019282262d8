/* The interface of C, with the package of Conan. */
#include <foliot/foliot.h>

#include <stdio.h>

int main(void) {
  foliot_service* timers = NULL;
  if (foliot_service_create(NULL, &timers) != FOLIOT_OK) return 1;
  foliot_service_destroy(timers);
  printf("foliot %s works in C\n", foliot_version());
  return 0;
}
