// Timers in a poll loop in C: no thread, and no lock. A pipe stands for a connection, which hangs up when it has been
// silent for 50 ms.
#include <foliot/foliot.h>

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

typedef struct connection {
  int ends[2];
  int words; /* that the peer has sent */
  bool open;
  foliot_loop_timer* idle;
  foliot_loop_ticker* peer;
} connection;

static void hang_up(void* context, const foliot_firing* firing) {
  connection* silent = context;
  (void)firing;
  silent->open = false;
}

// The other end: it sends three words, one each 10 ms.
static void send_word(void* context, const foliot_firing* firing) {
  connection* to = context;
  (void)firing;
  if (write(to->ends[1], "hello", 5) != 5 || ++to->words == 3) foliot_loop_ticker_stop(to->peer, NULL);
}

static void receive(connection* from) {
  char word[6] = {0};
  if (read(from->ends[0], word, 5) == 5) puts(word);
  foliot_loop_timer_reset(from->idle, 50 * FOLIOT_MILLISECOND, NULL);
}

int main(void) {
  foliot_loop* timers = NULL;
  connection one = {{-1, -1}, 0, true, NULL, NULL};
  if (pipe(one.ends) != 0) return 1;
  if (foliot_loop_create(NULL, &timers) != FOLIOT_OK ||
      foliot_loop_timer_create(timers, hang_up, &one, NULL, &one.idle) != FOLIOT_OK ||
      foliot_loop_timer_reset(one.idle, 50 * FOLIOT_MILLISECOND, NULL) != FOLIOT_OK ||
      foliot_loop_ticker_create(timers, 10 * FOLIOT_MILLISECOND, send_word, &one, NULL, &one.peer) != FOLIOT_OK) {
    fprintf(stderr, "%s\n", foliot_error_message());
    return 1;
  }
  while (one.open) {
    struct pollfd readable = {one.ends[0], POLLIN, 0};
    if (poll(&readable, 1, foliot_loop_timeout_ms(timers)) == 1) receive(&one);
    foliot_loop_expire(timers, 256, NULL, NULL);
  }
  puts("good-bye");
  foliot_loop_ticker_destroy(one.peer);
  foliot_loop_timer_destroy(one.idle);
  foliot_loop_destroy(timers);
  close(one.ends[0]);
  close(one.ends[1]);
  return 0;
}
