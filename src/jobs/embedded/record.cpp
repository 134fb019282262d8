#include "record.hpp"

#include <type_traits>

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
constexpr std::size_t head_size = 3 + numbers_size;  // place, body_apart, the key's length

}  // namespace

void encode(const record& what, std::string& value) {
  value.resize(head_size);
  char* to = value.data();
  *to++ = static_cast<char>(what.place);
  *to++ = static_cast<char>(what.body_apart);
  *to++ = static_cast<char>(what.key.size());  // at most 200: limits.hpp
  each_number(what, [&to](const auto& number) {
    to = write_big(to, static_cast<std::make_unsigned_t<std::remove_cvref_t<decltype(number)>>>(number));
  });
  value += what.key;
  value += what.body;
}

bool decode(job_id id, std::string_view value, record& what, bool with_body) {
  if (value.size() < head_size) return false;
  const auto place = static_cast<unsigned char>(value[0]);
  const std::size_t key_size = static_cast<unsigned char>(value[2]);
  if (place > static_cast<unsigned char>(index_of::buried) || value.size() < head_size + key_size) return false;
  what.id = id;
  what.place = static_cast<index_of>(place);
  what.body_apart = value[1] != 0;
  const char* from = value.data() + 3;
  each_number(what, [&from](auto& number) {
    using number_type = std::remove_cvref_t<decltype(number)>;
    number = static_cast<number_type>(read_big<std::make_unsigned_t<number_type>>(from));
    from += sizeof number;
  });
  what.key = value.substr(head_size, key_size);
  what.body = with_body ? value.substr(head_size + key_size) : std::string_view{};
  return true;
}

}  // namespace foliot::jobs::detail
