# Builds for Linux on aarch64, with Debian's cross compiler and the libraries of Debian's architecture arm64, and runs what
# is built under qemu-user. `scripts/port aarch64` installs all of that, and docs/porting.md has what it finds.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# Without -L: a program finds the loader and the libraries of libc6:arm64 where they are installed. With those of the cross
# compiler (-L /usr/aarch64-linux-gnu) the first thread of a program hangs.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)

# pkg-config would name the libraries of the machine that builds.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
