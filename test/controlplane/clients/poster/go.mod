module portcullis.io/controlplane/poster

go 1.26.0
