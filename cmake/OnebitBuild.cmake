# Everything that all rooms are compiled with, and the one way to declare a room.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(onebit_build INTERFACE)
target_compile_features(onebit_build INTERFACE cxx_std_20)
target_include_directories(onebit_build INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(onebit_build INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wno-unknown-pragmas
  $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed> # clang may leave an "omp simd" loop scalar: no error
  $<$<BOOL:${ONEBIT_WERROR}>:-Werror>
  -ffp-contract=off) # numerics are a contract: a*b+c rounds twice on every machine

# Optimisation beyond -O2 pays in the kernels: the launchers' inner loops are written to be vectorised.
string(REPLACE "-O2" "-O3" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

if(ONEBIT_NATIVE)
  target_compile_options(onebit_build INTERFACE -march=native)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(onebit_build INTERFACE -march=x86-64-v3)
endif()

if(ONEBIT_SANITIZE)
  target_compile_options(onebit_build INTERFACE -fsanitize=${ONEBIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(onebit_build INTERFACE -fsanitize=${ONEBIT_SANITIZE})
endif()

# onebit_room(<name> SOURCES a.cpp ... DEPENDS other-rooms-or-libraries ...)
function(onebit_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(onebit_${name} STATIC ${ROOM_SOURCES})
  add_library(onebit::${name} ALIAS onebit_${name})
  target_link_libraries(onebit_${name} PUBLIC onebit_build ${ROOM_DEPENDS})
endfunction()
