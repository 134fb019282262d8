#include <foliot/runtime/net/io_error.hpp>

#include <string>

namespace foliot::runtime {

namespace {

class category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "foliot"; }
  [[nodiscard]] std::string message(int what) const override {
    switch (static_cast<io_errc>(what)) {
      case io_errc::deadline_exceeded: return "the deadline has passed";
      case io_errc::closed: return "the descriptor is closed";
      case io_errc::too_long: return "the text is longer than its limit";
    }
    return "unknown error";
  }
  [[nodiscard]] std::error_condition default_error_condition(int what) const noexcept override {
    switch (static_cast<io_errc>(what)) {
      case io_errc::deadline_exceeded: return std::errc::timed_out;
      case io_errc::closed: return std::errc::bad_file_descriptor;
      case io_errc::too_long: return std::errc::message_size;
    }
    return {what, *this};
  }
};

}  // namespace

const std::error_category& io_category() noexcept {
  static const category one;
  return one;
}

}  // namespace foliot::runtime
