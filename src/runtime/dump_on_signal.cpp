#include <foliot/runtime/dump_on_signal.hpp>

#include <array>
#include <cstdio>
#include <system_error>
#include <utility>

#include <foliot/core/readiness.hpp>
#include <foliot/runtime/detail/reports.hpp>
#include <foliot/runtime/signal_set.hpp>

namespace foliot::runtime {

namespace {

void write_to_standard_error(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

dump_on_signal::dump_on_signal(const runtime_handle& of, int signal, writer write)
    : gate_(of.shared_gate()), write_(write ? std::move(write) : write_to_standard_error) {
  const seam::signal_mask which = detail::watchable_mask(std::span(&signal, 1));
  if (const std::error_code failed = signal_.begin(which)) {
    throw std::system_error(failed, "foliot: cannot watch signal " + std::to_string(signal));
  }
  poller_.add(signal_.descriptor(), interest{readiness::readable, trigger::edge}, 0);
  thread_ = seam::thread("foliot-dump", [this] { work(); });
}

dump_on_signal::~dump_on_signal() {
  if (!signal_.is_here()) {  // the child of a fork: the thread is the parent's
    thread_.forget();
    return;
  }
  ending_.store(true, seam::relaxed);
  poller_.wake();
  thread_.join();
}

void dump_on_signal::work() noexcept {
  std::array<seam::poll_event, 1> events;
  for (;;) {
    static_cast<void>(poller_.wait(instant::never(), events));
    if (ending_.load(seam::relaxed)) return;
    if (signal_.take()) write_dump();
  }
}

void dump_on_signal::write_dump() const noexcept {
  try {
    const detail::runtime_gate::guest inside(*gate_);
    write_(inside ? detail::task_dump(*inside) : "foliot: the runtime has ended\n");
  } catch (...) {
    // There is nowhere to report that the writer failed, or that there is no memory for the text.
  }
}

}  // namespace foliot::runtime
