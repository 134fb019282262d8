#include "interruption.hpp"

#include <array>
#include <cstring>

#include <unistd.h>

namespace foliot::program {

namespace {

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t noted = 0;   // the last signal, or 0
volatile std::sig_atomic_t is_new = 0;  // throw_if_interrupted has not thrown for it

// Of the patience; 0 and null: there is none. Written before the handlers are installed.
volatile unsigned patience_left = 0;
const char* volatile words_at_the_end = nullptr;

extern "C" void note(int signal_number) {
  noted = signal_number;
  is_new = 1;
  if (patience_left > 0) ::alarm(patience_left);
}

/// The patience has ended.
extern "C" void die(int) {
  const char* const words = words_at_the_end;
  static_cast<void>(!::write(STDERR_FILENO, words, std::strlen(words)));
  const int signal_number = noted;
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal_number, &action, nullptr);
  ::raise(signal_number);
}

void replace(int signal_number, void (*from)(int), void (*to)(int)) noexcept {
  struct sigaction action{};
  if (::sigaction(signal_number, nullptr, &action) != 0 || action.sa_handler != from) return;
  action = {};
  action.sa_handler = to;
  ::sigaction(signal_number, &action, nullptr);
}

}  // namespace

interruptible::interruptible() noexcept {
  for (const int each : ending_signals) replace(each, SIG_DFL, note);
}

interruptible::interruptible(unsigned patience, const char* last_words) noexcept {
  words_at_the_end = last_words;
  patience_left = patience;
  replace(SIGALRM, SIG_DFL, die);
  for (const int each : ending_signals) replace(each, SIG_DFL, note);
}

interruptible::~interruptible() {
  patience_left = 0;
  ::alarm(0);
  replace(SIGALRM, die, SIG_DFL);
  for (const int each : ending_signals) replace(each, note, SIG_DFL);
}

void throw_if_interrupted() {
  if (is_new == 0) return;
  is_new = 0;
  throw interrupted();
}

bool is_interrupted() noexcept { return is_new != 0; }

bool has_been_interrupted() noexcept { return noted != 0; }

void die_if_interrupted() noexcept {
  if (noted != 0) ::raise(noted);
}

}  // namespace foliot::program
