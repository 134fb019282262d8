// (later)
#include "policy_world.hpp"
