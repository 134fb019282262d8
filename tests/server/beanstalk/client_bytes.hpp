// Random bytes as clients of a beanstalk server might send them: commands, most of them right, with damage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/seam/random.hpp>

namespace foliot::program::beanstalk {

class client_bytes {
 public:
  explicit client_bytes(std::uint64_t seed) : random_(seed) {}

  /// A few commands and their bodies.
  std::string commands() {
    std::string all;
    if (random_.below(100) == 0) all += '\x16';
    for (std::uint64_t left = 1 + random_.below(8); left > 0; --left) all += random_.below(3) == 0 ? put() : line();
    return all;
  }

  /// How many bytes of `left` the next read brings.
  std::size_t piece(std::size_t left) {
    return 1 + static_cast<std::size_t>(random_.below(random_.below(2) == 0 ? 5 : left));
  }

 private:
  template <std::size_t Count>
  std::string_view one_of(const std::array<std::string_view, Count>& choices) {
    return choices[random_.below(Count)];
  }

  std::string_view argument() {
    static constexpr std::array<std::string_view, 16> arguments{"0",
                                                                "1",
                                                                "7",
                                                                "300",
                                                                "4294967295",
                                                                "4294967296",
                                                                "18446744073709551615",
                                                                "18446744073709551616",
                                                                "-1",
                                                                "x",
                                                                "",
                                                                "a",
                                                                "$(b)/c",
                                                                "=key",
                                                                "@5000",
                                                                "keep"};
    return one_of(arguments);
  }

  std::string line() {
    static constexpr std::array<std::string_view, 34> verbs{"put ",           "use ",
                                                            "reserve",        "reserve-with-timeout ",
                                                            "reserve-job ",   "delete ",
                                                            "release ",       "bury ",
                                                            "touch ",         "watch ",
                                                            "ignore ",        "peek ",
                                                            "peek-ready",     "peek-delayed",
                                                            "peek-buried",    "kick ",
                                                            "kick-job ",      "stats",
                                                            "stats-job ",     "stats-tube ",
                                                            "list-tubes",     "list-tubes-watched",
                                                            "list-tube-used", "pause-tube ",
                                                            "quit",           "x-put ",
                                                            "x-cancel ",      "x-reschedule ",
                                                            "x-fire ",        "x-stats-job ",
                                                            "x-due 10 @0 0 ", "other ",
                                                            "GET /",          "GET"};
    std::string text(one_of(verbs));
    for (std::uint64_t left = random_.below(4); left > 0; --left) {
      text += argument();
      if (left > 1) text.append(1 + random_.below(2), ' ');
    }
    if (random_.below(10) == 0) text += std::string(random_.below(500), 'z');
    if (random_.below(40) == 0) text += " HTTP/1.1";
    if (random_.below(100) == 0) text += "\tRTSP/1 ";
    return damaged(text) + line_end();
  }

  std::string put() {
    const std::uint64_t size = random_.below(12);
    std::string body;
    while (body.size() < size) body += "ab\r\n"[random_.below(4)];
    const bool is_extended = random_.below(4) == 0;
    const std::string numbers = is_extended ? "x-put keep k 1 5 7 " : "put 1 5 7 ";
    std::string line = numbers + std::to_string(size);
    if (is_extended && random_.below(2) == 0) {
      const std::string fields = random_.below(3) == 0 ? "" : std::string("\0\1\0\2ab\0\2\0\0", 10);
      const std::string history = random_.below(3) == 0 ? "" : std::string("\1\0\0\1h", 5);
      body += damaged(fields + history);
      line += " " + std::to_string(fields.size()) + " " + std::to_string(history.size());
    }
    return damaged(line) + "\r\n" + body + line_end();
  }

  std::string damaged(std::string text) {
    if (random_.below(8) == 0) text.insert(random_.below(text.size() + 1), 1, "\0\r\n\t -\xff"[random_.below(7)]);
    return text;
  }

  std::string line_end() {
    static constexpr std::array<std::string_view, 8> ends{"\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", ""};
    return std::string(one_of(ends));
  }

  random_stream random_;
};

}  // namespace foliot::program::beanstalk
