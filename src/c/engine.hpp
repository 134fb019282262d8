// An engine, as the C interface names it. Thread safety: never changed.
#pragma once

#include <foliot/foliot.h>
#include <foliot/service/engine_choice.hpp>

struct foliot_engine {
  foliot::engine_choice choice;
};
