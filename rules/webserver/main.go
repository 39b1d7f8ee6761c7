// Command webserver serves the files of a pte_web, for `bazel run`. It lies beside their folder, by whose name and
// "_server" it is called.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	address := flag.String("address", "localhost:8000", "where to listen; the next free port if it is taken")
	flag.Parse()
	if err := serve(*address); err != nil {
		fmt.Fprintf(os.Stderr, "webserver: %v\n", err)
		os.Exit(1)
	}
}

func serve(address string) error {
	dir, ok := strings.CutSuffix(os.Args[0], "_server")
	if !ok {
		return fmt.Errorf("serve the folder beside %s: want a name that ends with _server", os.Args[0])
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		host, _, _ := net.SplitHostPort(address)
		listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	return http.Serve(listener, fresh(http.FileServer(http.Dir(dir))))
}

// fresh has the browser ask each time, since every build may change a file.
func fresh(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		h.ServeHTTP(w, r)
	})
}
