# answers of a query service: size in bytes, cumulative probability
200       0
1000      0.40
4000      0.70
20000     0.90
300000    0.97
5000000   1
