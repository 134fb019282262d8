// The version of foliot. CMake reads it from this file, and no other file has it.
#pragma once

#define FOLIOT_VERSION_MAJOR 0
#define FOLIOT_VERSION_MINOR 1
#define FOLIOT_VERSION_PATCH 0
#define FOLIOT_VERSION "0.1.0"
