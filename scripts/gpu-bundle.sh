# shellcheck shell=bash
# The first half of gpu-check.sh: builds, and fills a folder with all that the second half needs.

max_mib=48 # leaves room for the sources in one transfer
programs=(test_device test_compress test_optim test_sim)

emulates() { [[ "${ONEBIT_CUDA:-ON}" == EMULATED ]]; }

# build_for_gpu BUILD: -lineinfo lets compute-sanitizer name source lines. The GPU's code is for one architecture, without
# PTX, and compressed, because each program has its own copy. Emulated GPUs have ASan instead.
build_for_gpu() {
  local build=$1
  local -a how=(-S . -B "$build" -G Ninja --fresh -DCMAKE_BUILD_TYPE=Release -DONEBIT_NATIVE=OFF -DONEBIT_TESTS=ON
    -DONEBIT_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="${CMAKE_CUDA_ARCHITECTURES:-90-real}"
    -DCMAKE_CUDA_FLAGS="-lineinfo -Xfatbin=-compress-all")
  if emulates; then how=(--preset ci-clang -B "$build"); fi
  say "building in $build"
  quietly "$build/configure.log" cmake "${how[@]}"
  quietly "$build/build.log" cmake --build "$build" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(cores)}" \
    --target onebit_program "${programs[@]}"
}

# Prints what the build is for: a version of CUDA, or "emulated".
kind_of() {
  local version
  if emulates; then
    echo emulated
    return 0
  fi
  version=$(sed -n 's/^set(CMAKE_CUDA_COMPILER_VERSION "\([0-9]*\.[0-9]*\).*/\1/p' "$1"/CMakeFiles/*/CMakeCUDACompiler.cmake)
  echo "CUDA ${version:?}"
}

# Prints the libraries that ldd names for the given programs, without those of glibc, which work only with their own
# loader, and those of CUDA, which work only with their driver and are huge.
libraries_of() {
  local glibc='ld-linux[^/]*|lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|nsl|nss_[^/]*)'
  local cuda='lib(cuda[^/]*|cublas[^/]*|nv[^/]*|nccl)'
  ldd -- "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -v -E "/($glibc|$cuda)\.so[^/]*$"
}

# filter_of PROGRAM: prints the files whose tests run on backends(), as Catch2's tags of files, without hidden tests.
# Emulated GPUs are far too slow for all of these files, so they get a few, enough to test the script.
filter_of() {
  local files='.*'
  if emulates; then files='(buffer|cuda|fill|gemm|launch|memory|recording|sign|logistic|quadratic|sgd)_test\.cpp'; fi
  git grep -l -E 'backends\(\)|layer_check\.hpp' -- "tests/${1#test_}/*.cpp" | grep -E "/$files\$" |
    sed 's|.*/\(.*\)\.cpp|[#\1]~[.]|' | paste -s -d ,
}

copy_programs() {
  local dir=$1 build=$2 program
  local -a libraries=()
  for program in "${programs[@]}"; do
    cp -- "$build/tests/${program#test_}/$program" "$dir/bin/"
    filter_of "$program" >"$dir/filters/$program"
  done
  if emulates; then echo "[#launch_test]~[.]"; else echo "[#launch_test]~[.],[#lanes_test]~[.]~[long]"; fi >"$dir/filters/racecheck"
  cp -r -- "$build"/experiments/onebit "$build"/experiments/presets "$dir/bin/"
  mapfile -t libraries < <(libraries_of "$dir"/bin/onebit "$dir"/bin/test_*)
  ((${#libraries[@]})) || fail "ldd names no libraries for $dir/bin, which cannot be right"
  cp -L -- "${libraries[@]}" "$dir/lib/"
  strip -- "$dir"/bin/onebit "$dir"/bin/test_* "$dir"/lib/*
  gzip -- "$dir"/bin/onebit "$dir"/bin/test_* "$dir"/lib/*
}

bundle() {
  local dir=$1 shared=${ONEBIT_SHARED:-../shared} bytes build
  build=build/$(basename -- "$dir")
  if emulates; then build=build/ci-clang; fi
  check_cmake
  build_for_gpu "$build"
  say "filling $dir"
  [[ ! -e $dir || -f $dir/COMMIT ]] || fail "$dir exists but is not a bundle: not touching it"
  rm -rf -- "$dir"
  mkdir -p -- "$dir"/{bin,lib,filters,scripts,shared/data}
  copy_programs "$dir" "$build"
  cp -r -- "$shared/data/text" "$dir/shared/data/"
  git ls-files -z docs python 'tests/*/example_*.hpp' | xargs -0 cp --parents -t "$dir" -- # read by tests
  cp -- scripts/{gpu-check.sh,gpu-bundle.sh,gpu-parts.sh,gpu-report.py,count-tests,lib.sh,lsan.supp} "$dir/scripts/"
  chmod -R u+w -- "$dir"
  kind_of "$build" >"$dir/KIND"
  git describe --always --dirty --abbrev=12 >"$dir/COMMIT"
  bytes=$(du -sb -- "$dir" | cut -f 1)
  emulates || ((bytes < max_mib << 20)) || fail "$dir has $((bytes >> 20)) MiB, more than $max_mib"
  say "$dir: $((bytes >> 20)) MiB, $(cat -- "$dir/KIND"); on the GPU machine: scripts/gpu-check.sh run $dir"
}
