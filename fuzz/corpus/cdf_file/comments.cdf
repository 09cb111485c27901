# sizes

100 0 # smallest
1e3	0.5
  2000 1
