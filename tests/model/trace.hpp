// The trace of an execution, one line for each operation, and the names of locations and orders in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foliot_model/model.hpp"

namespace foliot::model {

std::string_view to_string(order o);
/// file:line, without the folders.
std::string to_string(const site& where);
std::string to_string(bits value);

class trace {
 public:
  void begin(bool on) {
    on_ = on;
    lines_.clear();
  }
  [[nodiscard]] bool on() const noexcept { return on_; }
  void add(std::string_view thread, std::string what, std::string place) {
    lines_.push_back({std::string(thread), std::move(what), std::move(place)});
  }
  /// Appends the result to the last line.
  void result(const std::string& text) { lines_.back().what += text; }
  /// As a table.
  [[nodiscard]] std::string text() const;

 private:
  struct line {
    std::string thread;
    std::string what;
    std::string place;
  };

  bool on_ = false;
  std::vector<line> lines_;
};

}  // namespace foliot::model
