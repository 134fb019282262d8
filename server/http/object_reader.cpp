#include "object_reader.hpp"

#include <expected>
#include <limits>

#include "text/duration_text.hpp"

namespace foliot::program::http {

std::string listed_words(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += fmt::format("`{}`", words[i]);
  }
  return text;
}

object_reader::object_reader(const json& of, std::string pointer, std::string_view what)
    : object_(of), pointer_(std::move(pointer)) {
  if (!of.is_object()) throw wrong_member(pointer_, fmt::format("{} must be an object", what));
}

const json* object_reader::find(std::string_view name) {
  const json* const found = find_any(name);
  return found != nullptr && found->what() != json::kind::null ? found : nullptr;
}

const json* object_reader::find_any(std::string_view name) {
  asked_.emplace_back(name);
  return object_.find(name);
}

std::optional<std::string_view> object_reader::text(std::string_view name, std::string_view such_as) {
  const json* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_text()) refuse(name, fmt::format("`{}` must be a string such as {}", name, such_as));
  return found->text();
}

std::optional<bool> object_reader::flag(std::string_view name) {
  const json* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_boolean()) refuse(name, fmt::format("`{}` must be true or false", name));
  return found->boolean();
}

std::optional<std::uint64_t> object_reader::number(std::string_view name, std::uint64_t least, std::uint64_t most) {
  const json* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number() || found->number() < least || found->number() > most)
    refuse(name, fmt::format("`{}` must be a whole number from {} to {}", name, least, most));
  return found->number();
}

std::optional<double> object_reader::fraction(std::string_view name, double least, double most) {
  const json* const found = find(name);
  if (found == nullptr) return std::nullopt;
  double value = most + 1;
  if (found->is_number()) value = static_cast<double>(found->number());
  if (found->what() == json::kind::fraction) value = found->fraction();
  if (!(value >= least && value <= most))
    refuse(name, fmt::format("`{}` must be a number from {} to {}", name, least, most));
  return value;
}

std::optional<duration> object_reader::read_length(const json& value, const std::string& pointer,
                                                   std::string_view name) {
  if (value.is_number()) {
    constexpr std::uint64_t longest = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
    if (value.number() > longest) return std::nullopt;
    return duration(std::chrono::seconds(value.number()));
  }
  if (!value.is_text())
    throw wrong_member(pointer,
                       fmt::format("`{}` must be a length of time such as \"5m\", or a number of seconds", name));
  if (value.text() == "0s") return duration::zero();
  const std::expected<duration, std::string> read = parse_duration(value.text());
  if (!read)
    throw wrong_member(pointer,
                       fmt::format("`{}` must be a length of time such as 5m or 1h30m: {}", name, read.error()));
  return *read;
}

void object_reader::expect_no_others() const {
  for (const json& each : object_) {
    if (std::ranges::find(asked_, each.name()) != asked_.end()) continue;
    const auto near = nearest(each.name(), asked_);
    const std::string all = listed_words(std::vector<std::string_view>(asked_.begin(), asked_.end()));
    refuse(each.name(), near ? fmt::format("there is no member `{}` here: did you mean `{}`?", each.name(), *near)
                             : fmt::format("there is no member `{}` here: members are {}", each.name(), all));
  }
}

}  // namespace foliot::program::http
