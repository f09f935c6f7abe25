# SPDX-License-Identifier: GPL-2.0-only
# nginx with two workers, and a client that fetches pages over connections kept open and new ones.
/usr/sbin/nginx -e error.log -p "$PWD/" -c nginx.conf &
until [ -S socket ]; do sleep 0.1; done
python3 nginx.py "$1"
status=$?
kill -QUIT $!
wait $!
exit $((status + $?))
