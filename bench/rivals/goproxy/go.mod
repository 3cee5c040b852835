module portcullis/bench/rivals/goproxy

go 1.24
