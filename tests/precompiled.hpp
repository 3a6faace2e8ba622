#pragma once
// What every test includes. It is compiled once for each level of optimisation.

#include "cmake/standard.hpp"
#include "tests/catch.hpp"
