// The engine of a service, by its name.
//
//   foliot::service_options options{.engine = "hashed-wheel"};
//
// A statically linked program has all engines in it if it names one, and foliot's alone if it names none: that is a
// third of the code. Thread safety: a plain object's.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/service/detail/engine_kinds.hpp>

namespace foliot::inline service {

/// One of timer_service::engines(), or a name that no engine has, which timer_service's constructor refuses.
class engine_choice {
 public:
  /// `foliot`.
  engine_choice() : name_("foliot") {}
  /// By name. Throws std::bad_alloc.
  template <std::convertible_to<std::string_view> Name>
    requires(!std::same_as<std::remove_cvref_t<Name>, engine_choice>)
  engine_choice(const Name& name)  // NOLINT(google-explicit-constructor)
      : name_(std::string_view(name)), find_(detail::engine_by_name) {}

  /// The name.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// For services. Throws std::invalid_argument, with the list of all engines, if there is none of that name.
  [[nodiscard]] const detail::engine_kind& kind() const { return find_(name_); }

  friend bool operator==(const engine_choice& one, std::string_view name) noexcept { return one.name_ == name; }

 private:
  std::string name_;
  const detail::engine_kind& (*find_)(std::string_view) = detail::default_engine;
};

}  // namespace foliot::inline service
