#include "record.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace foliot::jobs::detail {

namespace {

/// Calls `field` for each number of a record, in the order in which they are stored.
template <class Record, class Field>
void each_number(Record& what, Field field) {
  field(what.tube);
  field(what.priority);
  field(what.due);
  field(what.made);
  field(what.delay);
  field(what.ttr);
  field(what.counters.reserves);
  field(what.counters.timeouts);
  field(what.counters.releases);
  field(what.counters.buries);
  field(what.counters.kicks);
  field(what.sequence);
}

constexpr std::size_t numbers_size = 8 + 4 + 4 * 8 + 5 * 4 + 8;
constexpr std::size_t head_size = 3 + numbers_size;  // place, what follows, the key's length

// What follows the key, in the second byte.
constexpr unsigned char body_is_apart = 1;
constexpr unsigned char with_fields = 2;
constexpr unsigned char with_history = 4;

void append_fields(const job_fields& fields, std::string& value) {
  if (fields.empty()) return;
  value += view(number_key(static_cast<std::uint16_t>(fields.bytes().size())));
  value += fields.bytes();
}

/// Takes fields from the front of what is left. False: there are none that can be read.
bool take_fields(std::string_view& left, job_fields& fields) {
  if (left.size() < 2) return false;
  const std::size_t size = read_big<std::uint16_t>(left.data());
  left.remove_prefix(2);
  if (size == 0 || left.size() < size) return false;
  std::optional<job_fields> parsed = job_fields::parse(left.substr(0, size));
  if (!parsed) return false;
  fields = *std::move(parsed);
  left.remove_prefix(size);
  return true;
}

}  // namespace

void encode(const record& what, std::string& value) {
  value.resize(head_size);
  char* to = value.data();
  *to++ = static_cast<char>(what.place);
  *to++ = static_cast<char>((what.body_apart ? body_is_apart : 0) | (what.fields.empty() ? 0 : with_fields) |
                            (what.history.empty() ? 0 : with_history));
  *to++ = static_cast<char>(what.key.size());  // at most 200: limits.hpp
  each_number(what, [&to](const auto& number) {
    to = write_big(to, static_cast<std::make_unsigned_t<std::remove_cvref_t<decltype(number)>>>(number));
  });
  value += what.key;
  append_fields(what.fields, value);
  append_fields(what.history, value);
  value += what.body;
}

bool decode(job_id id, std::string_view value, record& what, bool with_body) {
  if (value.size() < head_size) return false;
  const auto place = static_cast<unsigned char>(value[0]);
  const auto follows = static_cast<unsigned char>(value[1]);
  const std::size_t key_size = static_cast<unsigned char>(value[2]);
  if (place > static_cast<unsigned char>(index_of::buried) || value.size() < head_size + key_size) return false;
  if (follows > (body_is_apart | with_fields | with_history)) return false;
  what.id = id;
  what.place = static_cast<index_of>(place);
  what.body_apart = (follows & body_is_apart) != 0;
  const char* from = value.data() + 3;
  each_number(what, [&from](auto& number) {
    using number_type = std::remove_cvref_t<decltype(number)>;
    number = static_cast<number_type>(read_big<std::make_unsigned_t<number_type>>(from));
    from += sizeof number;
  });
  what.key = value.substr(head_size, key_size);
  std::string_view left = value.substr(head_size + key_size);
  what.fields = {};
  what.history = {};
  if ((follows & with_fields) != 0 && !take_fields(left, what.fields)) return false;
  if ((follows & with_history) != 0 && !take_fields(left, what.history)) return false;
  what.body = with_body ? left : std::string_view{};
  return true;
}

}  // namespace foliot::jobs::detail
