package output

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// held are the temporary files that are being written. A signal that ends the process removes them first, and keeps the mutex, so that
// nobody says that a file was closed under its hands.
var held struct {
	sync.Mutex
	files map[*os.File]bool
	once  sync.Once
}

func hold(f *os.File) {
	held.once.Do(func() {
		held.files = map[*os.File]bool{}
		signals := make(chan os.Signal, 1)
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			if !signal.Ignored(s) {
				signal.Notify(signals, s)
			}
		}
		go func() { end(<-signals) }()
	})
	held.Lock()
	defer held.Unlock()
	held.files[f] = true
}

func release(f *os.File) {
	held.Lock()
	defer held.Unlock()
	delete(held.files, f)
}

func remove(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

// end removes the files and ends the process as s would have.
func end(s os.Signal) {
	held.Lock()
	for f := range held.files {
		remove(f)
	}
	signal.Reset(s)
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(s) == nil {
		time.Sleep(time.Second)
	}
	n, _ := s.(syscall.Signal) // where a process cannot send it to itself
	os.Exit(128 + int(n))
}
