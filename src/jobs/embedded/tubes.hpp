// The tubes of an embedded store: by name, by number, and those whose rows are to be written.
//
// A tube stays known while it is empty, so that a tube that gets a job now and then is not made again each time. When
// there are many empty ones they are forgotten together.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "disk.hpp"
#include "tube.hpp"

namespace foliot::jobs::detail {

class tube_table {
 public:
  /// Windows hold at most `widest` entries, at least 2.
  explicit tube_table(std::size_t widest) noexcept : widest_(widest) {}

  /// Reads the rows. Drops those of empty tubes, with the next write.
  void open(disk& from);

  /// Null: there is no such tube.
  [[nodiscard]] tube* find(std::string_view name) const;
  [[nodiscard]] tube* find(tube_number number) const;
  /// Makes it if there is none.
  [[nodiscard]] tube& get(const std::string& name);

  /// The row of this tube has to be written.
  void change(tube& it);
  /// Adds the changed rows to the gathered writes.
  void gather_rows(disk& to);

  /// Forgets the empty tubes if there may be many, with their rows. No reference to a tube may be held.
  void forget_empty(disk& from);

  /// How many entries a window may hold: less for each tube if there are many tubes.
  [[nodiscard]] std::size_t window_bound() const noexcept;

  /// The counts of all tubes together.
  [[nodiscard]] const store_totals& totals() const noexcept { return totals_; }

  /// All tubes, by name.
  [[nodiscard]] const auto& all() const noexcept { return by_name_; }

 private:
  tube& add(tube_number number, std::string name);

  store_totals totals_;  // the tubes refer to it
  std::map<std::string, std::unique_ptr<tube>, std::less<>> by_name_;
  std::unordered_map<tube_number, tube*> by_number_;
  std::vector<tube*> changed_;
  std::string row_;
  const std::size_t widest_;
  tube_number next_number_ = 1;
  std::size_t tolerated_ = 1024;  ///< with more tubes than this, forget_empty() looks for empty ones
};

}  // namespace foliot::jobs::detail
