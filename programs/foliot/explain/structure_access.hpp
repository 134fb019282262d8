// The structure of a queue as data: which timer is where. For the pictures of `foliot explain`, which are so drawn from
// the real queues, and from no second implementation.
//
//   nlohmann::ordered_json picture = foliot::detail::structure_access::of(queue, number_of);
//
// `number_of(node)` is the number of a timer. A picture has parts, from the top of the page to its bottom, and values:
//
//   {"parts": [part …], "values": [[name, text] …]}
//
//   {"kind": "heap", "name", "arity", "cells": [number, or null for an entry without a timer …],
//    "keys": [the key of each entry in milliseconds …]}
//   {"kind": "tree", "name", "root": null or {"timer", "red", "left", "right"}}
//   {"kind": "ring", "name", "is_level": one of several, "slots", "hand": the index of the slot, "timers": {"index":
//    [number …] …}}
//   {"kind": "list", "name", "cells": [number, or null for a gap …]}
//   {"kind": "pairing", "name", "cells": [number …]}       in the order of a walk, the first timer first
//
// It reads what check() reads, through a friend declaration that costs a queue nothing
// (foliot/queue/detail/structure_access.hpp). O(n + slots). Thread safety: none; the queue's owner calls it.
#pragma once

#include <cstddef>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <foliot/core/instant.hpp>
#include <foliot/queue/detail/structure_access.hpp>
#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>
#include <foliot/queue/red_black_tree.hpp>

namespace foliot::detail {

struct structure_access {
  using json = nlohmann::ordered_json;

  /// An instant of the recording, in milliseconds with up to three places; "never".
  static std::string text_of(instant t) {
    if (t.is_never()) return "never";
    return fmt::format("{:g} ms", static_cast<double>(t.nanoseconds() / 1000) / 1000);
  }

  template <class Number>
  static json of(const quad_heap& queue, Number number_of) {
    json values = json::array();
    add(values, "first deadline", text_of(queue.next_deadline()));
    return picture(json::array({heap_of("heap", queue.heap_.entries_, 4, number_of)}), std::move(values));
  }

  template <class Number>
  static json of(const quad_heap_lazy& queue, Number number_of) {
    json heap = part("heap", "heap");
    heap["arity"] = 4;
    json cells = json::array();
    json keys = json::array();
    json marked = json::array();
    for (const auto& each : queue.heap_) {
      cells.push_back(each.zombie() ? json() : json(number_of(*each.node)));
      keys.push_back(milliseconds_of(each.when));
      if (!each.zombie() && each.node->modified_) marked.push_back(number_of(*each.node));
    }
    heap["cells"] = std::move(cells);
    heap["keys"] = std::move(keys);
    heap["marked"] = std::move(marked);
    json values = json::array();
    add(values, "zombies", fmt::format("{} of {} entries", queue.zombies_, queue.heap_.size()));
    add(values, "earliest deadline that a reset has lowered", text_of(queue.min_when_modified_));
    return picture(json::array({std::move(heap)}), std::move(values));
  }

  template <class Number>
  static json of(const goim_heap& queue, Number number_of) {
    json heap = part("heap", "heap");
    heap["arity"] = 2;
    json cells = json::array();
    json keys = json::array();
    for (const auto* const each : queue.timers_) {
      cells.push_back(number_of(*each));
      keys.push_back(milliseconds_of(each->deadline()));
    }
    heap["cells"] = std::move(cells);
    heap["keys"] = std::move(keys);
    return picture(json::array({std::move(heap)}), json::array());
  }

  template <class Number>
  static json of(const red_black_tree& queue, Number number_of) {
    json tree = part("tree", "tree");
    tree["root"] = branch_of(queue.root_, number_of);
    json values = json::array();
    add(values, "leftmost timer", queue.first_ == nullptr ? "none" : fmt::format("{}", number_of(*queue.first_)));
    return picture(json::array({std::move(tree)}), std::move(values));
  }

  template <class Shape, class Number>
  static json of(const basic_hashed_wheel<Shape>& queue, Number number_of) {
    json wheel = part("ring", "wheel");
    const std::size_t slots = queue.slot_count;
    wheel["slots"] = slots;
    wheel["hand"] = queue.slot_of(queue.hand_);
    json timers = json::object();
    json rounds = json::object();
    const auto add_timer = [&](json& to, const wheel_node& node) {
      to.push_back(number_of(node));
      const auto left = queue.round_of(queue.due_tick(node)) - queue.round_of(queue.hand_);
      rounds[std::to_string(number_of(node))] = left;
    };
    for (std::size_t i = 0; i < slots; ++i) {
      json here = json::array();
      queue.slot(i).for_each([&](const wheel_node& node) {
        add_timer(here, node);
        return true;
      });
      if (!here.empty()) timers[std::to_string(i)] = std::move(here);
    }
    wheel["timers"] = std::move(timers);
    json values = json::array();
    add(values, "a slot", text_of(instant{} + queue.precision));
    add(values, "the hand's slot", fmt::format("{}", queue.slot_of(queue.hand_)));
    add(values, "next tick that a timer may have",
        text_of(instant{} + (queue.ticks.instant_of(queue.next_tick_) - instant{})));
    json open = list_of("open slot", queue.open_, number_of);
    json overdue = pairing_of("overdue", queue.overdue_, number_of);
    json made = picture(json::array({std::move(wheel), std::move(open), std::move(overdue)}), std::move(values));
    made["rounds"] = std::move(rounds);
    return made;
  }

  template <class Geometry, class Number>
  static json of(const basic_hierarchical_wheel<Geometry>& queue, Number number_of) {
    json parts = json::array();
    for (std::size_t n = queue.made_; n-- > 0;) {
      json level =
          part("ring",
               fmt::format("level {}: {} a slot", n,
                           text_of(instant{} + queue.ticks.length() * static_cast<std::int64_t>(queue.width_of[n]))));
      level["is_level"] = true;
      level["slots"] = queue.slots;
      level["hand"] = queue.hand_ / queue.width_of[n] % queue.slots;
      json timers = json::object();
      for (std::size_t i = 0; i < queue.slots; ++i) {
        json here = json::array();
        (*queue.levels_[n])[i].for_each([&](const wheel_node& node) {
          here.push_back(number_of(node));
          return true;
        });
        if (!here.empty()) timers[std::to_string(i)] = std::move(here);
      }
      level["timers"] = std::move(timers);
      parts.push_back(std::move(level));
    }
    parts.push_back(list_of("open bucket", queue.open_, number_of));
    parts.push_back(pairing_of("outside the levels", queue.outside_, number_of));
    json values = json::array();
    add(values, "the hand", queue.knows_the_time_ ? text_of(queue.ticks.instant_of(queue.hand_)) : "not set");
    add(values, "next bucket expires", text_of(queue.next_deadline()));
    return picture(std::move(parts), std::move(values));
  }

  template <std::size_t Slots, class Number>
  static json of(const basic_erlang_wheel<Slots>& queue, Number number_of) {
    using wheel_type = basic_erlang_wheel<Slots>;
    json wheel = part("ring", "wheel");
    wheel["slots"] = Slots;
    wheel["hand"] = wheel_type::slot_of(queue.pos_);
    json timers = json::object();
    json rounds = json::object();
    for (std::size_t i = 0; queue.slots_ != nullptr && i < Slots; ++i) {
      const erlang_timer* const head = queue.slots_[i];
      if (head == nullptr) continue;
      json here = json::array();
      const erlang_timer* each = head;
      do {
        here.push_back(number_of(*each));
        rounds[std::to_string(number_of(*each))] =
            (wheel_type::timeout_pos(*each) - queue.pos_) / static_cast<typename wheel_type::tick>(Slots);
        each = erlang_ring::next(*each);
      } while (each != head);
      timers[std::to_string(i)] = std::move(here);
    }
    wheel["timers"] = std::move(timers);
    json values = json::array();
    add(values, "a slot", "1 ms");
    add(values, "position", text_of(wheel_type::instant_of(queue.pos_)));
    add(values, queue.true_next_timeout_ ? "next timeout" : "next timeout, at the earliest",
        text_of(wheel_type::instant_of(queue.next_timeout_)));
    json made = picture(json::array({std::move(wheel),
                                     circle_of("the sentinel's ring: timers that fire now", queue.sentinel_, number_of),
                                     circle_of("due when they were started", queue.at_once_, number_of),
                                     circle_of("the same, not yet sorted", queue.at_once_unsorted_, number_of)}),
                        std::move(values));
    made["rounds"] = std::move(rounds);
    return made;
  }

  template <class Tuning, class Number>
  static json of(const basic_foliot_queue<Tuning>& queue, Number number_of) {
    using queue_type = basic_foliot_queue<Tuning>;
    using rings = typename queue_type::rings;
    json parts = json::array();
    json run = part("list", "window: the sorted run");
    run["cells"] = json::array();
    for (std::size_t i = queue.window_.first_; i < queue.window_.run_.size(); ++i) {
      const auto* const node = queue.window_.run_[i].node;
      run["cells"].push_back(node == nullptr ? json() : json(number_of(*node)));
    }
    parts.push_back(std::move(run));
    parts.push_back(heap_of("window: the heap", queue.window_.heap_.entries_, 4, number_of));
    const auto& wheel = queue.wheel_;
    json levels = json::object();
    wheel.rings_.for_each_occupied([&](std::size_t slot) {
      json here = json::array();
      wheel.slots_.visit(slot, [&](const timer_node& node) {
        here.push_back(number_of(node));
        return true;
      });
      levels[std::to_string(rings::level(slot))][std::to_string(slot % rings::ring)] = std::move(here);
    });
    for (auto& [name, timers] : levels.items()) {
      const auto level = static_cast<std::size_t>(std::stoul(name));
      const int shift = rings::shift(level);
      json ring = part("ring", fmt::format("level {}: {} a slot", level,
                                           text_of(instant::from_nanoseconds(std::int64_t{1} << shift))));
      ring["is_level"] = true;
      ring["slots"] = rings::ring;
      ring["hand"] = static_cast<std::size_t>(wheel.base().nanoseconds() >> shift) % rings::ring;
      ring["timers"] = std::move(timers);
      parts.push_back(std::move(ring));
    }
    json values = json::array();
    add(values, "the wheel stands at", text_of(wheel.base()));
    add(values, "the window ends at", text_of(queue.window_end_));
    add(values, "the next slot begins at", text_of(wheel.next_slot()));
    return picture(std::move(parts), std::move(values));
  }

 private:
  static json part(const char* kind, std::string name) {
    json made = json::object();
    made["kind"] = kind;
    made["name"] = std::move(name);
    return made;
  }
  static json picture(json parts, json values) {
    json made = json::object();
    made["parts"] = std::move(parts);
    made["values"] = std::move(values);
    return made;
  }
  static void add(json& values, const char* name, std::string text) {
    values.push_back(json::array({name, std::move(text)}));
  }
  static json milliseconds_of(instant t) {
    return t.is_never() ? json() : json(static_cast<double>(t.nanoseconds() / 1000) / 1000);
  }

  template <class Entries, class Number>
  static json heap_of(const char* name, const Entries& entries, int arity, Number number_of) {
    json heap = part("heap", name);
    heap["arity"] = arity;
    json cells = json::array();
    json keys = json::array();
    for (const auto& each : entries) {
      cells.push_back(number_of(*each.node));
      keys.push_back(milliseconds_of(each.deadline));
    }
    heap["cells"] = std::move(cells);
    heap["keys"] = std::move(keys);
    return heap;
  }
  template <class Number>
  static json list_of(const char* name, const ring& of, Number number_of) {
    json list = part("list", name);
    list["cells"] = json::array();
    of.for_each([&](const wheel_node& node) {
      list["cells"].push_back(number_of(node));
      return true;
    });
    return list;
  }
  template <class Number>
  static json pairing_of(const char* name, const pairing_heap& of, Number number_of) {
    json heap = part("pairing", name);
    heap["cells"] = json::array();
    of.for_each([&](const wheel_node& node) {
      heap["cells"].push_back(number_of(node));
      return true;
    });
    return heap;
  }
  template <class Number>
  static json circle_of(const char* name, const erlang_list& of, Number number_of) {
    json list = part("list", name);
    list["cells"] = json::array();
    for (const erlang_timer* each = &of.front(); each != &of.head(); each = erlang_ring::next(*each)) {
      list["cells"].push_back(number_of(*each));
    }
    return list;
  }
  template <class Number>
  static json branch_of(const tree_node* at, Number number_of) {
    if (at == nullptr) return {};
    json made = json::object();
    made["timer"] = number_of(*at);
    made["red"] = red_black_tree::is_red(const_cast<tree_node*>(at));
    made["left"] = branch_of(at->child_[red_black_tree::left], number_of);
    made["right"] = branch_of(at->child_[red_black_tree::right], number_of);
    return made;
  }
};

}  // namespace foliot::detail
