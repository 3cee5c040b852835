module portcullis/bench/load

go 1.25.0

require golang.org/x/net v0.51.0

require golang.org/x/text v0.34.0 // indirect
