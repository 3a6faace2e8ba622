#pragma once
// What every test includes. It is compiled once for all test programs.

#include "cmake/standard.hpp"
#include "tests/catch.hpp"
