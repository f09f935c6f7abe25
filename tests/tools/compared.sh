#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The module compares the private structures that it uses with those of the kernel, when it is loaded, and finds nothing.
. "$(dirname "$0")/lib.sh"
[ -e /sys/kernel/btf/vmlinux ] || skip_all "this kernel has no type information (CONFIG_DEBUG_INFO_BTF)"
trap 'modprobe -q cryo; clean_up' EXIT
log_says() { dmesg | grep -qF "$1"; }
rmmod cryo
dmesg -C
modprobe cryo
check "private structures have been compared" not log_says "have not been compared"
check "... and are what the module takes them for" not log_says "differs in this kernel from"
done_testing
