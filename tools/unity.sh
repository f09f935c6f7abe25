#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tools/unity.sh K N FILE...: the K-th of N sources that together include all FILEs that are C++
# sources. Most of the time that a compiler takes for one of our files goes into the headers, which are the same in all.
set -eu
part=$1 parts=$2
shift 2
printf '// Made by tools/unity.sh.\n'
# Such a file is not the main file of its compilation, of which gcc warns when a class has members of an unnamed namespace.
printf '#pragma GCC diagnostic ignored "-Wsubobject-linkage"\n'
sources=0
for file; do
	case $file in *.cc) sources=$((sources + 1)) ;; esac
done
number=0
for file; do
	case $file in *.cc) ;; *) continue ;; esac
	[ $((number * parts / sources + 1)) -ne "$part" ] || printf '#include "%s"\n' "$file"
	number=$((number + 1))
done
