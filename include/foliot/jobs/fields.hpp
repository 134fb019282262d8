// The fields of a job: what it has besides its body, as values with a tag each. A store keeps them as one string of
// bytes and does not look into it, so a new kind of field changes neither a store nor its format, and a field that this
// program does not know stays as it is.
//
//   job_fields fields;
//   if (!fields.set(first_own_tag, "a value")) …           // it has no room for it
//   store.execute(put{.tube = "mail", .body = "hello", .fields = fields}) …
//   const std::optional<std::string_view> value = got.fields.find(first_own_tag);
//
// A job has two of them: `fields`, which are written once with the job, and `history`, which tells what has become of
// it, and which a release or a bury may replace.
//
// Tags:
//
//   0                no tag
//   1 to 0x00ff      what foliot puts with a job. Planned, in this order from 1 on: the version of the job, headers,
//                    content type, trace context, expiry, group, policy, occurrence of a schedule
//   0x0100 to 0x01ff what foliot notes in a history: from 0x0100 on the failed tries (job_tries.hpp); from 0x01e0
//                    on the deliveries of webhooks that have failed; from 0x01f0 on, of the server's own jobs, how far
//                    an action has come, and a schedule
//   0x0200 to 0x7fff foliot's later versions
//   0x8000 to 0xffff programs that use foliot: see first_own_tag
//
// A program keeps the tags that it does not know: it copies fields as a whole, and it changes a history by set() and
// erase() on the one that it has got.
//
// The encoding: for each field, in ascending order of the tags, two bytes of the tag, two bytes of the length of the
// value, and the value; all numbers big-endian. No fields are no bytes.
//
// Invariant: the encoding is well-formed and has at most most_field_bytes.
// Thread safety: as a std::string.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/core/export.h>

namespace foliot::jobs {

/// What a field is: see the table above.
using field_tag = std::uint16_t;

/// From here on the tags belong to the programs that use foliot, which agree about them among themselves.
inline constexpr field_tag first_own_tag = 0x8000;

/// The most bytes of an encoding: what web servers accept as the headers of a request. A store writes the fields and
/// the history again with each change of the job, and keeps them in memory while it does.
inline constexpr std::size_t most_field_bytes = 8192;

/// Fields, by their tags. Empty ones need the memory of a pointer, others an allocation. Copying is O(bytes).
class FOLIOT_EXPORT job_fields {
 public:
  /// A field.
  struct entry {
    field_tag tag = 0;
    std::string_view value;

    friend bool operator==(const entry&, const entry&) noexcept = default;
  };
  class iterator;

  /// None.
  job_fields() noexcept = default;
  job_fields(const job_fields& other) : bytes_(other.copy()) {}
  job_fields(job_fields&&) noexcept = default;
  job_fields& operator=(const job_fields& other) {
    if (this != &other) bytes_ = other.copy();
    return *this;
  }
  job_fields& operator=(job_fields&&) noexcept = default;
  ~job_fields() = default;

  /// The fields with this encoding; nothing if it is none: a tag is 0, or not greater than the one before, the end is
  /// missing, or there are more than most_field_bytes. Throws std::bad_alloc alone. O(bytes).
  [[nodiscard]] static std::optional<job_fields> parse(std::string_view encoding);

  /// Whether there are none.
  [[nodiscard]] bool empty() const noexcept { return bytes_ == nullptr; }
  /// The encoding, valid until the next change.
  [[nodiscard]] std::string_view bytes() const noexcept {
    return bytes_ == nullptr ? std::string_view() : std::string_view(*bytes_);
  }

  /// The value of a field, valid until the next change; nothing if there is no such field. O(fields).
  [[nodiscard]] std::optional<std::string_view> find(field_tag tag) const noexcept;
  /// Gives a field this value, which may be empty. The value may be one of these fields. False: the tag is 0,
  /// or the encoding would become longer than most_field_bytes; nothing has changed. O(bytes).
  [[nodiscard]] bool set(field_tag tag, std::string_view value);
  /// Removes a field. False: there is none. O(bytes).
  bool erase(field_tag tag) noexcept;

  /// The first of the fields, which are in ascending order of their tags. Valid until the next change.
  [[nodiscard]] iterator begin() const noexcept;
  /// Behind the last one.
  [[nodiscard]] iterator end() const noexcept;

  /// Whether they have the same encoding. O(bytes).
  friend bool operator==(const job_fields& one, const job_fields& other) noexcept {
    return one.bytes() == other.bytes();
  }

 private:
  using encoding = std::unique_ptr<std::string>;

  [[nodiscard]] encoding copy() const { return empty() ? nullptr : std::make_unique<std::string>(*bytes_); }

  encoding bytes_;  ///< null: none; never an empty string
};

/// A forward iterator over fields, which makes each entry from the encoding.
class FOLIOT_EXPORT job_fields::iterator {
 public:
  using iterator_concept = std::forward_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = entry;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = entry;

  iterator() noexcept = default;

  /// The field. Its value is valid as long as the iterator.
  [[nodiscard]] entry operator*() const noexcept;
  /// Goes on to the next field.
  iterator& operator++() noexcept;
  /// The same, and returns where it was.
  iterator operator++(int) noexcept {
    iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const iterator&, const iterator&) noexcept = default;

 private:
  friend class job_fields;
  explicit iterator(const char* at) noexcept : at_(at) {}

  const char* at_ = nullptr;  ///< the begin of an entry, or the end of the encoding
};

inline job_fields::iterator job_fields::begin() const noexcept { return iterator(bytes().data()); }
inline job_fields::iterator job_fields::end() const noexcept { return iterator(bytes().data() + bytes().size()); }

}  // namespace foliot::jobs
