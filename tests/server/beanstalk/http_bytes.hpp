// Random HTTP requests, of clients that keep to the standard and of those that do not quite, with commands of beanstalk
// as their bodies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <foliot/core/seam/random.hpp>

namespace foliot::program::beanstalk {

class http_bytes {
 public:
  explicit http_bytes(std::uint64_t seed) : random_(seed) {}

  std::string request() {
    static constexpr std::array<std::string_view, 8> beginnings{
        "", "", "", "", "\r\n", "\r\n\r\n", "\n", "PROXY TCP4 192.0.2.1 192.0.2.2 56324 11300\r\n"};
    static constexpr std::array<std::string_view, 6> ends{"\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r"};
    static constexpr std::array<std::string_view, 6> blanks{" ", " ", " ", " ", "\t", "  "};
    static constexpr std::array<std::string_view, 8> versions{"HTTP/1.1", "HTTP/1.1",  "HTTP/1.1", "HTTP/1.0",
                                                              "HTTP/2.0", "HTTP/10.1", "HTTP/3",   "RTSP/1.0"};
    static constexpr std::array<std::string_view, 6> trailers{"", "", "", "", " ", "\t "};
    const std::string_view end = one_of(ends);
    std::string all(one_of(beginnings));
    all += method();
    all += one_of(blanks);
    all += target(all.ends_with("CONNECT "));
    all += one_of(blanks);
    all += one_of(versions);
    all += one_of(trailers);
    all += end;
    for (std::uint64_t left = random_.below(3); left > 0; --left) {
      all += "X-Header: ";
      all += characters(length());
      all += end;
    }
    all += end;
    for (std::uint64_t left = 1 + random_.below(3); left > 0; --left) all += "put 0 0 1 1\r\na\r\nuse b\r\n";
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

  std::size_t length() { return static_cast<std::size_t>(random_.below(random_.below(3) == 0 ? 1000 : 30)); }

  std::string characters(std::size_t count) {
    static constexpr std::string_view all = "abcxyzABCXYZ0123456789-._~!$&'()*+,;=:@%/?";
    std::string text;
    while (text.size() < count) text += all[random_.below(all.size())];
    return text;
  }

  std::string method() {
    static constexpr std::array<std::string_view, 24> methods{"GET",        "POST",
                                                              "PUT",        "CONNECT",
                                                              "OPTIONS",    "PROPFIND",
                                                              "M-SEARCH",   "post",
                                                              "put",        "x-put",
                                                              "use",        "watch",
                                                              "kick",       "reserve",
                                                              "quit",       "delete",
                                                              "kick-job",   "release",
                                                              "bury",       "peek",
                                                              "touch",      "reserve-with-timeout",
                                                              "pause-tube", "stats-tube"};
    if (random_.below(3) > 0) return std::string(one_of(methods));
    static constexpr std::string_view all = "abcxyzABCXYZ0123456789-._~!$&'*+^`|#%";
    std::string text;
    for (std::size_t left = 1 + length(); left > 0; --left) text += all[random_.below(all.size())];
    return text;
  }

  std::string target(bool is_connect) {
    if (is_connect) return "127.0.0.1:11300";
    static constexpr std::array<std::string_view, 5> forms{"/", "/", "/", "http://127.0.0.1:11300/", "https://[::1]/"};
    if (random_.below(20) == 0) return "*";
    return std::string(one_of(forms)) + characters(length());
  }

  random_stream random_;
};

}  // namespace foliot::program::beanstalk
