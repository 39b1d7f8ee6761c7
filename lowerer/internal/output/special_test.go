//go:build unix

package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func hello(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }

// TestWriteKeepsLinks writes the file that a link names.
func TestWriteKeepsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "sub", "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("old"), 0o600), os.Symlink(file, link), Write(link, hello)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "hello" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	if to, err := os.Readlink(link); err != nil || to != file {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// TestWriteToPipe writes to what is no regular file, and leaves it one.
func TestWriteToPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(path)
		got <- string(b)
	}()
	if err := Write(path, hello); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "hello" {
		t.Errorf("got %q", s)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info, err)
	}
	if want, err := "/dev/full: no space left on device", Write("/dev/full", hello); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestWriteInterrupted leaves no temporary file where a signal ends the process: this test, run once more.
func TestWriteInterrupted(t *testing.T) {
	if path := os.Getenv("PTE_OUTPUT_WAITS"); path != "" {
		t.Fatal(Write(path, func(io.Writer) error {
			fmt.Println("waits")
			select {}
		}))
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=TestWriteInterrupted$")
	cmd.Env = append(os.Environ(), "PTE_OUTPUT_WAITS="+filepath.Join(dir, "a"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "waits\n" {
		t.Fatalf("the process says %q, %v", line, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Fatalf("the process has %v, %v", entries, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("the process ends with %v, want 130", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind %v, %v", entries, err)
	}
}
