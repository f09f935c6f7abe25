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

  AC_ARG_ENABLE([untested-kernel],
    [AS_HELP_STRING([--enable-untested-kernel],
      [build the module for a kernel newer than the newest one tested, too])],
    [], [enable_untested_kernel=no])
  AC_ARG_WITH([kernel-btf],
    [AS_HELP_STRING([--with-kernel-btf=FILE],
      [type information to compare the module with: a vmlinux or a copy of /sys/kernel/btf/vmlinux; "no": none
       @<:@vmlinux of the headers or the debug package, or the running kernel@:>@])],
    [], [with_kernel_btf=auto])

  build_module=no
  KERNEL_BTF=
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
      _CRYO_KERNEL_TESTED
      _CRYO_KERNEL_BTF
    ], [
      AC_MSG_RESULT([none])
      AS_IF([test "x$enable_module" = xyes],
        [AC_MSG_ERROR([no kernel headers found: install linux-headers-`uname -r`, or use --with-kernel=DIR])],
        [AC_MSG_WARN([no kernel headers found, the module is not built: install linux-headers-`uname -r`, or use --with-kernel=DIR])])
    ])
  ])
  AS_IF([test "x$with_kmod_dir" = xauto], [KMOD_DIR=/lib/modules/$KERNEL_RELEASE/extra], [KMOD_DIR=$with_kmod_dir])
  AC_SUBST([KERNEL_DIR])
  AC_SUBST([KERNEL_BTF])
  AC_SUBST([CRYO_UNTESTED_KERNEL], [$enable_untested_kernel])
  AC_SUBST([KERNEL_RELEASE])
  AC_SUBST([KMOD_DIR])
  AM_CONDITIONAL([BUILD_MODULE], [test "x$build_module" = xyes])
])

dnl Is KERNEL_RELEASE one of those that have been tested, or asked for nevertheless?
AC_DEFUN([_CRYO_KERNEL_TESTED], [
  AC_MSG_CHECKING([whether this kernel has been tested])
  cryo_newest=`$SED -n 's/^#define CRYO_NEWEST_KERNEL_M@<:@AI@:>@@<:@JN@:>@OR@<:@@<:@:space:@:>@@:>@*//p' "$srcdir/kmod/compat/newest.h" | paste -sd .`
  cryo_newer=`echo "$KERNEL_RELEASE $cryo_newest" | $AWK '{ split($ 1, k, /@<:@^0-9@:>@/); split($ 2, n, "."); print (k@<:@1@:>@ > n@<:@1@:>@ + 0 || (k@<:@1@:>@ == n@<:@1@:>@ && k@<:@2@:>@ > n@<:@2@:>@ + 0)) ? "yes" : "no" }'`
  AS_IF([test "x$cryo_newer" = xno], [AC_MSG_RESULT([yes])],
    [test "x$enable_untested_kernel" = xyes], [AC_MSG_RESULT([no, but it is asked for])], [
      AC_MSG_RESULT([no])
      AC_MSG_ERROR([Linux $KERNEL_RELEASE is newer than $cryo_newest, the newest that this version of Cryo has been tested on: use a newer version of Cryo, --disable-module, or, if data loss is acceptable, --enable-untested-kernel])
    ])
])

dnl Where KERNEL_BTF, the type information of that kernel, is; empty: nowhere, and when the programs are not for this machine.
AC_DEFUN([_CRYO_KERNEL_BTF], [
  AC_MSG_CHECKING([for its type information])
  AS_CASE([$with_kernel_btf],
    [no], [],
    [yes|auto], [
      cryo_candidates="$KERNEL_DIR/vmlinux /usr/lib/debug/boot/vmlinux-$KERNEL_RELEASE /usr/lib/debug/lib/modules/$KERNEL_RELEASE/vmlinux"
      AS_IF([test "x$KERNEL_RELEASE" = "x`uname -r`"], [cryo_candidates="$cryo_candidates /sys/kernel/btf/vmlinux"])
      for cryo_file in $cryo_candidates; do
        AS_IF([test -z "$KERNEL_BTF" && test -r "$cryo_file"], [KERNEL_BTF=$cryo_file])
      done
    ], [
      KERNEL_BTF=$with_kernel_btf
      AS_IF([test ! -r "$KERNEL_BTF"], [AC_MSG_ERROR([--with-kernel-btf=$KERNEL_BTF: cannot be read])])
    ])
  AS_IF([test "x$cross_compiling" = xyes], [KERNEL_BTF=])
  AS_IF([test -n "$KERNEL_BTF"], [AC_MSG_RESULT([$KERNEL_BTF])],
    [AC_MSG_RESULT([none, the module looks for itself when it is loaded])])
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
