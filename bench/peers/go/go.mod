module foliot.example/bench/peers/go

go 1.18
