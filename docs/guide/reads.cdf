# reads from an object store, whose size is known when they start
4096      0
4096      0.35
65536     0.60
1048576   0.85
33554432  1
