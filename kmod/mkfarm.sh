#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# mkfarm.sh SRCDIR OUTDIR: makes in OUTDIR the tree of symbolic links in which Kbuild builds the module.
#
# Kbuild puts objects beside the sources that it sees, and of the ways to send them elsewhere only this one
# works on all kernels from 6.1 to 7.2 (setting src= or obj= fails from 6.12 on, MO= exists from 6.13 on).
# Each file of SRCDIR that the module needs gets a link of its own; directories are real. unity-ARCH.c includes all
# sources of that architecture. Afterwards:
#
#     make -C KERNELDIR M=OUTDIR modules        gives OUTDIR/cryo.ko
#
# Running it again adds what is new and removes links whose file is gone; objects that are up to date stay.
# One OUTDIR serves one kernel.
set -eu

if [ $# -ne 2 ]; then
	echo "usage: mkfarm.sh SRCDIR OUTDIR" >&2
	exit 255
fi
src=$(cd "$1" && pwd)
if [ ! -f "$src/Kbuild" ]; then
	echo "mkfarm.sh: $src has no Kbuild: not Cryo's source tree" >&2
	exit 1
fi
mkdir -p "$2"
out=$(cd "$2" && pwd)

find "$out" -type l | while IFS= read -r link; do
	case $(readlink "$link") in
	"$src"/*) [ -e "$link" ] || rm -f "$link" ;;
	*) rm -f "$link" ;;
	esac
done

cd "$src"
{
	echo Kbuild
	find kmod include arch/*/kmod arch/*/include -type f -name '*.[chS]' 2>/dev/null || :
} | while IFS= read -r file; do
	[ -L "$out/$file" ] && continue
	mkdir -p "$out/$(dirname "$file")"
	ln -s "$src/$file" "$out/$file"
done

for arch in arch/*/kmod; do
	arch=${arch#arch/}
	arch=${arch%/kmod}
	unity=$out/unity-$arch.c
	find kmod "arch/$arch/kmod" -name '*.c' | LC_ALL=C sort | sed 's/.*/#include "&"/' >"$unity.new"
	if cmp -s "$unity.new" "$unity"; then rm "$unity.new"; else mv "$unity.new" "$unity"; fi
done
