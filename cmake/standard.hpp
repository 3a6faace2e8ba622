#pragma once
// The headers that most files include, themselves or through others, precompiled unless -DONEBIT_PCH=OFF. Every file
// must still include what it uses: scripts/check-includes shows what is missing.

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
