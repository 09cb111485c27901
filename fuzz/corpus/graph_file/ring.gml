graph [
  directed 0
  capacity_unit "Mbps"
  node [ id 0 label "h0" type "host" ]
  node [ id 1 label "h1" type "host" ]
  node [ id 2 label "a" type "tor" ]
  node [ id 3 label "b" type "spine" ]
  edge [ source 0 target 2 capacity 1000 delay "2us" ]
  edge [ source 1 target 3 capacity 1000 delay 2 ]
  edge [ source 2 target 3 capacity 40000 ]
]
