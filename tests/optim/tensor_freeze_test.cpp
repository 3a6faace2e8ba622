#include "optim/tensor_freeze.hpp"

#include "tests/catch.hpp"
