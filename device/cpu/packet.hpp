#pragma once
// Eigen's packets: the widest vectors of the instruction set.

#include <Eigen/Core>

#include "device/base/types.hpp"

namespace onebit::device::cpu {

using Packet = Eigen::internal::packet_traits<float>::type;
inline constexpr Index kLanes = Eigen::internal::packet_traits<float>::size;
inline constexpr Index kRegisters = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS;

}  // namespace onebit::device::cpu
