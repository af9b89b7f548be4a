#!/bin/bash
# run.sh SOURCE CMAKE CC -- installs static and shared into prefixes of their own, then uses what is there:
# by find_package, by pkg-config, each public header alone as C11 and C++17. The shared library shows msnap_ only.
set -eu
source=$1 cmake=$2 cc=$3
here=$source/tests/consumer
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
export PKG_CONFIG_PATH
generator=(); command -v ninja >/dev/null && generator=(-G Ninja)
quiet() { "$@" >"$T/log" 2>&1 || { tail -40 "$T/log"; echo "failed: $*"; exit 1; }; }
for shape in static shared; do
    flag=OFF; [ $shape = shared ] && flag=ON
    prefix=$T/$shape
    quiet "$cmake" -S "$source" -B "$T/build-$shape" "${generator[@]}" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug \
        -DBUILD_SHARED_LIBS=$flag -DMEMSNAP_TESTS=OFF -DMEMSNAP_CLI=OFF -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib
    quiet "$cmake" --build "$T/build-$shape" -j 2
    quiet "$cmake" --install "$T/build-$shape"

    quiet "$cmake" -S "$here/app" -B "$T/app-$shape" "${generator[@]}" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix"
    quiet "$cmake" --build "$T/app-$shape"
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    # shellcheck disable=SC2046
    quiet "$cc" -std=c11 "$here/app/main.c" -o "$T/peak-$shape" $(pkg-config --cflags --libs memsnap)
    for program in "$T/app-$shape/peak" "$T/peak-$shape"; do
        LD_LIBRARY_PATH=$prefix/lib "$program" "$source/testdata/good_protocol4.pickle" >"$T/out"
        grep -q '^device 0: peak [0-9.]* MiB$' "$T/out" || { echo "$program printed:"; cat "$T/out"; exit 1; }
    done
done
for header in "$T"/static/include/memsnap/*.h; do
    name=memsnap/$(basename "$header")
    printf '#include <%s>\nint main(void) { return 0; }\n' "$name" >"$T/one.c"
    cp "$T/one.c" "$T/one.cc"
    quiet "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$T/static/include" -fsyntax-only "$T/one.c"
    ! command -v c++ >/dev/null || quiet c++ -std=c++17 -Wall -Wextra -Werror -I "$T/static/include" -fsyntax-only "$T/one.cc"
done
for library in "$T"/static/lib/libmemsnap*.a; do
    if nm -g --defined-only "$library" | awk 'NF == 3 {print $3}' | grep -v '^msnap_'; then
        echo "$(basename "$library") shows names without msnap_"; exit 1
    fi
done
for library in "$T"/shared/lib/libmemsnap*.so; do
    if nm -D --defined-only "$library" | awk '{print $NF}' | grep -v '^msnap_'; then
        echo "$(basename "$library") shows names without msnap_"; exit 1
    fi
done
