#include "prometheus_page.hpp"

#include <algorithm>
#include <stdexcept>

namespace foliot::detail {

namespace {

constexpr int first_bound_bits = 7;
constexpr int last_bound_bits = 36;

enum class colons : std::uint8_t { refused, allowed };

bool is_name(std::string_view name, colons in_it) noexcept {
  const auto letter = [in_it](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (in_it == colons::allowed && c == ':');
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && !digit(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c); });
}

/// name="value",name="value"
std::string labels_text(std::span<const prometheus_label> labels) {
  std::string text;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string_view name = labels[i].name;
    const auto earlier = labels.first(i);
    if (!is_name(name, colons::refused) || name.starts_with("__") || name == "le" ||
        std::ranges::find(earlier, name, &prometheus_label::name) != earlier.end()) {
      throw std::invalid_argument("foliot: '" + std::string(name) +
                                  "' cannot be a label: use a name of letters, digits and _, once, and not le or __…");
    }
    if (i > 0) text += ',';
    text.append(name).append("=\"");
    for (const char c : labels[i].value) {
      if (c == '\n') {
        text += "\\n";
      } else {
        if (c == '\\' || c == '"') text += '\\';
        text += c;
      }
    }
    text += '"';
  }
  return text;
}

/// The number of seconds, without rounding.
std::string seconds(std::uint64_t nanoseconds) {
  constexpr std::uint64_t second = 1'000'000'000;
  std::string text = std::to_string(nanoseconds / second);
  if (nanoseconds % second != 0) {
    const std::string fraction = std::to_string(second + nanoseconds % second);  // a 1 and nine digits
    text.append(".").append(fraction, 1, fraction.find_last_not_of('0'));
  }
  return text;
}

}  // namespace

prometheus_page::prometheus_page(std::string_view prefix, std::span<const prometheus_label> labels)
    : prefix_(prefix), labels_(labels_text(labels)) {
  if (!is_name(prefix, colons::allowed)) {
    throw std::invalid_argument("foliot: '" + std::string(prefix) +
                                "' cannot begin a metric's name: use letters, digits, _ and :");
  }
}

void prometheus_page::single(std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
  head(name, type, help);
  sample(name, "", std::to_string(value));
}

void prometheus_page::distribution(std::string_view name, std::string_view help, const histogram& values) {
  head(name, "histogram", help);
  const std::string bucket = std::string(name) + "_bucket";
  for (int bits = first_bound_bits; bits <= last_bound_bits; ++bits) {
    const std::int64_t bound = (std::int64_t{1} << bits) - 1;
    sample(bucket, "le=\"" + seconds(static_cast<std::uint64_t>(bound)) + "\"",
           std::to_string(values.count_up_to(duration::nanoseconds(bound))));
  }
  const std::string count = std::to_string(values.count());
  sample(bucket, "le=\"+Inf\"", count);
  sample(std::string(name) + "_sum", "", seconds(values.sum_nanoseconds()));
  sample(std::string(name) + "_count", "", count);
}

void prometheus_page::head(std::string_view name, std::string_view type, std::string_view help) {
  text_.append("# HELP ").append(prefix_).append("_").append(name).append(" ").append(help);
  text_.append("\n# TYPE ").append(prefix_).append("_").append(name).append(" ").append(type).append("\n");
}

void prometheus_page::sample(std::string_view name, std::string_view label, std::string_view value) {
  text_.append(prefix_).append("_").append(name);
  if (!labels_.empty() || !label.empty()) {
    text_.append("{").append(labels_).append(labels_.empty() || label.empty() ? "" : ",").append(label).append("}");
  }
  text_.append(" ").append(value).append("\n");
}

}  // namespace foliot::detail
