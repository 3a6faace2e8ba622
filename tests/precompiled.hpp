#pragma once
// What every test includes, compiled once for all test programs.

#include "cmake/standard.hpp"
#include "tests/catch.hpp"
