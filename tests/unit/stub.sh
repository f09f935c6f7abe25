#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The restart stub is run from a copy of its one section, with nothing else of the program mapped: its object
# may refer to nothing outside that section and have no data.
set -u

here=$(cd "$(dirname "$0")" && pwd)
object=${CRYO_BUILD:-$here/../../build}/tools/restart/stub/stub.o
count=0 failed=0

if [ ! -e "$object" ]; then
	echo "Bail out! $object is missing: make builds it"
	exit 1
fi

# empty TEXT DESCRIPTION: an ok point when TEXT is empty, else TEXT is shown
empty()
{
	count=$((count + 1))
	if [ -z "$1" ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		echo "not ok $count - $2"
		printf '%s\n' "$1" | sed 's/^/# /'
	fi
}

code=$(objdump -h "$object" | awk '$2 == "cryo_stub" { print $3 }')
empty "$([ -n "$code" ] && [ "$code" != 00000000 ] || echo "no section cryo_stub")" "the code is in its section"
empty "$(nm -u "$object")" "no symbol of another object is used"
empty "$(objdump -r "$object" | awk '/^RELOCATION RECORDS FOR \[cryo_stub\]/ { on = 1; next }
	/^RELOCATION/ { on = 0 } on && NF == 3 && $1 != "OFFSET"')" "the code needs no relocation"
empty "$(objdump -h "$object" | awk '$2 ~ /^\.(text|data|bss|rodata)/ && $3 != "00000000" { print $2, $3 }')" \
	"there are no data, and no code outside the section"
echo "1..$count"
[ "$failed" -eq 0 ]
