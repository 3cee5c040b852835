package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd starts one embedded etcd member without fsync: the data of a test control plane need not outlive it.
func runEtcd(args []string) int {
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	dir := flags.String("data-dir", "", "where the data goes")
	client := flags.String("listen-client-urls", "http://127.0.0.1:2379", "client URL")
	peer := flags.String("listen-peer-urls", "http://127.0.0.1:2380", "peer URL")
	// Accepted so that a stock etcd takes the same command line; what they say is what we do anyway.
	for _, same := range []string{"advertise-client-urls", "initial-advertise-peer-urls", "initial-cluster", "log-level"} {
		_ = flags.String(same, "", "same as etcd's own flag, ignored")
	}
	_ = flags.Bool("unsafe-no-fsync", true, "always on")
	quota := flags.Int64("quota-backend-bytes", 4<<30, "largest database")
	_ = flags.Parse(args)

	clientURL, err := url.Parse(*client)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	peerURL, err := url.Parse(*peer)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	config := embed.NewConfig()
	config.Dir = *dir
	config.UnsafeNoFsync = true
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.LogLevel = "error"
	config.QuotaBackendBytes = *quota
	server, err := embed.StartEtcd(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(30 * time.Second):
		fmt.Fprintln(os.Stderr, "etcd: not ready after 30 s")
		return 1
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	select {
	case <-stop:
	case err = <-server.Err():
		fmt.Fprintln(os.Stderr, err)
	}
	server.Close()
	return 0
}
