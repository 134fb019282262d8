#include "tube.hpp"

#include <cstddef>

namespace foliot::jobs::detail {

namespace {
constexpr std::size_t row_size = 11 * 8;  // eleven numbers; then comes the name
}

void encode_row(const tube& what, std::string& value) {
  value.resize(row_size);
  char* to = value.data();
  const auto number = [&to](std::uint64_t next) { to = write_big(to, next); };
  const ready_entry ready = what.ready_floor();
  const due_entry due = what.due_floor();
  number(what.stored.ready);
  number(what.stored.urgent);
  number(what.stored.delayed);
  number(what.stored.buried);
  number(ready.priority);
  number(ready.id);
  number(static_cast<std::uint64_t>(due.due));
  number(due.id);
  number(what.buried_floor);
  number(what.next_burial);
  number(static_cast<std::uint64_t>(what.promoted_to));
  value += what.name;
}

std::string_view row_name(std::string_view value) {
  return value.size() <= row_size ? std::string_view{} : value.substr(row_size);
}

void decode_row(std::string_view value, tube& what) {
  const char* from = value.data();
  const auto number = [&from] {
    const auto next = read_big<std::uint64_t>(from);
    from += 8;
    return next;
  };
  what.stored.ready = number();
  what.stored.urgent = number();
  what.stored.delayed = number();
  what.stored.buried = number();
  what.totals.stored += what.stored;
  ready_entry ready;
  ready.priority = static_cast<jobs::priority>(number());
  ready.id = number();
  due_entry due;
  due.due = static_cast<std::int64_t>(number());
  due.id = number();
  what.buried_floor = number();
  what.next_burial = number();
  what.promoted_to = static_cast<std::int64_t>(number());
  what.ready.open(ready, what.stored.ready != 0);
  what.due.open(due, what.stored.delayed != 0);
}

}  // namespace foliot::jobs::detail
