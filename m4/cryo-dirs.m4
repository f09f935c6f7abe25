dnl SPDX-License-Identifier: GPL-2.0-only

dnl CRYO_UDEV_DIRS: where udev rules, module lists and bash completions go, always below the prefix
dnl unless asked otherwise, so that an installation into a home directory stays there.
AC_DEFUN([CRYO_UDEV_DIRS], [
  AC_ARG_WITH([udevrulesdir],
    [AS_HELP_STRING([--with-udevrulesdir=DIR], [udev rules @<:@PREFIX/lib/udev/rules.d@:>@])],
    [udevrulesdir=$withval], [udevrulesdir='${prefix}/lib/udev/rules.d'])
  AC_ARG_WITH([modulesloaddir],
    [AS_HELP_STRING([--with-modulesloaddir=DIR], [modules-load.d @<:@PREFIX/lib/modules-load.d@:>@])],
    [modulesloaddir=$withval], [modulesloaddir='${prefix}/lib/modules-load.d'])
  AC_ARG_WITH([bashcompletiondir],
    [AS_HELP_STRING([--with-bashcompletiondir=DIR], [bash completion @<:@DATADIR/bash-completion/completions@:>@])],
    [bashcompletiondir=$withval], [bashcompletiondir='${datadir}/bash-completion/completions'])
  AC_SUBST([udevrulesdir])
  AC_SUBST([modulesloaddir])
  AC_SUBST([bashcompletiondir])
])
