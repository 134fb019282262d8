// The version of foliot. CMake reads it from here: this is its only home.
#pragma once

#define FOLIOT_VERSION_MAJOR 0
#define FOLIOT_VERSION_MINOR 1
#define FOLIOT_VERSION_PATCH 0
#define FOLIOT_VERSION "0.1.0"
