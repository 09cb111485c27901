#!/bin/sh
# The guest's first process: what programs expect of a machine, then the command, and off.
export PATH=/bin TAILRACE_SKIP=never
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
# Network namespaces may have what the first one allows.
modprobe tcp_dctcp
echo reno cubic dctcp >/proc/sys/net/ipv4/tcp_allowed_congestion_control
set --
while IFS= read -r word; do
    set -- "$@" "$word"
done </command
# The second serial line has nothing of the firmware's and the kernel's.
exec >/dev/ttyS1 2>&1
cat /proc/version
"$@"
echo "guest: exit status $?"
# Off; there is no program for it.
echo o >/proc/sysrq-trigger
while :; do :; done
