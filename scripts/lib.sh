# shellcheck shell=bash
# What the scripts share: messages, and the installation of packages.
# shellcheck disable=SC2034 # the lists are for the scripts that include this

build_packages=(build-essential cmake ninja-build ccache libeigen3-dev libboost-program-options-dev libhdf5-dev
  zlib1g-dev librandom123-dev gnuplot-nox libjs-dygraphs)
test_packages=(catch2 libsimgrid-dev libopenmpi-dev openmpi-bin clang clang-format libomp-dev python3-h5py python3-numpy
  python3-pandas python3-matplotlib python3-venv python3-xarray python3-torch python3-nbclient python3-ipykernel mypy
  hdf5-tools git shellcheck)
page_packages=(chromium chromium-driver python3-selenium python3-html5lib) # only Debian has these names
build_headers=(Eigen/Core boost/program_options.hpp hdf5.h zlib.h Random123/philox.h)

say() { printf '== %s\n' "$*"; }

fail() {
  printf '%s: error: %s\n' "$(basename -- "$0")" "$*" >&2
  exit 1
}

# quietly LOG COMMAND...: writes the output to LOG, shows its end if the command fails, and returns the command's status.
quietly() {
  local log=$1 status=0
  shift
  mkdir -p -- "$(dirname -- "$log")"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status)); then
    tail -n 40 -- "$log" >&2
    printf 'failed with status %d: %s (full output: %s)\n' "$status" "$*" "$log" >&2
  fi
  return "$status"
}

cores() { getconf _NPROCESSORS_ONLN; }

# Prints the given packages that are not installed, according to dpkg.
missing_packages() {
  local package
  for package; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || printf '%s\n' "$package"
  done
}

# Prints tools and headers that the build needs and that are missing, no matter how they would be installed.
missing_tools() {
  local tool header
  for tool in cmake ninja c++; do command -v "$tool" >/dev/null || printf '%s\n' "$tool"; done
  for header in "${build_headers[@]}"; do
    "${CXX:-c++}" -I/usr/include/eigen3 -I/usr/include/hdf5/serial -E -x c++ -include "$header" /dev/null \
      >/dev/null 2>&1 || printf '%s\n' "$header"
  done
}

as_root() {
  if ((EUID == 0)); then env "$@"; else sudo env "$@"; fi
}

apt_install() {
  as_root DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null ||
    say "apt-get update failed: using the existing package lists"
  quietly build/apt.log as_root DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends -o Acquire::Retries=3 "$@"
}

# ensure_packages PACKAGE...: installs missing packages if there is apt; otherwise looks for the tools themselves.
ensure_packages() {
  local -a packages=() tools=()
  if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
    mapfile -t packages < <(missing_packages "$@")
    ((${#packages[@]})) || return 0
    if ((EUID == 0)) || command -v sudo >/dev/null; then
      say "installing ${packages[*]}"
      if apt_install "${packages[@]}"; then return 0; fi
    fi
  fi
  mapfile -t tools < <(missing_tools)
  ((${#tools[@]} == 0)) || fail "missing: ${tools[*]}; install the packages that provide them (on Debian and Ubuntu, as root:" \
    "apt-get install $*)"
  say "continuing without ${packages[*]:-apt}: compiler, CMake and headers were found"
}

# Presets and junit reports need CMake 3.24.
check_cmake() {
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9][0-9.]*\).*/\1/p')
  printf '3.24\n%s\n' "$version" | sort -V -C || fail "CMake $version is too old: 3.24 or newer is needed"
}
