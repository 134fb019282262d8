#include <foliot/runtime/net/io_error.hpp>

#include <string>

namespace foliot::runtime {

namespace {

class category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "foliot"; }
  [[nodiscard]] std::string message(int what) const override {
    return static_cast<io_errc>(what) == io_errc::closed ? "the descriptor is closed" : "the deadline has passed";
  }
  [[nodiscard]] std::error_condition default_error_condition(int what) const noexcept override {
    return static_cast<io_errc>(what) == io_errc::closed ? std::errc::bad_file_descriptor : std::errc::timed_out;
  }
};

}  // namespace

const std::error_category& io_category() noexcept {
  static const category one;
  return one;
}

}  // namespace foliot::runtime
