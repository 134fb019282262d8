// The C++ memory model, as far as it can be explored by running threads in turns.
//
// Each atomic has the list of its stores, in modification order, which is the order in which they were
// executed. A load may read any of them from its floor on: the oldest store of the atomic that the thread may still
// read. Floors rise by the thread's own reads and writes (coherence). A release store publishes them to the threads
// that acquire it (happens-before), and sequentially consistent fences exchange them by one common set (the single
// order of fences is the order of execution). Vector clocks are passed on in the same way, except by the seq_cst order,
// which orders and does not synchronise. They decide whether two accesses are a data race.
//
// The model is exact except for behaviours that interleaved execution cannot show: a load never reads a store that is
// executed after it (load buffering), and modification orders never contradict the order of execution.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "foliot_model/model.hpp"

namespace foliot::model {

inline constexpr std::size_t most_threads = 8;
using thread_id = std::uint32_t;
using location_id = std::uint32_t;
using store_index = std::uint32_t;

constexpr bool acquires(order o) { return o == order::acquire || o == order::acq_rel || o == order::seq_cst; }
constexpr bool releases(order o) { return o == order::release || o == order::acq_rel || o == order::seq_cst; }

/// How much of each thread's past is known: its events up to this number.
struct vector_clock {
  std::array<std::uint32_t, most_threads> upto{};

  void join(const vector_clock& other) noexcept;
  /// A thread whose event of this clock is not known to `knower`; most_threads if all are.
  [[nodiscard]] thread_id unknown_to(const vector_clock& knower) const noexcept;
};

/// The knowledge of a thread, which it publishes by release stores.
struct knowledge {
  vector_clock happened;
  std::vector<store_index> floor;  // by location; those past the end are 0

  void clear() noexcept;
  void join(const knowledge& other);
  void join_floors(const std::vector<store_index>& other);
  void raise(location_id where, store_index to);
};

/// A thread, as memory sees it.
struct thread_view {
  thread_id id = 0;
  knowledge now;
  knowledge at_release_fence;  // its relaxed stores publish this
  knowledge not_acquired;      // read by its relaxed loads: a later acquire fence adds it

  void begin(thread_id who);
  [[nodiscard]] std::uint32_t time() const noexcept { return now.happened.upto[id]; }
  void tick() noexcept { ++now.happened.upto[id]; }
};

struct stored {
  bits value = 0;
  thread_id by = 0;
  bool publishes = false;
  knowledge published;
};

/// One atomic, or one place of plain data.
struct location {
  const void* address = nullptr;
  bool alive = false;
  std::uint32_t count = 0;
  std::vector<stored> stores;  // the first `count` are real, the rest is memory to be used again
  vector_clock made;           // a thread that knows this event may use the object
  vector_clock touched;        // atomics: accesses by any thread; plain data: reads by any thread
  vector_clock written;        // plain data only
  std::array<site, most_threads> last_touch{};
};

class memory {
 public:
  void begin();

  location_id make(const void* address, bits initial, thread_view& by);
  [[nodiscard]] location& at(location_id where) { return locations_[where]; }
  [[nodiscard]] const location& at(location_id where) const { return locations_[where]; }
  [[nodiscard]] std::uint32_t locations() const noexcept { return used_; }
  [[nodiscard]] std::uint64_t stores() const noexcept { return stores_; }

  [[nodiscard]] store_index newest(location_id where) const { return locations_[where].count - 1; }
  /// The oldest store that a load may read.
  [[nodiscard]] store_index oldest(const thread_view& by, location_id where, order o) const;
  [[nodiscard]] bits value(location_id where, store_index index) const { return locations_[where].stores[index].value; }

  bits read(thread_view& by, location_id where, store_index index, order o);
  void write(thread_view& by, location_id where, bits value, order o);
  /// Reads the newest store and follows it at once.
  void read_and_write(thread_view& by, location_id where, bits value, order o);
  void fence(thread_view& by, order o);

  /// Stores become visible in finite time: a spinning thread sees a store by its second pause after it.
  void arrive(thread_view& by, std::vector<store_index>& at_last_pause) const;

 private:
  stored& append(thread_view& by, location_id where, bits value);
  void publish(thread_view& by, stored& into, order o);
  void pass_seq_cst(location_id where, store_index index);

  std::vector<location> locations_;
  std::uint32_t used_ = 0;
  std::uint64_t stores_ = 0;
  std::vector<store_index> seq_cst_;  // floors that seq_cst fences and operations have in common
};

}  // namespace foliot::model
