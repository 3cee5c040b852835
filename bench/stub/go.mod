module portcullis/bench/stub

go 1.24
