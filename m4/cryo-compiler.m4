dnl SPDX-License-Identifier: GPL-2.0-only

dnl CRYO_CXX20: a C++20 compiler, or stop.
AC_DEFUN([CRYO_CXX20], [
  AC_LANG_PUSH([C++])
  AC_CACHE_CHECK([for C++20], [cryo_cv_cxx20], [
    cryo_save_CXX=$CXX
    CXX="$CXX -std=c++20"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
      #include <bit>
      #include <concepts>
      #include <span>
      #include <string_view>
      template <std::unsigned_integral T> constexpr T twice(T value) { return value + value; }
    ]], [[
      constexpr std::string_view text = "context.1.zst";
      static_assert(text.ends_with(".zst") && twice(2u) == std::bit_ceil(3u));
      int numbers[2] = {};
      return static_cast<int>(std::span(numbers).size()) - 2;
    ]])], [cryo_cv_cxx20=yes], [cryo_cv_cxx20=no])
    CXX=$cryo_save_CXX
  ])
  AC_LANG_POP([C++])
  AS_IF([test "x$cryo_cv_cxx20" = xno], [AC_MSG_ERROR([$CXX cannot compile C++20 (gcc 12 or clang 15 can)])])
])

dnl CRYO_WARNINGS: sets WARN_CXXFLAGS; --enable-werror turns warnings into errors.
AC_DEFUN([CRYO_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [stop at compiler warnings (for development)])],
    [], [enable_werror=no])
  WARN_CXXFLAGS="-Wall -Wextra"
  AS_IF([test "x$enable_werror" = xyes], [WARN_CXXFLAGS="$WARN_CXXFLAGS -Werror"])
  AC_SUBST([WARN_CXXFLAGS])
])

dnl CRYO_SANITIZERS: sets CHECK_SANITIZE, the flags for the programs of "make check"; and SANITIZE for all
dnl programs with --enable-sanitizers. The code that is copied into restarted processes never gets them.
AC_DEFUN([CRYO_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers], [build the tools with the address and undefined-behaviour sanitizers])],
    [], [enable_sanitizers=no])
  AC_LANG_PUSH([C++])
  cryo_sanitize="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
  AC_CACHE_CHECK([for sanitizers], [cryo_cv_sanitizers], [
    cryo_save_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS $cryo_sanitize"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [cryo_cv_sanitizers=yes], [cryo_cv_sanitizers=no])
    CXXFLAGS=$cryo_save_CXXFLAGS
  ])
  AC_LANG_POP([C++])
  CHECK_SANITIZE=
  SANITIZE=
  AS_IF([test "x$cryo_cv_sanitizers" = xyes], [CHECK_SANITIZE=$cryo_sanitize])
  AS_IF([test "x$enable_sanitizers" = xyes], [
    AS_IF([test "x$cryo_cv_sanitizers" = xno], [AC_MSG_ERROR([--enable-sanitizers: $CXX cannot link with them])])
    SANITIZE=$cryo_sanitize
  ])
  AC_SUBST([CHECK_SANITIZE])
  AC_SUBST([SANITIZE])
])

dnl CRYO_ARCH_USER: which arch/ directory the host's user code comes from.
AC_DEFUN([CRYO_ARCH_USER], [
  AC_REQUIRE([AC_CANONICAL_HOST])
  STUB_ARCH_CXXFLAGS=
  AS_CASE([$host_cpu],
    [x86_64|amd64], [CRYO_ARCH=x86_64 STUB_ARCH_CXXFLAGS=-fcf-protection=none],
    [aarch64], [CRYO_ARCH=aarch64 STUB_ARCH_CXXFLAGS="-mcmodel=tiny -mno-outline-atomics -mbranch-protection=none"],
    [powerpc64le], [CRYO_ARCH=ppc64le],
    [AC_MSG_ERROR([Cryo does not support $host_cpu: only x86_64, aarch64 and powerpc64le])])
  AS_IF([test ! -d "$srcdir/arch/$CRYO_ARCH/user"],
    [AC_MSG_ERROR([this version of Cryo does not support $CRYO_ARCH yet: SUPPORT lists what it does])])
  AC_SUBST([CRYO_ARCH])
  AM_CONDITIONAL([HOST_X86_64], [test "$CRYO_ARCH" = x86_64])
  AM_CONDITIONAL([HOST_AARCH64], [test "$CRYO_ARCH" = aarch64])
  AM_CONDITIONAL([HOST_PPC64LE], [test "$CRYO_ARCH" = ppc64le])
  AC_SUBST([STUB_ARCH_CXXFLAGS])
])

dnl CRYO_UNITY: --enable-unity compiles the tools in a few large pieces.
AC_DEFUN([CRYO_UNITY], [
  AC_ARG_ENABLE([unity],
    [AS_HELP_STRING([--enable-unity], [compile the tools in a few large pieces, in a quarter of the time])],
    [], [enable_unity=no])
  AM_CONDITIONAL([UNITY], [test "x$enable_unity" = xyes])
])
