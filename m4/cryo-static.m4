dnl SPDX-License-Identifier: GPL-2.0-only

dnl CRYO_STATIC_TOOLS: sets STATIC_TOOL_LDFLAGS. A tool that loads six libraries takes longer to start than
dnl a small process takes to be checkpointed, and cannot start at all where these libraries are not: in a small
dnl container. Position-independent all the same, for the addresses of a program that reads foreign
dnl files as root are not to be known. Distributions that want shared libraries say --disable-static-tools.
dnl Needs FMT_LIBS, ZSTD_LIBS, NL_LIBS, BPF_LIBS and BPF_STATIC_LIBS, of which BPF_LIBS becomes what is linked. STATIC_FMT: libfmt comes without a static library, as Debian's
dnl of version 9; tools/base/static_fmt.cc is one then.
AC_DEFUN([CRYO_STATIC_TOOLS], [
  AC_ARG_ENABLE([static-tools],
    [AS_HELP_STRING([--disable-static-tools],
      [link the tools with shared libraries @<:@static, where these libraries can be had@:>@])],
    [], [enable_static_tools=auto])
  AC_LANG_PUSH([C++])
  cryo_save_CXX=$CXX cryo_save_LIBS=$LIBS cryo_save_LDFLAGS=$LDFLAGS cryo_save_CPPFLAGS=$CPPFLAGS
  CXX="$CXX -std=c++20"
  LDFLAGS="$LDFLAGS -static-pie"
  CPPFLAGS="$CPPFLAGS $FMT_CFLAGS $ZSTD_CFLAGS $NL_CFLAGS $BPF_CFLAGS -I$srcdir"
  AC_CACHE_CHECK([for static libraries], [cryo_cv_static_tools], [
    cryo_cv_static_tools=no
    cryo_static_flags=$CPPFLAGS
    for cryo_fmt in "yes, but libfmt" yes; do
      AS_IF([test "x$cryo_fmt" = xyes],
        [CPPFLAGS=$cryo_static_flags LIBS="$FMT_LIBS $NL_LIBS $BPF_STATIC_LIBS $ZSTD_LIBS $cryo_save_LIBS"],
        [CPPFLAGS="$cryo_static_flags -DTRY_STATIC_FMT" LIBS="$NL_LIBS $BPF_STATIC_LIBS $ZSTD_LIBS $cryo_save_LIBS"])
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[
        #ifdef TRY_STATIC_FMT
        #include "tools/base/static_fmt.cc"
        #endif
        #include <bpf/btf.h>
        #include <fmt/format.h>
        #include <gelf.h>
        #include <netlink/genl/genl.h>
        #include <netlink/netlink.h>
        #include <zstd.h>
      ]], [[
        nl_sock *sock = nl_socket_alloc();
        fmt::print("{} {} {}\n", ZSTD_versionNumber(), 1.5, genl_connect(sock));
        nl_socket_free(sock);
        btf__free(btf__parse("vmlinux", nullptr));
        return elf_version(EV_CURRENT) == EV_NONE;
      ]])], [cryo_cv_static_tools=$cryo_fmt])
    done
  ])
  CXX=$cryo_save_CXX LIBS=$cryo_save_LIBS LDFLAGS=$cryo_save_LDFLAGS CPPFLAGS=$cryo_save_CPPFLAGS
  AC_LANG_POP([C++])
  AS_IF([test "x$enable_static_tools" = xyes && test "x$cryo_cv_static_tools" = xno],
    [AC_MSG_ERROR([--enable-static-tools: libzstd, libnl-3, libnl-genl-3, libbpf, libelf, zlib or the C library is there only as a shared library])])
  dnl The sanitizers have no static runtime for such programs.
  AS_IF([test "x$enable_static_tools" = xno || test -n "$SANITIZE"], [cryo_cv_static_tools=no])
  STATIC_TOOL_LDFLAGS=
  AS_IF([test "x$cryo_cv_static_tools" != xno], [BPF_LIBS=$BPF_STATIC_LIBS])
  AS_IF([test "x$cryo_cv_static_tools" != xno], [STATIC_TOOL_LDFLAGS="-XCClinker -static-pie -Wl,--gc-sections"])
  AC_SUBST([STATIC_TOOL_LDFLAGS])
  AM_CONDITIONAL([STATIC_FMT], [test "x$cryo_cv_static_tools" = "xyes, but libfmt"])
])
