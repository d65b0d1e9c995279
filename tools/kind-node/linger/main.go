// linger is the one program of a test pod. It ends at once on SIGTERM; with a duration as its argument ("8s") it
// lingers that long after the signal, and with "forever" it ignores the signal.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	<-signals
	if len(os.Args) < 2 {
		return
	}
	if os.Args[1] == "forever" {
		select {}
	}
	after, err := time.ParseDuration(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "linger:", err)
		os.Exit(2)
	}
	time.Sleep(after)
}
