#include "reply.hpp"

#include <cstddef>

#include "wire.hpp"

namespace foliot::jobs::detail {

namespace {

/// Calls `each` with the bytes of every element of an array of one dimension; with null for an element that is NULL.
/// Before the elements the array has the number of its dimensions, a flag and the type of the elements, then the length
/// and the first index of the dimension; and before the bytes of each element, their number.
template <class Each>
void for_each_element(std::string_view array, Each each) {
  constexpr std::size_t head = 12;
  constexpr std::size_t dimension = 8;
  if (array.size() < head + dimension || get_u32(array.data()) == 0) return;
  const std::uint32_t count = get_u32(array.data() + head);
  const char* at = array.data() + head + dimension;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t length = get_u32(at);
    at += 4;
    if (length == null_length) {
      each(nullptr, std::size_t{0});
    } else {
      each(at, std::size_t{length});
      at += length;
    }
  }
}

}  // namespace

std::string_view reply::bytes(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t reply::integer(int row, int column) const noexcept {
  return static_cast<std::int64_t>(get_u64(PQgetvalue(result_.get(), row, column)));
}

std::vector<std::int64_t> reply::integers(int row, int column) const {
  std::vector<std::int64_t> all;
  for_each_element(bytes(row, column), [&](const char* at, std::size_t) {
    all.push_back(at == nullptr ? null_element : static_cast<std::int64_t>(get_u64(at)));
  });
  return all;
}

std::vector<std::string> reply::texts(int row, int column) const {
  std::vector<std::string> all;
  for_each_element(bytes(row, column), [&](const char* at, std::size_t length) {
    all.emplace_back(at == nullptr ? "" : std::string(at, length));
  });
  return all;
}

}  // namespace foliot::jobs::detail
