#include <foliot/service/prometheus.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace foliot::inline service {

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

class page {
 public:
  page(std::string_view prefix, std::span<const prometheus_label> labels)
      : prefix_(prefix), labels_(labels_text(labels)) {
    if (!is_name(prefix, colons::allowed)) {
      throw std::invalid_argument("foliot: '" + std::string(prefix) +
                                  "' cannot begin a metric's name: use letters, digits, _ and :");
    }
  }

  void single(std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    head(name, type, help);
    sample(name, "", std::to_string(value));
  }

  void distribution(std::string_view name, std::string_view help, const histogram& values) {
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

  std::string take() noexcept { return std::move(text_); }

 private:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    text_.append("# HELP ").append(prefix_).append("_").append(name).append(" ").append(help);
    text_.append("\n# TYPE ").append(prefix_).append("_").append(name).append(" ").append(type).append("\n");
  }
  void sample(std::string_view name, std::string_view label, std::string_view value) {
    text_.append(prefix_).append("_").append(name);
    if (!labels_.empty() || !label.empty()) {
      text_.append("{").append(labels_).append(labels_.empty() || label.empty() ? "" : ",").append(label).append("}");
    }
    text_.append(" ").append(value).append("\n");
  }

  std::string_view prefix_;
  std::string labels_;
  std::string text_;
};

}  // namespace

std::string prometheus_text(const service_statistics& now, std::string_view prefix,
                            std::span<const prometheus_label> labels) {
  page all(prefix, labels);
  const service_counters& c = now.counters;
  all.single("timers_pending", "gauge", "Timers that are pending.", c.pending);
  all.single("timers_peak_pending", "gauge", "The most timers that were ever pending, summed over shards.",
             c.peak_pending);
  all.single("timers_started_total", "counter", "Starts of timers that were not pending.", c.started);
  all.single("timers_reset_total", "counter", "Resets of timers that were pending.", c.superseded);
  all.single("timers_stopped_total", "counter", "Stops of timers that were pending.", c.stopped);
  all.single("timers_fired_total", "counter", "Callbacks begun, those of tickers included.", c.fired);
  all.single("timers_skipped_total", "counter", "Ticks that were skipped because the ticker fired too late.",
             c.skipped);
  all.single("timers_dropped_total", "counter", "Timers that were pending when the service ended.", c.dropped);
  all.single("early_wake_ups_total", "counter", "Times that a thread was woken before its time, for an earlier timer.",
             c.wake_ups);
  all.single("wake_ups_with_work_total", "counter", "Times that a thread woke and something was due.",
             c.wakes_with_work);
  all.single("wake_ups_without_work_total", "counter", "Times that a thread woke and nothing was due.",
             c.wakes_without_work);
  all.single("shards", "gauge", "Queues, each with a lock and a thread.", now.shards);
  if (now.measured) {
    all.distribution("lateness_seconds", "How long after its deadline a callback began.", now.lateness);
    all.distribution("callback_seconds", "How long a callback ran.", now.callback_time);
  }
  return all.take();
}

}  // namespace foliot::inline service
