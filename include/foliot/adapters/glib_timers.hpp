// Timers in a main context of GLib, precise to the nanosecond, where g_timeout_add counts milliseconds.
//
//   foliot::glib_timers timers;              // of the thread's default context
//   foliot::loop_timer idle(timers, [&] { session.close(); });
//   idle.reset(30s);
//   timers.run(loop);                        // g_main_loop_run; throws the exceptions of callbacks
//
// All timers together are one GSource, on a descriptor of their own. A start and a stop call neither the system nor
// GLib, except a start that makes the next deadline earlier. A main loop runs until it is told to quit, as ever: no
// timer keeps it running or ends it.
//
// An exception must not pass through GLib, which is C. If a callback throws within run(), the loop is told to quit;
// then run() throws the exception. iterate() throws it, too, and so does rethrow() in a program that runs a loop
// itself, whose turn goes on first. No timer is lost: the next run continues.
//
// In the child of a fork the timers are a copy of the parent's, pending as there, with a descriptor of their own. They
// go on as far as GLib does, which shares the descriptor that wakes a context with its parent.
//
// Thread safety: none. They belong to the thread that runs the context: see loop_timers.hpp.
// Lifetime: they keep their context alive. They must not be destroyed in a callback of theirs.
#pragma once

#include <foliot/core/language.hpp>

#include <glib-unix.h>
#include <glib.h>

#include <utility>

#include <foliot/adapters/detail/c_loop_timers.hpp>
#include <foliot/adapters/loop_timer.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>

namespace foliot::inline adapters {

/// The timers of a main context of GLib. Belongs to the thread that runs it.
class FOLIOT_EXPORT glib_timers final : public detail::c_loop_timers {
 public:
  /// Timers of `context`, or with null of the default context of the thread, with the priority of a GSource; at most
  /// `turn` fire before the loop serves its other sources. Throws std::system_error if there is no file descriptor
  /// left. Where memory is missing GLib aborts the process.
  explicit glib_timers(GMainContext* context = nullptr, int priority = G_PRIORITY_DEFAULT,
                       budget turn = detail::usual_turn)
      : c_loop_timers(turn),
        context_(context == nullptr ? g_main_context_ref_thread_default() : g_main_context_ref(context)),
        source_(g_source_new(&functions, sizeof(owned_source))) {
    reinterpret_cast<owned_source*>(source_)->owner = this;
    g_source_set_priority(source_, priority);
    g_source_set_name(source_, "foliot timers");
    g_source_add_unix_fd(source_, descriptor(), G_IO_IN);
    g_source_attach(source_, context_);
  }
  /// Ends pending timers without firing them.
  ~glib_timers() override {
    g_source_destroy(source_);
    g_source_unref(source_);
    g_main_context_unref(context_);
  }

  /// Calls g_main_loop_run, of a loop of the timers' context. If a callback throws, lets the loop quit and throws that
  /// exception.
  void run(GMainLoop* loop) {
    GMainLoop* const outer = std::exchange(running_, loop);
    g_main_loop_run(loop);
    running_ = outer;
    rethrow();
  }
  /// Calls g_main_context_iteration, and returns whether something was done. Throws the exceptions of callbacks.
  bool iterate(bool may_block) {
    const bool has_done = g_main_context_iteration(context_, may_block ? TRUE : FALSE) != FALSE;
    rethrow();
    return has_done;
  }

 private:
  struct owned_source {
    GSource base;
    glib_timers* owner;
  };

  static gboolean on_readable(GSource* source, GSourceFunc /*callback*/, gpointer /*data*/) noexcept {
    glib_timers& timers = *reinterpret_cast<owned_source*>(source)->owner;
    if (!timers.take_turn() && timers.running_ != nullptr) g_main_loop_quit(timers.running_);
    return G_SOURCE_CONTINUE;
  }
  // GLib takes it as one that is not const, and does not write to it.
  static inline GSourceFuncs functions = {nullptr, nullptr, &on_readable, nullptr, nullptr, nullptr};

  GMainContext* const context_;
  GSource* const source_;
  GMainLoop* running_ = nullptr;  // that of the innermost run()
};

}  // namespace foliot::inline adapters
