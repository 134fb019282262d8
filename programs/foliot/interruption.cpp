#include "interruption.hpp"

#include <array>

namespace foliot::program {

namespace {

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t noted = 0;   // the last signal, or 0
volatile std::sig_atomic_t is_new = 0;  // throw_if_interrupted has not thrown for it

extern "C" void note(int signal_number) {
  noted = signal_number;
  is_new = 1;
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

interruptible::~interruptible() {
  for (const int each : ending_signals) replace(each, note, SIG_DFL);
}

void throw_if_interrupted() {
  if (is_new == 0) return;
  is_new = 0;
  throw interrupted();
}

void die_if_interrupted() noexcept {
  if (noted != 0) ::raise(noted);
}

}  // namespace foliot::program
