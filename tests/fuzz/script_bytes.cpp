#include "script_bytes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

namespace foliot::conformance {
namespace {

using namespace std::chrono_literals;
using byte = std::uint8_t;

enum operation : byte { op_reset, op_reset_again, op_stop, op_expire, op_when_fires, op_pop_any };
constexpr int operand_bits = 5;
constexpr byte operand_mask = (1 << operand_bits) - 1;

// ---------------------------------------------------------------- where the clock starts

constexpr byte any_origin = 7;  ///< and the instant, in eight bytes
constexpr std::array<instant, any_origin> origins{
    instant{},
    instant::from_nanoseconds(1'700'000'000'123'456'789),
    instant::earliest(),
    instant::latest() - 1h,
    instant::from_nanoseconds((std::int64_t{1} << 30) - 1),
    instant::from_nanoseconds(-1),
    instant::from_nanoseconds(std::int64_t{1} << 60),
};

// ---------------------------------------------------------------- offsets

constexpr byte powers = 56;
constexpr std::array<duration, 6> clock_units{1us, 1ms, 1s, 1min, 1h, 24h};
constexpr byte for_ever = powers + clock_units.size();
constexpr byte any_length = for_ever + 1;
constexpr int unit_bits = 6;
static_assert(any_length < 1 << unit_bits);

enum beside : byte { exactly, before, after, back };
constexpr byte besides = 4;
constexpr std::int64_t most_units = 255;

constexpr duration length_of(byte unit) {
  return unit < powers ? duration::nanoseconds(std::int64_t{1} << unit) : clock_units[unit - powers];
}

constexpr duration offset_of(byte unit, byte where, std::int64_t count) {
  const duration length = length_of(unit) * count;
  switch (where) {
    case before: return length - 1ns;
    case after: return length + 1ns;
    case back: return -length;
    default: return length;
  }
}

/// The count of this unit that gives `offset`, if there is one.
std::optional<byte> count_for(duration offset, byte unit, byte where) {
  const duration length = where == before  ? offset + 1ns
                          : where == after ? offset - 1ns
                          : where == back  ? -offset
                                           : offset;
  const std::int64_t count = length / length_of(unit);
  if (count < 0 || count > most_units || offset_of(unit, where, count) != offset) return std::nullopt;
  return static_cast<byte>(count);
}

// ---------------------------------------------------------------- from bytes

class reader {
 public:
  explicit reader(std::span<const byte> bytes) : rest_(bytes) {}
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  byte next() {
    if (rest_.empty()) return 0;
    const byte first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  std::int64_t next_eight() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 8) number |= std::uint64_t{next()} << shift;
    return static_cast<std::int64_t>(number);
  }
  instant origin() {
    const byte which = next() % (any_origin + 1);
    // A clock never shows `never`.
    return which == any_origin ? std::min(instant::from_nanoseconds(next_eight()), instant::latest()) : origins[which];
  }
  duration offset() {
    const byte code = next();
    const byte unit = code % (1 << unit_bits);
    if (unit == for_ever) return duration::forever();
    if (unit == any_length) return duration::nanoseconds(next_eight());
    return offset_of(unit, code >> unit_bits, next());
  }

 private:
  std::span<const byte> rest_;
};

/// The step that begins with `head`; `last` is the offset read before it.
step decode_step(byte head, reader& in, duration& last) {
  const std::size_t operand = head & operand_mask;
  switch (head >> operand_bits) {
    case op_reset_again: return {step::kind::reset, operand, last};
    case op_stop: return {step::kind::stop, operand};
    case op_pop_any: return {step::kind::pop_any};
    case op_expire:
    case op_expire + 4:
      last = in.offset();
      return {step::kind::expire, 0, last, operand == budgets_in_bytes ? unlimited : operand};
    default: last = in.offset(); return {step::kind::reset, operand, last};
  }
}

// ---------------------------------------------------------------- to bytes

class writer {
 public:
  void put(byte next) { bytes_.push_back(next); }
  void put(operation op, std::size_t operand) { put(static_cast<byte>(std::size_t{op} << operand_bits | operand)); }
  void put_eight(std::int64_t number) {
    for (int shift = 0; shift < 64; shift += 8) put(static_cast<byte>(static_cast<std::uint64_t>(number) >> shift));
  }
  void put_origin(instant origin) {
    const auto known = std::ranges::find(origins, origin);
    put(static_cast<byte>(known - origins.begin()));
    if (known == origins.end()) put_eight(origin.nanoseconds());
  }
  void put_offset(duration offset) {
    if (offset.is_forever()) return put(for_ever);
    for (byte where = 0; where < besides; ++where) {
      for (byte unit = 0; unit < for_ever; ++unit) {
        if (const auto count = count_for(offset, unit, where)) {
          put(static_cast<byte>(where << unit_bits | unit));
          return put(*count);
        }
      }
    }
    put(any_length);
    put_eight(offset.count());
  }
  void put_timer(operation op, std::size_t timer) {
    if (timer >= timers_in_bytes) throw std::invalid_argument("a script in bytes has 32 timers");
    put(op, timer);
  }
  void put_step(const step& s) {
    switch (s.what) {
      case step::kind::reset:
        if (s.offset == last_) return put_timer(op_reset_again, s.timer);
        put_timer(op_reset, s.timer);
        return put_step_offset(s.offset);
      case step::kind::stop: return put_timer(op_stop, s.timer);
      case step::kind::pop_any: return put(op_pop_any, 0);
      case step::kind::expire:
        if (s.limit >= budgets_in_bytes && s.limit != unlimited) {
          throw std::invalid_argument("a budget in bytes is below 31, or unlimited");
        }
        put(op_expire, s.limit == unlimited ? budgets_in_bytes : s.limit);
        return put_step_offset(s.offset);
    }
  }
  std::vector<byte> take() { return std::move(bytes_); }

 private:
  void put_step_offset(duration offset) {
    put_offset(offset);
    last_ = offset;
  }

  std::vector<byte> bytes_;
  duration last_;
};

}  // namespace

script decode(std::span<const std::uint8_t> bytes) {
  reader in(bytes);
  script result;
  result.origin = in.origin();
  duration last;
  std::optional<std::size_t> reacting;
  while (!in.at_end()) {
    const byte head = in.next();
    if (head >> operand_bits == op_when_fires) {
      reacting = head & operand_mask;
      continue;
    }
    const step decoded = decode_step(head, in, last);
    if (reacting) {
      result.reactions.push_back({*reacting, decoded});
    } else {
      result.steps.push_back(decoded);
    }
    reacting.reset();
  }
  return result;
}

std::vector<std::uint8_t> encode(const script& s) {
  writer out;
  out.put_origin(s.origin);
  for (const reaction& each : s.reactions) {
    out.put_timer(op_when_fires, each.timer);
    out.put_step(each.does);
  }
  for (const step& each : s.steps) out.put_step(each);
  return out.take();
}

std::size_t timers_in(const script& s) {
  std::size_t highest = 0;
  for (const step& each : s.steps) highest = std::max(highest, each.timer);
  for (const reaction& each : s.reactions) highest = std::max({highest, each.timer, each.does.timer});
  return highest + 1;
}

}  // namespace foliot::conformance
