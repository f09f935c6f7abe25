# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# In a sandbox of bubblewrap: fills the tmpfs, counts, and tells what is there then.
exec 2>&1
echo begins
cd /tmp || exit 1
mkdir -p dir/below
seq 1 30000 >dir/file
truncate -s 5M sparse
printf middle | dd of=sparse bs=1 seek=3000000 conv=notrunc status=none
ln dir/file "another name"
ln -s dir/file link
mkfifo fifo
printf deep >dir/below/secret
chmod 400 dir/below/secret
chmod 640 fifo
chmod 4711 dir/file
chmod 1750 dir
echo log >log
echo 0 >count
touch -hd @1000000000.123456789 link dir/below/secret dir/below dir/file dir fifo sparse
exec 5>>log 6<dir/file
read -r first <&6

for ((n = 1; n <= $1; n++)); do
	echo "$n" >&5
	echo "$n" >count.new
	mv count.new count
	sleep 0.05
done

read -r second <&6
echo "$$ $(id -u) $(id -g) $first $second"
find . -mindepth 1 ! -name count ! -name log -printf '%P %y %m %U %G %n %T@ %l\n' | sort
sha256sum dir/file sparse log count
[ dir/file -ef "another name" ] && [ "$(stat -c %b sparse)" -lt 100 ] && echo "linked and sparse"
grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status
find /dev -mindepth 1 -printf '%p %y %m %l\n' | sort
head -c 4 /dev/zero | od -An -tx1
# The directory at /mnt is another one in each run.
sed -E 's/^[0-9]+ [0-9]+ [0-9:]+ //; s/.* (\/mnt )/\1/' /proc/self/mountinfo | sort
: >/usr/new || echo "read-only"
echo /proc/[0-9]*
exit 7
