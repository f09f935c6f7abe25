dnl SPDX-License-Identifier: GPL-2.0-only

dnl CRYO_KERNEL: which kernel the module is built for.
dnl Sets KERNEL_DIR, KERNEL_RELEASE, KMOD_DIR and the conditional BUILD_MODULE.
AC_DEFUN([CRYO_KERNEL], [
  AC_ARG_ENABLE([module],
    [AS_HELP_STRING([--disable-module], [do not build the kernel module])],
    [], [enable_module=auto])
  AC_ARG_WITH([kernel],
    [AS_HELP_STRING([--with-kernel=DIR],
      [kernel build directory or headers @<:@/lib/modules/RELEASE/build of the running kernel@:>@])],
    [], [with_kernel=auto])
  AC_ARG_WITH([kmod-dir],
    [AS_HELP_STRING([--with-kmod-dir=DIR], [where cryo.ko goes @<:@/lib/modules/RELEASE/extra@:>@])],
    [], [with_kmod_dir=auto])

  build_module=no
  KERNEL_DIR=
  KERNEL_RELEASE=
  AS_IF([test "x$enable_module" != xno], [
    AC_MSG_CHECKING([for the kernel to build the module for])
    _CRYO_KERNEL_DIR
    AS_IF([test -n "$KERNEL_DIR"], [
      build_module=yes
      dnl What uname -r says; Debian's include/config/kernel.release is something else.
      KERNEL_RELEASE=`$SED -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$KERNEL_DIR/include/generated/utsrelease.h"`
      AC_MSG_RESULT([$KERNEL_RELEASE in $KERNEL_DIR])
    ], [
      AC_MSG_RESULT([none])
      AS_IF([test "x$enable_module" = xyes],
        [AC_MSG_ERROR([no kernel headers found: install linux-headers-`uname -r`, or use --with-kernel=DIR])],
        [AC_MSG_WARN([no kernel headers found, the module is not built: install linux-headers-`uname -r`, or use --with-kernel=DIR])])
    ])
  ])
  AS_IF([test "x$with_kmod_dir" = xauto], [KMOD_DIR=/lib/modules/$KERNEL_RELEASE/extra], [KMOD_DIR=$with_kmod_dir])
  AC_SUBST([KERNEL_DIR])
  AC_SUBST([KERNEL_RELEASE])
  AC_SUBST([KMOD_DIR])
  AM_CONDITIONAL([BUILD_MODULE], [test "x$build_module" = xyes])
])

dnl Chooses KERNEL_DIR: the one asked for, else that of the running kernel, else the newest installed headers.
AC_DEFUN([_CRYO_KERNEL_DIR], [
  AS_CASE([$with_kernel],
    [no], [],
    [yes|auto], [
      cryo_running=/lib/modules/`uname -r`/build
      AS_IF([test -f "$cryo_running/include/generated/utsrelease.h"], [KERNEL_DIR=$cryo_running], [
        for cryo_dir in `ls -d /usr/src/linux-headers-*-amd64 /usr/src/linux-headers-*-arm64 /usr/src/linux-headers-*-powerpc64le 2>/dev/null | sort -V`; do
          AS_IF([test -f "$cryo_dir/include/generated/utsrelease.h"], [KERNEL_DIR=$cryo_dir])
        done
        AS_IF([test -n "$KERNEL_DIR"],
          [AC_MSG_RESULT([not the running `uname -r`, whose headers are not installed])
           AC_MSG_CHECKING([for the newest kernel headers])])
      ])
    ], [
      KERNEL_DIR=$with_kernel
      AS_IF([test ! -f "$KERNEL_DIR/include/generated/utsrelease.h"],
        [AC_MSG_ERROR([--with-kernel=$KERNEL_DIR: no include/generated/utsrelease.h there; it must be a configured kernel build directory])])
    ])
])
