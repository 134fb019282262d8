#include "process_end.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/note.hpp>

#include "line_output.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

std::terminate_handler other_handler = nullptr;
/// Set by the first thread that ends the process: the others wait for the end.
seam::atomic<bool> is_ending_process{false};
/// Whether operator new has failed before. Orders nothing.
seam::atomic<bool> has_lacked_memory{false};

/// How many memory_needed this thread has.
constinit thread_local int needs = 0;

/// The handler of operator new.
[[noreturn]] void note_lack() {
  if (needs > 0) end_process(lacks_memory);
  has_lacked_memory.store(true, seam::relaxed);
  throw std::bad_alloc();
}

/// Ends the process if the exception that has called std::terminate says that memory or threads are missing.
void end_for_lack(const std::exception_ptr& why) noexcept {
  try {
    std::rethrow_exception(why);
  } catch (const std::bad_alloc&) {
    end_process(lacks_memory);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) end_process(refused_thread);
  } catch (...) {  // another failure
  }
}

[[noreturn]] void end_on_terminate() noexcept {
  if (const std::exception_ptr why = std::current_exception()) {
    end_for_lack(why);
  } else if (has_lacked_memory.load(seam::relaxed)) {
    end_process(lacks_memory);  // also for an exception
  } else if (std::uncaught_exceptions() > 0) {
    // As where a library starts several threads, one of them cannot be started, and the others cannot be taken back.
    end_process(refused_thread);
  }
  other_handler();
  std::abort();
}

}  // namespace

void end_process(std::string_view sentence) noexcept {
  while (is_ending_process.exchange(true, seam::relaxed)) ::pause();
  constexpr std::string_view name = "foliot: ";
  std::array<char, 1024> line;
  char* end = std::ranges::copy(name, line.data()).out;
  end = std::ranges::copy(sentence.substr(0, line.size() - name.size() - 1), end).out;
  *end++ = '\n';
  line_output(STDERR_FILENO).write(std::string_view(line.data(), end));
  ::_exit(static_cast<int>(exit_code::error));
}

void end_process_on_terminate() noexcept {
  std::set_new_handler(note_lack);
  other_handler = std::set_terminate(end_on_terminate);
}

memory_needed::memory_needed() noexcept { ++needs; }
memory_needed::~memory_needed() { --needs; }

unread_sentence::~unread_sentence() {
  constexpr int patience_ms = 1000;
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  if (std::uncaught_exceptions() == 0 || ::poll(&room, 1, patience_ms) != 0) return;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
}

void shortage::note() noexcept {
  constexpr int most = 500;
  constexpr duration pause = std::chrono::milliseconds(10);
  if (++failures_ == most) end_process("there was not enough memory for seconds: start the server again");
  foliot::note nobody_wakes;
  static_cast<void>(nobody_wakes.sleep_until(monotonic_clock::instance().now() + pause));
}

}  // namespace foliot::program
